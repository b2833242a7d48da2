//! Performs the core's actions, and provides the state that a new supervisor finds.

use super::agent::{Agent, NEVER, Stage};
use super::sessions::Session;
use super::{EndedAttempt, OneShot, Timer, World};
use crate::Interval;
use crate::fault_mix::FaultPoint;
use crate::rng::Rng;
use longhaul_core::{
    Action, AttemptPlan, CheckResult, Evidence, Exit, Fault, FoundAttempt, Moment, ProcessId, PromptKind,
    ResumeStrategy, SessionFileState, SessionId, SessionPlan, Span, SpawnError, StartupError, StopLevel,
};

impl World {
    /// Performs an action. The resulting events follow later.
    pub(crate) fn perform(&mut self, action: &Action) {
        match action {
            Action::InspectSession(session) => self.inspect(session),
            Action::StartSummary(plan) => self.start_summary(plan.attempt),
            Action::StopSummary => self.stop_one_shot(OneShot::Summary),
            Action::StartCheck(_) => self.start_check(),
            Action::StartReview(plan) => self.start_one_shot(OneShot::Review, plan.review),
            Action::StopCheck { .. } if self.review.running.is_some() => self.stop_one_shot(OneShot::Review),
            Action::StopCheck { .. } => self.stop_check(),
            Action::Spawn(plan) => self.spawn(plan),
            Action::SendPrompt(prompt, _) => self.send_prompt(*prompt),
            Action::CloseInput => self.close_input(),
            Action::ProbeProcesses => self.probe(),
            Action::Stop(level) => self.stop(*level),
            Action::Sweep => {
                let duration =
                    if self.leftover_processes > 0 { Interval::new(1, 3_000) } else { Interval::new(0, 3) };
                let at = self.now + Span(self.rng.uniform(duration));
                self.set_timer(Timer::Sweep, at);
                self.may_cancel_before(at);
            }
            Action::Finish(_) => {}
        }
    }

