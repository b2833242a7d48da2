//! The ended attempts of a run: their evidence, and their data for the next prompt and the report.

use super::attempt_process::EndedProcess;
use super::background::record_stopped_tasks;
use super::check_run::check_output_for;
use super::one_shot::EndedOneShot;
use super::publisher::write_usage;
use super::run_sessions::read_sub_agent_files;
use super::sessions::PreparedSession;
use super::subscribers::Subscribers;
use super::summary_run::summary_for;
use super::world_config::WorldConfig;
use crate::clock::LiveClock;
use crate::file_end::tail_of;
use crate::handoff::conversation_of;
use longhaul_agent::{AttemptSnapshot, Decoder, PriorAttempts, is_wrap_up_prompt};
use longhaul_core::{AttemptPlan, Evidence, PromptKind, SessionPlan};
use longhaul_store::{AttemptDir, compact};
use std::mem;

#[derive(Default)]
pub(crate) struct EndedAttempts {
    /// Streams that were read to their end, each with the decoder that read it and decides which lines can be dropped.
    streams: Vec<(AttemptDir, Box<dyn Decoder>)>,
    pub(crate) prior: PriorAttempts,
    /// State of the last attempt's stream, for the report.
    pub(crate) snapshot: AttemptSnapshot,
    pub(crate) spawn_error: Option<String>,
    stderr_tail: String,
}

impl EndedAttempts {
    /// Adds an attempt, and returns the evidence of its complete stream.
    pub(crate) fn add(
        &mut self,
        config: &WorldConfig<'_>,
        ended: EndedProcess,
        subscribers: &mut Subscribers<'_>,
        clock: &LiveClock,
    ) -> Evidence {
        let EndedProcess { dir, mut decoder, exit, oom_killed } = ended;
        self.stderr_tail = tail_of(&dir.stderr_path());
        read_sub_agent_files(config, decoder.as_mut());
        let mut evidence = Evidence { oom_killed, ..decoder.evidence(exit, &self.stderr_tail) };
        evidence.usage.unpriced |= dir.disk_was_full();
        use_clock(clock, &mut evidence);
        let messages = decoder.take_messages();
        subscribers.each(|each| each.on_messages(&messages));
        self.snapshot = decoder.snapshot().clone();
        subscribers.each(|each| each.on_attempt_ended(&dir, decoder.as_ref(), clock.at()));
        let prompt = dir.prompt().ok().flatten().unwrap_or_default();
        let was_wrap_up = is_wrap_up_prompt(&prompt, config.spec().wrap_up_prompt.as_deref());
        self.prior.side_effects.extend(decoder.side_effects(), was_wrap_up);
        if evidence.usage.messages > 0 && !was_wrap_up {
            // The attempt's prompt named the stopped tasks of earlier attempts.
            self.prior.stopped.clear();
        }
        self.prior.stopped.extend(record_stopped_tasks(&dir, &self.snapshot.background));
        self.streams.push((dir, decoder));
        evidence
    }

    /// Adds a summary or a review, and returns its evidence.
    pub(crate) fn add_one_shot(&mut self, ended: EndedOneShot, clock: &LiveClock) -> Evidence {
        let EndedOneShot { dir, decoder, mut evidence } = ended;
        use_clock(clock, &mut evidence);
        write_usage(&dir, decoder.as_ref());
        self.streams.push((dir, decoder));
        evidence
    }

    pub(crate) fn collect_prior(
        &mut self,
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
        session: &mut PreparedSession,
    ) {
        self.prior.resume_at = session.resume_at.take();
        self.prior.visible_tool_results = mem::take(&mut session.visible_tool_results);
        self.prior.check_output = check_output_for(config, plan);
        if matches!(plan.session, SessionPlan::New(_)) {
            self.prior.side_effects.clear_session();
        }
        if matches!(plan.prompt, PromptKind::TaskAfterLoss(_)) {
            let (dir, dialect) = (&config.dir, config.dialect.as_ref());
            // If the records cannot be read, the prompt contains only the task.
            self.prior.conversation =
                conversation_of(dir, dialect, &config.spec().prompt, plan.attempt - 1).unwrap_or_default();
            self.prior.summary = summary_for(config, plan);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Returns why the last attempt could not be started, or the end of its stderr.
    pub(crate) fn startup_message(&self) -> Option<&str> {
        self.spawn_error.as_deref().or_else(|| Some(self.stderr_tail.trim()).filter(|tail| !tail.is_empty()))
    }

    /// Compacts the stream files. A file that cannot be compacted stays as it is.
    pub(crate) fn compact_streams(&self) {
        for (dir, decoder) in &self.streams {
            let _ = compact(&dir.stream_path(), &decoder.droppable());
        }
    }
}

/// Converts the reset of the usage window to a moment of the run's clock.
fn use_clock(clock: &LiveClock, evidence: &mut Evidence) {
    if let Some(resets_at) = evidence.rate_limit.as_mut().and_then(|limit| limit.resets_at.as_mut()) {
        *resets_at = clock.at_calendar_time(*resets_at);
    }
}
