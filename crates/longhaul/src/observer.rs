//! Observers of a run, such as a terminal, a log or a test. An observer never changes the run.

use crate::NotifyFailure;
use longhaul_agent::AttemptSnapshot;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Moment, Policy, Run, RunId, Step};
use longhaul_store::JournalEntry;
use std::path::Path;

/// The state that an observer receives after each step.
#[derive(Clone, Copy)]
pub struct StepView<'a> {
    /// The run after the step.
    pub run: &'a Run,
    /// Policy of the run.
    pub policy: &'a Policy,
    /// When the core made the step.
    pub at: Moment,
    /// State decoded from the agent's stream, while an attempt is running.
    pub snapshot: Option<&'a AttemptSnapshot>,
}

/// Observes one run. Every method does nothing unless overridden.
pub trait Observer {
    /// Called once, when the run has an id and a directory.
    fn on_start(&mut self, _run: &RunId, _dir: &Path) {}

    /// Called for each step that an earlier supervisor of the run made, before the first step of this one.
    fn on_replay(&mut self, _entry: &JournalEntry) {}

    /// Called after each step that was journaled.
    fn on_step(&mut self, _view: StepView<'_>, _step: &Step) {}

    /// Called when all steps so far are on disk and survive a power cut. A follower of another process's run
    /// calls it after the last step that is in the journal, so also once after all earlier ones.
    fn on_sync(&mut self) {}

    /// Called when a notification command could not be started, or failed. The run continues.
    fn on_notify_failure(&mut self, _failure: &NotifyFailure) {}

    /// Called with the next messages of the conversation, often with none. Includes those that the end of a stream
    /// completes, and those of an attempt that ended without a supervisor.
    fn on_messages(&mut self, _messages: &[TranscriptMessage]) {}

    /// Called with the next bytes of a running agent's stream, before the messages that they complete. They may end
    /// within a line.
    fn on_bytes(&mut self, _bytes: &[u8]) {}
}

/// Calls each observer in order.
impl Observer for Vec<&mut dyn Observer> {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.iter_mut().for_each(|each| each.on_start(run, dir));
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        self.iter_mut().for_each(|each| each.on_replay(entry));
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        self.iter_mut().for_each(|each| each.on_step(view, step));
    }

    fn on_sync(&mut self) {
        self.iter_mut().for_each(|each| each.on_sync());
    }

    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.iter_mut().for_each(|each| each.on_notify_failure(failure));
    }

    fn on_messages(&mut self, messages: &[TranscriptMessage]) {
        self.iter_mut().for_each(|each| each.on_messages(messages));
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        self.iter_mut().for_each(|each| each.on_bytes(bytes));
    }
}

/// Ignores everything.
pub struct NoObserver;

impl Observer for NoObserver {}
