//! What a run does when the agent says that the work is done and commands are to judge that: between two attempts, with
//! nothing of the run alive but them.

use super::{Phase, Run, WrapUpStage};
use crate::{
    Action, AttemptPlan, CheckResult, Fault, Limit, Moment, Now, Outcome, OutcomeKind, Policy, PromptKind,
    Record, SessionPlan, Step, StopCause,
};

impl Run {
    /// The work was judged: it is done, or the agent hears in the same session what is missing.
    pub(super) fn checked(&mut self, policy: &Policy, now: Now, result: CheckResult, step: &mut Step) {
        let Phase::Checking { .. } = self.state.phase else { return };
        // The next supervisor runs it again.
        if result == CheckResult::Stopped && self.is_suspending() {
            return self.suspended(now.at, step);
        }
        self.record(step, Record::CheckEnded { at: now.at, result });
        let attempts_max = policy.check.map_or(0, |checking| checking.failures_max);
        let reached = self.state.limit_state.filter(|reached| reached.stage == WrapUpStage::Exhausted);
        match (result, self.state.cancelled_by, reached) {
            (CheckResult::Passed, _, _) => self.finish(now.at, Outcome::DONE, step),
            (_, Some(by), _) => self.finish(now.at, Outcome::cancelled(by), step),
            (_, None, Some(reached)) => self.finish(now.at, Outcome::from_limit(reached.limit, None), step),
            _ if self.state.checks_failed >= attempts_max => self.finish(now.at, CHECK_FAILED, step),
            _ if self.is_last_attempt(policy) => {
                self.finish(now.at, Outcome::from_limit(Limit::Attempts, None), step)
            }
            (CheckResult::Failed | CheckResult::Stopped, None, None) => {
                let Some(session) = self.state.session.clone() else {
                    return self.finish(
                        now.at,
                        Outcome::from_fault(OutcomeKind::Failed, Fault::SessionLost),
                        step,
                    );
                };
                let say = PromptKind::CheckFailed(self.state.checks);
                let attempt = self.state.attempts() + 1;
                self.start_attempt(
                    policy,
                    now.at,
                    AttemptPlan::new(attempt, SessionPlan::Resume(session), say),
                    step,
                );
            }
        }
    }

    pub(super) fn stop_checking(&mut self, at: Moment, why: StopCause, step: &mut Step) {
        self.record(step, Record::CheckStopOrdered { at, cause: why });
        step.actions.push(Action::StopCheck);
    }
}

/// The work was never found to be done.
const CHECK_FAILED: Outcome = Outcome { kind: OutcomeKind::CheckFailed, ..Outcome::DONE };
