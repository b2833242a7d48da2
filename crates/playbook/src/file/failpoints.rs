//! Points between the steps of a change, at which tests cut it off as a kill would.

/// A step of a change, by what was done last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A damaged file is put aside.
    SetAside,
    /// The new content is on disk, under a name of its own.
    Prepared,
    /// What the file will be is written down.
    WrittenDown,
    /// The file has it.
    Placed,
    /// That is written down, too.
    Noted,
}

/// Passes a step. Where the feature `crash-points` is on, a worker may die there (`LONGHAUL_CRASH=worker@Placed`).
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

    /// Does something that is cut off behind a step. Nothing if that was not reached.
    pub(in super::super) fn at<T>(step: Step, change: impl FnOnce() -> T) -> Option<()> {
        AT.set(Some(step));
        let done = catch_unwind(AssertUnwindSafe(change));
        AT.set(None);
        match done {
            Ok(_) => None,
            Err(why) if why.is::<Cut>() => Some(()),
            Err(why) => resume_unwind(why),
        }
    }

    pub(in super::super) fn pass(step: Step) {
        if AT.get() == Some(step) {
            resume_unwind(Box::new(Cut));
        }
    }

    /// Whether what runs now would not run after a kill.
    pub(in super::super) fn is_cut() -> bool {
        std::thread::panicking()
    }
}
