//! The interface to everything that is derived from a live run: its files for people, its ledger row, its
//! notifications and the caller's observer. A subscriber decides nothing, and its failure changes nothing.

use super::attempt_process::AttemptProcess;
use longhaul_agent::Decoder;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{AttemptPlan, FoundAttempt, Moment, Policy, PromptKind, Run, Step};
use longhaul_store::AttemptDir;

pub(crate) struct WorldView<'a> {
    /// When the step was decided, or the current time.
    pub(crate) at: Moment,
    pub(crate) attempt: Option<&'a AttemptProcess>,
    pub(crate) spawn_error: Option<&'a str>,
}

impl<'a> WorldView<'a> {
    pub(crate) fn new(
        at: Moment,
        attempt: &'a Option<AttemptProcess>,
        spawn_error: Option<&'a str>,
    ) -> WorldView<'a> {
        WorldView { at, attempt: attempt.as_ref(), spawn_error }
    }
}

/// Receives what happens in a live run. Every method does nothing unless overridden.
pub(crate) trait Subscriber {
    /// Called after each step, which is journaled but may not be on disk yet.
    fn on_step(&mut self, _run: &Run, _policy: &Policy, _view: &WorldView<'_>, _step: &Step) {}

    /// Called before each action and each wait, when all steps so far are on disk.
    fn on_sync(&mut self, _view: &WorldView<'_>) {}

    /// Called before each wait. Returns when it must be called again without an event, if ever.
    fn on_idle(&mut self, _view: &WorldView<'_>) -> Option<Moment> {
        None
    }

    fn on_takeover(&mut self, _run: &Run, _at: Moment, _found: &FoundAttempt) {}

    fn on_attempt_started(&mut self, _plan: &AttemptPlan, _prompt: &str, _at: Moment) {}

    /// Called when the running agent of this attempt was adopted. Its stream is read from its start.
    fn on_attempt_adopted(&mut self, _attempt: u32) {}

    /// Called when a prompt was sent to the agent in its open session.
    fn on_prompt_sent(&mut self, _kind: PromptKind, _prompt: &str, _at: Moment) {}

    /// Called with the next messages of the conversation; see
    /// [`Observer::on_messages`](crate::Observer::on_messages).
    fn on_messages(&mut self, _messages: &[TranscriptMessage]) {}

    /// Called when the stream of an ended attempt was read to its end, also after a takeover.
    fn on_attempt_ended(&mut self, _dir: &AttemptDir, _decoder: &dyn Decoder, _at: Moment) {}

    /// Called when the first `attempts` attempts have ended and none is running.
    fn on_attempts_complete(&mut self, _attempts: u32) {}

    /// Called after the run finished and its outcome is published.
    fn on_finish(&mut self) {}
}
