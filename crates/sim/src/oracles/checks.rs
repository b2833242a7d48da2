//! Verifies that the work is checked if the policy requires it, and that the run obeys the result.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, CheckResult, Limit, LimitThreshold, Moment, Outcome, OutcomeKind, Policy, PromptKind,
    Record, StopCause,
};
use std::mem;

/// The checks of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckWatch {
    /// Whether the last attempt ended with a done claim.
    claimed_done: bool,
    /// Start of the running check.
    since: Option<Moment>,
    stop_cause: Option<StopCause>,
    /// Result of the last check, until the next decision.
    result: Option<CheckResult>,
    failed: u32,
    cancelled: bool,
    suspending: bool,
    limited: Option<(Limit, LimitThreshold)>,
}

impl CheckWatch {
    /// Verifies that no check runs longer than its timeout or the run's limits. `limited` states whether a
    /// limit is exhausted.
    pub(crate) fn check_overdue(&self, now: Moment, policy: &Policy, limited: bool) -> OracleResult {
        let (Some(since), None) = (self.since, self.stop_cause) else { return Ok(()) };
        let timeout = policy.checks.as_ref().and_then(|checks| checks.timeout);
        let late = timeout.is_some_and(|timeout| now > since + timeout);
        ensure(!late && !limited && !self.cancelled, Oracle::Checks, || {
            format!("the check runs for {} and is not stopped: {self:?}", now.since(since))
        })
    }

    pub(crate) fn on_record(&mut self, record: &Record, policy: &Policy) -> OracleResult {
        match record {
            Record::RunReopened { .. } => *self = CheckWatch::default(),
            Record::AttemptEnded { next, .. } => self.claimed_done = *next == AfterAttempt::Check,
            Record::CheckStarted { at } => {
                let allowed =
                    self.claimed_done && policy.checks.is_some() && self.since.is_none() && !self.cancelled;
                ensure(allowed, Oracle::Checks, || format!("a check starts without a reason: {self:?}"))?;
                (self.claimed_done, self.since, self.stop_cause) = (false, Some(*at), None);
            }
            Record::CheckStopOrdered { at, cause } => {
                let timeout = policy.checks.as_ref().and_then(|checks| checks.timeout);
                let late = timeout.zip(self.since).is_some_and(|(timeout, since)| *at >= since + timeout);
                let allowed = match cause {
                    StopCause::TimedOut => late,
                    StopCause::Cancelled => self.cancelled,
                    StopCause::Suspended => self.suspending,
                    StopCause::LimitReached => matches!(self.limited, Some((_, LimitThreshold::Exhausted))),
                    StopCause::Stalled
                    | StopCause::NoProgress
                    | StopCause::AuthRejected
                    | StopCause::WrongSession
                    | StopCause::WrapUp
                    | StopCause::MemoryLimit
                    | StopCause::BackgroundStopped
                    | StopCause::DidNotExit => false,
                };
                ensure(allowed && self.since.is_some(), Oracle::Checks, || {
                    format!("the check is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.stop_cause = Some(*cause);
            }
            Record::CheckEnded { result, .. } => {
                // A check that is stopped for a suspension has no result, because it runs again. A check that
                // finishes just before the stop has one.
                let is_suspended = self.suspending && !self.cancelled;
                let is_expected =
                    *result != CheckResult::Stopped || self.stop_cause.is_some() && !is_suspended;
                self.stop_cause = None;
                ensure(self.since.take().is_some() && is_expected, Oracle::Checks, || {
                    format!("a check ended that did not run: {self:?}")
                })?;
                self.result = Some(*result);
                self.failed += u32::from(*result != CheckResult::Passed);
            }
            Record::AttemptStarted { plan, .. } => {
                let failures_max = policy.checks.as_ref().map_or(0, |checks| checks.failures_max);
                let reports_failure =
                    matches!(plan.prompt, PromptKind::CheckFailed(_) | PromptKind::WrapUp(_));
                let valid = match self.result.take() {
                    None => true,
                    Some(CheckResult::Passed) => false,
                    Some(CheckResult::Failed | CheckResult::Stopped) => {
                        reports_failure && self.failed < failures_max && !self.cancelled
                    }
                };
                ensure(valid, Oracle::Checks, || {
                    format!("an attempt with {:?} follows the check: {self:?}", plan.prompt)
                })?;
            }
            Record::RunFinished { outcome, .. } => self.check_end(outcome, policy)?,
            Record::Downtime { duration: span } => self.since = self.since.map(|since| since + *span),
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Suspended { .. } => {}
            // A check that was stopped for a suspension runs again.
            Record::Recovered { at, .. } => {
                if mem::take(&mut self.suspending) && self.stop_cause == Some(StopCause::Suspended) {
                    (self.since, self.stop_cause) = (Some(*at), None);
                }
            }
            Record::LimitReached { limit, threshold, .. } => self.limited = Some((*limit, *threshold)),
            Record::RunStarted { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::PromptSent { .. }
            | Record::AgentStopped { .. }
            | Record::StallDeferred { .. }
            | Record::InputClosed { .. }
            | Record::StopOrdered { .. }
            | Record::Swept { .. } => {}
        }
        Ok(())
    }

    /// Verifies that checked work is done if and only if it passed.
    fn check_end(&mut self, outcome: &Outcome, policy: &Policy) -> OracleResult {
        let failures_max = policy.checks.as_ref().map_or(u32::MAX, |checks| checks.failures_max);
        let result = self.result.take();
        let valid = match outcome.kind {
            OutcomeKind::Done => policy.checks.is_none() || result == Some(CheckResult::Passed),
            OutcomeKind::CheckFailed => {
                result.is_some_and(|result| result != CheckResult::Passed) && self.failed >= failures_max
            }
            OutcomeKind::Cancelled => result != Some(CheckResult::Passed),
            OutcomeKind::OverBudget | OutcomeKind::OutOfTime => result != Some(CheckResult::Passed),
            OutcomeKind::Failed if outcome.limit.is_some() => result != Some(CheckResult::Passed),
            OutcomeKind::Failed
            | OutcomeKind::NeedsPerson
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Bug
            | OutcomeKind::RetryLater => result.is_none(),
            OutcomeKind::Suspended => false,
        };
        ensure(valid, Oracle::Checks, || format!("{} after {result:?}: {self:?}", outcome.kind))
    }
}
