//! Checks that older work is summarized if the policy requires it: once per handoff without progress, in
//! time, and with its true result. The prompt contains a summary if and only if one was written.

use super::{Oracle, OracleResult, ensure};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    AttemptPlan, Event, Fault, Moment, Policy, Record, ResumeStrategy, Span, StopCause, SummaryResult, Usage,
};

/// The summary of the current attempt and its result.
#[derive(Clone, Debug, Default)]
pub(crate) struct SummaryWatch {
    /// Resume strategy of the current attempt.
    strategy: Option<ResumeStrategy>,
    /// Whether a summary was started since the last progress that resets retries.
    was_requested: bool,
    /// Start of the running summary, moved forward by any downtime since.
    since: Option<Moment>,
    stop_cause: Option<StopCause>,
    result: Option<SummaryResult>,
    cancelled: bool,
    suspending: bool,
}

/// Returns the timeout of a summary, or zero if the policy has none.
fn timeout(policy: &Policy) -> Span {
    policy.handoff_summary.as_ref().map_or(Span::ZERO, |summary| summary.timeout)
}

impl SummaryWatch {
    /// Receives an event before the run does, and checks that no decision is overdue.
    pub(crate) fn receive(&self, now: Moment, event: &Event, policy: &Policy) -> OracleResult {
        // No supervisor ran that could decide, or the deadline is only now processed.
        if matches!(event, Event::Recovered { .. } | Event::Downtime(_) | Event::Ticked) {
            return Ok(());
        }
        let Some(since) = self.since.filter(|_| self.stop_cause.is_none()) else { return Ok(()) };
        ensure(now <= since + timeout(policy), Oracle::Summaries, || {
            format!("the summary runs for {} and is not stopped", now.since(since))
        })?;
        ensure(!self.cancelled, Oracle::Cancels, || {
            "the run is cancelled, but the summary is not stopped".to_owned()
        })
    }

    pub(crate) fn on_record(&mut self, record: &Record, policy: &Policy, world: &World) -> OracleResult {
        match record {
            Record::RunReopened { .. } => *self = SummaryWatch::default(),
            Record::AttemptStarted { .. } => {
                let SummaryWatch { was_requested, cancelled, .. } = *self;
                *self = SummaryWatch { was_requested, cancelled, ..SummaryWatch::default() };
            }
            Record::ResumeStrategyChosen { strategy, .. } => self.strategy = Some(*strategy),
            Record::SummaryStarted { at } => {
                let allowed = policy.handoff_summary.is_some()
                    && self.strategy == Some(ResumeStrategy::Handoff)
                    && !self.was_requested
                    && !self.cancelled;
                ensure(allowed, Oracle::Summaries, || {
                    format!("a summary starts that the policy does not allow: {self:?}")
                })?;
                (self.was_requested, self.since) = (true, Some(*at));
            }
            Record::SummaryStopOrdered { at, cause } => {
                ensure(self.may_stop(*at, *cause, policy), Oracle::Summaries, || {
                    format!("the summary is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.stop_cause = Some(*cause);
            }
            Record::SummaryEnded { result, usage, .. } => {
                ensure(self.since.take().is_some(), Oracle::Summaries, || {
                    "a summary ended that was not started".to_owned()
                })?;
                self.check_result(*result, *usage, world.summary.as_ref())?;
                self.result = Some(*result);
            }
            Record::Downtime { duration: span } => self.since = self.since.map(|since| since + *span),
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Recovered { .. } => self.suspending = false,
            Record::Suspended { .. } => {}
            Record::ProgressMade { resets_retries, .. } => self.was_requested &= !resets_retries,
            Record::RunStarted { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::PromptSent { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::CheckEnded { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::StopOrdered { .. }
            | Record::AttemptEnded { .. }
            | Record::Swept { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn may_stop(&self, at: Moment, cause: StopCause, policy: &Policy) -> bool {
        let late = self.since.is_some_and(|since| at >= since + timeout(policy));
        self.since.is_some()
            && self.stop_cause.is_none()
            && match cause {
                StopCause::TimedOut => late,
                StopCause::Cancelled => self.cancelled,
                StopCause::Suspended => self.suspending,
                StopCause::Stalled
                | StopCause::AuthRejected
                | StopCause::WrongSession
                | StopCause::WrapUp
                | StopCause::LimitReached
                | StopCause::MemoryLimit
                | StopCause::NoProgress
                | StopCause::BackgroundStopped
                | StopCause::DidNotExit => false,
            }
    }

    /// Checks that the recorded result and usage are the true ones.
    fn check_result(
        &self,
        result: SummaryResult,
        usage: Usage,
        ended: Option<&EndedAttempt>,
    ) -> OracleResult {
        let (expected, billed) = match ended {
            None => (SummaryResult::NotNeeded, Usage::default()),
            Some(ended) => (self.expected_result(ended.truth), ended.evidence.usage),
        };
        ensure(result == expected, Oracle::Truth, || {
            format!("the summary is recorded as {result:?}, but it was {expected:?}")
        })?;
        ensure(usage == billed, Oracle::Usage, || {
            format!("{usage:?} is recorded for a summary that used {billed:?}")
        })
    }

    fn expected_result(&self, truth: Option<Fault>) -> SummaryResult {
        match truth {
            None => SummaryResult::Written,
            Some(Fault::UsageLimit) => SummaryResult::Failed(Fault::UsageLimit),
            Some(_) if self.stop_cause == Some(StopCause::TimedOut) => {
                SummaryResult::Failed(Fault::AttemptTimeout)
            }
            Some(Fault::Crashed) if self.stop_cause == Some(StopCause::Suspended) => {
                SummaryResult::Failed(Fault::Interrupted)
            }
            Some(fault) => SummaryResult::Failed(fault),
        }
    }

    /// Checks the plan of a process that is about to start.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan, policy: &Policy) -> OracleResult {
        let required = policy.handoff_summary.is_some() && self.strategy == Some(ResumeStrategy::Handoff);
        ensure(self.result.is_some() == required, Oracle::Summaries, || {
            format!("attempt {} starts with the summary result {:?}", plan.attempt, self.result)
        })?;
        let written = self.result == Some(SummaryResult::Written);
        ensure(plan.with_summary == written, Oracle::Summaries, || {
            format!(
                "the plan of attempt {} has with_summary = {}, but the result is {:?}",
                plan.attempt, plan.with_summary, self.result
            )
        })
    }
}
