//! What follows an attempt: another one, and when, or the end. Pure functions of the state, the
//! policy, the roll and the evidence.

use super::{LimitState, State, WrapUpStage};
use crate::backoff::after_reset;
use crate::{
    AfterAttempt, ApiError, AttemptPlan, Backoff, Continuity, Evidence, Fault, Jitter, Limit, LimitThreshold,
    LimitUsage, Moment, Now, Nudge, OutageBound, Outcome, OutcomeKind, Policy, PromptKind, RateLimitStatus,
    Remedy, ResumeRequest, ResumeStrategy, SessionLoss, SessionPlan, Span, StopCause, TimeoutAction, Usd,
    draw_uuid, final_outcome, remedy,
};

const SALT_SESSION: u64 = 16;
// A missing or a cut answer is asked for twice; a third time the agent means it.
const NUDGES_MAX: u32 = 2;
// A proxy that restarts answers with a page of its own for a minute or two. One that still does so
// after this long wants somebody to log in, or to mend it.
const MALFORMED_TIMEOUT: Span = Span::from_mins(10);
// An unknown fault is retried from this step of the schedule on: conservatively.
const UNKNOWN_FAULT_BACKOFF_STEP: u32 = 4;
// Work that could not be saved twice is left as it is.
const WRAP_UPS_MAX: u32 = 2;

/// What follows an attempt that ended like this.
pub(super) fn next_step(
    state: &State,
    policy: &Policy,
    now: Now,
    evidence: &Evidence,
    fault: Option<Fault>,
) -> AfterAttempt {
    let next = |fault| FailedAttempt { state, policy, now, evidence, fault }.next_step();
    match (fault, state.limit_state) {
        // Finished before it was told to save its work.
        (None, None | Some(LimitState { stage: WrapUpStage::Due, .. })) => after_done_claim(policy),
        (None, Some(LimitState { limit, .. })) => AfterAttempt::Finish(Outcome::from_limit(limit, None)),
        (Some(fault), reached) => match (state.cancelled_by, reached) {
            (Some(by), _) => AfterAttempt::Finish(Outcome::cancelled(by)),
            (None, None) => next(fault),
            (None, Some(reached)) => wrap_up(state, reached, (evidence, fault), next(fault)),
        },
    }
}

/// What follows on the agent's word that the work is done.
fn after_done_claim(policy: &Policy) -> AfterAttempt {
    if policy.check.is_some() { AfterAttempt::Check } else { AfterAttempt::Finish(Outcome::DONE) }
}

/// What follows an attempt that could not save its work: where another one would, that is for saving it.
fn wrap_up(
    state: &State,
    LimitState { limit, stage }: LimitState,
    (evidence, fault): (&Evidence, Fault),
    next: AfterAttempt,
) -> AfterAttempt {
    match next {
        // Nothing excuses an unguarded agent; and what ends the run before the agent could be told anything is not
        // the limit, unless it is our interrupt.
        AfterAttempt::Finish(outcome)
            if fault == Fault::GuardLapsed || stage == WrapUpStage::Due && fault != Fault::Interrupted =>
        {
            AfterAttempt::Finish(outcome)
        }
        AfterAttempt::Check if stage == WrapUpStage::Due => AfterAttempt::Check,
        AfterAttempt::Attempt { at, remedy, plan }
            if stage != WrapUpStage::Exhausted
                && state.wrap_ups < WRAP_UPS_MAX
                && matches!(plan.session, SessionPlan::Resume(_)) =>
        {
            AfterAttempt::Attempt {
                at,
                remedy,
                plan: AttemptPlan { prompt: PromptKind::WrapUp(limit), ..plan },
            }
        }
        AfterAttempt::Attempt { .. } | AfterAttempt::Check | AfterAttempt::Finish(_) => {
            // Our own stop at the limit is no fault of the agent.
            let is_ours = matches!(evidence.stop_cause, Some(StopCause::WrapUp | StopCause::LimitReached));
            let fault = (!is_ours || fault != Fault::Interrupted).then_some(fault);
            AfterAttempt::Finish(Outcome::from_limit(limit, fault))
        }
    }
}

