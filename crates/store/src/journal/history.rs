//! Reading a journal's text into steps, and telling a torn tail from damage and from the future.
//! Nothing here touches the file.

use crate::StoreError;
use longhaul_core::{Moment, Record};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::path::Path;

/// What a journal holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Its whole steps, in order.
    pub entries: Vec<JournalEntry>,
    /// The length of the torn last line that was left out, in bytes.
    pub torn_bytes: u64,
}

/// One step as it was journalled.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was taken.
    pub at: Moment,
    /// What it decided; never empty.
    pub records: Vec<Record>,
}

impl History {
    /// Every record, in order: what `Run::replay` wants.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().flat_map(|entry| &entry.records)
    }

    /// When its last step was taken; nothing if there is none.
    pub fn last_step_at(&self) -> Option<Moment> {
        self.entries.last().map(|entry| entry.at)
    }

    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<History, StoreError> {
        let mut history = History::default();
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            // A crash of the machine can leave the last line as long as it was, and full of NULs.
            if after.is_empty() && !is_json(line) {
                break;
            }
            history.entries.push(entry(path, line, history.entries.len() as u64 + 1)?);
            rest = after;
        }
        history.torn_bytes = rest.len() as u64;
        Ok(history)
    }
}

/// A whole line, its records still text: what is wrong with the line is told apart from a record
/// that we do not know.
#[derive(Deserialize)]
struct RawJournalLine<'a> {
    seq: u64,
    at: Moment,
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
}

/// The step in line `number`, which is also the number it should have.
pub(super) fn entry(path: &Path, line: &[u8], number: u64) -> Result<JournalEntry, StoreError> {
    let envelope: RawJournalLine<'_> = serde_json::from_slice(line).map_err(|cause| {
        StoreError::JournalDamaged { path: path.to_owned(), line: number, cause: cause.to_string() }
    })?;
    if envelope.seq != number {
        return Err(StoreError::JournalGap {
            path: path.to_owned(),
            line: number,
            expected: number,
            found: envelope.seq,
        });
    }
    let records = envelope.records.iter().map(|record| serde_json::from_str(record.get()));
    let records = records.collect::<Result<_, _>>().map_err(|cause| StoreError::JournalNewer {
        path: path.to_owned(),
        line: number,
        // The list of everything that is known helps nobody here.
        cause: cause.to_string().split(", expected").next().unwrap_or_default().to_owned(),
    })?;
    Ok(JournalEntry { seq: number, at: envelope.at, records })
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}
