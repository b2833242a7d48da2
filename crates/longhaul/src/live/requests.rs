//! Requests of other processes to this run's supervisor; see the store's requests.

use super::file_watch::FileWatch;
use longhaul_core::CancelSource;
use longhaul_store::{RunDir, StoreError, SupervisorRequest};

/// The requests of one run.
pub(crate) struct RequestWatch {
    dir: RunDir,
    /// Whether a request may have arrived since the last check.
    stale: bool,
}

impl RequestWatch {
    /// Starts to watch. Existing requests count, too.
    ///
    /// # Errors
    ///
    /// Returns an error if requests cannot be received. Signals can still cancel the run.
    pub(crate) fn listen(dir: &RunDir, watch: &mut FileWatch) -> Result<RequestWatch, StoreError> {
        watch.dir(&dir.open_requests()?);
        Ok(RequestWatch { dir: dir.clone(), stale: true })
    }

    /// Marks that a request may have arrived.
    pub(crate) fn arrived(&mut self) {
        self.stale = true;
    }

    /// Takes the next request to cancel the run, or returns `None` if there is none.
    pub(crate) fn take(&mut self) -> Option<CancelSource> {
        if !self.stale {
            return None;
        }
        let request = self.dir.take_request();
        self.stale = request.is_some();
        request.map(|request| match request {
            SupervisorRequest::Cancel => CancelSource::Person,
            SupervisorRequest::CancelNow => CancelSource::PersonNow,
        })
    }
}
