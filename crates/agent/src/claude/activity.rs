//! What the agent is doing, in a few words on one line. For people only.

use super::wire::{Block, ToolInput};
use crate::snapshot::truncate_to_bytes;

const CHARS_MAX: usize = 80;
// Enough for as many characters, and for what is left out of them.
const BYTES_MAX: usize = 8 * CHARS_MAX;

/// A tool call: its name and the one argument that says most.
pub(super) fn of_tool(call: &Block<'_>) -> String {
    one_line(&named(call.name.as_str(), first_line(says_most(&call.input))))
}

/// The one argument that says most; empty if none of those known is there.
pub(super) fn says_most<'a>(input: &'a ToolInput<'_>) -> &'a str {
    let ToolInput {
        command,
        file_path,
        notebook_path,
        pattern,
        url,
        query,
        skill,
        title,
        description,
        path,
        ..
    } = input;
    [command, file_path, notebook_path, pattern, url, query, skill, title, description, path]
        .into_iter()
        .map(|text| text.as_str())
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// A tool's name, with what it was about.
pub(super) fn named(name: &str, about: &str) -> String {
    if about.is_empty() { name.to_owned() } else { format!("{name}: {about}") }
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
    truncate_to_bytes(text.trim_start(), BYTES_MAX).lines().next().unwrap_or_default().trim_end()
}
