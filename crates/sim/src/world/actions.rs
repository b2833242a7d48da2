//! Performs the core's actions, and provides the state that a new supervisor finds.

use super::agent::{Agent, NEVER, RespondsTo, Stage};
use super::sessions::Session;
use super::{EndedAttempt, World};
use crate::Interval;
use crate::fault_mix::FaultPoint;
use crate::rng::Rng;
use longhaul_core::{
    Action, AttemptPlan, CheckResult, Evidence, Exit, Fault, FoundAttempt, Moment, ProcessId, PromptKind,
    ResumeStrategy, SessionFileState, SessionId, SessionPlan, Span, SpawnError, StartupError, StopLevel,
};

impl World {
    /// Performs an action. Its consequences follow later.
    pub(crate) fn perform(&mut self, action: &Action) {
        match action {
            Action::InspectSession(session) => self.inspect(session),
            Action::StartSummary(plan) => self.start_summary(plan.attempt),
            Action::StopSummary => self.stop_summary(),
            Action::StartCheck(_) => self.check(),
            Action::StopCheck => self.end_check(),
            Action::Spawn(plan) => self.spawn(plan),
            Action::SendPrompt(prompt, _) => self.send_prompt(*prompt),
            Action::CloseInput => self.close_input(),
            Action::ProbeProcesses => self.probe(),
            Action::Stop(level) => self.stop(*level),
            Action::Sweep => {
                let duration = if self.orphans > 0 { Interval::new(1, 3_000) } else { Interval::new(0, 3) };
                self.sweep_at = self.now + Span(self.rng.within(duration));
                self.may_cancel_before(self.sweep_at);
            }
            Action::Finish(_) => {}
        }
    }

    /// Starts the inspection of a session. Its file may have been moved or damaged since its last use.
    fn inspect(&mut self, id: &SessionId) {
        let duration = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        self.inspect_at = self.now + Span(self.rng.magnitude(duration));
        self.may_cancel_before(self.inspect_at);
        let (moved, damaged) = (self.strikes_by(self.mix.moved), self.strikes_by(self.mix.damaged));
        let stale = self.strikes_by(self.mix.stale);
        let visible = !self.rng.odds(self.mix.hidden);
        let session = self.sessions.open_if_there(id);
        self.inspection = match session {
            // Only the agent can read the file.
            _ if !visible => SessionFileState::Ready,
            None => SessionFileState::Missing,
            Some(session) => {
                session.elsewhere |= moved;
                session.damaged |= damaged;
                session.stale |= stale;
                match *session {
                    Session { lost: true, .. } => SessionFileState::Missing,
                    Session { spoken: false, .. } => SessionFileState::Empty,
                    Session { elsewhere: true, .. } => SessionFileState::Elsewhere,
                    Session { damaged: true, .. } => SessionFileState::Damaged,
                    Session { stale: true, .. } => SessionFileState::Stale,
                    Session { .. } => SessionFileState::Ready,
                }
            }
        };
    }

    /// Records that the supervisor could not continue the session and started no process.
    pub(crate) fn mark_unstarted(&mut self, attempt: u32, truth: Fault) {
        let startup = (truth == Fault::SessionLost).then_some(StartupError::SessionUnknown);
        let evidence = Evidence { startup, ..Evidence::from_exit(Exit::NeverSpawned) };
        self.finished = Some(EndedAttempt { attempt, truth: Some(truth), evidence });
    }

    /// Moves or repairs the session for the agent. Returns whether that succeeded.
    fn prepare_session(&mut self, plan: &AttemptPlan) -> bool {
        let (Some(strategy), SessionPlan::Resume(from) | SessionPlan::Fork { from, .. }) =
            (plan.strategy, &plan.session)
        else {
            return true;
        };
        let (relocates, repairs) = match strategy {
            ResumeStrategy::Fork => (true, true),
            ResumeStrategy::Relocate => (true, false),
            ResumeStrategy::Repair => (false, true),
            ResumeStrategy::AsIs | ResumeStrategy::Handoff | ResumeStrategy::Fresh => return true,
        };
        let fails = self.strikes_by(self.mix.unwritable);
        let Some(session) = self.sessions.open_if_there(from).filter(|_| !fails) else { return false };
        // A copy is complete and undamaged.
        session.damaged &= !(repairs || relocates);
        session.stale &= !(repairs || relocates);
        session.elsewhere &= !relocates;
        true
    }

