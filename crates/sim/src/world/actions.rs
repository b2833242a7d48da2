//! How the world carries out the core's orders, and what a supervisor that comes back finds.

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
    /// Carries out an order. What follows from it happens later.
    pub(crate) fn perform(&mut self, action: &Action) {
        match action {
            Action::InspectSession(session) => self.inspect(session),
            Action::StartSummary(plan) => self.start_summary(plan.attempt),
            Action::StopSummary => self.stop_summary(),
            Action::StartCheck(_) => self.check(),
            Action::StopCheck => self.end_check(),
            Action::Spawn(plan) => self.spawn(plan),
            Action::Say(say, _) => self.say(*say),
            Action::CloseInput => self.end_input(),
            Action::ProbeProcesses => self.examine(),
            Action::Stop(level) => self.stop(*level),
            Action::Sweep => {
                let lasts = if self.orphans > 0 { Interval::new(1, 3_000) } else { Interval::new(0, 3) };
                self.sweep_at = self.now + Span(self.rng.within(lasts));
                self.lose_patience(self.sweep_at);
            }
            Action::Finish(_) => {}
        }
    }

    /// Somebody looks for a session. Its file may have been moved or damaged since it was used.
    fn inspect(&mut self, id: &SessionId) {
        let lasts = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        self.look_at = self.now + Span(self.rng.magnitude(lasts));
        self.lose_patience(self.look_at);
        let (moved, damaged) = (self.strikes_by(self.mix.moved), self.strikes_by(self.mix.damaged));
        let behind = self.strikes_by(self.mix.stale);
        let visible = !self.rng.odds(self.mix.hidden);
        let session = self.sessions.open_if_there(id);
        self.found = match session {
            // Nobody but the agent can look.
            _ if !visible => SessionFileState::Ready,
            None => SessionFileState::Missing,
            Some(session) => {
                session.elsewhere |= moved;
                session.damaged |= damaged;
                session.stale |= behind;
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

    /// The supervisor found that the session cannot be continued, and started nothing.
    pub(crate) fn start_nothing(&mut self, attempt: u32, truth: Fault) {
        let startup = (truth == Fault::SessionLost).then_some(StartupError::SessionUnknown);
        let evidence = Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) };
        self.finished = Some(EndedAttempt { attempt, truth: Some(truth), evidence });
    }

    /// Brings the session to where the agent looks; whether that could be done.
    fn brings(&mut self, plan: &AttemptPlan) -> bool {
        let (Some(strategy), SessionPlan::Resume(from) | SessionPlan::Fork { from, .. }) =
            (plan.strategy, &plan.session)
        else {
            return true;
        };
        let (places, repairs) = match strategy {
            ResumeStrategy::Fork => (true, true),
            ResumeStrategy::Relocate => (true, false),
            ResumeStrategy::Repair => (false, true),
            ResumeStrategy::AsIs | ResumeStrategy::Handoff | ResumeStrategy::Fresh => return true,
        };
        let fails = self.strikes_by(self.mix.unwritable);
        let Some(session) = self.sessions.open_if_there(from).filter(|_| !fails) else { return false };
        // A copy is placed whole.
        session.damaged &= !(repairs || places);
        session.stale &= !(repairs || places);
        session.elsewhere &= !places;
        true
    }

    fn spawn(&mut self, plan: &AttemptPlan) {
        let now = self.now;
        // Mostly a millisecond or two; on a machine that swaps, seconds.
        let lasts = if self.rng.one_in(8) { Interval::new(1, 5_000) } else { Interval::new(1, 5) };
        self.spawn_at = now + Span(self.rng.magnitude(lasts));
        self.lose_patience(self.spawn_at);
        self.stream.clear();
        if !self.brings(plan) {
            self.spawned = Err(None);
            return self.start_nothing(plan.attempt, Fault::SessionLost);
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
        // Nobody hears of a process before its spawn has returned.
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
        self.doom(&mut agent);
        self.looks_again(plan.prompt);
        self.agent = Some(agent);
    }

    /// People who want the end like to say so while nothing seems to happen: bring a cancel that is
    /// to come forward into a short moment, which it would hardly ever meet by chance.
    pub(super) fn lose_patience(&mut self, until: Moment) {
        if self.cancel_at != NEVER && self.rng.one_in(4) {
            self.cancel_at = self.now + Span(self.rng.below(until.since(self.now).0 + 1));
        }
    }

    fn fail_spawn(&mut self, plan: &AttemptPlan, error: SpawnError, truth: Fault) {
        self.spawned = Err(Some(error));
        let evidence = Evidence { startup: error.startup(), ..Evidence::of_exit(Exit::NeverSpawned) };
        self.finished = Some(EndedAttempt { attempt: plan.attempt, truth: Some(truth), evidence });
    }

    /// How the agent refuses to start on this session, if it does.
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
                let gone = |session: &Session| session.lost || session.elsewhere || !session.spoken;
                self.sessions.find(from).is_none_or(gone).then_some(unknown)
            }
        }
    }

    /// A process may be doomed from its first moment on.
    fn doom(&mut self, agent: &mut Agent) {
        for fault in [Fault::Crashed, Fault::OutOfMemory, Fault::Interrupted] {
            if self.strikes_by(self.mix.odds_of(fault)) {
                agent.death = Some(fault);
                agent.death_at = self.spawn_at + Span(self.rng.magnitude(Interval::new(1, 600_000)));
            }
        }
    }

    /// The work is judged, by commands that may find it wanting, or hang.
    fn check(&mut self) {
        let fails = self.rng.odds(self.mix.check_fails);
        self.check_result = if fails { CheckResult::Failed } else { CheckResult::Passed };
        self.work_left += if fails { 1 + self.rng.below(3) as u32 } else { 0 };
        let hangs = self.rng.odds(self.mix.check_hangs);
        let lasts = if hangs { self.mix.hang } else { Interval::new(1, 600_000) };
        self.check_at = self.now + Span(self.rng.magnitude(lasts));
        self.lose_patience(self.check_at.min(self.now + Span::from_secs(60)));
    }

    /// Somebody ends the commands; they may be over in the same moment.
    fn end_check(&mut self) {
        if !self.rng.one_in(16) {
            self.check_result = CheckResult::Stopped;
        }
        self.check_at = self.now + Span(self.rng.below(600));
    }

    /// A line for the agent: one that is idle begins a turn.
    fn say(&mut self, say: PromptKind) {
        let saves = self.rng.below(3) as u32;
        let soon = self.now + Span(self.rng.below(50));
        let Some(mut agent) = self.agent.take() else { return };
        if !agent.input_ended {
            self.looks_again(say);
            agent.saving = matches!(say, PromptKind::WrapUp(_)).then_some(saves);
            agent.hears(soon);
        }
        self.agent = Some(agent);
    }

    fn end_input(&mut self) {
        let Some(mut agent) = self.agent.take() else { return };
        agent.input_ended = true;
        let waking = agent.stage == Stage::Wake && self.rng.one_in(2);
        if agent.stage == Stage::Rest || waking {
            self.rests(&mut agent);
        }
        self.agent = Some(agent);
    }

    fn stop(&mut self, level: StopLevel) {
        let at = self.obeyed_at(level);
        if let Some(agent) = &mut self.agent {
            (agent.stop, agent.stop_at) = (level, at);
        }
    }

    /// The supervisor is dead. What was on its way to it is lost; what runs goes on.
    pub(crate) fn lose_supervisor(&mut self) {
        self.spawn_at = NEVER;
        self.look_at = NEVER;
        self.fits_at = NEVER;
        self.sweep_at = NEVER;
        // Nobody reads what its commands find; whoever comes back ends them first.
        self.check_at = NEVER;
        self.examine_at = NEVER;
        self.alone = true;
        // One that waits for a supervisor has an input of its own.
        if !self.attended && self.rng.odds(self.mix.input_ends_with_supervisor) {
            self.end_input();
        }
    }

    /// Time passes without a supervisor.
    pub(crate) fn pass(&mut self, until: Moment) {
        while self.next_at() <= until {
            // What nobody hears is in the stream file, or lost.
            let _unheard = self.happen();
        }
        self.now = self.now.max(until);
    }

    /// Somebody supervises again: what waited for that goes on.
    pub(crate) fn come_back(&mut self) {
        self.alone = false;
        if let Some(agent) = self.agent.as_mut().filter(|agent| agent.stage == Stage::Wait) {
            agent.go(Stage::Act, self.now);
        }
    }

    /// What a supervisor that comes back finds of attempt number `attempt`.
    pub(crate) fn found(&mut self, attempt: u32) -> FoundAttempt {
        if let Some(agent) = &self.agent {
            return FoundAttempt::Running(agent.process);
        }
        match &mut self.finished {
            Some(ended) if ended.attempt == attempt => {
                unsee(ended, &mut self.rng);
                FoundAttempt::Ended(ended.evidence.clone())
            }
            Some(_) | None => FoundAttempt::Ended(Evidence::of_exit(Exit::NeverSpawned)),
        }
    }
}

/// Nobody was there to collect the exit: mostly it is not known.
fn unsee(ended: &mut EndedAttempt, rng: &mut Rng) {
    let evidence = &mut ended.evidence;
    if evidence.exit == Exit::NeverSpawned || rng.one_in(4) {
        return;
    }
    evidence.exit = Exit::Unobserved;
    let settled = evidence.result.is_some() && !evidence.exchange_open;
    if ended.truth == Some(Fault::Interrupted) && !settled {
        ended.truth = Some(Fault::Crashed);
    }
}
