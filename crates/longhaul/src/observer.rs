//! For those who watch a run: a terminal, a log, a test. Watching changes nothing.

use crate::Untold;
use longhaul_agent::Glance;
use longhaul_core::{Moment, Policy, Run, RunId, Step};
use longhaul_store::Entry;
use std::path::Path;

/// What a watcher is shown after each step.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The run after the step.
    pub run: &'a Run,
    /// Its policy.
    pub policy: &'a Policy,
    /// When the step was made.
    pub at: Moment,
    /// What the agent's stream says, while an attempt is under way.
    pub glance: Option<&'a Glance>,
}

/// Watches one run. Every method does nothing unless overridden.
pub trait Observer {
    /// The run has an id and a directory.
    fn began(&mut self, _run: &RunId, _dir: &Path) {}

    /// This step is from before: another supervisor of the run had made it. All of these come before the first
    /// step of this one.
    fn replayed(&mut self, _entry: &Entry) {}

    /// A step was made and written down.
    fn stepped(&mut self, _view: View<'_>, _step: &Step) {}

    /// All steps that were shown so far are on disk: from here on they survive a power cut. Who follows the run of
    /// another process is told so when they are in its journal.
    fn synced(&mut self) {}

    /// A command that was to be told something could not be, or failed. The run does not care.
    fn untold(&mut self, _untold: &Untold) {}

    /// The agent wrote these bytes; lines may be cut anywhere.
    fn streamed(&mut self, _bytes: &[u8]) {}
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn began(&mut self, run: &RunId, dir: &Path) {
        (**self).began(run, dir);
    }

    fn replayed(&mut self, entry: &Entry) {
        (**self).replayed(entry);
    }

    fn stepped(&mut self, view: View<'_>, step: &Step) {
        (**self).stepped(view, step);
    }

    fn synced(&mut self) {
        (**self).synced();
    }

    fn untold(&mut self, untold: &Untold) {
        (**self).untold(untold);
    }

    fn streamed(&mut self, bytes: &[u8]) {
        (**self).streamed(bytes);
    }
}

/// Watches nothing.
pub struct Unobserved;

impl Observer for Unobserved {}