/// How a run that was over goes on: in its session, if it has one.
pub(super) fn reopened(state: &State, now: Now, ask: &ResumeRequest) -> AttemptPlan {
    let fault = state.fault.unwrap_or(Fault::Interrupted);
    let (session, say) = match (&state.session, ask) {
        (Some(session), ResumeRequest::Continue) => (SessionPlan::Resume(session.clone()), continued(state)),
        (Some(session), ResumeRequest::RepeatTask) => {
            (SessionPlan::Resume(session.clone()), PromptKind::Task)
        }
        (Some(session), ResumeRequest::Prompt(_)) => {
            (SessionPlan::Resume(session.clone()), PromptKind::FollowUp)
        }
        (None, _) => {
            let say =
                if state.usage.is_empty() { PromptKind::Task } else { PromptKind::TaskAfterLoss(fault) };
            (SessionPlan::New(draw_uuid(now.roll, SALT_SESSION)), say)
        }
    };
    AttemptPlan::new(state.attempts() + 1, session, say)
}

/// What an agent is told that goes on because a person wants it.
fn continued(state: &State) -> PromptKind {
    match (state.limit_state, state.outcome().map(|outcome| outcome.kind)) {
        (Some(LimitState { limit, .. }), _) => PromptKind::LimitRaised(limit),
        (None, Some(OutcomeKind::CheckFailed)) => PromptKind::CheckFailed(state.checks),
        // Without a fault, nothing interrupted the agent.
        (None, _) => state.fault.map_or(PromptKind::Nudge(Nudge::Answer), PromptKind::Continue),
    }
}

/// One failed attempt, with all that a decision about it may look at.
struct FailedAttempt<'a> {
    state: &'a State,
    policy: &'a Policy,
    now: Now,
    evidence: &'a Evidence,
    fault: Fault,
}

