//! What other processes want of a run's supervisor: files without content in `requests/`. They are
//! wishes, not decisions: the supervisor takes each away and journals what it makes of it.

use crate::files::{make_dirs, private};
use crate::{RunDir, StoreError};
use std::fs;
use std::path::PathBuf;

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorRequest {
    /// End the run: interrupt the agent, so that its result and cost are kept.
    Cancel,
    /// End the run without waiting for the agent.
    CancelNow,
}

impl SupervisorRequest {
    // The stronger one first: it is taken in place of both.
    const ALL: [SupervisorRequest; 2] = [SupervisorRequest::CancelNow, SupervisorRequest::Cancel];

    fn file_name(self) -> &'static str {
        match self {
            SupervisorRequest::Cancel => "cancel",
            SupervisorRequest::CancelNow => "cancel-now",
        }
    }
}

impl RunDir {
    /// Puts a wish where the run's supervisor finds it, now or when there is one again.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn send_request(&self, request: SupervisorRequest) -> Result<(), StoreError> {
        // Runs of older versions have no such directory.
        let dir = self.open_requests()?;
        let path = dir.join(request.file_name());
        let put = private().write(true).create(true).truncate(true).open(&path);
        put.map(drop).map_err(StoreError::io("write request", &path))
    }

    /// Takes away the strongest wish that is there.
    pub fn take_request(&self) -> Option<SupervisorRequest> {
        let dir = self.requests_path();
        SupervisorRequest::ALL
            .into_iter()
            .find(|request| fs::remove_file(dir.join(request.file_name())).is_ok())
    }

    /// The directory of wishes, made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open_requests(&self) -> Result<PathBuf, StoreError> {
        let dir = self.requests_path();
        make_dirs(&dir).map_err(StoreError::io("create directory", &dir))?;
        Ok(dir)
    }
}
