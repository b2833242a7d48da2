//! Starts a check and handles its result.
//!
//! A check runs between two attempts, while no other process of the run is alive. Its reviewer is in `review`.

use super::{Phase, Run, WrapUpStage};
use crate::{
    Action, CheckResult, CheckStage, Fault, Limit, Moment, Now, Outcome, OutcomeKind, Policy, PromptKind,
    Record, SessionPlan, StopCause,
};

impl Run {
    /// Starts a check: its commands, or only the reviewer if it has none.
    pub(super) fn start_check(&mut self, policy: &Policy, now: Now) {
        self.record(now.at, Record::CheckStarted);
        if has_commands(policy) {
            self.step.actions.push(Action::StartCheck(self.state.checks));
        } else {
            self.start_review(policy, now);
        }
    }

    /// Continues with the reviewer if the commands passed and there is one, else ends the check.
    pub(super) fn on_check_ended(&mut self, policy: &Policy, now: Now, result: CheckResult) {
        let Phase::Checking { stage: CheckStage::Commands, stop_cause, .. } = self.state.phase else {
            return;
        };
        let is_reviewed = policy.checks.as_ref().is_some_and(|checks| checks.review.is_some());
        match (result, self.is_suspending()) {
            (CheckResult::Passed, true) if is_reviewed => self.finish_suspend(now.at),
            (CheckResult::Passed, false) if is_reviewed => self.start_review(policy, now),
            // The next supervisor runs the check again.
            (CheckResult::Stopped, true) => self.finish_suspend(now.at),
            (CheckResult::Stopped, false) if stop_cause == Some(StopCause::TimedOut) => {
                self.end_check(policy, now, CheckResult::TimedOut)
            }
            _ => self.end_check(policy, now, result),
        }
    }

    /// Finishes the run if the check passed or needs a person, or resumes the session with the failure.
    pub(super) fn end_check(&mut self, policy: &Policy, now: Now, result: CheckResult) {
        self.record(now.at, Record::CheckEnded { result });
        let failures_max = policy.checks.as_ref().map_or(0, |checks| checks.failures_max);
        let reached = self.state.limit_state.filter(|reached| reached.stage == WrapUpStage::Exhausted);
        match (result, self.state.cancelled_by, reached) {
            (CheckResult::Passed, _, _) => self.finish(now.at, Outcome::DONE),
            (_, Some(source), _) => self.finish(now.at, Outcome::cancelled(source)),
            (_, None, Some(reached)) => self.finish(now.at, Outcome::from_limit(reached.limit, None)),
            (CheckResult::NeedsPerson, None, None) => self.finish(now.at, Outcome::NEEDS_PERSON),
            _ if self.state.checks_failed >= failures_max => self.finish(now.at, CHECK_FAILED),
            _ if self.is_last_attempt(policy) => {
                self.finish(now.at, Outcome::from_limit(Limit::Attempts, None))
            }
            (CheckResult::Failed | CheckResult::TimedOut | CheckResult::Stopped, None, None) => {
                let Some(session) = self.state.session.clone() else {
                    return self.finish(now.at, Outcome::from_fault(OutcomeKind::Failed, Fault::SessionLost));
                };
                let prompt = PromptKind::CheckFailed(self.state.checks);
                let plan = self.state.next_plan(SessionPlan::Resume(session), prompt);
                self.start_attempt(policy, now.at, plan);
            }
        }
    }

    pub(super) fn stop_checking(&mut self, at: Moment, cause: StopCause) {
        self.record(at, Record::CheckStopOrdered { cause });
        self.step.actions.push(Action::StopCheck { timed_out: cause == StopCause::TimedOut });
    }
}

pub(super) fn has_commands(policy: &Policy) -> bool {
    policy.checks.as_ref().is_some_and(|checks| !checks.commands.is_empty())
}

const CHECK_FAILED: Outcome = Outcome { kind: OutcomeKind::CheckFailed, ..Outcome::DONE };
