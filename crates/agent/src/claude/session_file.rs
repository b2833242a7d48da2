//! A session file's bytes: whether the agent can resume from them, what is damaged, what they prove.
//! Reads and writes no file; the format is that of 2.1.330.
//!
//! The agent's own reading is tolerant: it skips what is no row, ends a torn last row with a newline
//! before it adds its own, and resumes if there is any row of the conversation. A copy under another
//! directory's folder works as it is, rows unchanged: the agent goes by the file's name.

mod continuity;
mod facts;
mod missing_rows;
mod wrap_up;

use super::wire::{Row, parse};
use memchr::memchr;
use serde::de::IgnoredAny;

pub use continuity::continues;
pub use facts::{BilledMessage, SessionFacts, facts};
pub use missing_rows::missing;
pub(super) use wrap_up::{before_wrap_up, up_to};

/// What a session file is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every line is a row.
    Whole,
    /// It can be resumed, but these lines are lost.
    Damaged(Vec<Damage>),
    /// No row belongs to a conversation: the agent would not find the session.
    Empty,
}

/// A line that is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which line, the first being 1.
    pub line: u64,
    /// How many bytes of the file come before it.
    pub offset: u64,
    /// How long it is in bytes, without its newline.
    pub bytes: u64,
    /// What is wrong with it.
    pub kind: DamageKind,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// It begins as a row and is none: its writer was killed, or the disk was full.
    Torn,
    /// It holds NUL bytes: the machine lost power before the data reached the disk.
    Nul,
    /// It is anything else.
    Garbage,
}

/// How healthy a session file is.
pub fn health(bytes: &[u8]) -> Health {
    let mut conversation = false;
    let mut damage = Vec::new();
    let mut offset = 0;
    for (line, content) in (1..).zip(lines(bytes)) {
        conversation |= row_in(content).and_then(parse::<Row<'_>>).is_some_and(|row| is_conversation(&row));
        if let Some(kind) = damage_of(content) {
            damage.push(Damage { line, offset, bytes: content.len() as u64, kind });
        }
        offset += content.len() as u64 + 1;
    }
    match (conversation, damage.is_empty()) {
        (false, _) => Health::Empty,
        (true, true) => Health::Whole,
        (true, false) => Health::Damaged(damage),
    }
}

/// The file without what is damaged; nothing if nothing is. Each whole row is kept as it is, with its
/// newline, also one that a block of NUL bytes was written into the same line with.
pub fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    lines(bytes).find_map(damage_of)?;
    let mut whole = Vec::with_capacity(bytes.len());
    for row in lines(bytes).filter_map(row_in) {
        whole.extend_from_slice(row);
        whole.push(b'\n');
    }
    Some(whole)
}

/// The rows, read; what is no row is passed over.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = Row<'_>> {
    lines(bytes).filter_map(row_in).filter_map(parse)
}

/// Whether a row is part of what the model is shown.
fn is_conversation(row: &Row<'_>) -> bool {
    let speaks = matches!(row.kind.as_str(), "user" | "assistant" | "attachment" | "system");
    // Older versions keep the sub-agents' conversations in the same file.
    speaks && row.uuid.stated().is_some() && !row.is_sidechain.0
}

/// The lines, without their newlines; the last may lack one.
pub(super) fn lines(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
        let (line, rest) = bytes.split_at(end);
        bytes = rest.get(1..).unwrap_or_default();
        Some(line)
    })
}

/// The row that a line holds, if it holds one whole.
fn row_in(line: &[u8]) -> Option<&[u8]> {
    let start = line.iter().position(|&byte| byte != 0)?;
    let end = line.iter().rposition(|&byte| byte != 0)?;
    line.get(start..=end).filter(|row| is_row(row))
}

fn damage_of(line: &[u8]) -> Option<DamageKind> {
    if memchr(0, line).is_some() {
        Some(DamageKind::Nul)
    } else if line.trim_ascii().is_empty() || is_row(line) {
        None
    } else if line.starts_with(b"{") {
        Some(DamageKind::Torn)
    } else {
        Some(DamageKind::Garbage)
    }
}

/// Whether these bytes are a JSON object, and nothing else.
fn is_row(bytes: &[u8]) -> bool {
    // The values are not looked at: half surrogate pairs, which the agent does write, do no harm.
    let is_json = || {
        let text = std::str::from_utf8(bytes).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()
    };
    bytes.trim_ascii_start().starts_with(b"{") && is_json().is_some()
}

#[cfg(test)]
mod tests;
