//! What follows an attempt: another one, and when, or the end. Pure functions of the state, the
//! policy, the roll and the evidence.

use super::{Reached, Stage, State};
use crate::schedule::after_reset;
use crate::{
    ApiError, Ask, Backoff, Continuity, Evidence, Fault, Jitter, Limit, Moment, Next, Now, Nudge, Outcome,
    OutcomeKind, Policy, RateLimitStatus, Reach, Remedy, Rung, Say, ServerBound, SessionLoss, SessionPlan,
    Span, SpawnPlan, StopWhy, TimeoutRule, Usd, Used, draw_uuid, ends_as, remedy,
};

const SALT_SESSION: u64 = 16;
// A missing or a cut answer is asked for twice; a third time the agent means it.
const NUDGES_MAX: u32 = 2;
// A proxy that restarts answers with a page of its own for a minute or two. One that still does so
// after this long wants somebody to log in, or to mend it.
const MALFORMED_PATIENCE: Span = Span::from_mins(10);
// An unknown fault is retried from this step of the schedule on: conservatively.
const UNKNOWN_STEP: u32 = 4;
// Work that could not be saved twice is left as it is.
const WRAP_UPS_MAX: u32 = 2;

/// What follows an attempt that ended like this.
pub(super) fn next(
    state: &State,
    policy: &Policy,
    now: Now,
    evidence: &Evidence,
    fault: Option<Fault>,
) -> Next {
    let next = |fault| Case { state, policy, now, evidence, fault }.next();
    match (fault, state.reached) {
        // Finished before it was told to save its work.
        (None, None | Some(Reached { stage: Stage::Due, .. })) => said_to_be_done(policy),
        (None, Some(Reached { limit, .. })) => Next::Finish(Outcome::by_limit(limit, None)),
        (Some(fault), reached) => match (state.cancel, reached) {
            (Some(by), _) => Next::Finish(Outcome::cancelled(by)),
            (None, None) => next(fault),
            (None, Some(reached)) => wrap_up(state, reached, (evidence, fault), next(fault)),
        },
    }
}

/// What follows on the agent's word that the work is done.
fn said_to_be_done(policy: &Policy) -> Next {
    if policy.check.is_some() { Next::Check } else { Next::Finish(Outcome::DONE) }
}

/// What follows an attempt that could not save its work: where another one would, that is for saving it.
fn wrap_up(
    state: &State,
    Reached { limit, stage }: Reached,
    (evidence, fault): (&Evidence, Fault),
    next: Next,
) -> Next {
    match next {
        // Nothing excuses an unguarded agent; and what ends the run before the agent could be told anything is not
        // the limit, unless it is our interrupt.
        Next::Finish(outcome)
            if fault == Fault::GuardLapsed || stage == Stage::Due && fault != Fault::Interrupted =>
        {
            Next::Finish(outcome)
        }
        Next::Check if stage == Stage::Due => Next::Check,
        Next::Attempt { at, remedy, plan }
            if stage != Stage::Over
                && state.wrap_ups < WRAP_UPS_MAX
                && matches!(plan.session, SessionPlan::Resume(_)) =>
        {
            Next::Attempt { at, remedy, plan: SpawnPlan { say: Say::WrapUp(limit), ..plan } }
        }
        Next::Attempt { .. } | Next::Check | Next::Finish(_) => {
            // Our own stop at the limit is no fault of the agent.
            let is_ours = matches!(evidence.stopped, Some(StopWhy::Reserve | StopWhy::LimitReached));
            let fault = (!is_ours || fault != Fault::Interrupted).then_some(fault);
            Next::Finish(Outcome::by_limit(limit, fault))
        }
    }
}

/// How a run that was over goes on: in its session, if it has one.
pub(super) fn reopened(state: &State, now: Now, ask: &Ask) -> SpawnPlan {
    let fault = state.fault.unwrap_or(Fault::Interrupted);
    let (session, say) = match (&state.session, ask) {
        (Some(session), Ask::Continue) => (SessionPlan::Resume(session.clone()), continued(state)),
        (Some(session), Ask::Again) => (SessionPlan::Resume(session.clone()), Say::Task),
        (Some(session), Ask::Prompt(_)) => (SessionPlan::Resume(session.clone()), Say::Asked),
        (None, _) => {
            let say = if state.tally.is_silent() { Say::Task } else { Say::TaskAgain(fault) };
            (SessionPlan::New(draw_uuid(now.roll, SALT_SESSION)), say)
        }
    };
    SpawnPlan::new(state.attempts() + 1, session, say)
}

