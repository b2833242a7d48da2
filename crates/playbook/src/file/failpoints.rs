//! Defines points between the steps of a change at which tests interrupt it, as a kill would.

/// A step of a change, named after what was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A damaged file is backed up.
    BackedUp,
    /// The new content is on disk in a temporary file.
    Prepared,
    /// The new revision is recorded.
    Recorded,
    /// The file is replaced.
    Replaced,
    /// The replacement is recorded.
    Confirmed,
}

/// Marks a completed step. With the feature `failpoints`, a worker may die here
/// (`LONGHAUL_FAILPOINT=worker@Replaced`).
#[cfg(not(test))]
pub(super) fn pass(step: Step) {
    crate::worker::failpoints::pass(step);
}

#[cfg(not(test))]
pub(super) fn is_interrupted() -> bool {
    false
}

#[cfg(test)]
pub(super) use interruption::{ALL, interrupt_after, is_interrupted, pass};

#[cfg(test)]
mod interruption {
    use super::Step;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    pub(in super::super) const ALL: &[Step] =
        &[Step::BackedUp, Step::Prepared, Step::Recorded, Step::Replaced, Step::Confirmed];

    thread_local! {
        static STEP: Cell<Option<Step>> = const { Cell::new(None) };
    }

    struct Interruption;

    /// Runs a function and interrupts it after a step. Returns `None` if the step was not reached.
    pub(in super::super) fn interrupt_after<T>(step: Step, change: impl FnOnce() -> T) -> Option<()> {
        STEP.set(Some(step));
        let done = catch_unwind(AssertUnwindSafe(change));
        STEP.set(None);
        match done {
            Ok(_) => None,
            Err(payload) if payload.is::<Interruption>() => Some(()),
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(in super::super) fn pass(step: Step) {
        if STEP.get() == Some(step) {
            resume_unwind(Box::new(Interruption));
        }
    }

    /// Returns whether this code would not run after a kill.
    pub(in super::super) fn is_interrupted() -> bool {
        std::thread::panicking()
    }
}