impl FailedAttempt<'_> {
    fn next_step(&self) -> AfterAttempt {
        let remedy = remedy(self.fault);
        match remedy {
            Remedy::WaitOut => self.wait_out(),
            Remedy::Park => self.park(),
            Remedy::Resume | Remedy::KeepGoing => self.resume(remedy),
            Remedy::ResumeOnce | Remedy::RetryOnce => self.retry_once(remedy),
            Remedy::ResumeWhileProgressing => self.after_timeout(),
            Remedy::ResumeWithinLimit => self.within_limit(remedy),
            Remedy::ResumeExisting => self.resume_existing(),
            Remedy::ReplaceLostSession => self.session_lost(),
            Remedy::ReplaceFullSession => self.fresh_session(remedy),
            Remedy::TryFork => self.try_fork(),
            Remedy::Nudge(nudge) => self.nudge(nudge),
            Remedy::EndUnlessAllowed if self.policy.allow_denials => after_done_claim(self.policy),
            Remedy::EndUnlessAllowed | Remedy::End => self.end(),
        }
    }

    fn wait_out(&self) -> AfterAttempt {
        let state = self.state;
        let malformed =
            self.evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed));
        let wall_age = state.outage_started_at.map_or(Span::ZERO, |began| self.now.at.since(began));
        if malformed && state.malformed_responses > 0 && wall_age >= MALFORMED_TIMEOUT {
            return AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::NeedsPerson, self.fault));
        }
        let young = self.fault == Fault::Overloaded && wall_age < self.policy.early_overload_period;
        let backoff = if young {
            self.policy.backoff.capped(self.policy.early_overload_cap)
        } else {
            self.policy.backoff
        };
        let at = self.after(&backoff, self.retries_used());
        let exhausted = match self.policy.outage_bound {
            OutageBound::Retries => self.retries_used() >= self.policy.retries_max,
            OutageBound::Time(limit) => {
                limit.is_some_and(|limit| at.since(state.outage_started_at.unwrap_or(self.now.at)) > limit)
            }
        };
        if exhausted { self.end_with_retry_at(at) } else { self.attempt(Remedy::WaitOut, at, self.resumed()) }
    }

    fn park(&self) -> AfterAttempt {
        let at = match self.reset() {
            Some(reset) => after_reset(reset, self.policy.reset_jitter, self.now.roll),
            // No reset is known, or it has passed and the server has not noticed: come back after
            // longer and longer waits, which the window may outlast by hours.
            None => {
                let backoff = Backoff { jitter: Jitter::Percent(25), ..self.policy.backoff };
                self.after(&backoff, UNKNOWN_FAULT_BACKOFF_STEP + self.state.parks)
            }
        };
        if self.policy.max_reset_wait.is_some_and(|longest| at.since(self.now.at) > longest) {
            return self.end_with_retry_at(at);
        }
        self.attempt(Remedy::Park, at, self.resumed())
    }

    fn resume(&self, remedy: Remedy) -> AfterAttempt {
        // A signal ended it: that is no failed attempt, and the next supervisor need not wait.
        if self.fault == Fault::Interrupted && self.state.suspend.is_some() {
            return self.attempt(remedy, self.now.at, self.resumed());
        }
        if self.retries_used() >= self.policy.retries_max {
            return self.end();
        }
        let at = self.after(&self.policy.backoff, self.retries_used());
        let at = if self.fault == Fault::SessionLost { at.max(self.earliest()) } else { at };
        self.attempt(remedy, at, self.resumed())
    }

    fn retry_once(&self, remedy: Remedy) -> AfterAttempt {
        if self.state.faults_retried_once.contains(self.fault)
            || self.retries_used() >= self.policy.retries_max
        {
            return self.end();
        }
        self.attempt(remedy, self.after(&self.policy.backoff, UNKNOWN_FAULT_BACKOFF_STEP), self.resumed())
    }

    fn after_timeout(&self) -> AfterAttempt {
        let go_on = match self.policy.attempt_timeout_action {
            TimeoutAction::Final => false,
            TimeoutAction::WhileProgressing => self.state.made_progress,
            TimeoutAction::Retry => return self.resume(Remedy::ResumeWhileProgressing),
        };
        if go_on {
            self.attempt(Remedy::ResumeWhileProgressing, self.now.at, self.resumed())
        } else {
            self.end()
        }
    }

    /// The agent's own limit is the user's word, unless the run has one that reaches further.
    fn within_limit(&self, remedy: Remedy) -> AfterAttempt {
        let limits = &self.policy.limits;
        let (limit, is_set) = match self.fault {
            Fault::TurnLimit => (Limit::Turns, limits.turns.is_some()),
            _ => (Limit::Budget, limits.budget.is_some()),
        };
        let reached = limits.reached(self.policy.wrap_up, &self.used(self.now.at));
        match reached {
            _ if !is_set => self.end(),
            Some((reached, LimitThreshold::Exhausted)) if reached == limit => {
                AfterAttempt::Finish(Outcome::from_limit(limit, Some(self.fault)))
            }
            Some(_) | None if self.state.made_progress => self.attempt(remedy, self.now.at, self.resumed()),
            Some(_) | None => self.end(),
        }
    }

    /// What the run has used by then, this attempt included.
    fn used(&self, at: Moment) -> LimitUsage {
        let usage = self.state.usage.plus(self.evidence.usage);
        let times = (self.state.active(at), self.state.clocks.wall(at));
        LimitUsage::new(&usage, times, (Usd::ZERO, 0))
    }

    fn resume_existing(&self) -> AfterAttempt {
        if self.state.faults_retried_once.contains(self.fault) {
            return self.end();
        }
        let Some(plan) = &self.state.plan else { return self.end() };
        let session = SessionPlan::Resume(plan.session.id().clone());
        self.attempt(Remedy::ResumeExisting, self.now.at, (session, plan.prompt))
    }

    fn session_lost(&self) -> AfterAttempt {
        // A session that opened, and was another one, may have been paid for.
        let first = self.state.attempts() <= 1 && self.evidence.usage.is_empty();
        match self.policy.session_loss {
            // Nothing was spent: better to ask than to begin something else than was asked for.
            SessionLoss::FallBack if first => {
                AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::NotStarted, self.fault))
            }
            SessionLoss::FallBack if self.session_is_unused() => self.replace_unused_session(),
            SessionLoss::FallBack => self.fresh_session(Remedy::ReplaceLostSession),
            SessionLoss::FreshWithWarning | SessionLoss::Fresh if first => self.attempt(
                Remedy::ReplaceLostSession,
                self.earliest(),
                (self.with_new_session(), PromptKind::Task),
            ),
            SessionLoss::FreshWithWarning | SessionLoss::Fresh => {
                self.fresh_session(Remedy::ReplaceLostSession)
            }
            SessionLoss::SpendAttempt => self.resume(Remedy::Resume),
        }
    }

    /// Whether nothing was ever said in the session that is lost: it had no history, and got none.
    fn session_is_unused(&self) -> bool {
        !self.state.began_with_history && self.state.usage.is_empty() && self.evidence.usage.is_empty()
    }

    /// The task in a new session, as if the lost one had never been.
    fn replace_unused_session(&self) -> AfterAttempt {
        if self.state.faults_with_new_session.contains(self.fault) {
            return self.end();
        }
        self.attempt(Remedy::ReplaceLostSession, self.earliest(), (self.with_new_session(), PromptKind::Task))
    }

    /// A new session for the same task, once for each fault until progress is made in it; and, where it was
    /// told the record of the work, once more without.
    fn fresh_session(&self, remedy: Remedy) -> AfterAttempt {
        let strategies = self.state.strategies_tried;
        let plainer =
            strategies.contains(ResumeStrategy::Handoff) && !strategies.contains(ResumeStrategy::Fresh);
        if self.state.faults_with_new_session.contains(self.fault) && !plainer {
            return self.end();
        }
        self.attempt(
            remedy,
            self.earliest(),
            (self.with_new_session(), PromptKind::TaskAfterLoss(self.fault)),
        )
    }

    fn try_fork(&self) -> AfterAttempt {
        if self.state.faults_retried_once.contains(self.fault) {
            return self.end();
        }
        let fork = match &self.state.session {
            Some(from) => {
                let to = draw_uuid(self.now.roll, SALT_SESSION);
                (SessionPlan::Fork { from: from.clone(), to }, PromptKind::Continue(self.fault))
            }
            None => (self.with_new_session(), PromptKind::Task),
        };
        self.attempt(Remedy::TryFork, self.now.at, fork)
    }

    fn nudge(&self, nudge: Nudge) -> AfterAttempt {
        let used = match nudge {
            Nudge::Answer => self.state.nudges_finish,
            Nudge::SmallerSteps => self.state.nudges_smaller,
        };
        match &self.state.session {
            Some(session) if used < NUDGES_MAX => {
                let plan = (SessionPlan::Resume(session.clone()), PromptKind::Nudge(nudge));
                self.attempt(Remedy::Nudge(nudge), self.now.at, plan)
            }
            Some(_) | None => self.end(),
        }
    }

    fn end(&self) -> AfterAttempt {
        AfterAttempt::Finish(Outcome::from_fault(final_outcome(self.fault), self.fault))
    }

    fn end_with_retry_at(&self, at: Moment) -> AfterAttempt {
        AfterAttempt::Finish(Outcome {
            retry_at: Some(at),
            ..Outcome::from_fault(final_outcome(self.fault), self.fault)
        })
    }

    fn attempt(&self, remedy: Remedy, at: Moment, (session, say): (SessionPlan, PromptKind)) -> AfterAttempt {
        let waits_for_reset = self.reset().is_some_and(|reset| at >= reset);
        if waits_for_reset
            && self.policy.max_reset_wait.is_some_and(|longest| at.since(self.now.at) > longest)
        {
            return self.end_with_retry_at(at);
        }
        // A wait is no work: what is left of that when it is over is what is left now.
        let used = LimitUsage { wall: self.state.clocks.wall(at), ..self.used(self.now.at) };
        match (self.policy.limits.reached(self.policy.wrap_up, &used), remedy) {
            // The wait for the server is longer than what is left: somebody may give the run more.
            (Some((Limit::Wall, LimitThreshold::Exhausted)), Remedy::WaitOut | Remedy::Park)
                if at > self.now.at =>
            {
                self.end_with_retry_at(at)
            }
            (Some((limit, LimitThreshold::Exhausted)), _) => {
                AfterAttempt::Finish(Outcome::from_limit(limit, Some(self.fault)))
            }
            (Some((_, LimitThreshold::Reserve)) | None, _) => AfterAttempt::Attempt {
                at,
                remedy,
                plan: AttemptPlan::new(self.state.attempts() + 1, session, say),
            },
        }
    }

    fn after(&self, backoff: &Backoff, n: u32) -> Moment {
        self.now.at + backoff.delay(n, self.evidence.retry_after, self.now.roll)
    }

    /// Now; or, where the account's usage window is known to be closed, when it opens.
    fn earliest(&self) -> Moment {
        let closed = self.evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        let reset = self.reset().filter(|_| closed);
        reset.map_or(self.now.at, |reset| after_reset(reset, self.policy.reset_jitter, self.now.roll))
    }

    /// The stated reset of the account's usage window, if it is to come.
    fn reset(&self) -> Option<Moment> {
        let reported = self.evidence.rate_limit.and_then(|limit| limit.resets_at);
        reported.filter(|reset| *reset > self.now.at)
    }

    /// Retries since the last progress that forgives.
    fn retries_used(&self) -> u32 {
        match self.policy.outage_bound {
            OutageBound::Retries => self.state.failures_since_progress + self.state.outage_waits,
            OutageBound::Time(_) if remedy(self.fault) == Remedy::WaitOut => self.state.outage_waits,
            OutageBound::Time(_) => self.state.failures_since_progress,
        }
    }

    /// The session continued, if the agent ever opened it. Died before that, there is nothing to
    /// continue and nothing was spent: the same order again, a new session under a new id.
    fn resumed(&self) -> (SessionPlan, PromptKind) {
        match (&self.state.session, &self.state.plan) {
            // What the session never heard is said again.
            (Some(session), Some(plan)) if self.prompt_was_lost(plan.prompt) => {
                (SessionPlan::Resume(session.clone()), plan.prompt)
            }
            (Some(session), _) => (SessionPlan::Resume(session.clone()), PromptKind::Continue(self.fault)),
            (None, Some(plan)) => {
                let session = match &plan.session {
                    SessionPlan::New(_) => self.with_new_session(),
                    SessionPlan::Resume(id) => SessionPlan::Resume(id.clone()),
                    SessionPlan::Fork { from, .. } => {
                        SessionPlan::Fork { from: from.clone(), to: draw_uuid(self.now.roll, SALT_SESSION) }
                    }
                };
                (session, plan.prompt)
            }
            (None, None) => (self.with_new_session(), PromptKind::Task),
        }
    }

    /// Whether nothing of what was to be said has reached the session.
    fn prompt_was_lost(&self, say: PromptKind) -> bool {
        self.evidence.continuity == Some(Continuity::Unchanged) && !matches!(say, PromptKind::Continue(_))
    }

    fn with_new_session(&self) -> SessionPlan {
        SessionPlan::New(draw_uuid(self.now.roll, SALT_SESSION))
    }
}
