//! Starts the reviewer of a check, handles its result, and decides whether it starts again.
//!
//! The reviewer runs after the commands of the check passed, while no other process of the run is alive. Work
//! without a verdict is never done.

use super::checks::has_commands;
use super::decide::after_usage_limit;
use super::{Phase, Run};
use crate::api_call::ANSWER_MIN;
use crate::limits::TurnSize;
use crate::review::{ReviewRetry, review_result};
use crate::{
    Action, CheckResult, CheckStage, Evidence, Fault, LimitThreshold, Moment, Now, Outcome, OutcomeKind,
    Policy, Record, ReviewPlan, ReviewResult, final_outcome,
};

impl Run {
    /// Starts the reviewer, unless a limit is exhausted or the run is being cancelled.
    pub(super) fn start_review(&mut self, policy: &Policy, now: Now) {
        self.record_exhausted_limit(policy, now.at);
        if self.is_exhausted() || self.state.cancelled_by.is_some() {
            return self.end_check(policy, now, CheckResult::Stopped);
        }
        self.record(now.at, Record::ReviewStarted { after_commands: has_commands(policy) });
        self.step.actions.push(Action::StartReview(ReviewPlan {
            review: self.state.reviews,
            check: self.state.checks,
            attempt: self.state.attempts(),
            remaining: self.remaining(policy, now.at),
        }));
    }

    /// Ends the check with the reviewer's verdict. Without one, the reviewer starts again or the run finishes.
    pub(super) fn on_review_ended(&mut self, policy: &Policy, now: Now, mut evidence: Evidence) {
        let Phase::Checking { stage: CheckStage::Review, stop_cause, .. } = self.state.phase else { return };
        evidence.stop_cause = stop_cause;
        let (result, usage) = (review_result(&evidence), evidence.usage);
        let next = match result {
            ReviewResult::NoVerdict(fault) => self.after_no_verdict(policy, now, fault, &evidence),
            ReviewResult::Passed | ReviewResult::Failed(_) => AfterReview::End,
        };
        let retry_at = if let AfterReview::Retry(at) = next { Some(at) } else { None };
        self.record(now.at, Record::ReviewEnded { result, usage, retry_at });
        self.record_exhausted_limit(policy, now.at);
        match (result, next) {
            (ReviewResult::Passed, _) => self.end_check(policy, now, CheckResult::Passed),
            (ReviewResult::Failed(_), _) => self.end_check(policy, now, CheckResult::Failed),
            (ReviewResult::NoVerdict(_), AfterReview::End) => {
                self.end_check(policy, now, CheckResult::Stopped)
            }
            (ReviewResult::NoVerdict(_), AfterReview::Retry(_)) if self.is_suspending() => {
                self.finish_suspend(now.at)
            }
            // The deadline starts the reviewer.
            (ReviewResult::NoVerdict(_), AfterReview::Retry(_)) => {}
            (ReviewResult::NoVerdict(_), AfterReview::GiveUp(outcome)) => {
                self.record(now.at, Record::CheckEnded { result: CheckResult::Failed });
                self.finish(now.at, outcome);
            }
        }
    }

    fn after_no_verdict(&self, policy: &Policy, now: Now, fault: Fault, evidence: &Evidence) -> AfterReview {
        let is_over = self.state.cancelled_by.is_some() || self.is_exhausted();
        if is_over || self.exhausts_limit(policy, now.at, evidence) {
            return AfterReview::End;
        }
        // The next supervisor starts the reviewer at once.
        if self.is_suspending() || self.state.is_review_suspended(fault) {
            return AfterReview::Retry(now.at);
        }
        let state = &self.state;
        let started_at = state.review_started_at.unwrap_or(now.at);
        let later = |step| now.at + policy.backoff.delay(step, None, now.roll);
        let at = match policy.review_retry(fault) {
            ReviewRetry::Within { retries_max, time } => {
                let is_outage = final_outcome(fault) == OutcomeKind::RetryLater;
                let before = if is_outage { state.review_outages } else { state.review_failures };
                let at = later(before);
                (before < retries_max && at + ANSWER_MIN <= started_at + time).then_some(at)
            }
            ReviewRetry::AfterReset => match after_usage_limit(state, policy, now, evidence) {
                Ok(at) => Some(at),
                Err(at) => return AfterReview::GiveUp(without_verdict(fault, at)),
            },
            ReviewRetry::Never => None,
        };
        let give_up = |retry_at| AfterReview::GiveUp(without_verdict(fault, retry_at));
        let Some(at) = at else { return give_up(later(state.review_outages)) };
        // Something of the wall time must remain after the wait.
        let exceeds_wall = policy.limits.wall.is_some_and(|wall| state.clocks.wall(at) >= wall);
        if exceeds_wall { give_up(at) } else { AfterReview::Retry(at) }
    }

    /// Returns whether a limit is exhausted at `at` with the usage of this reviewer.
    fn exhausts_limit(&self, policy: &Policy, at: Moment, evidence: &Evidence) -> bool {
        let used = self.state.limit_usage(at, evidence.usage, TurnSize::default());
        matches!(policy.limits.reached(policy.wrap_up, &used), Some((_, LimitThreshold::Exhausted)))
    }
}

#[derive(Clone, Copy, Debug)]
enum AfterReview {
    /// The check ends: with the verdict, or because the run ends.
    End,
    /// The reviewer starts again at this time.
    Retry(Moment),
    /// The run finishes without a verdict.
    GiveUp(Outcome),
}

/// Returns the outcome of a run whose reviewer gave no verdict because of this fault. The work is unverified,
/// unless the fault is one that a person or time must remove.
fn without_verdict(fault: Fault, retry_at: Moment) -> Outcome {
    let kind = final_outcome(fault);
    let is_removable = matches!(kind, OutcomeKind::RetryLater | OutcomeKind::NeedsPerson);
    let retry_at = (kind == OutcomeKind::RetryLater).then_some(retry_at);
    let kind = if is_removable { kind } else { OutcomeKind::CheckFailed };
    Outcome { retry_at, ..Outcome::from_fault(kind, fault) }
}