/// What an agent is told that goes on because a person wants it.
fn continued(state: &State) -> Say {
    match (state.reached, state.outcome().map(|outcome| outcome.kind)) {
        (Some(Reached { limit, .. }), _) => Say::More(limit),
        (None, Some(OutcomeKind::CheckFailed)) => Say::CheckFailed(state.checks),
        // Without a fault, nothing interrupted the agent.
        (None, _) => state.fault.map_or(Say::Nudge(Nudge::Finish), Say::Continue),
    }
}

/// One failed attempt, with all that a decision about it may look at.
struct Case<'a> {
    state: &'a State,
    policy: &'a Policy,
    now: Now,
    evidence: &'a Evidence,
    fault: Fault,
}

impl Case<'_> {
    fn next(&self) -> Next {
        let remedy = remedy(self.fault);
        match remedy {
            Remedy::WaitOut => self.wait_out(),
            Remedy::Park => self.park(),
            Remedy::Resume | Remedy::KeepGoing => self.resume(remedy),
            Remedy::ResumeOnce | Remedy::RetryOnce => self.once(remedy),
            Remedy::ResumeWhileProgressing => self.after_timeout(),
            Remedy::ResumeWithinLimit => self.within_limit(remedy),
            Remedy::ResumeExisting => self.resume_existing(),
            Remedy::NextRung => self.session_lost(),
            Remedy::FreshSession => self.fresh_session(remedy),
            Remedy::OtherSession => self.other_session(),
            Remedy::Nudge(nudge) => self.nudge(nudge),
            Remedy::EndUnlessAllowed if self.policy.allow_denials => said_to_be_done(self.policy),
            Remedy::EndUnlessAllowed | Remedy::End => self.end(),
        }
    }

    fn wait_out(&self) -> Next {
        let state = self.state;
        let malformed =
            self.evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed));
        let wall_age = state.wall_began.map_or(Span::ZERO, |began| self.now.at.since(began));
        if malformed && state.malformed > 0 && wall_age >= MALFORMED_PATIENCE {
            return Next::Finish(Outcome::by_fault(OutcomeKind::NeedsPerson, self.fault));
        }
        let young = self.fault == Fault::Overloaded && wall_age < self.policy.overload_young;
        let backoff =
            if young { self.policy.backoff.capped(self.policy.overload_cap) } else { self.policy.backoff };
        let at = self.after(&backoff, self.retries_used());
        let exhausted = match self.policy.server_bound {
            ServerBound::Retries => self.retries_used() >= self.policy.retries_max,
            ServerBound::Time(limit) => {
                limit.is_some_and(|limit| at.since(state.wall_began.unwrap_or(self.now.at)) > limit)
            }
        };
        if exhausted { self.end_until(at) } else { self.attempt(Remedy::WaitOut, at, self.resumed()) }
    }

    fn park(&self) -> Next {
        let at = match self.reset() {
            Some(reset) => after_reset(reset, self.policy.reset_jitter, self.now.roll),
            // No reset is known, or it has passed and the server has not noticed: come back after
            // longer and longer waits, which the window may outlast by hours.
            None => {
                let backoff = Backoff { jitter: Jitter::Percent(25), ..self.policy.backoff };
                self.after(&backoff, UNKNOWN_STEP + self.state.parks)
            }
        };
        if self.policy.max_wait.is_some_and(|longest| at.since(self.now.at) > longest) {
            return self.end_until(at);
        }
        self.attempt(Remedy::Park, at, self.resumed())
    }

    fn resume(&self, remedy: Remedy) -> Next {
        // A signal ended it: that is no failed attempt, and the next supervisor need not wait.
        if self.fault == Fault::Interrupted && self.state.suspend.is_some() {
            return self.attempt(remedy, self.now.at, self.resumed());
        }
        if self.retries_used() >= self.policy.retries_max {
            return self.end();
        }
        let at = self.after(&self.policy.backoff, self.retries_used());
        let at = if self.fault == Fault::SessionLost { at.max(self.at_once()) } else { at };
        self.attempt(remedy, at, self.resumed())
    }

    fn once(&self, remedy: Remedy) -> Next {
        if self.state.once.contains(self.fault) || self.retries_used() >= self.policy.retries_max {
            return self.end();
        }
        self.attempt(remedy, self.after(&self.policy.backoff, UNKNOWN_STEP), self.resumed())
    }

    fn after_timeout(&self) -> Next {
        let go_on = match self.policy.attempt_timeout_rule {
            TimeoutRule::Final => false,
            TimeoutRule::WhileProgressing => self.state.progressed,
            TimeoutRule::Retry => return self.resume(Remedy::ResumeWhileProgressing),
        };
        if go_on {
            self.attempt(Remedy::ResumeWhileProgressing, self.now.at, self.resumed())
        } else {
            self.end()
        }
    }

    /// The agent's own limit is the user's word, unless the run has one that reaches further.
    fn within_limit(&self, remedy: Remedy) -> Next {
        let limits = &self.policy.limits;
        let (limit, is_set) = match self.fault {
            Fault::TurnLimit => (Limit::Turns, limits.turns.is_some()),
            _ => (Limit::Budget, limits.budget.is_some()),
        };
        let reached = limits.reached(self.policy.wrap_up, &self.used(self.now.at));
        match reached {
            _ if !is_set => self.end(),
            Some((reached, Reach::All)) if reached == limit => {
                Next::Finish(Outcome::by_limit(limit, Some(self.fault)))
            }
            Some(_) | None if self.state.progressed => self.attempt(remedy, self.now.at, self.resumed()),
            Some(_) | None => self.end(),
        }
    }

    /// What the run has used by then, this attempt included.
    fn used(&self, at: Moment) -> Used {
        let tally = self.state.tally.plus(self.evidence.tally);
        let times = (self.state.active(at), self.state.clocks.wall(at));
        Used::of(&tally, times, (Usd::ZERO, 0))
    }

    fn resume_existing(&self) -> Next {
        if self.state.once.contains(self.fault) {
            return self.end();
        }
        let Some(plan) = &self.state.plan else { return self.end() };
        let session = SessionPlan::Resume(plan.session.id().clone());
        self.attempt(Remedy::ResumeExisting, self.now.at, (session, plan.say))
    }

    fn session_lost(&self) -> Next {
        // A session that opened, and was another one, may have been paid for.
        let first = self.state.attempts() <= 1 && self.evidence.tally.is_silent();
        match self.policy.session_loss {
            // Nothing was spent: better to ask than to begin something else than was asked for.
            SessionLoss::Ladder if first => Next::Finish(Outcome::by_fault(OutcomeKind::Refused, self.fault)),
            SessionLoss::Ladder if self.is_blank() => self.blank_session(),
            SessionLoss::Ladder => self.fresh_session(Remedy::NextRung),
            SessionLoss::FreshWithWarning | SessionLoss::Fresh if first => {
                self.attempt(Remedy::NextRung, self.at_once(), (self.new_session(), Say::Task))
            }
            SessionLoss::FreshWithWarning | SessionLoss::Fresh => self.fresh_session(Remedy::NextRung),
            SessionLoss::SpendAttempt => self.resume(Remedy::Resume),
        }
    }

    /// Whether nothing was ever said in the session that is lost: it had no history, and got none.
    fn is_blank(&self) -> bool {
        !self.state.inherited && self.state.tally.is_silent() && self.evidence.tally.is_silent()
    }

    /// The task in a new session, as if the lost one had never been.
    fn blank_session(&self) -> Next {
        if self.state.restarted.contains(self.fault) {
            return self.end();
        }
        self.attempt(Remedy::NextRung, self.at_once(), (self.new_session(), Say::Task))
    }

    /// A new session for the same task, once for each fault until progress is made in it; and, where it was
    /// told the record of the work, once more without.
    fn fresh_session(&self, remedy: Remedy) -> Next {
        let rungs = self.state.rungs;
        let plainer = rungs.contains(Rung::Seed) && !rungs.contains(Rung::Fresh);
        if self.state.restarted.contains(self.fault) && !plainer {
            return self.end();
        }
        self.attempt(remedy, self.at_once(), (self.new_session(), Say::TaskAgain(self.fault)))
    }

    fn other_session(&self) -> Next {
        if self.state.once.contains(self.fault) {
            return self.end();
        }
        let fork = match &self.state.session {
            Some(from) => {
                let to = draw_uuid(self.now.roll, SALT_SESSION);
                (SessionPlan::Fork { from: from.clone(), to }, Say::Continue(self.fault))
            }
            None => (self.new_session(), Say::Task),
        };
        self.attempt(Remedy::OtherSession, self.now.at, fork)
    }

    fn nudge(&self, nudge: Nudge) -> Next {
        let used = match nudge {
            Nudge::Finish => self.state.nudges_finish,
            Nudge::SmallerSteps => self.state.nudges_smaller,
        };
        match &self.state.session {
            Some(session) if used < NUDGES_MAX => {
                let plan = (SessionPlan::Resume(session.clone()), Say::Nudge(nudge));
                self.attempt(Remedy::Nudge(nudge), self.now.at, plan)
            }
            Some(_) | None => self.end(),
        }
    }

    fn end(&self) -> Next {
        Next::Finish(Outcome::by_fault(ends_as(self.fault), self.fault))
    }

    fn end_until(&self, at: Moment) -> Next {
        Next::Finish(Outcome { retry_at: Some(at), ..Outcome::by_fault(ends_as(self.fault), self.fault) })
    }

    fn attempt(&self, remedy: Remedy, at: Moment, (session, say): (SessionPlan, Say)) -> Next {
        let waits_for_reset = self.reset().is_some_and(|reset| at >= reset);
        if waits_for_reset && self.policy.max_wait.is_some_and(|longest| at.since(self.now.at) > longest) {
            return self.end_until(at);
        }
        // A wait is no work: what is left of that when it is over is what is left now.
        let used = Used { wall: self.state.clocks.wall(at), ..self.used(self.now.at) };
        match (self.policy.limits.reached(self.policy.wrap_up, &used), remedy) {
            // The wait for the server is longer than what is left: somebody may give the run more.
            (Some((Limit::Wall, Reach::All)), Remedy::WaitOut | Remedy::Park) if at > self.now.at => {
                self.end_until(at)
            }
            (Some((limit, Reach::All)), _) => Next::Finish(Outcome::by_limit(limit, Some(self.fault))),
            (Some((_, Reach::Reserve)) | None, _) => {
                Next::Attempt { at, remedy, plan: SpawnPlan::new(self.state.attempts() + 1, session, say) }
            }
        }
    }

    fn after(&self, backoff: &Backoff, n: u32) -> Moment {
        self.now.at + backoff.delay(n, self.evidence.retry_after, self.now.roll)
    }

    /// Now; or, where the account's usage window is known to be closed, when it opens.
    fn at_once(&self) -> Moment {
        let closed = self.evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        let reset = self.reset().filter(|_| closed);
        reset.map_or(self.now.at, |reset| after_reset(reset, self.policy.reset_jitter, self.now.roll))
    }

    /// The stated reset of the account's usage window, if it is to come.
    fn reset(&self) -> Option<Moment> {
        let stated = self.evidence.rate_limit.and_then(|limit| limit.resets_at);
        stated.filter(|reset| *reset > self.now.at)
    }

    /// Retries since the last progress that forgives.
    fn retries_used(&self) -> u32 {
        match self.policy.server_bound {
            ServerBound::Retries => self.state.streak + self.state.wall_waits,
            ServerBound::Time(_) if remedy(self.fault) == Remedy::WaitOut => self.state.wall_waits,
            ServerBound::Time(_) => self.state.streak,
        }
    }

    /// The session continued, if the agent ever opened it. Died before that, there is nothing to
    /// continue and nothing was spent: the same order again, a new session under a new id.
    fn resumed(&self) -> (SessionPlan, Say) {
        match (&self.state.session, &self.state.plan) {
            // What the session never heard is said again.
            (Some(session), Some(plan)) if self.is_unheard(plan.say) => {
                (SessionPlan::Resume(session.clone()), plan.say)
            }
            (Some(session), _) => (SessionPlan::Resume(session.clone()), Say::Continue(self.fault)),
            (None, Some(plan)) => {
                let session = match &plan.session {
                    SessionPlan::New(_) => self.new_session(),
                    SessionPlan::Resume(id) => SessionPlan::Resume(id.clone()),
                    SessionPlan::Fork { from, .. } => {
                        SessionPlan::Fork { from: from.clone(), to: draw_uuid(self.now.roll, SALT_SESSION) }
                    }
                };
                (session, plan.say)
            }
            (None, None) => (self.new_session(), Say::Task),
        }
    }

    /// Whether nothing of what was to be said has reached the session.
    fn is_unheard(&self, say: Say) -> bool {
        self.evidence.continuity == Some(Continuity::Unchanged) && !matches!(say, Say::Continue(_))
    }

    fn new_session(&self) -> SessionPlan {
        SessionPlan::New(draw_uuid(self.now.roll, SALT_SESSION))
    }
}
