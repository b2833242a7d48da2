//! Finds the first failed prompt of an outage. Each attempt of an outage adds a prompt to the session, and the agent
//! program adds a message of its own, and an outage of hours has more than a hundred attempts. A resume from the first
//! of these messages omits all prompts but the first and the new one.

use super::SessionDocument;
use super::session_row::RowKind;
use super::wrap_up::{ResumePoint, ended_task, texts};
use crate::claude::SYNTHETIC;
use crate::claude::wire::{Row, parse};
use crate::prompts::is_interruption_prompt;

pub(super) fn resume_point(session: &SessionDocument) -> Option<ResumePoint> {
    let (mut is_prompt_found, mut program_message, mut resume_point) = (false, None, None);
    for row in session.rows_from_end() {
        let line = session.line(row);
        match row.kind {
            RowKind::ErrorReport(_) => program_message = Some(&row.uuid),
            // The agent program writes that no response is requested when it resumes an unanswered prompt.
            RowKind::Message(_) if is_from_program(line) => program_message = Some(&row.uuid),
            RowKind::Prompt if !row.has_text => {}
            RowKind::Prompt if texts(line).iter().all(|text| is_interruption_prompt(text)) => {
                if is_prompt_found && program_message.is_some() {
                    resume_point = program_message;
                }
                (is_prompt_found, program_message) = (true, None);
            }
            RowKind::Addition if ended_task(line).is_none() => {}
            RowKind::Message(_) | RowKind::ToolResult | RowKind::Prompt | RowKind::Addition => break,
        }
    }
    let message = resume_point?.clone();
    Some(ResumePoint { message, is_wrap_up_answered: None, ended_tasks: Vec::new() })
}

fn is_from_program(line: &[u8]) -> bool {
    parse::<Row<'_>>(line).is_some_and(|row| row.message.model.is(SYNTHETIC))
}

#[cfg(test)]
mod tests {
    use super::super::SessionDocument;
    use crate::prompts::tests::interruption;
    use serde_json::json;

    /// Writes a file of rows, each the child of the previous one: `p` a prompt, `c` Longhaul's prompt after an interruption,
    /// `m` a message, `e` an error report, `n` a message of the agent program, `r` a tool result, `a` an attachment.
    fn file(rows: &str) -> String {
        let row = |(index, kind): (usize, char)| {
            let (role, text) = match kind {
                'c' => ("user", interruption()),
                'm' | 'e' | 'n' => ("assistant", "Yes.".to_owned()),
                'a' => ("attachment", String::new()),
                _ => ("user", "Do it.".to_owned()),
            };
            let content = match kind {
                'r' => json!([{ "type": "tool_result", "tool_use_id": "t", "content": "ok" }]),
                _ => json!(text),
            };
            let parent = index.checked_sub(1).map(|parent| parent.to_string());
            let model = if kind == 'n' { "<synthetic>" } else { "opus" };
            json!({
                "type": role, "uuid": index.to_string(), "parentUuid": parent, "isApiErrorMessage": kind == 'e',
                "message": { "role": role, "model": model, "content": content },
            })
            .to_string()
                + "\n"
        };
        rows.chars().enumerate().map(row).collect()
    }

    #[test]
    fn finds_first_message_of_the_program_after_repeated_prompts() {
        let check = |rows: &str, expected: Option<&str>| {
            let session = SessionDocument::parse(file(rows).into_bytes());
            let point = session.resume_point_before_repeated_prompts();
            assert_eq!(point.map(|point| point.message).as_deref(), expected, "{rows}");
        };
        check("pmrecece", Some("5"));
        check("pmrcecacece", Some("4"));
        check("pmrncnc", Some("5"));
        check("pmcencace", Some("3"));
        // One prompt, another prompt, work between the prompts, or no message of the program.
        check("pmrece", None);
        check("pmcepe", None);
        check("pmcemrce", None);
        check("pmccc", None);
        check("", None);
    }
}
