//! What the agent is doing, in a few words on one line. For people only.

use super::wire::{Block, ToolInput};
use crate::glance::beginning;

const CHARS_MAX: usize = 80;
// Enough for as many characters, and for what is left out of them.
const BYTES_MAX: usize = 8 * CHARS_MAX;

/// A tool call: its name and the one argument that says most.
pub(super) fn of_tool(call: &Block<'_>) -> String {
    let name = call.name.as_str();
    let says_most = says_most(&call.input);
    one_line(&says_most.map_or_else(|| name.to_owned(), |text| format!("{name}: {}", first_line(text))))
}

/// The one argument that says most.
pub(super) fn says_most<'a>(input: &'a ToolInput<'_>) -> Option<&'a str> {
    let ToolInput {
        command, file_path, notebook_path, pattern, url, query, skill, description, path, ..
    } = input;
    [command, file_path, notebook_path, pattern, url, query, skill, description, path]
        .into_iter()
        .find_map(|text| text.stated())
}

/// The beginning of a text, without what could disturb a terminal.
pub(super) fn one_line(text: &str) -> String {
    let mut signs = first_line(text).chars().filter(|sign| !sign.is_control());
    let mut line = String::with_capacity(CHARS_MAX);
    line.extend(signs.by_ref().take(CHARS_MAX));
    if signs.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

fn first_line(text: &str) -> &str {
    beginning(text.trim_start(), BYTES_MAX).lines().next().unwrap_or_default().trim_end()
}
