//! Analyzes a session file: whether the agent can resume from it, its damage, and the facts it contains.
//! Takes bytes, never accesses a file. The format is that of 2.1.330.
//!
//! The agent parses leniently. It skips lines that are not rows, and ends a truncated last row with a newline
//! before it appends. It resumes if any row of the conversation exists. A copy under another directory works
//! unchanged, because only the file's name matters.

mod continuity;
mod facts;
mod missing_rows;
mod wrap_up;

use super::wire::{Row, parse};
use memchr::memchr;
use serde::de::IgnoredAny;

pub use continuity::continuity;
pub use facts::{BilledMessage, SessionFacts, facts};
pub use missing_rows::missing_rows;
pub(super) use wrap_up::{history_up_to, resume_point_before_wrap_up};

/// The condition of a session file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every line is a row.
    Whole,
    /// It can be resumed, but these lines are lost.
    Damaged(Vec<Damage>),
    /// No row belongs to a conversation, so the agent would not find the session.
    Empty,
}

/// A line that is not a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Line number, starting at 1.
    pub line: u64,
    /// Offset of the line in bytes.
    pub offset: u64,
    /// Length in bytes, without the newline.
    pub bytes: u64,
    /// The kind of damage.
    pub kind: DamageKind,
}

/// The kind of damage of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// A truncated row: its writer was killed, or the disk was full.
    Torn,
    /// A line with NUL bytes: the machine lost power before the data reached the disk.
    Nul,
    /// Any other text.
    Garbage,
}

/// Returns the condition of a session file.
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

/// Returns the file without the damaged parts, or `None` if nothing is damaged. Whole rows stay unchanged,
/// including a row that shares its line with a block of NUL bytes.
pub fn repair(bytes: &[u8]) -> Option<Vec<u8>> {
    lines(bytes).find_map(damage_of)?;
    let mut whole = Vec::with_capacity(bytes.len());
    for row in lines(bytes).filter_map(row_in) {
        whole.extend_from_slice(row);
        whole.push(b'\n');
    }
    Some(whole)
}

/// Parses the rows. Other lines are skipped.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = Row<'_>> {
    lines(bytes).filter_map(row_in).filter_map(parse)
}

/// Returns whether a row is part of the conversation that the model sees.
fn is_conversation(row: &Row<'_>) -> bool {
    let is_conversation_kind = matches!(row.kind.as_str(), "user" | "assistant" | "attachment" | "system");
    // Older versions keep the conversations of sub-agents in the same file.
    is_conversation_kind && row.uuid.non_empty().is_some() && !row.is_sidechain.0
}

/// Returns the lines without their newlines. The last line may lack one.
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

/// Returns the row in a line, if it is whole.
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

/// Returns whether these bytes are a JSON object and nothing else.
fn is_row(bytes: &[u8]) -> bool {
    // The values are not parsed, because half surrogate pairs, which the agent writes, do no harm.
    let is_json = || {
        let text = std::str::from_utf8(bytes).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()
    };
    bytes.trim_ascii_start().starts_with(b"{") && is_json().is_some()
}

#[cfg(test)]
mod tests;
