//! Defines points at which tests kill a worker with SIGKILL. Without the feature `failpoints`, which only
//! tests enable, they do nothing.
//!
//! `LONGHAUL_FAILPOINT=worker@Reflected` kills the worker when it first reaches that point.

use std::fmt::Debug;

/// A point in a worker's progress, named after what was completed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failpoint {
    /// A slice is started.
    Started,
    /// A question is about to be sent.
    Asking,
    /// The answer is on disk.
    Answered,
    /// The parsed reflection is on disk.
    Reflected,
    /// The parsed operations are on disk.
    Curated,
    /// The playbook is saved.
    Saved,
    /// The slice is finished.
    Ended,
}

/// Marks a point that the worker has reached. Implementations of worker steps have their own points.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn pass(_point: impl Debug) {}

/// Marks a point that the worker has reached, and kills the process if the variable names this point.
#[cfg(feature = "failpoints")]
pub(crate) fn pass(point: impl Debug) {
    use rustix::process::{Signal, getpid, kill_process};
    let setting = std::env::var("LONGHAUL_FAILPOINT").unwrap_or_default();
    if setting.strip_prefix("worker@") == Some(&format!("{point:?}")) {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}
