//! Decides what follows an attempt: another attempt and its time, or the end of the run.
//!
//! All functions are pure: they depend only on the state, the policy, the roll and the evidence.

use super::{LimitState, State, WrapUpStage};
use crate::backoff::after_reset;
use crate::limits::TurnSize;
use crate::{
    AfterAttempt, ApiError, AttemptPlan, Backoff, Continuity, Evidence, Fault, Jitter, Limit, LimitThreshold,
    LimitUsage, Moment, Now, Nudge, OutageBound, Outcome, OutcomeKind, Policy, PromptKind, RateLimitStatus,
    Remedy, ResumeRequest, ResumeStrategy, SessionLoss, SessionPlan, Span, StopCause, TimeoutAction,
    draw_uuid, final_outcome, remedy,
};

const SALT_SESSION: u64 = 16;
// A missing or truncated answer is requested twice. A third one is treated as intended.
const NUDGES_MAX: u32 = 2;
// A restarting proxy answers with a page of its own for a minute or two. After this time, a person must log
// in or fix it.
const MALFORMED_TIMEOUT: Span = Span::from_mins(10);
// An unknown fault is retried from this step of the schedule, conservatively.
const UNKNOWN_FAULT_BACKOFF_STEP: u32 = 4;
// The longest window is a month. A later reset is a mistake of a gateway, such as milliseconds for seconds.
const RESET_WAIT_MAX: Span = Span::from_hours(366 * 24);
// After two failed wrap-ups, the work stays as it is.
const WRAP_UPS_MAX: u32 = 2;

/// Returns the step after an attempt that ended with this evidence and fault.
pub(super) fn next_step(
    state: &State,
    policy: &Policy,
    now: Now,
    evidence: &Evidence,
    fault: Option<Fault>,
) -> AfterAttempt {
    let next = |fault| FailedAttempt { state, policy, now, evidence, fault }.next_step();
    match (fault, state.limit_state) {
        // The agent finished before the wrap-up was requested.
        (None, None | Some(LimitState { stage: WrapUpStage::Due, .. })) => after_done_claim(policy),
        (None, Some(LimitState { limit, .. })) => AfterAttempt::Finish(Outcome::from_limit(limit, None)),
        (Some(fault), reached) => match (state.cancelled_by, reached) {
            (Some(source), _) => AfterAttempt::Finish(Outcome::cancelled(source)),
            (None, None) => next(fault),
            (None, Some(reached)) => wrap_up(state, reached, evidence, fault, next(fault)),
        },
    }
}

fn after_done_claim(policy: &Policy) -> AfterAttempt {
    if policy.checks.is_some() { AfterAttempt::Check } else { AfterAttempt::Finish(Outcome::DONE) }
}

/// Returns the step after an attempt in a run that reached a limit. If `next` is another attempt, it becomes
/// a wrap-up.
fn wrap_up(
    state: &State,
    limit_state: LimitState,
    evidence: &Evidence,
    fault: Fault,
    next: AfterAttempt,
) -> AfterAttempt {
    let LimitState { limit, stage } = limit_state;
    match next {
        // An unguarded agent ends the run. A fault before the wrap-up was requested is not caused by the
        // limit, unless it is our interrupt.
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
            // Our own stop at the limit is not a fault of the agent.
            let is_our_stop =
                matches!(evidence.stop_cause, Some(StopCause::WrapUp | StopCause::LimitReached));
            let fault = (!is_our_stop || fault != Fault::Interrupted).then_some(fault);
            AfterAttempt::Finish(Outcome::from_limit(limit, fault))
        }
    }
}

/// Plans the attempt that resumes a finished run, in its session if it has one.
pub(super) fn plan_reopened(state: &State, now: Now, request: &ResumeRequest) -> AttemptPlan {
    let planned = state.plan.as_ref();
    let (session, prompt) = match &state.session {
        Some(session) => {
            let prompt = match request {
                ResumeRequest::Continue | ResumeRequest::Workflow(_) => continue_prompt(state),
                ResumeRequest::RepeatTask => PromptKind::Task,
                ResumeRequest::Prompt(_) => PromptKind::FollowUp,
            };
            (SessionPlan::Resume(session.clone()), prompt)
        }
        None => {
            // An attempt that did not open its new session is repeated with the reason why it needed one.
            let fault = match planned {
                Some(AttemptPlan { prompt: PromptKind::TaskAfterLoss(loss), .. }) => *loss,
                Some(_) | None => state.fault.unwrap_or(Fault::Interrupted),
            };
            let prompt =
                if state.usage.is_empty() { PromptKind::Task } else { PromptKind::TaskAfterLoss(fault) };
            // A lost session stays lost.
            (unopened_session(planned.filter(|_| fault != Fault::SessionLost), now), prompt)
        }
    };
    state.next_plan(session, prompt)
}

