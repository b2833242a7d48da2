//! Writes a run's journal, and knows whether all of it is on disk. It never reads the journal.

use longhaul_core::{Moment, Record};
use longhaul_store::{Journal, StoreError};

/// The only writer of one run's journal.
pub(crate) struct JournalWriter {
    journal: Journal,
    /// Whether an appended record is not yet on disk.
    needs_sync: bool,
}

impl JournalWriter {
    /// Creates the writer of an open and locked journal.
    pub(crate) fn new(journal: Journal) -> JournalWriter {
        JournalWriter { journal, needs_sync: false }
    }

    /// Appends the records of a step that was decided at `at`, all or none.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be written.
    pub(crate) fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), StoreError> {
        self.journal.append(at, records)?;
        self.needs_sync = true;
        Ok(())
    }

    /// Brings all records to the disk, so that they survive a power cut. Returns `false` if they were there
    /// already.
    ///
    /// # Errors
    ///
    /// Returns an error if the disk refuses them.
    pub(crate) fn sync(&mut self) -> Result<bool, StoreError> {
        if !self.needs_sync {
            return Ok(false);
        }
        self.journal.sync()?;
        self.needs_sync = false;
        Ok(true)
    }
}
