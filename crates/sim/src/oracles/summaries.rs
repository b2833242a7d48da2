//! Checks that older work is summarized if the policy requires it: once per handoff without progress, in
//! time, and with its true result. The prompt contains a summary if and only if one was written.

use super::facts::Facts;
use super::side_process::SideProcess;
use super::{Oracle, OracleResult, ensure};
use crate::world::EndedAttempt;
use longhaul_core::{
    AttemptEnd, AttemptPlan, Exit, Fault, Moment, Record, ResumeStrategy, Span, StopCause, SummaryResult,
    Usage,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct SummaryWatch {
    strategy: Option<ResumeStrategy>,
    /// Whether a summary was started for an agent since the last progress that resets retries.
    was_requested: bool,
    process: SideProcess,
    result: Option<SummaryResult>,
}

fn timeout(facts: &Facts) -> Option<Span> {
    facts.policy.handoff_summary.as_ref().map(|summary| summary.timeout)
}

impl SummaryWatch {
    /// Checks before an event that no decision is overdue.
    pub(crate) fn check_overdue(&self, now: Moment, facts: &Facts) -> OracleResult {
        let Some(since) = self.process.runs_since() else { return Ok(()) };
        let is_late = timeout(facts).is_none_or(|timeout| now > since + timeout);
        ensure(!is_late, Oracle::Summaries, || {
            format!("the summary runs for {} and is not stopped", now.since(since))
        })?;
        ensure(facts.cancel.is_none(), Oracle::Cancels, || {
            "the run is cancelled, but the summary is not stopped".to_owned()
        })
    }

    /// Receives a record. `ended` is the last summary that the world ran.
    pub(crate) fn on_record(
        &mut self,
        record: &Record,
        facts: &Facts,
        ended: Option<&EndedAttempt>,
    ) -> OracleResult {
        match record {
            Record::RunReopened { .. } => *self = SummaryWatch::default(),
            Record::AttemptStarted { .. } => {
                *self = SummaryWatch { was_requested: self.was_requested, ..SummaryWatch::default() };
            }
            Record::ResumeStrategyChosen { strategy, .. } => self.strategy = Some(*strategy),
            Record::SummaryStarted => {
                let allowed = self.is_required(facts) && !self.was_requested && facts.cancel.is_none();
                ensure(allowed, Oracle::Summaries, || {
                    format!("a summary starts that the policy does not allow: {self:?}")
                })?;
                self.was_requested = true;
                self.process.start(facts.at);
            }
            Record::SummaryStopOrdered { cause } => {
                let runs = self.process.runs_since().is_some();
                let allowed = runs && self.process.may_stop(facts.at, *cause, timeout(facts), facts);
                ensure(allowed, Oracle::Summaries, || {
                    format!("the summary is stopped as {cause:?} without that reason: {self:?}")
                })?;
                self.process.stop_cause = Some(*cause);
            }
            Record::SummaryEnded { result, usage } => {
                ensure(self.process.since.take().is_some(), Oracle::Summaries, || {
                    "a summary ended that was not started".to_owned()
                })?;
                self.check_result(*result, *usage, ended)?;
                self.result = Some(*result);
            }
            Record::Downtime { duration } => self.process.add_downtime(*duration),
            Record::ProgressMade { resets_retries } => self.was_requested &= !resets_retries,
            // No agent received it.
            Record::AttemptEnded(AttemptEnd {
                fault: Some(Fault::AgentMissing | Fault::AgentUnusable),
                ..
            }) => {
                self.was_requested = false;
            }
            _ => {}
        }
        Ok(())
    }

    fn is_required(&self, facts: &Facts) -> bool {
        facts.policy.handoff_summary.is_some() && self.strategy == Some(ResumeStrategy::Handoff)
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
            Some(ended) => (self.expected_result(ended), ended.evidence.usage),
        };
        ensure(result == expected, Oracle::Truth, || {
            format!("the summary is recorded as {result:?}, but it was {expected:?}")
        })?;
        ensure(usage == billed, Oracle::Usage, || {
            format!("{usage:?} is recorded for a summary that used {billed:?}")
        })
    }

    fn expected_result(&self, ended: &EndedAttempt) -> SummaryResult {
        let Some(truth) = ended.truth else { return SummaryResult::Written };
        let is_unobserved = matches!(ended.evidence.exit, Exit::NeverSpawned | Exit::Unobserved);
        SummaryResult::Failed(match (truth, self.process.stop_cause) {
            (Fault::UsageLimit, _) => Fault::UsageLimit,
            (_, Some(StopCause::TimedOut)) => Fault::AttemptTimeout,
            (Fault::Crashed, Some(StopCause::Suspended)) => Fault::Interrupted,
            // A cancelled summary that did not start, or whose exit nothing observed, did not crash.
            (Fault::Crashed, Some(StopCause::Cancelled)) if is_unobserved => Fault::Interrupted,
            (fault, _) => fault,
        })
    }

    pub(crate) fn check_spawn(&self, plan: &AttemptPlan, facts: &Facts) -> OracleResult {
        ensure(self.result.is_some() == self.is_required(facts), Oracle::Summaries, || {
            format!("attempt {} starts with the summary result {:?}", plan.attempt, self.result)
        })?;
        let written = self.result == Some(SummaryResult::Written);
        ensure(plan.with_summary == written, Oracle::Summaries, || {
            format!("{plan:?} starts with the summary result {:?}", self.result)
        })
    }
}
