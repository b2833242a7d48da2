//! Runs that the ledger may know too little of: `HOME/ledger-missed/<run id>`, an empty file each. It is there from
//! before a run that was over goes on until the ledger knows, and where the ledger could not be written when a run ended.

use crate::files::{make_dirs, private};
use crate::{Home, RunDir, StoreError, failpoint_io};
use longhaul_core::RunId;
use std::fs;
use std::io;
use std::path::PathBuf;

impl Home {
    /// Notes that the ledger may know too little of this run, until somebody has looked.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn mark_stale(&self, run: &RunDir) -> Result<(), StoreError> {
        let path = self.missed_path();
        make_dirs(&path).map_err(StoreError::io("create directory", &path))?;
        let path = path.join(run.id().as_str());
        failpoint_io::open(private().write(true).create(true), &path)
            .map_err(StoreError::io("note run", &path))?;
        Ok(())
    }

    /// The ledger knows all of this run.
    pub fn clear_stale(&self, run: &RunId) {
        // One that stays is looked at once more than needed.
        drop(fs::remove_file(self.missed_path().join(run.as_str())));
    }

    /// The runs that were noted.
    pub(super) fn stale_runs(&self) -> Result<Vec<RunId>, StoreError> {
        let path = self.missed_path();
        match fs::read_dir(&path) {
            Ok(entries) => {
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                Ok(names.map(|name| RunId::from(name.as_str())).collect())
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(StoreError::io("list missed runs", &path)(cause)),
        }
    }

    fn missed_path(&self) -> PathBuf {
        self.path().join("ledger-missed")
    }
}
