//! Stores requests of other processes to a run's supervisor: empty files in `requests/`. The supervisor
//! removes each one and journals its decision.

use crate::files::{make_dirs, private};
use crate::{RunDir, StoreError};
use std::fs;
use std::path::PathBuf;

/// A request to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorRequest {
    /// Cancel the run: interrupt the agent, so that its result and cost are recorded.
    Cancel,
    /// Cancel the run without waiting for the agent.
    CancelNow,
}

impl SupervisorRequest {
    // The stronger request comes first, so it is taken first.
    const ALL: [SupervisorRequest; 2] = [SupervisorRequest::CancelNow, SupervisorRequest::Cancel];

    fn file_name(self) -> &'static str {
        match self {
            SupervisorRequest::Cancel => "cancel",
            SupervisorRequest::CancelNow => "cancel-now",
        }
    }
}

impl RunDir {
    /// Writes a request for the current or next supervisor of the run.
    pub fn send_request(&self, request: SupervisorRequest) -> Result<(), StoreError> {
        // Runs of older versions have no such directory.
        let dir = self.open_requests()?;
        let path = dir.join(request.file_name());
        let file = private().write(true).create(true).truncate(true).open(&path);
        file.map(drop).map_err(StoreError::io("write request", &path))
    }

    /// Removes the strongest pending request and returns it.
    pub fn take_request(&self) -> Option<SupervisorRequest> {
        let dir = self.requests_path();
        SupervisorRequest::ALL
            .into_iter()
            .find(|request| fs::remove_file(dir.join(request.file_name())).is_ok())
    }

    /// Returns the directory of requests, creating it if necessary.
    pub fn open_requests(&self) -> Result<PathBuf, StoreError> {
        let dir = self.requests_path();
        make_dirs(&dir).map_err(StoreError::io("create directory", &dir))?;
        Ok(dir)
    }
}
