//! What other processes ask of this run's supervisor: see the store's requests. Noticed as a file event.

use super::watch::Watch;
use longhaul_core::By;
use longhaul_store::{RunDir, RunRequest, StoreError};
use std::io;

/// The requests of one run.
pub(crate) struct Requests {
    dir: RunDir,
    watch: Watch,
    /// Whether something may be there that has not been looked at.
    stale: bool,
}

impl Requests {
    /// Listens from now on; what is there already counts.
    pub(crate) fn listen(dir: &RunDir) -> Result<Requests, StoreError> {
        let path = dir.open_requests()?;
        let watch = Watch::of_dir(&path).map_err(|cause| StoreError::Io {
            doing: "watch",
            path: path.clone(),
            cause,
        })?;
        Ok(Requests { dir: dir.clone(), watch, stale: true })
    }

    /// Who wants the run to end, if somebody does.
    pub(crate) fn take(&mut self) -> Option<By> {
        if !self.stale {
            return None;
        }
        let request = self.dir.take_request();
        self.stale = request.is_some();
        request.map(|request| match request {
            RunRequest::Cancel => By::Person,
            RunRequest::CancelNow => By::PersonNow,
        })
    }

    /// Returns when there may be something new to take.
    pub(crate) async fn arrived(&mut self) -> io::Result<()> {
        self.watch.changed().await?;
        self.stale = true;
        Ok(())
    }
}
