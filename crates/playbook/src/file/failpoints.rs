//! Defines points between the steps of a change at which tests interrupt it, as a kill would.

/// A step of a change, named after what was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A damaged file is backed up.
    SetAside,
    /// The new content is on disk in a temporary file.
    Prepared,
    /// The new revision is recorded.
    WrittenDown,
    /// The file is replaced.
    Placed,
    /// The replacement is recorded.
    Noted,
}

/// Passes a step. With the feature `failpoints`, a worker may die here (`LONGHAUL_FAILPOINT=worker@Placed`).
#[cfg(not(test))]
pub(super) fn pass(step: Step) {
    crate::worker::failpoints::pass(step);
}

#[cfg(not(test))]
pub(super) fn is_cut() -> bool {
    false
}

#[cfg(test)]
pub(super) use cutting::{ALL, at, is_cut, pass};

#[cfg(test)]
mod cutting {
    use super::Step;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    pub(in super::super) const ALL: &[Step] =
        &[Step::SetAside, Step::Prepared, Step::WrittenDown, Step::Placed, Step::Noted];

    thread_local! {
        static AT: Cell<Option<Step>> = const { Cell::new(None) };
    }

    struct Cut;

    /// Runs a function and interrupts it after a step. Returns `None` if the step was not reached.
    pub(in super::super) fn at<T>(step: Step, change: impl FnOnce() -> T) -> Option<()> {
        AT.set(Some(step));
        let done = catch_unwind(AssertUnwindSafe(change));
        AT.set(None);
        match done {
            Ok(_) => None,
            Err(payload) if payload.is::<Cut>() => Some(()),
            Err(payload) => resume_unwind(payload),
        }
    }

    pub(in super::super) fn pass(step: Step) {
        if AT.get() == Some(step) {
            resume_unwind(Box::new(Cut));
        }
    }

    /// Returns whether this code would not run after a kill.
    pub(in super::super) fn is_cut() -> bool {
        std::thread::panicking()
    }
}
