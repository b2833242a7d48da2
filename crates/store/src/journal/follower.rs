//! Reads a journal while its supervisor writes it. A line counts once its newline is written. This module
//! never locks or changes the file.

use super::loaded::{JournalEntry, parse_entry};
use crate::StoreError;
use crate::open_regular;
use longhaul_core::Record;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A reader with its position in the journal.
#[derive(Debug)]
pub struct JournalFollower<R = Record> {
    file: File,
    path: PathBuf,
    /// Length of the lines read so far. The supervisor may truncate the file to this length, but never below it.
    whole_bytes: u64,
    entries: u64,
    records: PhantomData<R>,
}

impl<R: DeserializeOwned> JournalFollower<R> {
    /// Opens the journal at its start.
    pub fn open(path: &Path) -> Result<JournalFollower<R>, StoreError> {
        let file = open_regular(path).map_err(StoreError::io("open journal", path))?;
        let path = path.to_owned();
        Ok(JournalFollower { file, path, whole_bytes: 0, entries: 0, records: PhantomData })
    }

    /// Returns the steps added since the last call.
    pub fn read(&mut self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        let mut text = Vec::new();
        let position = self.file.seek(SeekFrom::Start(self.whole_bytes));
        position
            .and_then(|_| self.file.read_to_end(&mut text))
            .map_err(StoreError::io("read journal", &self.path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.whole_bytes += whole as u64;
        let mut entries = Vec::new();
        for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.entries += 1;
            entries.push(parse_entry(&self.path, line, self.entries)?);
        }
        Ok(entries)
    }
}
