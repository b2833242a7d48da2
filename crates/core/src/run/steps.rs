//! What each event means in each phase: the run's transition table.

use super::decide;
use super::{Phase, Run, Seen, Why};
use crate::condense::came_to;
use crate::ladder::{self, history_of};
use crate::remains::remains;
use crate::{
    Action, Ask, Because, By, Checked, Condensation, Event, Evidence, Exit, Fault, Found, Limit, Moment,
    Next, Notice, Now, Outcome, OutcomeKind, Policy, Proc, Record, Rung, Say, SessionFound, SessionId,
    SessionPlan, SettingChange, Span, SpawnError, SpawnPlan, StartupError, Step, StopLevel, StopWhy,
    classify,
};

// The agent retries a rejected key for three minutes; the second rejection already proves it.
const AUTH_RETRIES_MAX: u32 = 2;
// A process that outlives this many SIGKILLs cannot be ended by us (a dead disk, a debugger).
const KILLS_MAX: u32 = 3;

impl Run {
    /// Decides what one event means. The records are applied already; the caller writes them down
    /// and then performs the actions.
    pub fn step(&mut self, policy: &Policy, now: Now, event: Event) -> Step {
        let mut step = Step::default();
        self.step_into(policy, now, event, &mut step);
        step
    }

    /// The same as [`Run::step`], added to a step whose buffers are used again: for those who take
    /// millions of steps.
    pub fn step_into(&mut self, policy: &Policy, now: Now, event: Event, step: &mut Step) {
        match event {
            Event::Started(session) => self.started(policy, now.at, session, step),
            Event::Reopened(ask, changes) => self.reopened(policy, now, (ask, changes), step),
            Event::Inspected(found) => self.inspected(policy, now, found, step),
            Event::Condensed(condensation) => self.condensed(policy, now, condensation, step),
            Event::Checked(result) => self.checked(policy, now, result, step),
            Event::Spawned(proc) => self.spawned(now.at, proc, step),
            Event::SpawnFailed(error) => self.spawn_failed(policy, now, error, step),
            Event::Noticed(notice) => self.noticed(policy, now.at, &notice, step),
            Event::Exited(evidence) => self.exited(policy, now, evidence, step),
            Event::Examined(signs) => self.examined(policy, now.at, signs, step),
            Event::Swept(ended) => self.swept(policy, now.at, ended, step),
            Event::Ticked => self.ticked(policy, now, step),
            Event::Downtime(span) => self.downtime(span, step),
            Event::Cancelled(by) if self.suspends(policy, by) => self.suspend(now.at, by, step),
            Event::Cancelled(by) => self.cancelled(now.at, by, step),
            Event::Recovered { found, last_at, changes } => {
                self.recovered(policy, now, (found, last_at, changes), step);
            }
        }
    }

    pub(super) fn record(&mut self, step: &mut Step, record: Record) {
        self.apply(&record);
        step.records.push(record);
    }

    fn started(&mut self, policy: &Policy, at: Moment, session: SessionPlan, step: &mut Step) {
        if self.state.phase != Phase::New {
            return;
        }
        self.record(step, Record::RunStarted { at });
        let plan = SpawnPlan::new(1, session, Say::Task);
        self.start_attempt(policy, at, plan, step);
    }

    fn reopened(
        &mut self,
        policy: &Policy,
        now: Now,
        (ask, changes): (Ask, Vec<SettingChange>),
        step: &mut Step,
    ) {
        if self.state.outcome().is_none() {
            return;
        }
        let plan = decide::reopened(&self.state, now, &ask);
        self.record(step, Record::RunReopened { at: now.at, ask, changes });
        self.start_attempt(policy, now.at, plan, step);
    }

    pub(super) fn start_attempt(&mut self, policy: &Policy, at: Moment, plan: SpawnPlan, step: &mut Step) {
        let Some(plan) = self.within_limits(policy, at, plan, step) else { return };
        self.record(step, Record::AttemptStarted { at, plan: plan.clone() });
        if history_of(&plan.session).is_none() && plan.attempt > 1 {
            let (rung, because) = ladder::new_session(&plan, self.state.rungs, !self.state.tally.is_silent());
            self.record(step, Record::RungTaken { at, rung, because });
            // Once for each seed: that rung is not taken again without progress.
            if rung == Rung::Seed && policy.condense {
                self.record(step, Record::CondenseOrdered { at });
            }
        }
        self.launch_next(at, step);
    }

