//! Finds the last message of a conversation before its wrap-up. A resume that names this message omits the
//! rest, in the same session and file. The new prompt becomes a child of the message, and later resumes
//! follow the new branch. The agent accepts only messages of the model, and those that its program wrote in
//! the model's place (2.1.330).

use super::SessionDocument;
use super::session_row::{RowKind, SessionRow};
use crate::claude::vendor_terms::is_interruption_marker;
use crate::claude::wire::{Row, parse};
use crate::prompts::is_wrap_up_prompt;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the last message before the wrap-up. `None` unless the wrap-up comes last and follows a message to
/// the same prompt.
pub(super) fn resume_point(session: &SessionDocument, wrap_up_prompt: Option<&str>) -> Option<String> {
    let mut by_uuid: BTreeMap<&str, &SessionRow> =
        session.rows.iter().map(|row| (row.uuid.as_str(), row)).collect();
    let (mut is_wrap_up_found, mut resume_point) = (false, None);
    let mut current = session.rows.last().map(|row| row.uuid.as_str());
    // Each row is removed, because a damaged file may contain a cycle.
    while let Some(row) = current.and_then(|uuid| by_uuid.remove(uuid)) {
        match row.kind {
            RowKind::Message(_) if is_wrap_up_found && resume_point.is_none() => {
                resume_point = Some(&row.uuid);
            }
            // The agent leaves its program's error reports out of the conversation.
            RowKind::Message(_) | RowKind::ErrorReport(_) | RowKind::Addition => {}
            RowKind::ToolResult | RowKind::Prompt if !row.has_text => {}
            RowKind::ToolResult | RowKind::Prompt => {
                let texts = texts(session.line(row));
                if texts.iter().any(|text| is_wrap_up_prompt(text, wrap_up_prompt)) {
                    // There may be several wrap-up prompts.
                    (is_wrap_up_found, resume_point) = (true, None);
                } else if !texts.iter().all(|text| is_interruption_marker(text)) {
                    break;
                }
            }
        }
        current = row.parent.as_deref();
    }
    resume_point.cloned()
}

fn texts(line: &[u8]) -> Vec<String> {
    let blocks = parse::<Row<'_>>(line).map(|row| row.message.content.0).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.text());
    texts.map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SessionDocument;

    const WRAP_UP: &str = "This run is about to end: its time is nearly up.";

    /// Writes a file of rows, each the child of the previous one: `p` a prompt, `m` a message, `e` an error
    /// report, `w` our wrap-up prompt, `o` the user's own, `i` an interruption marker, `r` a tool result.
    fn file(rows: &str) -> String {
        let row = |(index, kind): (usize, char)| {
            let text = |text: &str| format!("\"{text}\"");
            let (role, content) = match kind {
                'm' | 'e' => ("assistant", text("Yes.")),
                'w' => ("user", text(WRAP_UP)),
                'o' => ("user", text("Save it. Now.")),
                'i' => ("user", text("[Request interrupted by user]")),
                'r' => ("user", r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#.to_owned()),
                _ => ("user", text("Do it.")),
            };
            let parent = index.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let error = kind == 'e';
            format!(
                r#"{{"type":"{role}","uuid":"{index}","parentUuid":{parent},"isApiErrorMessage":{error},"message":{{"role":"{role}","content":{content}}}}}"#
            ) + "\n"
        };
        rows.chars().enumerate().map(row).collect()
    }

    fn check(rows: &str, wrap_up_prompt: Option<&str>, expected: Option<&str>) {
        let session = SessionDocument::parse(file(rows).into_bytes());
        assert_eq!(session.resume_point_before_wrap_up(wrap_up_prompt).as_deref(), expected, "{rows}");
    }

    #[test]
    fn finds_message_before_wrap_up() {
        check("pmrmriwmrm", None, Some("3"));
        check("pmw", None, Some("1"));
        check("pmwmewm", None, Some("1"));
        check("pmrewm", None, Some("1"));
        check("pmom", Some("Save it."), Some("1"));
        check("pmom", None, None);
        check("pmom", Some(""), None);
        // There is no wrap-up, or work followed it, or there is no message to resume from.
        check("pmrm", None, None);
        check("pmwmpm", None, None);
        check("pmpwm", None, None);
        check("wm", None, None);
        check("", None, None);
    }

    #[test]
    fn answered_calls_end_at_message() {
        let answered = |up_to| SessionDocument::parse(file("pmrm").into_bytes()).answered_calls(up_to).len();
        assert_eq!(answered(Some("1")), 0);
        assert_eq!(answered(Some("3")), 1);
        assert_eq!(answered(Some("9")), 1);
        assert_eq!(answered(None), 1);
    }
}
