//! Takes over a run whose supervisor died: its sessions, its agent, and the data of its attempts.

use super::LiveWorld;
use crate::SuperviseError;
use crate::live::attempt_process::{AttemptProcess, EndedProcess};
use crate::live::one_shot::EndedOneShot;
use crate::live::process_discovery::{exit_of, live_agent};
use crate::live::review_run::record_findings;
use crate::live::run_sessions::continuity_of;
use crate::live::sweep::sweep;
use crate::live::tail::decode;
use longhaul_agent::Decoder;
use longhaul_core::{
    CheckStage, Event, Evidence, Exit, FoundAttempt, Moment, Phase, Run, SessionId, SettingChange, Span,
};
use longhaul_store::{AttemptDir, SessionBaseline, WatchdogStop};
use std::fs;
use std::time::UNIX_EPOCH;

// A shorter gap is the time that an immediate takeover needs.
const IDLE_MIN: Span = Span(1_000);

impl LiveWorld<'_> {
    /// Locks the sessions that a dead supervisor of this run held. If another run has locked one meanwhile,
    /// the run fails when it needs that session.
    pub(crate) fn lock_sessions<'s>(&mut self, sessions: impl Iterator<Item = &'s SessionId>) {
        for session in sessions {
            let _ = self.sessions.lock(&self.config, session);
        }
    }

    /// Takes over a run whose supervisor died after its last record at `last_at`. Returns the first event:
    /// the downtime, or the finding.
    pub(crate) async fn take_over(
        &mut self,
        run: &Run,
        last_at: Option<Moment>,
        changes: Vec<SettingChange>,
    ) -> Result<Event, SuperviseError> {
        let now = self.clock.at();
        let heartbeat = self.config.dir.heartbeat().filter(|at| *at <= now);
        let last_at = last_at.max(heartbeat);
        let idle = self.idle_for(run, last_at);
        let found = self.find_attempt(run).await?;
        let is_running = matches!(found, FoundAttempt::Running(_));
        // An agent that is still running has worked all the time, unless it waits for a supervisor.
        let was_idle = idle >= IDLE_MIN && (!is_running || self.agent_waits(run)?);
        let at = self.clock.at();
        self.subscribers.each(|each| each.on_takeover(run, at, &found));
        // A cancelled run must not start an agent first. A running agent is stopped after the takeover.
        let stop = if is_running { None } else { self.cancels.next() };
        let recovered = Event::Recovered { found, stop, last_record_at: last_at, changes };
        if !was_idle {
            return Ok(recovered);
        }
        self.events.push_back(recovered);
        Ok(Event::Downtime(idle))
    }

    /// Returns whether the running agent's stream ends with a result, or with requests that no supervisor answered,
    /// and no background work is running.
    fn agent_waits(&self, run: &Run) -> Result<bool, SuperviseError> {
        let attempt = self.config.dir.attempt(run.state().attempts());
        let mut decoder = self.config.notice_decoder();
        decoder.add_sent(attempt.sent_requests()?);
        decode(&attempt.stream_path(), decoder.as_mut(), |_| {})?;
        // Only the time that counts depends on the file.
        let awaits_reply = attempt.replied_bytes().is_ok_and(|bytes| decoder.awaits_reply(bytes));
        let evidence = decoder.evidence(Exit::Unobserved, "");
        let has_finished = evidence.result.is_some() && !evidence.exchange_open;
        Ok(evidence.background == 0 && (has_finished || awaits_reply))
    }

    /// Returns for how long nothing of the run was running, if its agent is gone or idle. The time counts from the
    /// last record or heartbeat at `last_at`, the agent's last output, or the watchdog's stop.
    fn idle_for(&self, run: &Run, last_at: Option<Moment>) -> Span {
        let attempt = self.config.dir.attempt(run.state().attempts());
        let modified = fs::metadata(attempt.stream_path()).and_then(|file| file.modified()).ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let last_output_at = modified.map(|since| Moment(since.as_millis() as u64));
        let stopped_at = attempt.read::<WatchdogStop>().ok().flatten().map(|stop| stop.at.0);
        last_at.max(last_output_at).max(stopped_at).map_or(Span::ZERO, |last| self.clock.at().since(last))
    }

    async fn find_attempt(&mut self, run: &Run) -> Result<FoundAttempt, SuperviseError> {
        let Some(plan) = &run.state().plan else {
            return Ok(FoundAttempt::Ended(Evidence::from_exit(Exit::NeverSpawned)));
        };
        self.replay_attempts(plan.attempt - 1);
        self.subscribers.each(|each| each.on_attempts_complete(plan.attempt - 1));
        let dir = self.config.dir.attempt(plan.attempt);
        if matches!(run.state().phase, Phase::Summarizing { .. }) {
            sweep(&self.config.marker).await?;
            let summary = EndedOneShot::find(&self.config, dir.summary());
            return Ok(FoundAttempt::Ended(self.ended.add_one_shot(summary, &self.clock)));
        }
        if let Some(process) = live_agent(&self.config.marker, run) {
            if let Err(busy) = self.sessions.lock(&self.config, plan.session.id())? {
                return Ok(FoundAttempt::Ended(self.refuse(busy)));
            }
            // The agent may exit at any moment. Then its files are read instead.
            self.attempt = AttemptProcess::adopt(&self.config, plan, process, &mut self.watch)?;
            if self.attempt.is_some() {
                self.subscribers.each(|each| each.on_attempt_adopted(plan.attempt));
                return Ok(FoundAttempt::Running(process));
            }
        }
        // A dead agent's tools must not run next to an agent that is about to start.
        let phase = &run.state().phase;
        if matches!(phase, Phase::Starting | Phase::Checking { .. } | Phase::Suspended { .. }) {
            sweep(&self.config.marker).await?;
        }
        let evidence = self.replay_attempt(&dir, self.config.decoder(plan.attempt))?;
        self.subscribers.each(|each| each.on_attempts_complete(plan.attempt));
        if matches!(phase, Phase::Checking { stage: CheckStage::Review, .. }) {
            let review = EndedOneShot::find(&self.config, self.config.dir.review(run.state().reviews));
            record_findings(&self.config, run.state().checks, &review, false);
            return Ok(FoundAttempt::Ended(self.ended.add_one_shot(review, &self.clock)));
        }
        let (continuity, workspace) = (continuity_of(&self.config, &dir), self.config.fingerprint());
        Ok(FoundAttempt::Ended(Evidence { continuity, workspace_fingerprint: workspace, ..evidence }))
    }

    /// Reads the first `attempts` attempts again, for the next prompt. An attempt whose files are missing
    /// adds nothing.
    pub(crate) fn replay_attempts(&mut self, attempts: u32) {
        for number in 1..=attempts {
            let _ = self.replay_attempt(&self.config.dir.attempt(number), self.config.notice_decoder());
        }
    }

    /// Returns the evidence of an attempt without a process, from its files. The observer receives the
    /// messages that the decoder collects.
    fn replay_attempt(
        &mut self,
        dir: &AttemptDir,
        mut decoder: Box<dyn Decoder>,
    ) -> Result<Evidence, SuperviseError> {
        dir.remove_input();
        let exit = exit_of(dir);
        if dir.read::<SessionBaseline>().ok().flatten().is_some_and(|session| session.bytes == 0) {
            self.ended.prior.side_effects.clear_session();
        }
        if exit != Exit::NeverSpawned {
            decoder.add_sent(dir.sent_requests()?);
            let subscribers = &mut self.subscribers;
            decode(&dir.stream_path(), decoder.as_mut(), |messages| {
                subscribers.each(|each| each.on_messages(&messages));
            })?;
        }
        let ended = EndedProcess { dir: dir.clone(), decoder, exit, oom_killed: false };
        Ok(self.ended.add(&self.config, ended, &mut self.subscribers, &self.clock))
    }
}