    /// Starts the inspection of a session. Its file may have been moved or damaged since its last use.
    fn inspect(&mut self, id: &SessionId) {
        let duration = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        let at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(Timer::Inspection, at);
        self.may_cancel_before(at);
        let (moved, damaged) =
            (self.draw_extra_fault(self.mix.moved), self.draw_extra_fault(self.mix.damaged));
        let stale = self.draw_extra_fault(self.mix.stale);
        let visible = !self.rng.chance(self.mix.hidden);
        let session = self.sessions.get_mut(id);
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
                    Session { has_content: false, .. } => SessionFileState::Empty,
                    Session { elsewhere: true, .. } => SessionFileState::Elsewhere,
                    Session { damaged: true, .. } => SessionFileState::Damaged,
                    Session { stale: true, .. } => SessionFileState::Stale,
                    Session { .. } => SessionFileState::Ready,
                }
            }
        };
    }

    /// Records that the supervisor could not resume the session and started no process.
    pub(crate) fn mark_unstarted(&mut self, attempt: u32, truth: Fault) {
        let startup = (truth == Fault::SessionLost).then_some(StartupError::SessionUnknown);
        self.ended_attempt = Some(EndedAttempt::unspawned(attempt, truth, startup));
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
        let fails = self.draw_extra_fault(self.mix.unwritable);
        let Some(session) = self.sessions.get_mut(from).filter(|_| !fails) else { return false };
        // A copy is complete and undamaged.
        session.damaged &= !(repairs || relocates);
        session.stale &= !(repairs || relocates);
        session.elsewhere &= !relocates;
        true
    }

    fn spawn(&mut self, plan: &AttemptPlan) {
        // A spawn usually takes a millisecond or two, and seconds on a machine that swaps.
        let duration = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        let spawned_at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(Timer::Spawn, spawned_at);
        self.may_cancel_before(spawned_at);
        self.stream.clear();
        if !self.prepare_session(plan) {
            self.spawn_result = Err(None);
            return self.mark_unstarted(plan.attempt, Fault::SessionLost);
        }
        let struck = self.draw_fault(FaultPoint::Spawn);
        if self.draw_extra_fault(self.mix.no_resources) {
            return self.fail_spawn(plan, SpawnError::NoResources, Fault::Crashed);
        }
        if struck == Some(Fault::AgentMissing) {
            return self.fail_spawn(plan, SpawnError::NotFound, Fault::AgentMissing);
        }
        if struck == Some(Fault::AgentUnusable) && self.rng.one_in(2) {
            return self.fail_spawn(plan, SpawnError::NotRunnable, Fault::AgentUnusable);
        }
        self.last_pid += 1;
        let process = ProcessId { pid: self.last_pid, start_ticks: self.now.0 / 10 };
        self.spawn_result = Ok(process);
        // The first output comes after the spawn returned.
        let boot = spawned_at + Span(self.rng.uniform(self.mix.boot));
        let mut agent = Box::new(Agent::new(process, plan.clone(), boot));
        agent.refusal = self.refusal(plan, struck);
        agent.wrap_up_calls = matches!(plan.prompt, PromptKind::WrapUp(_)).then(|| self.rng.below(3) as u32);
        agent.never_idle = self.rng.chance(self.mix.never_idle);
        agent.exits_after_result = self.rng.chance(self.mix.exits_after_result);
        agent.lingers = self.rng.chance(self.mix.lingers);
        if !matches!(plan.session, SessionPlan::New(_)) {
            agent.starts_over = self.draw_extra_fault(self.mix.starts_over);
            let resumes = matches!(plan.session, SessionPlan::Resume(_));
            agent.opens_other_session = resumes && self.draw_extra_fault(self.mix.wrong_session);
        }
        if self.rng.chance(self.mix.ignores_stops) {
            agent.obeys_from = Some(StopLevel::Term);
        }
        self.draw_death(&mut agent, spawned_at);
        self.draw_new_work(plan.prompt);
        self.agent = Some(agent);
    }

    /// Moves a pending cancel into this short period, with some probability, because cancels would rarely hit
    /// it by chance.
    pub(super) fn may_cancel_before(&mut self, until: Moment) {
        if self.timer(Timer::Cancel) != NEVER && self.rng.one_in(4) {
            let at = self.now + Span(self.rng.below(until.since(self.now).0 + 1));
            self.set_timer(Timer::Cancel, at);
        }
    }

    fn fail_spawn(&mut self, plan: &AttemptPlan, error: SpawnError, truth: Fault) {
        self.spawn_result = Err(Some(error));
        self.ended_attempt = Some(EndedAttempt::unspawned(plan.attempt, truth, error.startup()));
    }

    /// Returns the error with which the agent refuses to start on this session, or `None` if it starts.
    fn refusal(&mut self, plan: &AttemptPlan, struck: Option<Fault>) -> Option<(StartupError, Fault)> {
        let unknown = (StartupError::SessionUnknown, Fault::SessionLost);
        let in_use = (StartupError::SessionInUse, Fault::SessionExists);
        if struck == Some(Fault::AgentUnusable) {
            return Some((StartupError::Unusable, Fault::AgentUnusable));
        }
        match &plan.session {
            SessionPlan::New(id) if self.sessions.contains_key(id) => Some(in_use),
            SessionPlan::New(id) if struck == Some(Fault::SessionExists) && plan.attempt == 1 => {
                self.sessions.entry(id.clone()).or_default();
                Some(in_use)
            }
            SessionPlan::New(_) => None,
            SessionPlan::Resume(_) if struck == Some(Fault::SessionBusy) => {
                Some((StartupError::SessionHeld, Fault::SessionBusy))
            }
            SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => {
                if struck == Some(Fault::SessionLost) {
                    self.sessions.entry(from.clone()).or_default().lost = true;
                }
                let is_unusable =
                    |session: &Session| session.lost || session.elsewhere || !session.has_content;
                self.sessions.get(from).is_none_or(is_unusable).then_some(unknown)
            }
        }
    }

    fn draw_death(&mut self, agent: &mut Agent, spawned_at: Moment) {
        for fault in [Fault::Crashed, Fault::OutOfMemory, Fault::Interrupted] {
            if self.draw_extra_fault(self.mix.fault_odds(fault)) {
                agent.death = Some(fault);
                agent.death_at = spawned_at + Span(self.rng.log_uniform(Interval::new(1, 600_000)));
            }
        }
    }

    fn start_check(&mut self) {
        let fails = self.rng.chance(self.mix.check_fails);
        self.check_result = match fails {
            true if self.rng.one_in(16) => CheckResult::NeedsPerson,
            true => CheckResult::Failed,
            false => CheckResult::Passed,
        };
        self.remaining_work += if fails { 1 + self.rng.below(3) as u32 } else { 0 };
        let hangs = self.rng.chance(self.mix.check_hangs);
        let duration = if hangs { self.mix.hang } else { Interval::new(1, 600_000) };
        let ends_at = self.now + Span(self.rng.log_uniform(duration));
        self.set_timer(Timer::Check, ends_at);
        self.may_cancel_before(ends_at.min(self.now + Span::from_secs(60)));
    }

    /// Stops the running check. It may finish at the same moment. A reviewer that could not start is gone.
    fn stop_check(&mut self) {
        if self.timer(Timer::Review) != NEVER {
            return;
        }
        if !self.rng.one_in(16) {
            self.check_result = CheckResult::Stopped;
        }
        let ends_at = self.now + Span(self.rng.below(600));
        self.set_timer(Timer::Check, ends_at);
    }

    /// Sends a prompt to the agent. An idle agent starts an exchange.
    fn send_prompt(&mut self, prompt: PromptKind) {
        let wrap_up_calls = self.rng.below(3) as u32;
        let soon = self.now + Span(self.rng.below(50));
        let Some(mut agent) = self.agent.take() else { return };
        if !agent.input_closed {
            self.draw_new_work(prompt);
            agent.wrap_up_calls = matches!(prompt, PromptKind::WrapUp(_)).then_some(wrap_up_calls);
            agent.receive_prompt(soon);
        }
        self.agent = Some(agent);
    }

    fn close_input(&mut self) {
        let Some(mut agent) = self.agent.take() else { return };
        agent.input_closed = true;
        let is_waking = agent.stage == Stage::Wake && self.rng.one_in(2);
        if agent.stage == Stage::Idle || is_waking {
            self.become_idle(&mut agent);
        }
        self.agent = Some(agent);
    }

    fn stop(&mut self, level: StopLevel) {
        let at = self.obeyed_at(level);
        if let Some(agent) = &mut self.agent {
            (agent.stop, agent.stop_at) = (Some(level), at);
        }
    }

    /// Kills the supervisor. Pending events are lost; running processes continue.
    pub(crate) fn kill_supervisor(&mut self) {
        // The check has no reader. The next supervisor stops it first.
        for timer in [Timer::Spawn, Timer::Inspection, Timer::Check, Timer::Sweep, Timer::Probe] {
            self.set_timer(timer, NEVER);
        }
        for kind in OneShot::ALL {
            if self.one_shot(kind).running.is_none() {
                self.set_timer(kind.timer(), NEVER);
            }
        }
        self.is_unsupervised = true;
        // The input of an agent that waits for a supervisor survives the supervisor.
        if !self.needs_supervisor && self.rng.chance(self.mix.input_closes_with_supervisor) {
            self.close_input();
        }
    }

    pub(crate) fn pass_time(&mut self, until: Moment) {
        while self.next_at() <= until {
            // The notice is in the stream file, or it is lost.
            let _notice = self.advance();
        }
        self.now = self.now.max(until);
    }

    /// Starts a new supervisor. Agents that waited for one continue.
    pub(crate) fn start_supervisor(&mut self) {
        self.is_unsupervised = false;
        if let Some(agent) = self.agent.as_mut().filter(|agent| agent.stage == Stage::WaitForSupervisor) {
            agent.enter(Stage::Evaluate, self.now);
        }
    }

    /// Returns the state in which a new supervisor finds attempt number `attempt`.
    pub(crate) fn find_attempt(&mut self, attempt: u32) -> FoundAttempt {
        if let Some(agent) = &self.agent {
            return FoundAttempt::Running(agent.process);
        }
        match &mut self.ended_attempt {
            Some(ended) if ended.attempt == attempt => {
                hide_exit(ended, &mut self.rng);
                FoundAttempt::Ended(ended.evidence.clone())
            }
            Some(_) | None => FoundAttempt::Ended(Evidence::from_exit(Exit::NeverSpawned)),
        }
    }
}

/// Hides the exit status with some probability, because no supervisor collected it.
fn hide_exit(ended: &mut EndedAttempt, rng: &mut Rng) {
    let evidence = &mut ended.evidence;
    if evidence.exit == Exit::NeverSpawned || rng.one_in(4) {
        return;
    }
    evidence.exit = Exit::Unobserved;
    let is_reported = !evidence.exchange_open && evidence.result.is_some_and(|result| result.is_error);
    if ended.truth == Some(Fault::Interrupted) && !is_reported {
        ended.truth = Some(Fault::Crashed);
    }
}
