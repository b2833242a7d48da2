//! What other processes ask of this run's supervisor: see the store's requests.

use super::file_watch::FileWatch;
use longhaul_core::CancelSource;
use longhaul_store::{RunDir, StoreError, SupervisorRequest};

/// The requests of one run.
pub(crate) struct RequestWatch {
    dir: RunDir,
    /// Whether something may be there that has not been looked at.
    stale: bool,
}

impl RequestWatch {
    /// Listens from now on; what is there already counts.
    ///
    /// # Errors
    ///
    /// If there can be no requests: the run can still be cancelled by signals.
    pub(crate) fn listen(dir: &RunDir, watch: &mut FileWatch) -> Result<RequestWatch, StoreError> {
        watch.dir(&dir.open_requests()?);
        Ok(RequestWatch { dir: dir.clone(), stale: true })
    }

    /// Something may have arrived.
    pub(crate) fn arrived(&mut self) {
        self.stale = true;
    }

    /// Who wants the run to end, if somebody does.
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