/// Returns the session of an attempt that repeats an attempt whose session never opened.
fn unopened_session(plan: Option<&AttemptPlan>, now: Now) -> SessionPlan {
    let new = draw_uuid(now.roll, SALT_SESSION);
    match plan.map(|plan| &plan.session) {
        Some(SessionPlan::Resume(id)) => SessionPlan::Resume(id.clone()),
        Some(SessionPlan::Fork { from, .. }) => SessionPlan::Fork { from: from.clone(), to: new },
        Some(SessionPlan::New(_)) | None => SessionPlan::New(new),
    }
}

/// Returns when to try again after a usage limit. If this is later than the policy allows, it is an error.
pub(super) fn after_usage_limit(
    state: &State,
    policy: &Policy,
    now: Now,
    evidence: &Evidence,
) -> Result<Moment, Moment> {
    let (at, since) = match reported_reset(evidence, now) {
        Some(reset) => (after_reset(reset, policy.reset_jitter, now.roll), now.at),
        // No reset is known, or it has passed without effect. The waits grow, because the window may last
        // for hours.
        None => {
            let backoff = Backoff { jitter: Jitter::Percent(25), ..policy.backoff };
            let wait = backoff.delay(UNKNOWN_FAULT_BACKOFF_STEP + state.parks, None, now.roll);
            (now.at + wait, state.parked_since.unwrap_or(now.at))
        }
    };
    let is_too_late = policy.max_reset_wait.is_some_and(|longest| at.since(since) > longest);
    if is_too_late { Err(at) } else { Ok(at) }
}

/// Returns the reported reset of the account's usage window, if it is in the future and plausible.
fn reported_reset(evidence: &Evidence, now: Now) -> Option<Moment> {
    let reset = evidence.rate_limit.and_then(|limit| limit.resets_at);
    reset.filter(|reset| *reset > now.at && reset.since(now.at) <= RESET_WAIT_MAX)
}

fn continue_prompt(state: &State) -> PromptKind {
    // A request that never reached the session is sent again.
    let lost = state.plan.as_ref().map(|plan| plan.prompt).filter(|prompt| {
        let is_request =
            matches!(prompt, PromptKind::Task | PromptKind::FollowUp | PromptKind::CheckFailed(_));
        state.prompt_lost && is_request
    });
    match (state.limit_state, lost) {
        (Some(LimitState { limit, .. }), _) => PromptKind::LimitRaised(limit),
        (None, Some(prompt)) => prompt,
        (None, None) if state.is_ended_by_check() => PromptKind::CheckFailed(state.checks),
        // Without a fault, nothing interrupted the agent.
        (None, None) => state.fault.map_or(PromptKind::Nudge(Nudge::Answer), PromptKind::Continue),
    }
}