    fn spawn(&mut self, plan: &AttemptPlan) {
        let now = self.now;
        // Usually a millisecond or two; on a machine that swaps, seconds.
        let duration = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        self.spawn_at = now + Span(self.rng.magnitude(duration));
        self.may_cancel_before(self.spawn_at);
        self.stream.clear();
        if !self.prepare_session(plan) {
            self.spawned = Err(None);
            return self.mark_unstarted(plan.attempt, Fault::SessionLost);
        }
        let struck = self.struck(FaultPoint::Spawn);
        if self.strikes_by(self.mix.no_resources) {
            return self.fail_spawn(plan, SpawnError::NoResources, Fault::Crashed);
        }
        if struck == Some(Fault::AgentMissing) {
            return self.fail_spawn(plan, SpawnError::NotFound, Fault::AgentMissing);
        }
        if struck == Some(Fault::AgentUnusable) && self.rng.one_in(2) {
            return self.fail_spawn(plan, SpawnError::NotRunnable, Fault::AgentUnusable);
        }
        self.pids += 1;
        let process = ProcessId { pid: self.pids, start_ticks: now.0 / 10 };
        self.spawned = Ok(process);
        // The first output comes after the spawn returned.
        let boot = self.spawn_at + Span(self.rng.within(self.mix.boot));
        let mut agent = Box::new(Agent::new(process, plan.clone(), boot));
        agent.refusal = self.refusal(plan, struck);
        agent.saving = matches!(plan.prompt, PromptKind::WrapUp(_)).then(|| self.rng.below(3) as u32);
        agent.mute = self.rng.odds(self.mix.never_idle);
        agent.brief = self.rng.odds(self.mix.exits_after_result);
        agent.lingers = self.rng.odds(self.mix.lingers);
        if !matches!(plan.session, SessionPlan::New(_)) {
            agent.forgets = self.strikes_by(self.mix.starts_over);
            let resumes = matches!(plan.session, SessionPlan::Resume(_));
            agent.strays = resumes && self.strikes_by(self.mix.wrong_session);
        }
        if self.rng.odds(self.mix.ignores_stops) {
            agent.obeys = RespondsTo::From(StopLevel::Term);
        }
        self.draw_death(&mut agent);
        self.draw_new_work(plan.prompt);
        self.agent = Some(agent);
    }

    /// Moves a pending cancel into this short moment, with some probability, because cancels would rarely hit
    /// it by chance.
    pub(super) fn may_cancel_before(&mut self, until: Moment) {
        if self.cancel_at != NEVER && self.rng.one_in(4) {
            self.cancel_at = self.now + Span(self.rng.below(until.since(self.now).0 + 1));
        }
    }

    fn fail_spawn(&mut self, plan: &AttemptPlan, error: SpawnError, truth: Fault) {
        self.spawned = Err(Some(error));
        let evidence = Evidence { startup: error.startup(), ..Evidence::from_exit(Exit::NeverSpawned) };
        self.finished = Some(EndedAttempt { attempt: plan.attempt, truth: Some(truth), evidence });
    }

    /// Returns why the agent refuses to start on this session, or `None` if it starts.
    fn refusal(&mut self, plan: &AttemptPlan, struck: Option<Fault>) -> Option<(StartupError, Fault)> {
        let unknown = (StartupError::SessionUnknown, Fault::SessionLost);
        let in_use = (StartupError::SessionInUse, Fault::SessionExists);
        if struck == Some(Fault::AgentUnusable) {
            return Some((StartupError::Unusable, Fault::AgentUnusable));
        }
        match &plan.session {
            SessionPlan::New(id) if self.sessions.find(id).is_some() => Some(in_use),
            SessionPlan::New(id) if struck == Some(Fault::SessionExists) && plan.attempt == 1 => {
                self.sessions.open(id);
                Some(in_use)
            }
            SessionPlan::New(_) => None,
            SessionPlan::Resume(_) if struck == Some(Fault::SessionBusy) => {
                Some((StartupError::SessionHeld, Fault::SessionBusy))
            }
            SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => {
                if struck == Some(Fault::SessionLost) {
                    self.sessions.open(from).lost = true;
                }
                let is_unusable = |session: &Session| session.lost || session.elsewhere || !session.spoken;
                self.sessions.find(from).is_none_or(is_unusable).then_some(unknown)
            }
        }
    }

    /// Draws faults that kill the process from outside.
    fn draw_death(&mut self, agent: &mut Agent) {
        for fault in [Fault::Crashed, Fault::OutOfMemory, Fault::Interrupted] {
            if self.strikes_by(self.mix.odds_of(fault)) {
                agent.death = Some(fault);
                agent.death_at = self.spawn_at + Span(self.rng.magnitude(Interval::new(1, 600_000)));
            }
        }
    }

