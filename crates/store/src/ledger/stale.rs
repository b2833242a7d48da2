//! Marks runs whose ledger entry may be stale: `HOME/ledger-stale/<run id>`, one empty file each. The mark is
//! set before a finished run is resumed and removed once the ledger is up to date.

use crate::files::{if_exists, make_dirs, private};
use crate::find_run::names;
use crate::{Home, RunDir, StoreError, failpoint_io};
use longhaul_core::RunId;
use std::fs;
use std::path::PathBuf;

impl Home {
    /// Marks the ledger entry of this run as possibly stale, until a reader has updated it.
    pub fn mark_stale(&self, run: &RunDir) -> Result<(), StoreError> {
        let path = self.stale_path();
        make_dirs(&path)?;
        let path = path.join(run.id().as_str());
        failpoint_io::open(private().write(true).create(true), &path)
            .map_err(StoreError::io("mark run", &path))?;
        Ok(())
    }

    /// Removes the mark of a run whose ledger entry is up to date.
    pub fn clear_stale(&self, run: &RunId) {
        // If this fails, the mark only causes a needless update.
        drop(fs::remove_file(self.stale_path().join(run.as_str())));
    }

    pub(super) fn stale_runs(&self) -> Result<Vec<RunId>, StoreError> {
        let path = self.stale_path();
        let names = if_exists(names(&path)).map_err(StoreError::io("list stale runs", &path))?;
        Ok(names.unwrap_or_default().into_iter().map(RunId::from).collect())
    }

    fn stale_path(&self) -> PathBuf {
        self.path().join("ledger-stale")
    }
}
