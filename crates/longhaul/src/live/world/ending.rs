//! Ends an attempt: what its whole stream proves, whether it continued its conversation, and what it leaves for people, for
//! the next attempt and for a harness.

use super::LiveWorld;
use super::publishing::write_blocked;
use crate::SuperviseError;
use crate::live::background::stopped;
use crate::live::left::tail_of;
use crate::live::survey::survey;
use longhaul_agent::{Answered, Decoder};
use longhaul_core::{Continuity, Evidence, Exit, Tally};
use longhaul_store::{AnsweredQuestion, AttemptDir, AttemptExit, ModelSpent, StoreError, add_section};

impl LiveWorld<'_> {
    /// The evidence of an attempt whose process is gone and whose stream is read to the end.
    pub(super) fn ended_attempt(&mut self) -> Result<Option<Evidence>, SuperviseError> {
        let Some(exit) = self.attempt.as_ref().and_then(|attempt| attempt.exit) else { return Ok(None) };
        let Some(attempt) = self.attempt.take() else { return Ok(None) };
        let (ended_at, memory_kill) = (self.clock.at(), attempt.memory.saw_kill(exit));
        // The journal says the same in a moment.
        let _ =
            attempt.dir.write_exit(&AttemptExit { exit, ended_at, proc: Some(attempt.proc), memory_kill });
        attempt.dir.remove_input();
        self.recorder.end();
        let continuity = self.look_back(&attempt.dir);
        let evidence = self.conclude(attempt.dir, attempt.decoder, exit, memory_kill);
        Ok(Some(Evidence { continuity, workspace: self.survey(), ..evidence }))
    }

    /// What the workspace looks like now, if that matters.
    pub(super) fn survey(&self) -> Option<u64> {
        self.setup.surveys.then(|| survey(&self.setup.order.cwd))
    }

    /// Whether the attempt continued the conversation that it was to continue.
    pub(super) fn look_back(&self, dir: &AttemptDir) -> Option<Continuity> {
        self.session_files()?.look_back(dir)
    }

    /// What an attempt's whole stream proves.
    pub(super) fn conclude(
        &mut self,
        dir: AttemptDir,
        mut decoder: Box<dyn Decoder>,
        exit: Exit,
        memory_kill: bool,
    ) -> Evidence {
        self.stderr_tail = tail_of(&dir.stderr_path());
        let evidence = Evidence { memory_kill, ..decoder.evidence(exit, &self.stderr_tail) };
        self.glance = decoder.glance().clone();
        // For people; what decides is in the evidence.
        let _ = write_answers(&dir, &self.glance.answered);
        let _ = dir.write_spent(&spent(decoder.by_model()));
        self.past.deeds.extend(decoder.deeds());
        if evidence.tally.messages > 0 {
            // Its prompt named those of earlier attempts.
            self.past.stopped.clear();
        }
        self.past.stopped.extend(stopped(&dir, &self.glance.background));
        if self.setup.harness.is_some() {
            // For the harness; what cannot be written fails nothing.
            let _ = self.log_exec(&dir, decoder.as_ref());
            let _ = write_blocked(&self.setup.dir, dir.number(), &self.glance, self.clock.at());
        }
        self.ended.push((dir, decoder));
        evidence
    }

    /// Adds what the agent of an attempt wrote to the logs that a harness reads, partial messages left out.
    fn log_exec(&self, attempt: &AttemptDir, decoder: &dyn Decoder) -> Result<(), StoreError> {
        let (dir, number) = (&self.setup.dir, attempt.number());
        let (stdout, stderr) = dir.exec_paths();
        add_section(dir, &stdout, (number, &attempt.stream_path()), |line| decoder.keeps(line))?;
        add_section(dir, &stderr, (number, &attempt.stderr_path()), |_| true)
    }
}

fn write_answers(dir: &AttemptDir, answered: &[Answered]) -> Result<(), StoreError> {
    if answered.is_empty() {
        return Ok(());
    }
    let answers = answered.iter().cloned();
    let answers =
        answers.map(|Answered { question, answer, key }| AnsweredQuestion { question, answer, key });
    dir.write_answers(&answers.collect::<Vec<_>>())
}

pub(super) fn spent(by_model: Vec<(String, Tally)>) -> Vec<ModelSpent> {
    let spent = by_model.into_iter().map(|(model, tally)| ModelSpent {
        model,
        cost: tally.cost,
        cost_estimated: tally.cost_estimated,
        unpriced: tally.unpriced,
        tokens: tally.tokens,
        cut_tokens: tally.cut_tokens,
        messages: tally.messages,
    });
    spent.collect()
}
