//! Defines points at which tests kill a worker, or interrupt a change of a playbook as a kill would. In a
//! release they do nothing.
//!
//! With the feature `failpoints`, `LONGHAUL_FAILPOINT=worker@Reflected` kills a worker when it first reaches
//! that point.

/// A completed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failpoint {
    // Of a worker: a slice is started; a question is about to be sent; its answer, the reflection, the
    // operations and the playbook are on disk; the slice is finished.
    Started,
    Asking,
    Answered,
    Reflected,
    Curated,
    Saved,
    Ended,
    // Of a change to a playbook: a damaged file is backed up; the new content is in a temporary file; the
    // revision is recorded; the file is replaced, and that is recorded.
    BackedUp,
    Prepared,
    Recorded,
    Replaced,
    Confirmed,
}

#[cfg(not(any(test, feature = "failpoints")))]
pub(crate) fn pass(_point: Failpoint) {}

#[cfg(all(feature = "failpoints", not(test)))]
pub(crate) fn pass(point: Failpoint) {
    use rustix::process::{Signal, getpid, kill_process};
    let setting = std::env::var("LONGHAUL_FAILPOINT").unwrap_or_default();
    if setting.strip_prefix("worker@") == Some(&format!("{point:?}")) {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

#[cfg(not(test))]
pub(crate) fn is_interrupted() -> bool {
    false
}

#[cfg(test)]
pub(crate) use interruption::{CHANGE_STEPS, interrupt_after, is_interrupted, pass};

#[cfg(test)]
mod interruption {
    use super::Failpoint;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    pub(crate) const CHANGE_STEPS: &[Failpoint] = &[
        Failpoint::BackedUp,
        Failpoint::Prepared,
        Failpoint::Recorded,
        Failpoint::Replaced,
        Failpoint::Confirmed,
    ];

    thread_local! {
        static STEP: Cell<Option<Failpoint>> = const { Cell::new(None) };
    }

    struct Interruption;

    /// Runs a function and interrupts it after a step. Returns `None` if the step was not reached.
    pub(crate) fn interrupt_after<T>(step: Failpoint, change: impl FnOnce() -> T) -> Option<()> {
        STEP.set(Some(step));
        let done = catch_unwind(AssertUnwindSafe(change));
        STEP.set(None);
        match done {
            Ok(_) => None,
            Err(payload) if payload.is::<Interruption>() => Some(()),
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(crate) fn pass(step: Failpoint) {
        if STEP.get() == Some(step) {
            resume_unwind(Box::new(Interruption));
        }
    }

    /// Returns whether this code would not run after a kill.
    pub(crate) fn is_interrupted() -> bool {
        std::thread::panicking()
    }
}
