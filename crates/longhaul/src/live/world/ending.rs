//! Ends an attempt: collects the evidence of its stream and the continuity of its session. It also writes the
//! attempt's data for people, for the next attempt and for a harness.

use super::LiveWorld;
use super::publishing::write_blocked;
use crate::SuperviseError;
use crate::live::background::record_stopped_tasks;
use crate::live::stream_replay::tail_of;
use crate::live::workspace_fingerprint::fingerprint;
use longhaul_agent::{Decoder, GivenAnswer};
use longhaul_core::{Continuity, Evidence, Exit, Usage};
use longhaul_store::{AnsweredQuestion, AttemptDir, AttemptExit, ModelUsage, StoreError, add_section};

impl LiveWorld<'_> {
    /// Ends the attempt if its process has exited, and returns its evidence. Returns `None` otherwise. The
    /// stream must be fully read.
    pub(super) fn end_attempt(&mut self) -> Result<Option<Evidence>, SuperviseError> {
        let Some(exit) = self.attempt.as_ref().and_then(|attempt| attempt.exit) else { return Ok(None) };
        let Some(attempt) = self.attempt.take() else { return Ok(None) };
        let (ended_at, oom_killed) = (self.clock.at(), attempt.memory.was_oom_killed(exit));
        // The journal records the same afterwards.
        let _ = attempt.dir.write_exit(&AttemptExit {
            exit,
            ended_at,
            process: Some(attempt.process),
            oom_killed,
        });
        attempt.dir.remove_input();
        let continuity = self.continuity_of(&attempt.dir);
        let evidence = self.read_evidence(attempt.dir, attempt.decoder, exit, oom_killed);
        self.recorder.end_attempt();
        Ok(Some(Evidence { continuity, workspace_fingerprint: self.fingerprint(), ..evidence }))
    }

    /// Returns the fingerprint of the workspace if the run tracks its changes.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        self.spec().policy.keep_going.as_ref().map(|_| fingerprint(&self.spec().cwd))
    }

    /// Returns how the attempt's session relates to the history that it was planned to continue.
    pub(super) fn continuity_of(&self, dir: &AttemptDir) -> Option<Continuity> {
        self.session_files()?.continuity_of(dir)
    }

    /// Returns the evidence of an attempt's complete stream.
    pub(super) fn read_evidence(
        &mut self,
        dir: AttemptDir,
        mut decoder: Box<dyn Decoder>,
        exit: Exit,
        oom_killed: bool,
    ) -> Evidence {
        self.stderr_tail = tail_of(&dir.stderr_path());
        let evidence = Evidence { oom_killed, ..decoder.evidence(exit, &self.stderr_tail) };
        let messages = decoder.take_messages();
        self.setup.observer.on_output(&[], &messages);
        self.recorder.add_messages(messages);
        self.snapshot = decoder.snapshot().clone();
        // These files are for people. Only the evidence affects decisions.
        let _ = write_answers(&dir, &self.snapshot.answers);
        let _ = dir.write_model_usage(&usage_entries(decoder.usage_by_model()));
        self.prior_attempts.side_effects.extend(decoder.side_effects());
        if evidence.usage.messages > 0 {
            // The attempt's prompt named the stopped tasks of earlier attempts.
            self.prior_attempts.stopped.clear();
        }
        self.prior_attempts.stopped.extend(record_stopped_tasks(&dir, &self.snapshot.background));
        if self.spec().harness.is_some() {
            // The harness reads these files. A failed write does not fail the run.
            let _ = self.log_exec(&dir, decoder.as_ref());
            let _ = write_blocked(&self.setup.dir, dir.number(), &self.snapshot, self.clock.at());
        }
        self.ended_attempts.push((dir, decoder));
        evidence
    }

    /// Appends the agent's output to the logs that a harness reads, without partial messages.
    fn log_exec(&self, attempt: &AttemptDir, decoder: &dyn Decoder) -> Result<(), StoreError> {
        let (dir, number) = (&self.setup.dir, attempt.number());
        let (stdout, stderr) = dir.exec_paths();
        add_section(dir, &stdout, number, &attempt.stream_path(), |line| decoder.keeps_line(line))?;
        add_section(dir, &stderr, number, &attempt.stderr_path(), |_| true)
    }
}

fn write_answers(dir: &AttemptDir, answered: &[GivenAnswer]) -> Result<(), StoreError> {
    if answered.is_empty() {
        return Ok(());
    }
    let answers = answered.iter().cloned();
    let answers =
        answers.map(|GivenAnswer { question, answer, key }| AnsweredQuestion { question, answer, key });
    dir.write_answers(&answers.collect::<Vec<_>>())
}

pub(super) fn usage_entries(by_model: Vec<(String, Usage)>) -> Vec<ModelUsage> {
    let entries = by_model.into_iter().map(|(model, usage)| ModelUsage {
        model,
        cost: usage.reported_cost,
        estimated_cost: usage.estimated_cost,
        unpriced: usage.unpriced,
        tokens: usage.tokens,
        truncated_tokens: usage.truncated_tokens,
        messages: usage.messages,
    });
    entries.collect()
}
