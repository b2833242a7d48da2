//! Finds the last message of a conversation before its wrap-up. A resume that names this message omits the
//! rest, in the same session and file. The new prompt becomes a child of the message, and later resumes
//! follow the new branch. The agent accepts only messages of the model, and those that its program wrote in
//! the model's place (2.1.330).

use super::SessionDocument;
use super::session_row::RowKind;
use crate::claude::conversation_reducer::content_text;
use crate::claude::vendor_terms::is_interruption_marker;
use crate::claude::wire::{Row, parse};
use crate::prompts::is_wrap_up_prompt;
use memchr::memmem;
use std::borrow::Cow;

/// Where a session continues before its end, and what its conversation then lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// Id of the message to continue from.
    pub message: String,
    /// If a wrap-up followed the message: whether the model completed its answer to the wrap-up prompt, so that its last
    /// message is text and calls no tool.
    pub is_wrap_up_answered: Option<bool>,
    /// The agent's words about each background task that ended after the message, in order.
    pub ended_tasks: Vec<String>,
}

/// Returns the last message before the wrap-up. `None` unless the wrap-up comes last and follows a message to
/// the same prompt. Notifications of background tasks are no prompts.
pub(super) fn resume_point(session: &SessionDocument, wrap_up_prompt: Option<&str>) -> Option<ResumePoint> {
    let (mut is_wrap_up_found, mut has_answer) = (false, None);
    let (mut resume_point, mut ended_tasks) = (None, Vec::new());
    for row in session.rows_from_end() {
        match row.kind {
            RowKind::Message(_) if is_wrap_up_found && resume_point.is_none() => {
                resume_point = Some(ResumePoint {
                    message: row.uuid.clone(),
                    is_wrap_up_answered: Some(has_answer == Some(true)),
                    ended_tasks: ended_tasks.iter().rev().cloned().collect(),
                });
            }
            RowKind::Message(_) => {
                has_answer.get_or_insert(row.has_text && row.calls.is_empty());
            }
            // The agent leaves its program's error reports out of the conversation.
            RowKind::ErrorReport(_) => {}
            RowKind::Addition => ended_tasks.extend(ended_task(session.line(row))),
            RowKind::ToolResult | RowKind::Prompt if !row.has_text => {}
            RowKind::ToolResult | RowKind::Prompt => {
                let line = session.line(row);
                let texts = texts(line);
                if let Some(task) = ended_task(line) {
                    ended_tasks.push(task);
                } else if texts.iter().any(|text| is_wrap_up_prompt(text, wrap_up_prompt)) {
                    // There may be several wrap-up prompts.
                    (is_wrap_up_found, resume_point) = (true, None);
                } else if !texts.iter().all(|text| is_interruption_marker(text)) {
                    break;
                }
            }
        }
    }
    resume_point
}

/// Returns the summary of a notification that a background task ended.
pub(super) fn ended_task(line: &[u8]) -> Option<String> {
    // Most rows are none, and some are large.
    memmem::find(line, b"<task-notification>")?;
    let row = parse::<Row<'_>>(line)?;
    let text = if row.origin.kind.is("task-notification") {
        content_text(&row.message.content.0)
    } else if row.attachment.kind.is("queued_command") {
        content_text(&row.attachment.prompt.blocks())
    } else {
        return None;
    };
    let (_, rest) = text.strip_prefix("<task-notification>")?.split_once("<summary>")?;
    Some(rest.split_once("</summary>")?.0.to_owned())
}

pub(super) fn texts(line: &[u8]) -> Vec<String> {
    let blocks = parse::<Row<'_>>(line).map(|row| row.message.content.0).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.text());
    texts.map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SessionDocument;

    const WRAP_UP: &str = "This run is about to end: its time is nearly up.";

    /// Writes a file of rows, each the child of the previous one: `p` a prompt, `m` a message, `c` a call, `e` an error
    /// report, `w` our wrap-up prompt, `o` the user's own, `i` an interruption marker, `r` a tool result, `n` and `q`
    /// notifications of a background task between exchanges and within one.
    fn file(rows: &str) -> String {
        let row = |(index, kind): (usize, char)| {
            let text = |text: &str| format!("\"{text}\"");
            let (role, content) = match kind {
                'm' | 'e' => ("assistant", text("Yes.")),
                'c' => ("assistant", r#"[{"type":"tool_use","id":"t","name":"Bash"}]"#.to_owned()),
                'w' => ("user", text(WRAP_UP)),
                'o' => ("user", text("Save it. Now.")),
                'i' => ("user", text("[Request interrupted by user]")),
                'r' => ("user", r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#.to_owned()),
                _ => ("user", text("Do it.")),
            };
            let notification =
                format!("<task-notification>\\n<summary>Task {index} ended</summary>\\n</task-notification>");
            let (role, content, more) = match kind {
                'n' => (role, text(&notification), r#""origin":{"kind":"task-notification"},"#.to_owned()),
                'q' => {
                    let attachment =
                        format!(r#""attachment":{{"type":"queued_command","prompt":"{notification}"}},"#);
                    ("attachment", "[]".to_owned(), attachment)
                }
                _ => (role, content, String::new()),
            };
            let parent = index.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let error = kind == 'e';
            format!(
                r#"{{"type":"{role}","uuid":"{index}","parentUuid":{parent},"isApiErrorMessage":{error},{more}"message":{{"role":"{role}","content":{content}}}}}"#
            ) + "\n"
        };
        rows.chars().enumerate().map(row).collect()
    }

    fn check(rows: &str, wrap_up_prompt: Option<&str>, expected: Option<&str>) {
        let session = SessionDocument::parse(file(rows).into_bytes());
        let point = session.resume_point_before_wrap_up(wrap_up_prompt);
        assert_eq!(point.map(|point| point.message).as_deref(), expected, "{rows}");
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
    fn wrap_up_includes_notifications() {
        let check = |rows: &str, expected: Option<(&str, bool, &[&str])>| {
            let session = SessionDocument::parse(file(rows).into_bytes());
            let point = session.resume_point_before_wrap_up(None);
            let point = point.as_ref().map(|point| {
                let tasks: Vec<&str> = point.ended_tasks.iter().map(String::as_str).collect();
                (point.message.as_str(), point.is_wrap_up_answered, tasks)
            });
            assert_eq!(
                point,
                expected.map(|(message, is_answered, tasks)| (message, Some(is_answered), tasks.to_vec())),
                "{rows}"
            );
        };
        check("pmwe", Some(("1", false, &[])));
        check("pmwmcri", Some(("1", false, &[])));
        check("pmwcrme", Some(("1", true, &[])));
        check("pmwmrqm", Some(("1", true, &["Task 5 ended"])));
        check("pmwmnm", Some(("1", true, &["Task 4 ended"])));
        check("pmnwqm", Some(("1", true, &["Task 2 ended", "Task 4 ended"])));
        check("pmnmwm", Some(("3", true, &[])));
        check("pmnm", None);
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
