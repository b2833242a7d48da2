//! For those who watch a run: a terminal, a log, a test. Watching changes nothing.

use crate::NotifyFailure;
use longhaul_agent::AttemptSnapshot;
use longhaul_core::{Moment, Policy, Run, RunId, Step};
use longhaul_store::JournalEntry;
use std::path::Path;

/// What a watcher is shown after each step.
#[derive(Clone, Copy)]
pub struct StepView<'a> {
    /// The run after the step.
    pub run: &'a Run,
    /// Its policy.
    pub policy: &'a Policy,
    /// When the step was made.
    pub at: Moment,
    /// What the agent's stream says, while an attempt is under way.
    pub snapshot: Option<&'a AttemptSnapshot>,
}

/// Watches one run. Every method does nothing unless overridden.
pub trait Observer {
    /// The run has an id and a directory.
    fn on_start(&mut self, _run: &RunId, _dir: &Path) {}

    /// This step is from before: another supervisor of the run had made it. All of these come before the first
    /// step of this one.
    fn on_replay(&mut self, _entry: &JournalEntry) {}

    /// A step was made and written down.
    fn on_step(&mut self, _view: StepView<'_>, _step: &Step) {}

    /// All steps that were shown so far are on disk: from here on they survive a power cut. Who follows the run of
    /// another process is told so when they are in its journal.
    fn on_sync(&mut self) {}

    /// A command that was to be told something could not be, or failed. The run does not care.
    fn on_notify_failure(&mut self, _untold: &NotifyFailure) {}

    /// The agent wrote these bytes; lines may be cut anywhere.
    fn on_output(&mut self, _bytes: &[u8]) {}
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        (**self).on_start(run, dir);
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        (**self).on_replay(entry);
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        (**self).on_step(view, step);
    }

    fn on_sync(&mut self) {
        (**self).on_sync();
    }

    fn on_notify_failure(&mut self, untold: &NotifyFailure) {
        (**self).on_notify_failure(untold);
    }

    fn on_output(&mut self, bytes: &[u8]) {
        (**self).on_output(bytes);
    }
}

/// Watches nothing.
pub struct NoObserver;

impl Observer for NoObserver {}
