//! A session file of Claude Code, parsed once: whether the agent can resume from it, its damage, and the rows
//! of its conversation. Takes bytes, never accesses a file. The format is that of 2.1.330.
//!
//! The agent parses leniently. It skips lines that are not rows, and ends a truncated last row with a newline
//! before it appends. It resumes if any row of the conversation exists. A copy under another directory works
//! unchanged, because only the file's name matters.

mod continuity;
mod missing_rows;
mod repeated_prompts;
mod session_row;
mod wrap_up;

use super::wire::{Row, UnwrittenEvent, parse};
use longhaul_core::Continuity;
use memchr::memchr;
use serde::de::IgnoredAny;
use session_row::SessionRow;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

pub use continuity::SessionHistory;
pub use wrap_up::ResumePoint;

/// A session file, parsed once.
#[derive(Debug)]
pub struct SessionDocument {
    bytes: Vec<u8>,
    /// The rows that the model sees, in file order.
    rows: Vec<SessionRow>,
    /// Whether a line is not a row.
    is_damaged: bool,
}

/// The condition of a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every line is a row.
    Whole,
    /// It can be resumed, but some lines are lost.
    Damaged,
    /// No row belongs to a conversation, so the agent would not find the session.
    Empty,
}

impl SessionDocument {
    pub(super) fn parse(bytes: Vec<u8>) -> SessionDocument {
        let (mut rows, mut is_damaged, mut start) = (Vec::new(), false, 0);
        for line in lines(&bytes) {
            let content = without_nul(line);
            match parse_row(content) {
                Some(row) if is_conversation(&row) => rows.push(SessionRow::new(&row, start, line.len())),
                Some(_) => {}
                // A row that cannot be parsed is no damage: the agent writes half surrogate pairs.
                None => is_damaged |= !line.trim_ascii().is_empty() && !is_json_object(content),
            }
            is_damaged |= content.len() < line.len();
            start += line.len() + 1;
        }
        SessionDocument { bytes, rows, is_damaged }
    }

