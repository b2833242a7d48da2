//! Receives requests to cancel or suspend a run: from its own process over a channel, and from other processes as
//! files, which `longhaul_store` reads and writes.

use super::system::FileWatch;
use longhaul_core::CancelSource;
use longhaul_store::{RunDir, StoreError, SupervisorRequests};
use std::pin::pin;
use tokio::sync::mpsc;

pub(crate) struct CancelRequests {
    pub(crate) channel: mpsc::Receiver<CancelSource>,
    /// Requests of other processes. `None` if they cannot be received.
    files: Option<SupervisorRequests>,
    /// Whether a file may have arrived since the last check.
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
        let requests = dir.requests();
        let is_open = requests.open().inspect(|path| watch.add_dir(path)).is_ok();
        CancelRequests { channel, files: is_open.then_some(requests), needs_check: true }
    }

    pub(crate) fn next(&mut self) -> Option<CancelSource> {
        let by_channel = self.channel.try_recv().ok();
        if by_channel.is_some() || !self.needs_check {
            return by_channel;
        }
        let source = self.files.as_ref()?.take();
        self.needs_check = source.is_some();
        source
    }

    /// Schedules a check for requests if a directory may have new names. A growing stream does not need one.
    pub(crate) fn on_changes(&mut self, has_new_names: bool) {
        self.needs_check |= has_new_names;
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
