//! Whether older work is condensed when it should be, and only then: once for a seed until there is progress, within
//! its time, counted as what it was, and told if and only if there is a summary.

use super::{Oracle, OracleResult, ensure};
use crate::world::{EndedAttempt, World};
use longhaul_core::{
    AttemptPlan, Event, Fault, Moment, Policy, Record, ResumeStrategy, StopCause, SummaryResult, Usage,
};

/// What was ordered and what came of it, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct SummaryWatch {
    /// The rung of the present attempt.
    strategy: Option<ResumeStrategy>,
    /// Whether a model was asked since the last progress that forgives.
    asked: bool,
    /// Since when it is at work, time that the machine slept left out.
    since: Option<Moment>,
    stopped: Option<StopCause>,
    outcome: Option<SummaryResult>,
    cancelled: bool,
    suspending: bool,
}

impl SummaryWatch {
    /// Takes in an event before the run does: what should have been decided by now, is.
    pub(crate) fn hear(&self, now: Moment, event: &Event, policy: &Policy) -> OracleResult {
        // Nobody was there to decide, or what happened is not told yet.
        if matches!(event, Event::Recovered { .. } | Event::Downtime(_) | Event::Ticked) {
            return Ok(());
        }
        let Some(since) = self.since.filter(|_| self.stopped.is_none()) else { return Ok(()) };
        ensure(now <= since + policy.summary_timeout, Oracle::Condensing, || {
            format!("condensing for {}, and left alone", now.since(since))
        })?;
        ensure(!self.cancelled, Oracle::Cancels, || "cancelled, and still condensing".to_owned())
    }

    pub(crate) fn take(&mut self, record: &Record, policy: &Policy, world: &World) -> OracleResult {
        match record {
            Record::RunReopened { .. } => *self = SummaryWatch::default(),
            Record::AttemptStarted { .. } => {
                let SummaryWatch { asked, cancelled, .. } = *self;
                *self = SummaryWatch { asked, cancelled, ..SummaryWatch::default() };
            }
            Record::ResumeStrategyChosen { strategy: rung, .. } => self.strategy = Some(*rung),
            Record::SummaryStarted { at } => {
                let may = policy.summarize
                    && self.strategy == Some(ResumeStrategy::Handoff)
                    && !self.asked
                    && !self.cancelled;
                ensure(may, Oracle::Condensing, || format!("a summary that may not be asked for: {self:?}"))?;
                (self.asked, self.since) = (true, Some(*at));
            }
            Record::SummaryStopOrdered { at, cause: why } => {
                ensure(self.may_stop(*at, *why, policy), Oracle::Condensing, || {
                    format!("stopped as {why:?} without the reason: {self:?}")
                })?;
                self.stopped = Some(*why);
            }
            Record::SummaryEnded { result: outcome, usage: tally, .. } => {
                ensure(self.since.take().is_some(), Oracle::Condensing, || "nobody asked".to_owned())?;
                self.check_outcome(*outcome, *tally, world.summary.as_ref())?;
                self.outcome = Some(*outcome);
            }
            Record::Downtime { duration: span } => self.since = self.since.map(|since| since + *span),
            Record::CancelRequested { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Recovered { .. } => self.suspending = false,
            Record::Suspended { .. } => {}
            Record::ProgressMade { resets_retries: forgives, .. } => self.asked &= !forgives,
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

    fn may_stop(&self, at: Moment, why: StopCause, policy: &Policy) -> bool {
        let late = self.since.is_some_and(|since| at >= since + policy.summary_timeout);
        self.since.is_some()
            && self.stopped.is_none()
            && match why {
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

    /// What is recorded is what was.
    fn check_outcome(
        &self,
        outcome: SummaryResult,
        usage: Usage,
        ended: Option<&EndedAttempt>,
    ) -> OracleResult {
        let (right, spent) = match ended {
            None => (SummaryResult::NotNeeded, Usage::default()),
            Some(ended) => (self.right(ended.truth), ended.evidence.usage),
        };
        ensure(outcome == right, Oracle::Truth, || format!("{outcome:?}, and it was {right:?}"))?;
        ensure(usage == spent, Oracle::Tally, || format!("{usage:?} for a summary that took {spent:?}"))
    }

    fn right(&self, truth: Option<Fault>) -> SummaryResult {
        match truth {
            None => SummaryResult::Written,
            Some(Fault::UsageLimit) => SummaryResult::Failed(Fault::UsageLimit),
            Some(_) if self.stopped == Some(StopCause::TimedOut) => {
                SummaryResult::Failed(Fault::AttemptTimeout)
            }
            Some(Fault::Crashed) if self.stopped == Some(StopCause::Suspended) => {
                SummaryResult::Failed(Fault::Interrupted)
            }
            Some(fault) => SummaryResult::Failed(fault),
        }
    }

    /// A process is about to start on this plan.
    pub(crate) fn check_spawn(&self, plan: &AttemptPlan, policy: &Policy) -> OracleResult {
        let wanted = policy.summarize && self.strategy == Some(ResumeStrategy::Handoff);
        ensure(self.outcome.is_some() == wanted, Oracle::Condensing, || {
            format!("attempt {} starts, its older work being {:?}", plan.attempt, self.outcome)
        })?;
        let written = self.outcome == Some(SummaryResult::Written);
        ensure(plan.with_summary == written, Oracle::Condensing, || {
            format!(
                "attempt {} is told a summary: {}; it was {:?}",
                plan.attempt, plan.with_summary, self.outcome
            )
        })
    }
}
