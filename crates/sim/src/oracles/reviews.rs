//! Verifies that work is reviewed if the policy requires it, and that the run obeys the verdict: it is done only
//! after one that passed, and reviewers without a verdict are bounded. The bounds are restated from the
//! documentation.

use super::facts::Facts;
use super::side_process::SideProcess;
use super::{Oracle, OracleResult, ensure};
use crate::world::EndedAttempt;
use longhaul_core::{
    CheckResult, Event, Exit, Fault, Moment, OutageBound, OutcomeKind, Record, Review, ReviewResult, Span,
    StopCause, Usage,
};

// Number of times that the reviewer of one check is started again after faults that are no outages.
const RETRIES_MAX: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct ReviewWatch {
    /// Whether the commands of the current check passed.
    commands_passed: bool,
    process: SideProcess,
    /// Start of the first reviewer of the check since its last usage limit, moved forward by any downtime since.
    started_at: Option<Moment>,
    suspended_at: Option<Moment>,
    /// First usage limit of a reviewer of the check.
    parked_since: Option<Moment>,
    outages: u32,
    failures: u32,
    /// Moment before which no further reviewer of the check may start.
    retry_at: Option<Moment>,
    /// Result of the last reviewer of the check.
    result: Option<ReviewResult>,
}

fn review<'a>(facts: &Facts<'a>) -> Option<&'a Review> {
    facts.policy.checks.as_ref()?.review.as_ref()
}

fn is_outage(fault: Fault) -> bool {
    matches!(fault, Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network)
}

impl ReviewWatch {
    pub(crate) fn check_overdue(&self, now: Moment, facts: &Facts, limited: bool) -> OracleResult {
        let Some(since) = self.process.runs_since() else { return Ok(()) };
        let late = review(facts).is_none_or(|review| now > since + review.timeout);
        ensure(!late && !limited && facts.cancel.is_none(), Oracle::Reviews, || {
            format!("the reviewer runs for {} and is not stopped: {self:?}", now.since(since))
        })
    }

    pub(crate) fn receive(&mut self, event: &Event) {
        if let Event::CheckEnded(result) = event {
            self.commands_passed = *result == CheckResult::Passed;
        }
    }

