//! Where a conversation stood before the agent was told to save its work. A resume that names that message leaves out
//! what follows it, in the same session and the same file: the new prompt hangs on the message, and every later resume
//! follows the new branch. The agent takes none but the model's messages, and those that its program wrote in the
//! model's place (2.1.330).

use super::{is_conversation, lines, row_in, rows};
use crate::claude::prompts::is_wrap_up;
use crate::claude::vendor_terms::is_interruption_mark;
use crate::claude::wire::{Row, parse};
use std::collections::BTreeMap;

/// What a row is on the way up from the end.
enum RowRole {
    /// A message of the model's.
    Message,
    /// Words that asked for the work to be saved.
    WrapUp,
    /// Any other prompt.
    Prompt,
    /// What nobody said, and the answers of tools.
    Between,
}

/// The last message before the turns in which the work was saved; nothing unless these are the last ones, and follow a
/// message to the same prompt.
pub fn before_wrap_up(bytes: &[u8], words: Option<&str>) -> Option<String> {
    let mut links = BTreeMap::new();
    let mut here = None;
    for row in rows(bytes).filter(is_conversation) {
        let uuid = row.uuid.as_str().to_owned();
        links.insert(uuid.clone(), (row.parent.stated().map(str::to_owned), step(&row, words)));
        here = Some(uuid);
    }
    let (mut saved, mut before) = (false, None);
    // Each row is taken out: a damaged file may hold a circle.
    while let Some((uuid, (parent, step))) = here.and_then(|uuid| links.remove_entry(&uuid)) {
        match step {
            RowRole::Message if saved && before.is_none() => before = Some(uuid),
            RowRole::Prompt => break,
            // It may have been told so more than once.
            RowRole::WrapUp => (saved, before) = (true, None),
            RowRole::Message | RowRole::Between => {}
        }
        here = parent;
    }
    before
}

/// The file up to the row of this message, and with it; all of it if there is none.
pub fn up_to<'a>(bytes: &'a [u8], message: &str) -> &'a [u8] {
    let mut end = 0;
    for line in lines(bytes) {
        end += line.len() + 1;
        if row_in(line).and_then(parse::<Row<'_>>).is_some_and(|row| row.uuid.is(message)) {
            break;
        }
    }
    bytes.get(..end).unwrap_or(bytes)
}

fn step(row: &Row<'_>, words: Option<&str>) -> RowRole {
    match row.kind.as_str() {
        // The agent leaves its program's reports of errors out of the conversation.
        "assistant" if row.is_api_error_message.0 => RowRole::Between,
        "assistant" => RowRole::Message,
        "user" => {
            let parts = row.message.content.parts();
            let texts: Vec<String> = parts
                .iter()
                .filter(|part| part.kind.is("text"))
                .filter_map(|part| part.text.text())
                .collect();
            let asks = |text: &String| {
                is_wrap_up(text) || words.is_some_and(|words| !words.is_empty() && text.starts_with(words))
            };
            if texts.iter().any(asks) {
                RowRole::WrapUp
            } else if texts.iter().all(|text| is_interruption_mark(text)) {
                RowRole::Between
            } else {
                RowRole::Prompt
            }
        }
        _ => RowRole::Between,
    }
}

#[cfg(test)]
mod tests {
    use super::{before_wrap_up, up_to};

    const WRAP_UP: &str = "This run is about to end: its time is nearly up.";

    /// A file of rows, each the child of the one before: `p` a prompt, `m` a message, `e` a report of an error, `w` our
    /// words, `o` words of the user's own, `i` the mark of an interruption, `r` the result of a tool.
    fn file(rows: &str) -> String {
        let row = |(place, kind): (usize, char)| {
            let text = |text: &str| format!("\"{text}\"");
            let (role, content) = match kind {
                'm' | 'e' => ("assistant", text("Yes.")),
                'w' => ("user", text(WRAP_UP)),
                'o' => ("user", text("Save it. Now.")),
                'i' => ("user", text("[Request interrupted by user]")),
                'r' => ("user", r#"[{"type":"tool_result","tool_use_id":"t","content":"ok"}]"#.to_owned()),
                _ => ("user", text("Do it.")),
            };
            let parent = place.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let error = kind == 'e';
            format!(
                r#"{{"type":"{role}","uuid":"{place}","parentUuid":{parent},"isApiErrorMessage":{error},"message":{{"role":"{role}","content":{content}}}}}"#
            ) + "\n"
        };
        rows.chars().enumerate().map(row).collect()
    }

    fn check(rows: &str, words: Option<&str>, expected: Option<&str>) {
        assert_eq!(before_wrap_up(file(rows).as_bytes(), words).as_deref(), expected, "{rows}");
    }

    #[test]
    fn the_message_before_the_saving_is_found() {
        check("pmrmriwmrm", None, Some("3"));
        check("pmw", None, Some("1"));
        check("pmwmewm", None, Some("1"));
        check("pmrewm", None, Some("1"));
        check("pmom", Some("Save it."), Some("1"));
        check("pmom", None, None);
        check("pmom", Some(""), None);
        // Nothing was saved, or work followed on it, or there is nothing to go on from.
        check("pmrm", None, None);
        check("pmwmpm", None, None);
        check("pmpwm", None, None);
        check("wm", None, None);
        check("", None, None);
    }

    #[test]
    fn a_file_is_cut_behind_a_message() {
        let whole = file("pmrmw");
        assert_eq!(up_to(whole.as_bytes(), "1"), file("pm").as_bytes());
        assert_eq!(up_to(whole.as_bytes(), "9"), whole.as_bytes());
    }
}
