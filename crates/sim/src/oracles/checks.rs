//! Verifies that the work is checked if the policy requires it, and that the run obeys the result.

use super::facts::Facts;
use super::side_process::SideProcess;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, AttemptEnd, CheckResult, Moment, Outcome, OutcomeKind, PromptKind, Record, Span, StopCause,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct CheckWatch {
    /// Whether the last attempt ended with a done claim.
    claimed_done: bool,
    /// The running commands. Another oracle watches the reviewer.
    process: SideProcess,
    /// Whether the check started and did not end.
    is_open: bool,
    /// Result of the last check, until the next decision.
    result: Option<CheckResult>,
    failed: u32,
}

fn timeout(facts: &Facts) -> Option<Span> {
    facts.policy.checks.as_ref().and_then(|checks| checks.timeout)
}

fn is_reviewed(facts: &Facts) -> bool {
    facts.policy.checks.as_ref().is_some_and(|checks| checks.review.is_some())
}

impl CheckWatch {
    /// Verifies that no check runs longer than its timeout or the run's limits. `limited` states whether a
    /// limit is exhausted.
    pub(crate) fn check_overdue(&self, now: Moment, facts: &Facts, limited: bool) -> OracleResult {
        let Some(since) = self.process.runs_since() else { return Ok(()) };
        let late = timeout(facts).is_some_and(|timeout| now > since + timeout);
        ensure(!late && !limited && facts.cancel.is_none(), Oracle::Checks, || {
            format!("the check runs for {} and is not stopped: {self:?}", now.since(since))
        })
    }

    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts) -> OracleResult {
        let is_cancelled = facts.cancel.is_some();
        match record {
            Record::RunReopened { .. } => *self = CheckWatch::default(),
            Record::AttemptEnded(AttemptEnd { next, .. }) => self.claimed_done = *next == AfterAttempt::Check,
            Record::CheckStarted => {
                let allowed = self.claimed_done
                    && facts.policy.checks.is_some()
                    && self.process.since.is_none()
                    && !is_cancelled;
                ensure(allowed, Oracle::Checks, || format!("a check starts without a reason: {self:?}"))?;
                (self.claimed_done, self.is_open) = (false, true);
                self.process.start(facts.at);
            }
            Record::ReviewStarted { .. } => self.process = SideProcess::default(),
            Record::CheckStopOrdered { cause } if self.process.since.is_some() => {
                let allowed = self.process.may_stop(facts.at, *cause, timeout(facts), facts)
                    || *cause == StopCause::LimitReached && facts.is_limit_exhausted();
                ensure(allowed, Oracle::Checks, || {
                    format!("the check is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.process.stop_cause = Some(*cause);
            }
            Record::CheckEnded { result } => {
                // A check that is stopped for a suspension has no result, because it runs again. A check that
                // finishes just before the stop has one.
                // A review ends without a result if the run ends.
                let ends_review = is_reviewed(facts) && (is_cancelled || facts.is_limit_exhausted());
                let is_expected = match result {
                    CheckResult::TimedOut => self.process.stop_cause == Some(StopCause::TimedOut),
                    CheckResult::Stopped => {
                        let stop = self.process.stop_cause.filter(|cause| *cause != StopCause::TimedOut);
                        stop.is_some() && facts.suspending_since.is_none() || ends_review
                    }
                    CheckResult::Passed | CheckResult::Failed | CheckResult::NeedsPerson => true,
                };
                ensure(self.is_open && is_expected, Oracle::Checks, || {
                    format!("a check ended that did not run: {self:?}")
                })?;
                (self.process, self.is_open) = (SideProcess::default(), false);
                self.result = Some(*result);
                self.failed += u32::from(*result != CheckResult::Passed);
            }
            Record::AttemptStarted { plan } => {
                let failures_max = facts.policy.checks.as_ref().map_or(0, |checks| checks.failures_max);
                let reports_failure =
                    matches!(plan.prompt, PromptKind::CheckFailed(_) | PromptKind::WrapUp(_));
                let valid = self.result.take().is_none_or(|result| {
                    let may_continue = self.failed < failures_max && !is_cancelled;
                    let is_open =
                        matches!(result, CheckResult::Failed | CheckResult::TimedOut | CheckResult::Stopped);
                    is_open && reports_failure && may_continue
                });
                ensure(valid, Oracle::Checks, || {
                    format!("an attempt with {:?} follows the check: {self:?}", plan.prompt)
                })?;
            }
            Record::RunFinished { outcome } => self.check_end(outcome, facts)?,
            Record::Downtime { duration } => self.process.add_downtime(*duration),
            // A new supervisor runs the commands again from the start, also those that a suspension stopped.
            Record::Recovered { .. }
                if self.process.since.is_some()
                    && matches!(self.process.stop_cause, None | Some(StopCause::Suspended)) =>
            {
                self.process.start(facts.at);
            }
            _ => {}
        }
        Ok(())
    }

    /// Verifies that checked work is done if and only if it passed.
    fn check_end(&mut self, outcome: &Outcome, facts: &Facts) -> OracleResult {
        let result = self.result.take();
        let has_passed = result == Some(CheckResult::Passed);
        let valid = match outcome.kind {
            OutcomeKind::Done => facts.policy.checks.is_none() || has_passed,
            // A reviewer gave no verdict. Another oracle judges its retries.
            OutcomeKind::CheckFailed | OutcomeKind::RetryLater | OutcomeKind::NeedsPerson
                if is_reviewed(facts) && outcome.fault.is_some() && result.is_some() =>
            {
                !has_passed
            }
            // The agent failed before the check. Another oracle judges its retries.
            OutcomeKind::CheckFailed if outcome.fault.is_some() => result.is_none(),
            OutcomeKind::CheckFailed => {
                let failures_max =
                    facts.policy.checks.as_ref().map_or(u32::MAX, |checks| checks.failures_max);
                result.is_some() && !has_passed && self.failed >= failures_max
            }
            OutcomeKind::NeedsPerson if outcome.fault.is_none() => result == Some(CheckResult::NeedsPerson),
            OutcomeKind::Cancelled | OutcomeKind::OverBudget | OutcomeKind::OutOfTime => !has_passed,
            OutcomeKind::Failed if outcome.limit.is_some() => !has_passed,
            OutcomeKind::Suspended => false,
            _ => result.is_none(),
        };
        ensure(valid, Oracle::Checks, || format!("{} after {result:?}: {self:?}", outcome.kind))
    }
}
