//! Checks that the work is checked when it should be, and that the run obeys the result.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    AfterAttempt, CheckResult, Limit, LimitThreshold, Moment, Outcome, OutcomeKind, Policy, PromptKind,
    Record, StopCause,
};
use std::mem;

/// The checks of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckWatch {
    /// Whether the last attempt did its work, according to its agent.
    claimed: bool,
    /// Start of the running check.
    since: Option<Moment>,
    stopped: Option<StopCause>,
    /// Result of the last check, until the next decision.
    result: Option<CheckResult>,
    failed: u32,
    cancelled: bool,
    suspending: bool,
    limited: Option<(Limit, LimitThreshold)>,
}

impl CheckWatch {
    /// Checks that no check runs longer than its timeout or the run's limits. `limited` says whether a limit
    /// is exhausted.
    pub(crate) fn overdue(&self, now: Moment, policy: &Policy, limited: bool) -> OracleResult {
        let (Some(since), None) = (self.since, self.stopped) else { return Ok(()) };
        let timeout = policy.check.and_then(|check| check.timeout);
        let late = timeout.is_some_and(|timeout| now > since + timeout);
        ensure(!late && !limited && !self.cancelled, Oracle::Checks, || {
            format!("judged for {} and left alone: {self:?}", now.since(since))
        })
    }

    pub(crate) fn take(&mut self, record: &Record, policy: &Policy) -> OracleResult {
        match record {
            Record::RunReopened { .. } => *self = CheckWatch::default(),
            Record::AttemptEnded { next, .. } => self.claimed = *next == AfterAttempt::Check,
            Record::CheckStarted { at } => {
                let allowed =
                    self.claimed && policy.check.is_some() && self.since.is_none() && !self.cancelled;
                ensure(allowed, Oracle::Checks, || format!("nothing is to be judged: {self:?}"))?;
                (self.claimed, self.since, self.stopped) = (false, Some(*at), None);
            }
            Record::CheckStopOrdered { at, cause } => {
                let timeout = policy.check.and_then(|check| check.timeout);
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
                    format!("ended as {cause:?} without the reason: {self:?}")
                })?;
                self.stopped = Some(*cause);
            }
            Record::CheckEnded { result, .. } => {
                // A check that is stopped for a suspension has no result, because it runs again. A check that
                // finished just in time has one.
                let is_suspended = self.suspending && !self.cancelled;
                let received = *result != CheckResult::Stopped || self.stopped.is_some() && !is_suspended;
                self.stopped = None;
                ensure(self.since.take().is_some() && received, Oracle::Checks, || {
                    format!("no check ran: {self:?}")
                })?;
                self.result = Some(*result);
                self.failed += u32::from(*result != CheckResult::Passed);
            }
            Record::AttemptStarted { plan, .. } => {
                let failures_max = policy.check.map_or(0, |check| check.failures_max);
                let reports_failure =
                    matches!(plan.prompt, PromptKind::CheckFailed(_) | PromptKind::WrapUp(_));
                let valid = match self.result.take() {
                    None => true,
                    Some(CheckResult::Passed) => false,
                    Some(CheckResult::Failed | CheckResult::Stopped) => {
                        reports_failure && self.failed < failures_max && !self.cancelled
                    }
                };
                ensure(valid, Oracle::Checks, || format!("{:?} after that check: {self:?}", plan.prompt))?;
            }
            Record::RunFinished { outcome, .. } => self.check_end(outcome, policy)?,
            Record::Downtime { duration: span } => self.since = self.since.map(|since| since + *span),
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Suspended { .. } => {}
            // A check that was stopped for a suspension runs again.
            Record::Recovered { at, .. } => {
                if mem::take(&mut self.suspending) && self.stopped == Some(StopCause::Suspended) {
                    (self.since, self.stopped) = (Some(*at), None);
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

    /// Checks that checked work is done if and only if it passed.
    fn check_end(&mut self, outcome: &Outcome, policy: &Policy) -> OracleResult {
        let failures_max = policy.check.map_or(u32::MAX, |check| check.failures_max);
        let result = self.result.take();
        let valid = match outcome.kind {
            OutcomeKind::Done => policy.check.is_none() || result == Some(CheckResult::Passed),
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