    fn line(&self, row: &SessionRow) -> &[u8] {
        without_nul(&self.bytes[row.start..row.end])
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether the agent can continue from the file.
    pub fn health(&self) -> Health {
        match (self.rows.is_empty(), self.is_damaged) {
            (true, _) => Health::Empty,
            (false, false) => Health::Whole,
            (false, true) => Health::Damaged,
        }
    }

    /// Returns the bytes without the damaged parts, or `None` if nothing is damaged. Whole rows stay
    /// unchanged, including a row that shares its line with a block of NUL bytes.
    pub fn without_damage(&self) -> Option<Vec<u8>> {
        if !self.is_damaged {
            return None;
        }
        let mut whole = Vec::with_capacity(self.bytes.len());
        for row in lines(&self.bytes).map(without_nul).filter(|row| is_json_object(row)) {
            whole.extend_from_slice(row);
            whole.push(b'\n');
        }
        Some(whole)
    }

    /// Returns the rows that an attempt's stream contains and the file lacks. They must be appended to the
    /// file, which that attempt wrote last. `started` is the length of the file in bytes when the attempt
    /// started, if it used this file.
    ///
    /// Restoring stops at a message of the agent program and at a call that did not run. A later exchange is
    /// not restored. Nothing is restored if file and stream do not match.
    pub fn missing_rows(&self, started: Option<usize>, stream: &[u8]) -> Vec<u8> {
        missing_rows::missing_rows(self, started, stream)
    }

    /// Returns whether this file has all rows of `other`, and rows that `other` lacks, of an attempt that started after
    /// `last_row` and wrote this stream. That row counts, too.
    pub fn is_ahead_of(
        &self,
        other: &SessionDocument,
        last_row: Option<&str>,
        stream: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        fn uuids(document: &SessionDocument) -> BTreeSet<&str> {
            document.rows.iter().map(|row| row.uuid.as_str()).collect()
        }
        let (own, others) = (uuids(self), uuids(other));
        let is_additional = |uuid: &str| own.contains(uuid) && !others.contains(uuid);
        own.len() > others.len()
            && others.is_subset(&own)
            && (last_row.is_some_and(is_additional)
                || lines(&stream())
                    .filter_map(parse::<UnwrittenEvent<'_>>)
                    .any(|event| is_additional(event.uuid.as_str())))
    }

    /// Returns the ids of the tool calls whose results are in the conversation, up to and including this
    /// message, or in all of it.
    pub fn answered_calls(&self, up_to: Option<&str>) -> BTreeSet<String> {
        let last = self.rows.iter().position(|row| Some(row.uuid.as_str()) == up_to);
        let rows = last.map_or(&*self.rows, |last| &self.rows[..=last]);
        rows.iter().flat_map(|row| row.answered.iter().cloned()).collect()
    }

    /// Returns the id of the conversation's last row.
    pub fn last_row_id(&self) -> Option<&str> {
        self.rows.last().map(|row| row.uuid.as_str())
    }

    /// Returns the message to resume from if the last turns only belong to a wrap-up: the message before them. The wrap-up
    /// is recognized by `wrap_up_prompt` or by Longhaul's default prompt.
    pub fn resume_point_before_wrap_up(&self, wrap_up_prompt: Option<&str>) -> Option<ResumePoint> {
        wrap_up::resume_point(self, wrap_up_prompt)
    }

    /// Returns the error report to resume from if the last attempts only added prompts and error reports: the one after
    /// the first of these prompts.
    pub fn resume_point_before_repeated_prompts(&self) -> Option<ResumePoint> {
        repeated_prompts::resume_point(self)
    }

    /// Returns the rows of the conversation, the last one first.
    fn rows_from_end(&self) -> impl Iterator<Item = &SessionRow> {
        let mut by_uuid: BTreeMap<&str, &SessionRow> =
            self.rows.iter().map(|row| (row.uuid.as_str(), row)).collect();
        let mut next = self.rows.last().map(|row| row.uuid.as_str());
        // Each row is removed, because a damaged file may contain a cycle.
        iter::from_fn(move || {
            let row = by_uuid.remove(next?)?;
            next = row.parent.as_deref();
            Some(row)
        })
    }

    /// Returns the history in the first `bytes` bytes of the file, or `None` if the file is shorter.
    pub fn history(&self, bytes: u64) -> Option<SessionHistory> {
        let length = usize::try_from(bytes).ok().filter(|length| *length <= self.bytes.len())?;
        Some(continuity::history(&self.rows[..self.rows.partition_point(|row| row.end <= length)]))
    }

    /// Returns whether this file continues an earlier history from its end. Of several branches the last one
    /// counts, because the next resume continues it.
    pub fn continuity(&self, before: &SessionHistory) -> Continuity {
        continuity::continuity(before, &self.rows)
    }
}

/// Parses the rows. Other lines are skipped.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = Row<'_>> {
    lines(bytes).map(without_nul).filter_map(parse_row)
}

fn parse_row(line: &[u8]) -> Option<Row<'_>> {
    if starts_object(line) { parse(line) } else { None }
}

fn is_conversation(row: &Row<'_>) -> bool {
    let is_conversation_kind = matches!(row.kind.as_str(), "user" | "assistant" | "attachment" | "system");
    // Older versions keep the conversations of sub-agents in the same file.
    is_conversation_kind && row.uuid.non_empty().is_some() && !row.is_sidechain.is_set()
}

/// Returns the lines without their newlines. The last line may lack one.
pub(super) fn lines(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
        let (line, rest) = bytes.split_at(end);
        bytes = rest.get(1..).unwrap_or_default();
        Some(line)
    })
}

/// Returns a line without the NUL bytes around it, which a machine leaves that lost power before the data
/// reached the disk.
fn without_nul(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|&byte| byte != 0).unwrap_or(line.len());
    let end = line.iter().rposition(|&byte| byte != 0).map_or(start, |last| last + 1);
    &line[start..end]
}

fn is_json_object(bytes: &[u8]) -> bool {
    // The values are not parsed, because half surrogate pairs, which the agent writes, do no harm.
    let is_json = || {
        let text = std::str::from_utf8(bytes).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()
    };
    starts_object(bytes) && is_json().is_some()
}

fn starts_object(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

#[cfg(test)]
mod tests;
