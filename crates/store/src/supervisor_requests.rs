//! Stores requests of other processes to the supervisor of a run or a workflow: empty files in `requests/`. The
//! supervisor removes each one and journals its decision.

use crate::StoreError;
use crate::files::{make_dirs, private};
use longhaul_core::CancelSource;
use std::fs;
use std::path::{Path, PathBuf};

/// The requests to the current or next supervisor.
#[derive(Clone, Debug)]
pub struct SupervisorRequests {
    dir: PathBuf,
}

impl SupervisorRequests {
    pub(crate) fn new(dir: PathBuf) -> SupervisorRequests {
        SupervisorRequests { dir }
    }

    /// Returns the directory of the requests, creating it if necessary.
    pub fn open(&self) -> Result<&Path, StoreError> {
        make_dirs(&self.dir)?;
        Ok(&self.dir)
    }

    /// Requests to cancel or suspend the run, as this source does.
    pub fn send(&self, source: CancelSource) -> Result<(), StoreError> {
        self.open()?;
        let path = self.path(source);
        let file = private().write(true).create(true).truncate(true).open(&path);
        file.map(drop).map_err(StoreError::io("write request", &path))
    }

    /// Removes the strongest pending request and returns its source.
    pub fn take(&self) -> Option<CancelSource> {
        let strongest_first = [CancelSource::PersonNow, CancelSource::Person, CancelSource::Sigterm];
        strongest_first.into_iter().find(|source| fs::remove_file(self.path(*source)).is_ok())
    }

    /// Removes all pending requests.
    pub fn clear(&self) {
        while self.take().is_some() {}
    }

    /// Removes a suspension that no supervisor took, so that it does not stop a later one.
    pub fn withdraw_suspension(&self) {
        // Usually the supervisor took it.
        let _ = fs::remove_file(self.path(CancelSource::Sigterm));
    }

    fn path(&self, source: CancelSource) -> PathBuf {
        self.dir.join(match source {
            CancelSource::PersonNow => "cancel-now",
            CancelSource::Person => "cancel",
            CancelSource::Sigterm | CancelSource::Sighup => "suspend",
        })
    }
}
