//! Receives requests of other processes to this run's supervisor. `longhaul_store` stores them as files.

use super::file_watch::FileWatch;
use longhaul_core::CancelSource;
use longhaul_store::{RunDir, StoreError, SupervisorRequest};

/// The requests of one run.
pub(crate) struct RequestWatch {
    dir: RunDir,
    /// Whether a request may have arrived since the last check.
    needs_check: bool,
}

impl RequestWatch {
    /// Starts the watch. Existing requests are received, too.
    ///
    /// # Errors
    ///
    /// Returns an error if requests cannot be received. Signals can still cancel the run.
    pub(crate) fn listen(dir: &RunDir, watch: &mut FileWatch) -> Result<RequestWatch, StoreError> {
        watch.add_dir(&dir.open_requests()?);
        Ok(RequestWatch { dir: dir.clone(), needs_check: true })
    }

    /// Schedules a check, because a request may have arrived.
    pub(crate) fn schedule_check(&mut self) {
        self.needs_check = true;
    }

    /// Takes the next request to cancel the run, or returns `None` if there is none.
    pub(crate) fn take(&mut self) -> Option<CancelSource> {
        if !self.needs_check {
            return None;
        }
        let request = self.dir.take_request();
        self.needs_check = request.is_some();
        request.map(|request| match request {
            SupervisorRequest::Cancel => CancelSource::Person,
            SupervisorRequest::CancelNow => CancelSource::PersonNow,
        })
    }
}
