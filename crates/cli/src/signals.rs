//! Maps the process's signals to cancel requests: the first Ctrl-C interrupts, the second stops at once;
//! SIGTERM and SIGHUP stop gracefully. Under `nohup`, SIGHUP stays ignored.

use crate::failure::{Failure, OrFailure};
use longhaul::{Canceller, ignores_hang_up};
use longhaul_core::CancelSource;
use std::future;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Whether a signal has arrived that cancels or suspends.
static RECEIVED: AtomicBool = AtomicBool::new(false);

// More than a person presses.
const CANCELS_MAX: usize = 8;

/// Cancels this run with each signal of this process. Must be called on a runtime.
pub fn cancel(canceller: Canceller) -> Result<(), Failure> {
    let mut cancels = cancels()?;
    tokio::spawn(async move {
        while let Some(source) = cancels.recv().await {
            canceller.cancel_by(source);
        }
    });
    Ok(())
}

/// Starts listening for signals. Must be called on a runtime.
pub fn cancels() -> Result<mpsc::Receiver<CancelSource>, Failure> {
    let listen = |kind| signal(kind).or_unexpected("cannot listen to signals");
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = if ignores_hang_up() { None } else { Some(listen(SignalKind::hangup())?) };
    let (sender, receiver) = mpsc::channel(CANCELS_MAX);
    tokio::spawn(async move {
        let mut presses = 0_u32;
        loop {
            let source = tokio::select! {
                _ = interrupt.recv() => {
                    presses += 1;
                    if presses == 1 { CancelSource::Person } else { CancelSource::PersonNow }
                }
                _ = terminate.recv() => CancelSource::Sigterm,
                () = next(hang_up.as_mut()) => CancelSource::Sighup,
            };
            RECEIVED.store(true, Ordering::Relaxed);
            if sender.send(source).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Does this work until its end, or until the first signal, whose source is the inner error. Must be called on a runtime.
pub async fn until_cancelled<W: IntoFuture>(work: W) -> Result<Result<W::Output, CancelSource>, Failure> {
    let mut cancels = cancels()?;
    tokio::select! {
        output = work.into_future() => Ok(Ok(output)),
        Some(source) = cancels.recv() => Ok(Err(source)),
    }
}

/// Returns whether a signal has arrived that cancels or suspends, perhaps long ago.
pub fn has_received() -> bool {
    RECEIVED.load(Ordering::Relaxed)
}

/// Waits for the next signal, or forever if nothing listens.
async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => future::pending().await,
    }
}
