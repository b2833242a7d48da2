//! Parses a journal's text into steps, and distinguishes a torn tail from damage and from newer versions. It
//! never touches the file.

use super::FORMAT;
use crate::StoreError;
use longhaul_core::{Moment, Record, RunHistory};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use std::path::Path;

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedJournal<R = Record> {
    /// Complete steps, in order.
    pub entries: Vec<JournalEntry<R>>,
    /// Length of the torn last line that was dropped, in bytes.
    pub torn_bytes: u64,
}

impl<R> Default for LoadedJournal<R> {
    fn default() -> LoadedJournal<R> {
        LoadedJournal { entries: Vec::new(), torn_bytes: 0 }
    }
}

/// One step as it was journaled.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry<R = Record> {
    /// Number of the step, starting at 1.
    pub seq: u64,
    /// When the step was decided.
    pub at: Moment,
    /// Records of the step; never empty.
    pub records: Vec<R>,
}

impl LoadedJournal {
    /// Folds the records to the history of the run.
    pub fn history(&self) -> RunHistory {
        RunHistory::new(self.records())
    }
}

impl<R: DeserializeOwned> LoadedJournal<R> {
    /// Returns every record in order, with the time of its step, as the core replays them.
    pub fn records(&self) -> impl Iterator<Item = (Moment, &R)> {
        self.entries.iter().flat_map(|entry| entry.records.iter().map(|record| (entry.at, record)))
    }

    /// Returns when the last step was decided, or `None` if there is none.
    pub fn last_step_at(&self) -> Option<Moment> {
        self.entries.last().map(|entry| entry.at)
    }

    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<LoadedJournal<R>, StoreError> {
        let mut journal = LoadedJournal::default();
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = (&rest[..end], &rest[end + 1..]);
            // After a crash of the machine the last line can have its full length but contain NULs.
            if tail.is_empty() && !is_json(line) {
                break;
            }
            journal.entries.push(parse_entry(path, line, journal.entries.len() as u64 + 1)?);
            rest = tail;
        }
        journal.torn_bytes = rest.len() as u64;
        Ok(journal)
    }
}

/// A complete line with its records still unparsed, to distinguish a malformed line from an unknown record.
#[derive(Deserialize)]
#[serde(expecting = "a step")]
struct RawJournalLine<'a> {
    #[serde(default)]
    format: Option<u32>,
    seq: u64,
    at: Moment,
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
}

/// Parses the step in line `number`, which must also be the number of the step.
pub(super) fn parse_entry<R: DeserializeOwned>(
    path: &Path,
    line: &[u8],
    number: u64,
) -> Result<JournalEntry<R>, StoreError> {
    let damaged = |cause| StoreError::JournalDamaged { path: path.to_owned(), line: number, cause };
    let newer = |cause| StoreError::JournalNewer { path: path.to_owned(), line: number, cause };
    let envelope: RawJournalLine<'_> =
        serde_json::from_slice(line).map_err(|cause| damaged(format!("is damaged: {cause}")))?;
    if envelope.seq != number {
        return Err(damaged(format!("is step {}, expected {number}", envelope.seq)));
    }
    match envelope.format {
        Some(format) if format != FORMAT => return Err(newer(format!("format {format}"))),
        None if number == 1 => return Err(damaged("is damaged: it names no format".to_owned())),
        Some(_) | None => {}
    }
    let records = envelope.records.iter().map(|record| serde_json::from_str(record.get()));
    // The list of all known variants does not help in an error.
    let unknown = |cause: serde_json::Error| {
        newer(cause.to_string().split(", expected").next().unwrap_or_default().to_owned())
    };
    let records = records.collect::<Result<_, _>>().map_err(unknown)?;
    Ok(JournalEntry { seq: number, at: envelope.at, records })
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}
