//! Stores requests of other processes to a run's supervisor: empty files in `requests/`. The supervisor
//! removes each one and journals its decision.

use crate::files::{make_dirs, private};
use crate::{RunDir, StoreError};
use longhaul_core::word_enum;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

word_enum! {
    /// A request to the supervisor, with the name of its file. The stronger one comes first, so it is taken first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum SupervisorRequest {
        /// Cancel the run without waiting for the agent.
        CancelNow = "cancel-now",
        /// Cancel the run: interrupt the agent, so that its result and cost are recorded.
        Cancel = "cancel",
        /// Suspend the run, as SIGTERM to its supervisor does.
        Suspend = "suspend",
    }
}

impl RunDir {
    /// Writes a request for the current or next supervisor of the run.
    pub fn send_request(&self, request: SupervisorRequest) -> Result<(), StoreError> {
        send_to(&self.requests_path(), request)
    }

    /// Removes the strongest pending request and returns it.
    pub fn take_request(&self) -> Option<SupervisorRequest> {
        take_from(&self.requests_path())
    }

    /// Removes a request that no supervisor took, so that it does not stop a later one.
    pub fn withdraw_request(&self, request: SupervisorRequest) {
        withdraw_from(&self.requests_path(), request);
    }

    /// Returns the directory of requests, creating it if necessary.
    pub fn open_requests(&self) -> Result<PathBuf, StoreError> {
        let dir = self.requests_path();
        make_dirs(&dir).map_err(StoreError::io("create directory", &dir))?;
        Ok(dir)
    }
}

/// Writes a request into this directory of requests.
pub(crate) fn send_to(dir: &Path, request: SupervisorRequest) -> Result<(), StoreError> {
    // Runs of older versions have no such directory.
    make_dirs(dir).map_err(StoreError::io("create directory", dir))?;
    let path = dir.join(request.as_str());
    let file = private().write(true).create(true).truncate(true).open(&path);
    file.map(drop).map_err(StoreError::io("write request", &path))
}

/// Removes the strongest request in this directory and returns it.
pub(crate) fn take_from(dir: &Path) -> Option<SupervisorRequest> {
    let is_taken = |request: &SupervisorRequest| fs::remove_file(dir.join(request.as_str())).is_ok();
    SupervisorRequest::ALL.iter().copied().find(is_taken)
}

/// Removes this request from this directory, if it is pending.
pub(crate) fn withdraw_from(dir: &Path, request: SupervisorRequest) {
    // Usually the supervisor took it.
    let _ = fs::remove_file(dir.join(request.as_str()));
}