/// One failed attempt and the input for the decision about it.
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
            Remedy::ResumeWithinLimit => self.resume_within_limit(remedy),
            Remedy::ResumeExisting => self.resume_existing(),
            Remedy::ReplaceLostSession => self.session_lost(),
            Remedy::ReplaceFullSession => self.fresh_session(remedy),
            Remedy::TryFork => self.try_fork(),
            Remedy::Nudge(nudge) => self.nudge(nudge),
            Remedy::End if self.may_pass() => self.resume(Remedy::Resume),
            Remedy::EndUnlessAllowed if self.policy.allow_denials => after_done_claim(self.policy),
            Remedy::EndUnlessAllowed | Remedy::End => self.end(),
        }
    }

    fn wait_out(&self) -> AfterAttempt {
        let state = self.state;
        let malformed =
            self.evidence.result.is_some_and(|result| result.api_error == Some(ApiError::Malformed));
        let outage_age = state.outage_started_at.map_or(Span::ZERO, |start| self.now.at.since(start));
        if malformed && state.malformed_responses > 0 && outage_age >= MALFORMED_TIMEOUT {
            return AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::NeedsPerson, self.fault));
        }
        let is_early = self.fault == Fault::Overloaded && outage_age < self.policy.early_overload_period;
        let backoff = if is_early {
            self.policy.backoff.with_lower_cap(self.policy.early_overload_cap)
        } else {
            self.policy.backoff
        };
        let at = self.backoff_end(&backoff, self.retries_used());
        let exhausted = match self.policy.outage_bound {
            OutageBound::Retries => self.retries_used() >= self.policy.retries_max,
            OutageBound::Time(limit) => {
                limit.is_some_and(|limit| at.since(state.outage_started_at.unwrap_or(self.now.at)) > limit)
            }
        };
        if exhausted {
            self.end_with_retry_at(at)
        } else {
            self.attempt(Remedy::WaitOut, at, self.resume_plan())
        }
    }

    fn park(&self) -> AfterAttempt {
        match after_usage_limit(self.state, self.policy, self.now, self.evidence) {
            Ok(at) => self.attempt(Remedy::Park, at, self.resume_plan()),
            Err(at) => self.end_with_retry_at(at),
        }
    }

    fn resume(&self, remedy: Remedy) -> AfterAttempt {
        // The signal of the suspension ended the attempt. It did not fail, and the next supervisor need not
        // wait.
        if self.fault == Fault::Interrupted && self.state.suspended_by.is_some() {
            return self.attempt(remedy, self.now.at, self.resume_plan());
        }
        if self.retries_used() >= self.policy.retries_max {
            return self.end();
        }
        let backoff = self.policy.backoff;
        let (backoff, first) = match self.fault {
            // A gateway restarts within minutes.
            Fault::ModelUnknown => (backoff, UNKNOWN_FAULT_BACKOFF_STEP),
            // An update replaces the program within a minute. With jitter, all waits together could be too short.
            Fault::AgentMissing | Fault::AgentUnusable => (Backoff { jitter: Jitter::None, ..backoff }, 0),
            _ => (backoff, 0),
        };
        let at = self.backoff_end(&backoff, first + self.retries_used());
        let at = if self.fault == Fault::SessionLost { at.max(self.earliest_start()) } else { at };
        self.attempt(remedy, at, self.resume_plan())
    }

    fn retry_once(&self, remedy: Remedy) -> AfterAttempt {
        if self.state.faults_retried_once.contains(&self.fault)
            || self.retries_used() >= self.policy.retries_max
        {
            return self.end();
        }
        self.attempt(
            remedy,
            self.backoff_end(&self.policy.backoff, UNKNOWN_FAULT_BACKOFF_STEP),
            self.resume_plan(),
        )
    }

    fn after_timeout(&self) -> AfterAttempt {
        let may_continue = match self.policy.attempt_timeout_action {
            TimeoutAction::Final => false,
            TimeoutAction::WhileProgressing => self.state.made_progress,
            TimeoutAction::Retry => return self.resume(Remedy::ResumeWhileProgressing),
        };
        if may_continue {
            self.attempt(Remedy::ResumeWhileProgressing, self.now.at, self.resume_plan())
        } else {
            self.end()
        }
    }

    /// Continues past the agent's own limit if the run has a corresponding limit that is not reached.
    fn resume_within_limit(&self, remedy: Remedy) -> AfterAttempt {
        let limits = &self.policy.limits;
        let (limit, is_set) = match self.fault {
            Fault::TurnLimit => (Limit::Turns, limits.turns.is_some()),
            _ => (Limit::Budget, limits.budget.is_some()),
        };
        let reached = limits.reached(self.policy.wrap_up, &self.limit_usage(self.now.at));
        match reached {
            _ if !is_set => self.end(),
            Some((reached, LimitThreshold::Exhausted)) if reached == limit => {
                AfterAttempt::Finish(Outcome::from_limit(limit, Some(self.fault)))
            }
            Some(_) | None if self.state.made_progress => {
                self.attempt(remedy, self.now.at, self.resume_plan())
            }
            Some(_) | None => self.end(),
        }
    }

    /// Returns the run's usage until `at`, including this attempt.
    fn limit_usage(&self, at: Moment) -> LimitUsage {
        self.state.limit_usage(at, self.evidence.usage, TurnSize::default())
    }

    fn resume_existing(&self) -> AfterAttempt {
        if self.state.faults_retried_once.contains(&self.fault) {
            return self.end();
        }
        let Some(plan) = &self.state.plan else { return self.end() };
        let session = SessionPlan::Resume(plan.session.id().clone());
        self.attempt(Remedy::ResumeExisting, self.now.at, self.state.next_plan(session, plan.prompt))
    }

    fn session_lost(&self) -> AfterAttempt {
        // If the agent opened another session, it may have spent money.
        let is_first = self.state.attempts() <= 1 && self.evidence.usage.is_empty();
        match self.policy.session_loss {
            // The attempt cost nothing, so the user can decide without a loss.
            SessionLoss::FallBack if is_first => {
                AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::NotStarted, self.fault))
            }
            SessionLoss::FallBack if !self.session_is_unused() => {
                self.fresh_session(Remedy::ReplaceLostSession)
            }
            SessionLoss::FallBack if self.state.faults_with_new_session.contains(&self.fault) => self.end(),
            SessionLoss::FallBack => self.send_task(),
            SessionLoss::FreshWithWarning | SessionLoss::Fresh if is_first => self.send_task(),
            SessionLoss::FreshWithWarning | SessionLoss::Fresh => {
                self.fresh_session(Remedy::ReplaceLostSession)
            }
            SessionLoss::SpendAttempt => self.resume(Remedy::Resume),
        }
    }

    /// Returns whether the lost session never contained a message: it had no history and no usage.
    fn session_is_unused(&self) -> bool {
        !self.state.started_with_history && self.state.usage.is_empty() && self.evidence.usage.is_empty()
    }

    /// Sends the task in a new session, as if the lost one had never existed.
    fn send_task(&self) -> AfterAttempt {
        let plan = self.new_session_with(PromptKind::Task);
        self.attempt(Remedy::ReplaceLostSession, self.earliest_start(), plan)
    }

    /// Starts a new session for the same task, once for each fault until the run makes progress. After a
    /// handoff prompt, it starts one more session with only the task.
    fn fresh_session(&self, remedy: Remedy) -> AfterAttempt {
        let strategies = &self.state.strategies_tried;
        let can_drop_handoff =
            strategies.contains(&ResumeStrategy::Handoff) && !strategies.contains(&ResumeStrategy::Fresh);
        if self.state.faults_with_new_session.contains(&self.fault) && !can_drop_handoff {
            return self.end();
        }
        self.attempt(
            remedy,
            self.earliest_start(),
            self.new_session_with(PromptKind::TaskAfterLoss(self.fault)),
        )
    }

    fn try_fork(&self) -> AfterAttempt {
        if self.state.faults_with_new_session.contains(&self.fault) {
            return self.end();
        }
        let fork = match &self.state.session {
            Some(from) => {
                let to = draw_uuid(self.now.roll, SALT_SESSION);
                let session = SessionPlan::Fork { from: from.clone(), to };
                self.state.next_plan(session, PromptKind::Continue(self.fault))
            }
            None => self.new_session_with(PromptKind::Task),
        };
        self.attempt(Remedy::TryFork, self.now.at, fork)
    }

    fn nudge(&self, nudge: Nudge) -> AfterAttempt {
        let nudges = match nudge {
            Nudge::Answer => self.state.answer_nudges,
            Nudge::SmallerSteps => self.state.smaller_steps_nudges,
        };
        match &self.state.session {
            Some(session) if nudges < NUDGES_MAX => {
                let plan =
                    self.state.next_plan(SessionPlan::Resume(session.clone()), PromptKind::Nudge(nudge));
                self.attempt(Remedy::Nudge(nudge), self.now.at, plan)
            }
            Some(_) | None => self.end(),
        }
    }

    fn end(&self) -> AfterAttempt {
        let kind = match final_outcome(self.fault) {
            OutcomeKind::NotStarted if self.has_worked() => OutcomeKind::Failed,
            kind => kind,
        };
        AfterAttempt::Finish(Outcome::from_fault(kind, self.fault))
    }

    /// Returns whether a fault that finishes other runs may pass, because the same program or model has worked
    /// since the user last started or resumed this run.
    fn may_pass(&self) -> bool {
        let state = self.state;
        match self.fault {
            // An update replaces the program.
            Fault::AgentMissing | Fault::AgentUnusable => {
                self.has_worked() && state.attempts() > state.attempts_before + 1
            }
            // A gateway that fails answers 404, too.
            Fault::ModelUnknown => {
                state.usage.plus(self.evidence.usage).messages > state.usage_before_reopen.messages
            }
            _ => false,
        }
    }

    /// Returns whether an attempt before this one opened a session, even if that was replaced.
    fn has_worked(&self) -> bool {
        let state = self.state;
        state.attempts() > 1 && (state.session.is_some() || !state.usage.is_empty())
    }

    fn end_with_retry_at(&self, at: Moment) -> AfterAttempt {
        AfterAttempt::Finish(Outcome {
            retry_at: Some(at),
            ..Outcome::from_fault(final_outcome(self.fault), self.fault)
        })
    }

    fn attempt(&self, remedy: Remedy, at: Moment, plan: AttemptPlan) -> AfterAttempt {
        let waits_for_reset = reported_reset(self.evidence, self.now).is_some_and(|reset| at >= reset);
        if waits_for_reset
            && self.policy.max_reset_wait.is_some_and(|longest| at.since(self.now.at) > longest)
        {
            return self.end_with_retry_at(at);
        }
        // A wait is not work: until it ends, it uses up only the wall limit.
        let used = LimitUsage { wall: self.state.clocks.wall(at), ..self.limit_usage(self.now.at) };
        match (self.policy.limits.reached(self.policy.wrap_up, &used), remedy) {
            // The wait exceeds the remaining wall time. The user may raise the limit.
            (Some((Limit::Wall, LimitThreshold::Exhausted)), Remedy::WaitOut | Remedy::Park)
                if at > self.now.at =>
            {
                self.end_with_retry_at(at)
            }
            (Some((limit, LimitThreshold::Exhausted)), _) => {
                AfterAttempt::Finish(Outcome::from_limit(limit, Some(self.fault)))
            }
            (Some((_, LimitThreshold::Reserve)) | None, _) => AfterAttempt::Attempt { at, remedy, plan },
        }
    }

    fn backoff_end(&self, backoff: &Backoff, n: u32) -> Moment {
        self.now.at + backoff.delay(n, None, self.now.roll)
    }

    /// Returns now, or the reset of the account's usage window if it is known to be closed.
    fn earliest_start(&self) -> Moment {
        let is_closed =
            self.evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
        let reset = reported_reset(self.evidence, self.now).filter(|_| is_closed);
        reset.map_or(self.now.at, |reset| after_reset(reset, self.policy.reset_jitter, self.now.roll))
    }

    /// Returns the number of retries since the last progress that reset the count.
    fn retries_used(&self) -> u32 {
        match self.policy.outage_bound {
            OutageBound::Retries => self.state.failures_since_progress + self.state.outage_waits,
            OutageBound::Time(_) if remedy(self.fault) == Remedy::WaitOut => self.state.outage_waits,
            OutageBound::Time(_) => self.state.failures_since_progress,
        }
    }

    /// Returns the plan that continues the session, if the agent ever opened it. Otherwise nothing was paid
    /// for, and the same plan is repeated with a new session id.
    fn resume_plan(&self) -> AttemptPlan {
        match (&self.state.session, &self.state.plan) {
            (Some(session), plan) => {
                // A prompt that never reached the session is sent again.
                let is_lost = self.evidence.continuity == Some(Continuity::Unchanged);
                let sent = plan.as_ref().map(|plan| plan.prompt).filter(|_| is_lost);
                let lost = sent.filter(|prompt| !matches!(prompt, PromptKind::Continue(_)));
                let prompt = lost.unwrap_or(PromptKind::Continue(self.fault));
                self.state.next_plan(SessionPlan::Resume(session.clone()), prompt)
            }
            (None, Some(plan)) => self.state.next_plan(unopened_session(Some(plan), self.now), plan.prompt),
            (None, None) => self.new_session_with(PromptKind::Task),
        }
    }

    fn new_session_with(&self, prompt: PromptKind) -> AttemptPlan {
        self.state.next_plan(SessionPlan::New(draw_uuid(self.now.roll, SALT_SESSION)), prompt)
    }
}
