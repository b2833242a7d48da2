//! Cancels one run, from any thread. It never waits for the run.

use longhaul_core::CancelSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

// More than a person presses.
const CANCELS_MAX: usize = 8;

/// Cancels one run. Clones cancel the same run.
#[derive(Clone, Debug)]
pub struct Canceller {
    sender: mpsc::Sender<CancelSource>,
    is_cancelled: Arc<AtomicBool>,
}

impl Canceller {
    pub(crate) fn new() -> (Canceller, mpsc::Receiver<CancelSource>) {
        let (sender, cancels) = mpsc::channel(CANCELS_MAX);
        (Canceller { sender, is_cancelled: Arc::default() }, cancels)
    }

    /// Cancels the run: its agent is interrupted and keeps its work. A second call, and a call after the run
    /// finished, do nothing.
    pub fn cancel(&self) {
        if !self.is_cancelled.swap(true, Ordering::Relaxed) {
            self.cancel_by(CancelSource::Person);
        }
    }

    /// Cancels or suspends the run on behalf of `source`. Each call counts: a later
    /// [`PersonNow`](CancelSource::PersonNow) stops the agent at once.
    pub fn cancel_by(&self, source: CancelSource) {
        // The run has finished, or it has more cancels than a person sends.
        let _ = self.sender.try_send(source);
    }
}

#[cfg(test)]
mod tests {
    use super::Canceller;
    use longhaul_core::CancelSource;

    #[test]
    fn cancels_once_and_forwards_each_source() {
        let (canceller, mut cancels) = Canceller::new();
        canceller.cancel();
        canceller.clone().cancel();
        canceller.cancel_by(CancelSource::PersonNow);
        drop(canceller);
        let sent: Vec<_> = std::iter::from_fn(|| cancels.try_recv().ok()).collect();
        assert_eq!(sent, [CancelSource::Person, CancelSource::PersonNow]);
    }
}
