//! What a run does when the agent says that the work is done and commands are to judge that: between two attempts, with
//! nothing of the run alive but them.

use super::{Phase, Run, Stage};
use crate::{
    Action, Checked, Fault, Limit, Moment, Now, Outcome, OutcomeKind, Policy, Record, Say, SessionPlan,
    SpawnPlan, Step, StopWhy,
};

impl Run {
    /// The work was judged: it is done, or the agent hears in the same session what is missing.
    pub(super) fn checked(&mut self, policy: &Policy, now: Now, result: Checked, step: &mut Step) {
        let Phase::Checking { .. } = self.state.phase else { return };
        // The next supervisor runs it again.
        if result == Checked::Stopped && self.is_suspending() {
            return self.suspended(now.at, step);
        }
        self.record(step, Record::Checked { at: now.at, result });
        let attempts_max = policy.check.map_or(0, |checking| checking.attempts_max);
        let reached = self.state.reached.filter(|reached| reached.stage == Stage::Over);
        match (result, self.state.cancel, reached) {
            (Checked::Passed, _, _) => self.finish(now.at, Outcome::DONE, step),
            (_, Some(by), _) => self.finish(now.at, Outcome::cancelled(by), step),
            (_, None, Some(reached)) => self.finish(now.at, Outcome::by_limit(reached.limit, None), step),
            _ if self.state.checks_failed >= attempts_max => self.finish(now.at, CHECK_FAILED, step),
            _ if self.is_last_attempt(policy) => {
                self.finish(now.at, Outcome::by_limit(Limit::Attempts, None), step)
            }
            (Checked::Failed | Checked::Stopped, None, None) => {
                let Some(session) = self.state.session.clone() else {
                    return self.finish(
                        now.at,
                        Outcome::by_fault(OutcomeKind::Failed, Fault::SessionLost),
                        step,
                    );
                };
                let say = Say::CheckFailed(self.state.checks);
                let attempt = self.state.attempts() + 1;
                self.start_attempt(
                    policy,
                    now.at,
                    SpawnPlan::new(attempt, SessionPlan::Resume(session), say),
                    step,
                );
            }
        }
    }

    pub(super) fn stop_checking(&mut self, at: Moment, why: StopWhy, step: &mut Step) {
        self.record(step, Record::CheckStopped { at, why });
        step.actions.push(Action::EndCheck);
    }
}

/// The work was never found to be done.
const CHECK_FAILED: Outcome = Outcome { kind: OutcomeKind::CheckFailed, ..Outcome::DONE };