    /// Starts a check, which may fail or hang.
    fn check(&mut self) {
        let fails = self.rng.odds(self.mix.check_fails);
        self.check_result = if fails { CheckResult::Failed } else { CheckResult::Passed };
        self.remaining_work += if fails { 1 + self.rng.below(3) as u32 } else { 0 };
        let hangs = self.rng.odds(self.mix.check_hangs);
        let duration = if hangs { self.mix.hang } else { Interval::new(1, 600_000) };
        self.check_at = self.now + Span(self.rng.magnitude(duration));
        self.may_cancel_before(self.check_at.min(self.now + Span::from_secs(60)));
    }

    /// Stops the running check. It may finish at the same moment.
    fn end_check(&mut self) {
        if !self.rng.one_in(16) {
            self.check_result = CheckResult::Stopped;
        }
        self.check_at = self.now + Span(self.rng.below(600));
    }

    /// Sends a prompt to the agent. An idle agent starts an exchange.
    fn send_prompt(&mut self, prompt: PromptKind) {
        let wrap_up_calls = self.rng.below(3) as u32;
        let soon = self.now + Span(self.rng.below(50));
        let Some(mut agent) = self.agent.take() else { return };
        if !agent.input_ended {
            self.draw_new_work(prompt);
            agent.saving = matches!(prompt, PromptKind::WrapUp(_)).then_some(wrap_up_calls);
            agent.receive_prompt(soon);
        }
        self.agent = Some(agent);
    }

    fn close_input(&mut self) {
        let Some(mut agent) = self.agent.take() else { return };
        agent.input_ended = true;
        let is_waking = agent.stage == Stage::Wake && self.rng.one_in(2);
        if agent.stage == Stage::Rest || is_waking {
            self.become_idle(&mut agent);
        }
        self.agent = Some(agent);
    }

    fn stop(&mut self, level: StopLevel) {
        let at = self.obeyed_at(level);
        if let Some(agent) = &mut self.agent {
            (agent.stop, agent.stop_at) = (level, at);
        }
    }

    /// Kills the supervisor. Pending events are lost; running processes continue.
    pub(crate) fn lose_supervisor(&mut self) {
        self.spawn_at = NEVER;
        self.inspect_at = NEVER;
        self.fits_at = NEVER;
        self.sweep_at = NEVER;
        // The check has no reader. The next supervisor stops it first.
        self.check_at = NEVER;
        self.probe_at = NEVER;
        self.is_unsupervised = true;
        // An agent that waits for a supervisor has a separate input.
        if !self.attended && self.rng.odds(self.mix.input_ends_with_supervisor) {
            self.close_input();
        }
    }

    /// Lets time pass without a supervisor.
    pub(crate) fn pass_time(&mut self, until: Moment) {
        while self.next_at() <= until {
            // The notice is in the stream file, or lost.
            let _notice = self.advance();
        }
        self.now = self.now.max(until);
    }

    /// Starts a new supervisor. Agents that waited for one continue.
    pub(crate) fn start_supervisor(&mut self) {
        self.is_unsupervised = false;
        if let Some(agent) = self.agent.as_mut().filter(|agent| agent.stage == Stage::Wait) {
            agent.go(Stage::Act, self.now);
        }
    }

    /// Returns what a new supervisor finds of attempt number `attempt`.
    pub(crate) fn find_attempt(&mut self, attempt: u32) -> FoundAttempt {
        if let Some(agent) = &self.agent {
            return FoundAttempt::Running(agent.process);
        }
        match &mut self.finished {
            Some(ended) if ended.attempt == attempt => {
                hide_exit(ended, &mut self.rng);
                FoundAttempt::Ended(ended.evidence.clone())
            }
            Some(_) | None => FoundAttempt::Ended(Evidence::from_exit(Exit::NeverSpawned)),
        }
    }
}

/// Hides the exit, which is mostly unknown because no supervisor collected it.
fn hide_exit(ended: &mut EndedAttempt, rng: &mut Rng) {
    let evidence = &mut ended.evidence;
    if evidence.exit == Exit::NeverSpawned || rng.one_in(4) {
        return;
    }
    evidence.exit = Exit::Unobserved;
    let exchange_ended = evidence.result.is_some() && !evidence.exchange_open;
    if ended.truth == Some(Fault::Interrupted) && !exchange_ended {
        ended.truth = Some(Fault::Crashed);
    }
}