    /// Continues with the attempt that was ordered, unless the run is being suspended: then the next supervisor does.
    fn launch_next(&mut self, at: Moment, step: &mut Step) {
        if self.is_suspending() {
            self.suspended(at, step);
        } else {
            step.actions.extend(self.launch());
        }
    }

    /// What is to be done next for the attempt that was ordered: to look for its session, to have older work
    /// condensed, or to start it.
    fn launch(&self) -> Option<Action> {
        let plan = self.state.plan.as_ref()?;
        if matches!(self.state.phase, Phase::Condensing { .. }) {
            return Some(Action::Condense(plan.clone()));
        }
        let history = history_of(&plan.session).filter(|_| plan.rung.is_none());
        Some(history.map_or_else(|| Action::Spawn(plan.clone()), |session| Action::Inspect(session.clone())))
    }

    fn inspected(&mut self, policy: &Policy, now: Now, found: SessionFound, step: &mut Step) {
        let Some(plan) = self.state.plan.as_ref().filter(|_| self.state.phase == Phase::Launching) else {
            return;
        };
        let rung = ladder::rung(&plan.session, found, self.state.rungs);
        match rung.filter(|_| self.state.cancel.is_none()) {
            Some(rung) => {
                self.record(step, Record::RungTaken { at: now.at, rung, because: Because::Found(found) });
                self.launch_next(now.at, step);
            }
            // As if the agent had been started, had looked, and had found nothing.
            None => {
                let startup = rung.is_none().then_some(StartupError::SessionUnknown);
                let evidence = Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) };
                self.exited(policy, now, evidence, step);
            }
        }
    }

    /// The attempt starts, with a summary or without: no model is asked a second time.
    fn condensed(&mut self, policy: &Policy, now: Now, mut condensation: Condensation, step: &mut Step) {
        let Phase::Condensing { stopped, .. } = self.state.phase else { return };
        if let Condensation::Ended(evidence) = &mut condensation {
            evidence.stopped = stopped;
        }
        let (outcome, tally) = came_to(&condensation);
        self.record(step, Record::Condensed { at: now.at, outcome, tally });
        self.take_in_the_end(policy, now.at, step);
        if self.state.cancel.is_some() || self.has_nothing_left() {
            self.exited(policy, now, Evidence::of_exit(Exit::NeverSpawned), step);
        } else {
            self.launch_next(now.at, step);
        }
    }

    pub(super) fn stop_condensing(&mut self, at: Moment, why: StopWhy, step: &mut Step) {
        self.record(step, Record::CondenseStopped { at, why });
        step.actions.push(Action::EndCondensing);
    }

    fn spawned(&mut self, at: Moment, proc: Proc, step: &mut Step) {
        if self.state.phase != Phase::Launching {
            return;
        }
        self.record(step, Record::AttemptSpawned { at, proc });
        match (self.state.cancel, self.state.suspend) {
            (Some(by), _) => self.stop(at, StopWhy::Cancelled, first_level(by), step),
            (None, Some(_)) => self.stop(at, StopWhy::Suspended, StopLevel::Interrupt, step),
            (None, None) => {}
        }
    }

    fn spawn_failed(&mut self, policy: &Policy, now: Now, error: SpawnError, step: &mut Step) {
        let evidence = Evidence { startup: error.startup(), ..Evidence::of_exit(Exit::NeverSpawned) };
        self.exited(policy, now, evidence, step);
    }

    fn noticed(&mut self, policy: &Policy, at: Moment, notice: &Notice, step: &mut Step) {
        self.seen.see(at, notice);
        match &self.state.phase {
            // A turn may begin just as the input ends: it counts like any other.
            Phase::Live | Phase::Closing { .. } => {}
            // An interrupt is answered with a result.
            Phase::Stopping { level: StopLevel::Interrupt, why, .. } => {
                let why = *why;
                match notice {
                    Notice::TurnEnded(result) if self.has_answered() => {
                        self.turn_stopped(policy, at, (why, *result), step);
                    }
                    _ => self.heed_limits(policy, at, step),
                }
                return;
            }
            Phase::New
            | Phase::Launching
            | Phase::Condensing { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Over { .. } => return,
        }
        match notice {
            Notice::SessionOpened(session) => self.session_opened(at, session, step),
            Notice::ToolEnded => self.progressed(policy, at, step),
            Notice::TurnEnded(result) if result.is_progress() => self.progressed(policy, at, step),
            Notice::Retrying { .. } if self.seen.auth_retries >= AUTH_RETRIES_MAX => {
                self.stop(at, StopWhy::AuthRejected, StopLevel::Term, step);
            }
            Notice::Swollen => self.stop(at, StopWhy::Memory, StopLevel::Term, step),
            Notice::Stirred
            | Notice::MessageEnded
            | Notice::TurnBegan
            | Notice::ToolBegan
            | Notice::Claimed
            | Notice::Used(_)
            | Notice::Surveyed(_)
            | Notice::TurnEnded(_)
            | Notice::Idled
            | Notice::BackgroundChanged(_)
            | Notice::Retrying { .. }
            | Notice::RateLimitChanged(_)
            | Notice::Halted => {}
        }
        if matches!(self.state.phase, Phase::Live | Phase::Closing { .. }) {
            self.heed_limits(policy, at, step);
        }
        if self.state.phase == Phase::Live && self.owes_nothing() {
            let works_on = self.seen.background > 0;
            // One that claims to be done is asked at once whether what it left running is still needed.
            let continues = (!works_on || self.seen.claimed) && self.goes_on(policy, at, step);
            if !continues && !works_on {
                self.end_input(at, step);
            }
        }
    }

    /// The agent has a result and said that no turn is owed. Background work may be running.
    fn owes_nothing(&self) -> bool {
        self.seen.idle && self.seen.settled.is_some() && self.has_answered()
    }

    /// Whether a turn has ended since the agent was last told something, or interrupted, or stopped by itself: the stream
    /// of an adopted one is read again from its beginning.
    fn has_answered(&self) -> bool {
        self.seen.turns > self.state.turns_before
    }

    fn session_opened(&mut self, at: Moment, session: &SessionId, step: &mut Step) {
        if self.is_other(session) {
            // It is said once.
            if self.state.phase == Phase::Live {
                self.stop(at, StopWhy::OtherSession, StopLevel::Term, step);
            }
        } else if self.state.session.as_ref() != Some(session) {
            self.record(step, Record::SessionOpened { at, session: session.clone() });
        }
    }

    /// Whether this is not the session that the attempt was to continue. One that was named by its title has
    /// an id that only the agent knows.
    fn is_other(&self, session: &SessionId) -> bool {
        match self.state.plan.as_ref().map(|plan| &plan.session) {
            Some(SessionPlan::Resume(ordered)) if ordered.is_uuid() => {
                !ordered.as_str().eq_ignore_ascii_case(session.as_str())
            }
            Some(SessionPlan::Resume(_) | SessionPlan::New(_) | SessionPlan::Fork { .. }) | None => false,
        }
    }

    /// Whether only a result named this session, and the attempt was to start another one. A session that the agent opened is
    /// announced before its result.
    fn is_foreign(&self, session: &SessionId) -> bool {
        match self.state.plan.as_ref().map(|plan| &plan.session) {
            Some(SessionPlan::New(ordered) | SessionPlan::Fork { to: ordered, .. }) => {
                self.state.session.is_none()
                    && ordered.is_uuid()
                    && !ordered.as_str().eq_ignore_ascii_case(session.as_str())
            }
            Some(SessionPlan::Resume(_)) | None => false,
        }
    }

    fn progressed(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        // Once in an attempt says it all.
        if !self.state.progressed {
            self.record(step, Record::Progressed { at, forgives: policy.progress_resets });
        }
    }

    pub(super) fn end_input(&mut self, at: Moment, step: &mut Step) {
        self.record(step, Record::InputEnded { at });
        step.actions.push(Action::EndInput);
    }

    pub(super) fn stop(&mut self, at: Moment, why: StopWhy, level: StopLevel, step: &mut Step) {
        self.record(step, Record::StopOrdered { at, why, level, silence: None });
        step.actions.push(Action::Stop(level));
    }

    fn exited(&mut self, policy: &Policy, now: Now, mut evidence: Evidence, step: &mut Step) {
        evidence.stopped = match &self.state.phase {
            Phase::Stopping { why, .. } => Some(*why),
            // A summary may have used the rest.
            Phase::Launching if self.has_nothing_left() => Some(StopWhy::LimitReached),
            Phase::Launching | Phase::Live | Phase::Closing { .. } => None,
            Phase::New
            | Phase::Condensing { .. }
            | Phase::Sweeping { .. }
            | Phase::Checking { .. }
            | Phase::Waiting { .. }
            | Phase::Suspended { .. }
            | Phase::Over { .. } => return,
        };
        // A program that opened a session of this run is an agent: it died early.
        if evidence.startup == Some(StartupError::NotAnAgent) && self.state.session.is_some() {
            evidence.startup = None;
        }
        // What the agent did while nobody listened, or while it was being stopped, was done too.
        match &evidence.session {
            Some(session) if self.is_other(session) || self.is_foreign(session) => {
                evidence.stopped = Some(StopWhy::OtherSession)
            }
            Some(session) => self.session_opened(now.at, session, step),
            None => {}
        }
        if evidence.progressed {
            self.progressed(policy, now.at, step);
        }
        let fault = classify(&evidence);
        let stop = self.next_stop(policy, now, (&evidence, fault), step);
        let next = stop.unwrap_or_else(|| decide::next(&self.state, policy, now, &evidence, fault));
        let next = match next {
            Next::Attempt { .. } if self.is_last_attempt(policy) => {
                Next::Finish(Outcome::by_limit(Limit::Attempts, fault))
            }
            next => next,
        };
        let Evidence { tally, result, continuity, denied, questions, background, .. } = evidence;
        // People need it: no other record says what was seen.
        let is_kept = matches!(fault, Some(Fault::Unknown | Fault::AgentUnusable));
        let evidence = is_kept.then(|| Box::new(evidence));
        self.record(
            step,
            Record::AttemptEnded {
                at: now.at,
                fault,
                tally,
                result,
                denied,
                questions,
                background,
                continuity,
                evidence,
                next,
            },
        );
        step.actions.push(Action::Sweep);
    }

    /// Whether the run may make no attempt after this one.
    pub(super) fn is_last_attempt(&self, policy: &Policy) -> bool {
        self.state.attempts() - self.state.attempts_before >= policy.attempts_max
    }

    fn swept(&mut self, policy: &Policy, at: Moment, ended: u32, step: &mut Step) {
        let Phase::Sweeping { next } = &self.state.phase else { return };
        let next = next.clone();
        self.record(step, Record::Swept { at, ended });
        match (next, self.state.cancel) {
            (Next::Finish(outcome), _) => self.finish(at, outcome, step),
            (Next::Attempt { .. } | Next::Check, None) if self.is_suspending() => self.suspended(at, step),
            (Next::Check, None) => {
                self.record(step, Record::CheckOrdered { at });
                step.actions.push(Action::Check(self.state.checks));
            }
            (Next::Attempt { .. } | Next::Check, Some(by)) => self.finish(at, Outcome::cancelled(by), step),
            (Next::Attempt { at: until, plan, .. }, None) if until <= at => {
                self.start_attempt(policy, at, plan, step)
            }
            // The deadline starts it.
            (Next::Attempt { .. }, None) => {}
        }
    }

    pub(super) fn finish(&mut self, at: Moment, outcome: Outcome, step: &mut Step) {
        self.record(step, Record::RunFinished { at, outcome });
        step.actions.push(Action::Finish(outcome));
    }

    fn ticked(&mut self, policy: &Policy, now: Now, step: &mut Step) {
        let Some(deadline) = self.deadline(policy).filter(|deadline| deadline.at <= now.at) else { return };
        match (deadline.why, &self.state.phase) {
            (Why::NextAttempt, Phase::Waiting { plan, .. }) => {
                let plan = plan.clone();
                self.start_attempt(policy, now.at, plan, step);
            }
            (Why::CheckTimeout, _) => self.stop_checking(now.at, StopWhy::AttemptTimeout, step),
            (Why::Limit, Phase::Checking { .. }) => {
                self.take_in(policy, now.at, step);
                self.stop_checking(now.at, StopWhy::LimitReached, step);
            }
            (Why::CondenseTimeout, _) => self.stop_condensing(now.at, StopWhy::AttemptTimeout, step),
            (Why::Stall, _) => self.fell_silent(now.at, step),
            (Why::NoProgress, _) => self.stop_stalled(now.at, StopWhy::NoProgress, None, step),
            (Why::AttemptTimeout, _) => self.stop(now.at, StopWhy::AttemptTimeout, StopLevel::Term, step),
            (Why::BackgroundOver, _) => {
                if !self.has_answered() || !self.goes_on(policy, now.at, step) {
                    self.stop(now.at, StopWhy::BackgroundStopped, StopLevel::Term, step);
                }
            }
            (Why::Linger, _) if self.seen.background > 0 => {
                self.stop(now.at, StopWhy::BackgroundStopped, StopLevel::Term, step);
            }
            (Why::Linger, _) => self.stop(now.at, StopWhy::Lingered, StopLevel::Term, step),
            (Why::Limit, _) => self.heed_limits(policy, now.at, step),
            (Why::Settle, _) => {
                // One that has not answered to what it was told last did not hear it.
                if !self.has_answered() || !self.goes_on(policy, now.at, step) {
                    self.end_input(now.at, step);
                }
            }
            (Why::StopHarder, Phase::Stopping { why, level, .. }) => {
                let (why, level) = (*why, *level);
                self.stop_harder(now.at, why, level, step);
            }
            (Why::NextAttempt | Why::StopHarder, _) => {}
        }
    }

    fn stop_harder(&mut self, at: Moment, why: StopWhy, level: StopLevel, step: &mut Step) {
        match level {
            StopLevel::Interrupt => self.stop(at, why, StopLevel::Term, step),
            StopLevel::Term => self.stop(at, why, StopLevel::Kill, step),
            StopLevel::Kill if self.state.kills < KILLS_MAX => self.stop(at, why, StopLevel::Kill, step),
            // It cannot be ended, and nothing may run beside it.
            StopLevel::Kill => {
                let outcome = Outcome { fault: None, ..Outcome::by_fault(OutcomeKind::Bug, Fault::Unknown) };
                self.finish(at, outcome, step);
            }
        }
    }

    fn downtime(&mut self, span: Span, step: &mut Step) {
        if !self.is_idle() && span > Span::ZERO {
            self.record(step, Record::Downtime { span });
        }
    }

    fn cancelled(&mut self, at: Moment, by: By, step: &mut Step) {
        if self.is_idle() || self.state.cancel == Some(by) {
            return;
        }
        self.record(step, Record::CancelOrdered { at, by });
        match &self.state.phase {
            Phase::Live | Phase::Closing { .. } => self.stop(at, StopWhy::Cancelled, first_level(by), step),
            Phase::Stopping { level, .. } if *level < first_level(by) => {
                self.stop(at, StopWhy::Cancelled, first_level(by), step);
            }
            Phase::Waiting { .. } => self.finish(at, Outcome::cancelled(by), step),
            Phase::Condensing { stopped: None, .. } => self.stop_condensing(at, StopWhy::Cancelled, step),
            Phase::Checking { stopped: None, .. } => self.stop_checking(at, StopWhy::Cancelled, step),
            // The next event of the world finds the cancel in the state.
            Phase::Condensing { stopped: Some(_), .. }
            | Phase::Checking { stopped: Some(_), .. }
            | Phase::Stopping { .. }
            | Phase::Launching
            | Phase::Sweeping { .. }
            | Phase::New
            | Phase::Suspended { .. }
            | Phase::Over { .. } => {}
        }
    }

    fn recovered(
        &mut self,
        policy: &Policy,
        now: Now,
        (found, last_at, changes): (Found, Option<Moment>, Vec<SettingChange>),
        step: &mut Step,
    ) {
        if let Some(remains) = remains(&self.state.phase, &found) {
            self.record(step, Record::Recovered { at: now.at, remains, last_at, changes });
        }
        match (&self.state.phase, found) {
            // Ordered and never started: the order stands, unless somebody cancelled it.
            (Phase::Launching, Found::Gone(evidence))
                if evidence.exit == Exit::NeverSpawned && self.state.cancel.is_none() =>
            {
                step.actions.extend(self.launch());
            }
            (Phase::Launching, Found::Live(proc)) => self.spawned(now.at, proc, step),
            // What it had written when its supervisor died is used; it is not ordered again.
            (Phase::Condensing { .. }, Found::Gone(evidence)) => {
                self.condensed(policy, now, Condensation::Ended(evidence), step);
            }
            // Nothing of it is left: it is done again, or was to be ended anyway.
            (Phase::Checking { stopped: Some(_), .. }, Found::Gone(_)) => {
                self.checked(policy, now, Checked::Stopped, step);
            }
            (_, Found::Live(_)) => {
                self.seen = Seen::afresh(now.at);
                step.actions.extend(self.unfinished_actions());
            }
            (
                Phase::Launching | Phase::Live | Phase::Closing { .. } | Phase::Stopping { .. },
                Found::Gone(evidence),
            ) => {
                self.exited(policy, now, evidence, step);
            }
            (
                Phase::New
                | Phase::Sweeping { .. }
                | Phase::Checking { .. }
                | Phase::Waiting { .. }
                | Phase::Suspended { .. }
                | Phase::Over { .. },
                Found::Gone(_),
            ) => {
                step.actions.extend(self.unfinished_actions());
            }
        }
    }
}

fn first_level(by: By) -> StopLevel {
    match by {
        By::Person => StopLevel::Interrupt,
        By::PersonNow | By::Sigterm | By::Sighup => StopLevel::Term,
    }
}
