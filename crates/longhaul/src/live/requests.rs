//! Receives requests to cancel or suspend a run: from its own process over a channel, and from other processes as
//! files, which `longhaul_store` reads and writes.

use super::system::FileWatch;
use longhaul_core::CancelSource;
use longhaul_store::{RunDir, StoreError, SupervisorRequests};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;

pub(crate) struct CancelRequests {
    channel: mpsc::Receiver<CancelSource>,
    /// Requests of other processes. `None` if they cannot be received.
    files: Option<RequestFiles>,
}

struct RequestFiles {
    requests: SupervisorRequests,
    /// Whether a request may have arrived since the last check.
    needs_check: bool,
}

impl CancelRequests {
    /// Receives from this channel and the files of the run. Existing files are received, too. If files cannot
    /// be received, signals can still cancel the run.
    pub(crate) fn new(
        channel: mpsc::Receiver<CancelSource>,
        dir: &RunDir,
        watch: &mut FileWatch,
    ) -> CancelRequests {
        CancelRequests { channel, files: RequestFiles::listen(dir, watch).ok() }
    }

    pub(crate) fn next(&mut self) -> Option<CancelSource> {
        let by_channel = self.channel.try_recv().ok();
        by_channel.or_else(|| self.files.as_mut()?.take())
    }

    pub(crate) async fn receive(&mut self) -> Option<CancelSource> {
        self.channel.recv().await
    }

    pub(crate) async fn receive_within(&mut self, timeout: Duration) -> Option<CancelSource> {
        tokio::time::timeout(timeout, self.channel.recv()).await.ok().flatten()
    }

    /// Schedules a check for requests if a directory has new names. A growing stream does not need one.
    pub(crate) fn on_changes(&mut self, has_new_names: bool) {
        if let Some(files) = self.files.as_mut().filter(|_| has_new_names) {
            files.needs_check = true;
        }
    }

    pub(crate) fn channel(&mut self) -> &mut mpsc::Receiver<CancelSource> {
        &mut self.channel
    }
}

impl RequestFiles {
    fn listen(dir: &RunDir, watch: &mut FileWatch) -> Result<RequestFiles, StoreError> {
        let requests = dir.requests();
        watch.add_dir(requests.open()?);
        Ok(RequestFiles { requests, needs_check: true })
    }

    fn take(&mut self) -> Option<CancelSource> {
        if !self.needs_check {
            return None;
        }
        let source = self.requests.take();
        self.needs_check = source.is_some();
        source
    }
}

/// Follows a run or a workflow to its end, and meanwhile forwards each cancel or suspension to its supervisor in
/// another process. A suspension that this supervisor did not take is withdrawn.
pub(crate) async fn forward_stops<T, E: From<StoreError>>(
    followed: impl Future<Output = Result<T, E>>,
    mut cancels: mpsc::Receiver<CancelSource>,
    requests: &SupervisorRequests,
) -> Result<T, E> {
    let mut followed = pin!(followed);
    let mut suspends = false;
    let result = loop {
        tokio::select! {
            result = &mut followed => break result,
            Some(source) = cancels.recv() => {
                suspends |= matches!(source, CancelSource::Sigterm | CancelSource::Sighup);
                requests.send(source)?;
            }
        }
    };
    if suspends {
        requests.withdraw_suspension();
    }
    result
}