    /// Receives a record. `ended` is the last reviewer of the world, and `is_alive` states whether any process of
    /// the run is alive.
    pub(crate) fn on_record(
        &mut self,
        record: &Record,
        facts: &Facts,
        ended: Option<&EndedAttempt>,
        is_alive: bool,
    ) -> OracleResult {
        match record {
            Record::CheckStarted => *self = ReviewWatch::default(),
            Record::ReviewStarted { after_commands } => {
                let has_commands =
                    facts.policy.checks.as_ref().is_some_and(|checks| !checks.commands.is_empty());
                let is_due = self.retry_at.take().is_none_or(|retry_at| facts.at >= retry_at);
                let allowed = review(facts).is_some()
                    && *after_commands == has_commands
                    && (self.commands_passed || !has_commands)
                    && self.process.since.is_none()
                    && !matches!(self.result, Some(ReviewResult::Passed | ReviewResult::Failed(_)))
                    && facts.cancel.is_none()
                    && facts.suspending_since.is_none()
                    && !facts.is_limit_exhausted();
                ensure(allowed && is_due && !is_alive, Oracle::Reviews, || {
                    format!("a reviewer starts without a reason: {self:?}")
                })?;
                self.started_at.get_or_insert(facts.at);
                self.process.start(facts.at);
            }
            Record::CheckStopOrdered { cause } if self.process.since.is_some() => {
                let timeout = review(facts).map(|review| review.timeout);
                let allowed = self.process.may_stop(facts.at, *cause, timeout, facts)
                    || *cause == StopCause::LimitReached && facts.is_limit_exhausted();
                ensure(allowed, Oracle::Reviews, || {
                    format!("the reviewer is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.process.stop_cause = Some(*cause);
            }
            Record::ReviewEnded { result, usage, retry_at } => {
                let (expected, billed) = self.expected(ended);
                ensure(self.process.since.is_some() && *result == expected, Oracle::Truth, || {
                    format!("the review is recorded as {result:?}, but it was {expected:?}: {self:?}")
                })?;
                ensure(*usage == billed, Oracle::Usage, || {
                    format!("{usage:?} is recorded for a reviewer that used {billed:?}")
                })?;
                if let Some(retry_at) = retry_at {
                    self.check_retry(facts.at, *result, *retry_at, facts, ended)?;
                } else if let ReviewResult::NoVerdict(fault) = result {
                    self.check_give_up(*fault, facts)?;
                }
                (self.process, self.result, self.retry_at) =
                    (SideProcess::default(), Some(*result), *retry_at);
            }
            Record::CheckEnded { result } => {
                let passed = self.result == Some(ReviewResult::Passed);
                let valid = review(facts).is_none() || passed == (*result == CheckResult::Passed);
                ensure(valid, Oracle::Reviews, || format!("the check is {result:?} after {self:?}"))?;
            }
            Record::RunFinished { outcome } if outcome.kind == OutcomeKind::Done => {
                let passed = self.result == Some(ReviewResult::Passed);
                ensure(review(facts).is_none() || passed && !is_alive, Oracle::Reviews, || {
                    format!("done without a review that passed: {self:?}")
                })?;
            }
            Record::Downtime { duration } => {
                self.process.add_downtime(*duration);
                self.started_at = self.started_at.map(|started_at| started_at + *duration);
            }
            Record::Suspended { .. } => self.suspended_at = Some(facts.at),
            Record::Recovered { .. } => {
                let suspended = self.suspended_at.take().map_or(Span::ZERO, |since| facts.at.since(since));
                self.started_at = self.started_at.map(|started_at| started_at + suspended);
                // The takeover stops a reviewer that has no verdict, as a suspension does.
                if self.process.runs_since().is_some() {
                    self.process.stop_cause = Some(StopCause::Suspended);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the true result of the last reviewer, and its usage.
    fn expected(&self, ended: Option<&EndedAttempt>) -> (ReviewResult, Usage) {
        let Some(ended) = ended else {
            return (ReviewResult::NoVerdict(Fault::Crashed), Usage::default());
        };
        let result = match (ended.truth, ended.evidence.review) {
            (None, Some(verdict)) if verdict.complete && verdict.missing == 0 => ReviewResult::Passed,
            (None, Some(verdict)) => ReviewResult::Failed(verdict.missing),
            (None, None) => ReviewResult::NoVerdict(match self.process.stop_cause {
                Some(StopCause::LimitReached) => Fault::Interrupted,
                _ => Fault::Unfinished,
            }),
            (Some(truth), _) => ReviewResult::NoVerdict(match (truth, self.process.stop_cause) {
                (Fault::UsageLimit, cause) if cause != Some(StopCause::LimitReached) => Fault::UsageLimit,
                (_, Some(StopCause::TimedOut)) => Fault::AttemptTimeout,
                (_, Some(StopCause::LimitReached)) => Fault::Interrupted,
                (Fault::Crashed, Some(StopCause::Suspended)) => Fault::Interrupted,
                // A cancelled reviewer that did not start, or whose exit nothing observed, did not crash.
                (Fault::Crashed, Some(StopCause::Cancelled))
                    if matches!(ended.evidence.exit, Exit::NeverSpawned | Exit::Unobserved) =>
                {
                    Fault::Interrupted
                }
                (fault, _) => fault,
            }),
        };
        (result, ended.evidence.usage)
    }

    fn check_retry(
        &mut self,
        at: Moment,
        result: ReviewResult,
        retry_at: Moment,
        facts: &Facts,
        ended: Option<&EndedAttempt>,
    ) -> OracleResult {
        let ReviewResult::NoVerdict(fault) = result else {
            return ensure(false, Oracle::Reviews, || "a verdict is not accepted".to_owned());
        };
        let policy = facts.policy;
        let wait = retry_at.since(at);
        let reset = ended.and_then(|ended| ended.evidence.rate_limit).and_then(|limit| limit.resets_at);
        let exceeds_wall = policy.limits.wall.is_some_and(|wall| facts.clocks.wall(retry_at) >= wall);
        let is_stopped = fault == Fault::Interrupted && self.process.stop_cause == Some(StopCause::Suspended);
        let allowed = if facts.suspending_since.is_some() || is_stopped {
            wait == Span::ZERO
        } else if is_outage(fault) {
            self.outages += 1;
            let started_at = self.started_at.unwrap_or(at);
            !exceeds_wall
                && match policy.outage_bound {
                    OutageBound::Retries => self.outages <= policy.retries_max,
                    OutageBound::Time(limit) => limit.is_none_or(|limit| retry_at.since(started_at) <= limit),
                }
        } else if fault == Fault::UsageLimit {
            (self.outages, self.started_at) = (0, None);
            let parked_since = *self.parked_since.get_or_insert(at);
            let is_late = reset.is_none_or(|reset| retry_at >= reset);
            // Without a reset, all waits together count.
            let wait =
                if reset.is_some_and(|reset| reset > at) { wait } else { retry_at.since(parked_since) };
            is_late && !exceeds_wall && policy.max_reset_wait.is_none_or(|longest| wait <= longest)
        } else {
            self.failures += 1;
            let is_retried = matches!(
                fault,
                Fault::Crashed
                    | Fault::Interrupted
                    | Fault::Stalled
                    | Fault::OutOfMemory
                    | Fault::AttemptTimeout
                    | Fault::OutputLimit
                    | Fault::Unfinished
                    | Fault::InvalidResult
                    | Fault::Unknown
            );
            is_retried && !exceeds_wall && self.failures <= policy.retries_max.min(RETRIES_MAX)
        };
        ensure(allowed && facts.cancel.is_none(), Oracle::Reviews, || {
            format!("the reviewer starts again {wait} after {fault}: {self:?}")
        })
    }

    /// Verifies that a run without limits does not give up while a further reviewer is allowed.
    fn check_give_up(&self, fault: Fault, facts: &Facts) -> OracleResult {
        let policy = facts.policy;
        let is_bounded = facts.cancel.is_some() || policy.limits.can_end_run();
        let remaining_outages = policy.outage_bound == OutageBound::Time(None)
            || policy.outage_bound == OutageBound::Retries && self.outages < policy.retries_max;
        let may_retry = match fault {
            fault if is_outage(fault) => remaining_outages,
            Fault::Crashed | Fault::Interrupted | Fault::AttemptTimeout | Fault::Unfinished => {
                self.failures < policy.retries_max.min(RETRIES_MAX)
            }
            _ => false,
        };
        ensure(is_bounded || !may_retry, Oracle::Reviews, || {
            format!("the run gives up after {fault}, but a further reviewer is allowed: {self:?}")
        })
    }
}
