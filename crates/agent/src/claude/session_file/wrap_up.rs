//! Finds the last message of a conversation before its wrap-up. A resume that names this message omits the
//! rest, in the same session and file. The new prompt becomes a child of the message, and later resumes
//! follow the new branch. The agent accepts only messages of the model, and those that its program wrote in
//! the model's place (2.1.330).

use super::{is_conversation, lines, row_in, rows};
use crate::claude::prompts::is_wrap_up;
use crate::claude::vendor_terms::is_interruption_marker;
use crate::claude::wire::{Row, parse};
use std::collections::BTreeMap;

/// The role of a row on the way up from the end.
enum RowRole {
    /// A message of the model.
    Message,
    /// A wrap-up prompt.
    WrapUp,
    /// Any other prompt.
    Prompt,
    /// An addition of the agent program, or a tool result.
    Other,
}

/// Returns the last message before the wrap-up. `None` unless the wrap-up comes last and follows a message to
/// the same prompt.
pub fn resume_point_before_wrap_up(bytes: &[u8], wrap_up_prompt: Option<&str>) -> Option<String> {
    let mut links = BTreeMap::new();
    let mut current = None;
    for row in rows(bytes).filter(is_conversation) {
        let uuid = row.uuid.as_str().to_owned();
        links.insert(
            uuid.clone(),
            (row.parent.non_empty().map(str::to_owned), row_role(&row, wrap_up_prompt)),
        );
        current = Some(uuid);
    }
    let (mut is_wrap_up_found, mut resume_point) = (false, None);
    // Each row is removed, because a damaged file may contain a cycle.
    while let Some((uuid, (parent, row_role))) = current.and_then(|uuid| links.remove_entry(&uuid)) {
        match row_role {
            RowRole::Message if is_wrap_up_found && resume_point.is_none() => resume_point = Some(uuid),
            RowRole::Prompt => break,
            // There may be several wrap-up prompts.
            RowRole::WrapUp => (is_wrap_up_found, resume_point) = (true, None),
            RowRole::Message | RowRole::Other => {}
        }
        current = parent;
    }
    resume_point
}

/// Returns the file up to and including the row of this message, or all of it if the row is missing.
pub fn history_up_to<'a>(bytes: &'a [u8], message: &str) -> &'a [u8] {
    let mut end = 0;
    for line in lines(bytes) {
        end += line.len() + 1;
        if row_in(line).and_then(parse::<Row<'_>>).is_some_and(|row| row.uuid.is(message)) {
            break;
        }
    }
    bytes.get(..end).unwrap_or(bytes)
}

fn row_role(row: &Row<'_>, wrap_up_prompt: Option<&str>) -> RowRole {
    match row.kind.as_str() {
        // The agent leaves its program's error reports out of the conversation.
        "assistant" if row.is_api_error_message.0 => RowRole::Other,
        "assistant" => RowRole::Message,
        "user" => {
            let parts = row.message.content.parts();
            let texts: Vec<String> = parts
                .iter()
                .filter(|part| part.kind.is("text"))
                .filter_map(|part| part.text.text())
                .collect();
            let is_wrap_up_prompt = |text: &String| {
                is_wrap_up(text)
                    || wrap_up_prompt.is_some_and(|wrap_up_prompt| {
                        !wrap_up_prompt.is_empty() && text.starts_with(wrap_up_prompt)
                    })
            };
            if texts.iter().any(is_wrap_up_prompt) {
                RowRole::WrapUp
            } else if texts.iter().all(|text| is_interruption_marker(text)) {
                RowRole::Other
            } else {
                RowRole::Prompt
            }
        }
        _ => RowRole::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{history_up_to, resume_point_before_wrap_up};

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
        assert_eq!(
            resume_point_before_wrap_up(file(rows).as_bytes(), wrap_up_prompt).as_deref(),
            expected,
            "{rows}"
        );
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
    fn truncates_after_message() {
        let whole = file("pmrmw");
        assert_eq!(history_up_to(whole.as_bytes(), "1"), file("pm").as_bytes());
        assert_eq!(history_up_to(whole.as_bytes(), "9"), whole.as_bytes());
    }
}
