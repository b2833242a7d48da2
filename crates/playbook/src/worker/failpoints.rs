//! Points at which tests let a worker die by SIGKILL. Without the feature `crash-points`, which only tests switch on, nothing
//! of this is compiled.
//!
//! `LONGHAUL_CRASH=worker@Reflected` dies when that point is passed for the first time.

use std::fmt::Debug;

/// A point in a worker's life, by what was done last.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failpoint {
    /// A slice is begun.
    Begun,
    /// A question is about to be asked.
    Asking,
    /// It is answered, and the answer is on disk.
    Answered,
    /// The reflector's answer is understood, and that is on disk.
    Reflected,
    /// The curator's is.
    Curated,
    /// The playbook is saved.
    Saved,
    /// The slice is at its end.
    Ended,
}

/// Passes a point, or dies at it. Whoever takes a step of a worker has points of its own.
#[cfg(not(feature = "crash-points"))]
pub(crate) fn pass(_point: impl Debug) {}

/// The same.
#[cfg(feature = "crash-points")]
pub(crate) fn pass(point: impl Debug) {
    use rustix::process::{Signal, getpid, kill_process};
    let order = std::env::var("LONGHAUL_CRASH").unwrap_or_default();
    if order.strip_prefix("worker@") == Some(&format!("{point:?}")) {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}
