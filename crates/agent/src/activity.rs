//! Describes the agent's current activity on one line. For people only.

use crate::byte_scan::leading;
use crate::snapshot::truncate_to_bytes;
use crate::tool_input::ToolArgument;
use memchr::memchr;

const CHARS_MAX: usize = 80;
// Enough for 80 characters and for control characters, which are dropped.
const BYTES_MAX: usize = 8 * CHARS_MAX;

pub(crate) fn describe_call(tool: &str, argument: Option<&ToolArgument<'_>>) -> String {
    let argument = argument.map_or("", ToolArgument::as_str).trim_start();
    one_line(&with_detail(tool, truncate_to_bytes(argument, BYTES_MAX)))
}

pub(crate) fn with_detail(name: &str, detail: &str) -> String {
    if detail.is_empty() { name.to_owned() } else { [name, ": ", detail].concat() }
}

/// Returns the start of a text without characters that could disturb a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let text = truncate_to_bytes(text.trim_start(), BYTES_MAX);
    let end = memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
    let text = text[..end].trim_end();
    // Most texts start with plain characters, which are copied together.
    let is_plain = |byte: u8| (byte == b' ') | byte.is_ascii_graphic();
    let plain = leading(text.as_bytes(), is_plain).min(CHARS_MAX);
    let (start, rest) = text.split_at(plain);
    let mut chars = rest.chars().filter(|c| !c.is_control());
    let mut line = String::with_capacity(CHARS_MAX + '…'.len_utf8());
    line.push_str(start);
    line.extend(chars.by_ref().take(CHARS_MAX - plain));
    if chars.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}
