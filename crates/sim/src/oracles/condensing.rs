//! Whether older work is condensed when it should be, and only then: once for a seed until there is progress, within
//! its time, counted as what it was, and told if and only if there is a summary.

use super::{Oracle, Verdict, ensure};
use crate::world::{Ended, World};
use longhaul_core::{Condensed, Event, Fault, Moment, Policy, Record, Rung, SpawnPlan, StopWhy, Tally};

/// What was ordered and what came of it, counted anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct CondenseWatch {
    /// The rung of the present attempt.
    rung: Option<Rung>,
    /// Whether a model was asked since the last progress that forgives.
    asked: bool,
    /// Since when it is at work, time that the machine slept left out.
    since: Option<Moment>,
    stopped: Option<StopWhy>,
    outcome: Option<Condensed>,
    cancelled: bool,
    suspending: bool,
}

impl CondenseWatch {
    /// Takes in an event before the run does: what should have been decided by now, is.
    pub(crate) fn hear(&self, now: Moment, event: &Event, policy: &Policy) -> Verdict {
        // Nobody was there to decide, or what happened is not told yet.
        if matches!(event, Event::Recovered { .. } | Event::Downtime(_) | Event::Ticked) {
            return Ok(());
        }
        let Some(since) = self.since.filter(|_| self.stopped.is_none()) else { return Ok(()) };
        ensure(now <= since + policy.condense_timeout, Oracle::Condensing, || {
            format!("condensing for {}, and left alone", now.since(since))
        })?;
        ensure(!self.cancelled, Oracle::Cancels, || "cancelled, and still condensing".to_owned())
    }

    pub(crate) fn take(&mut self, record: &Record, policy: &Policy, world: &World) -> Verdict {
        match record {
            Record::RunReopened { .. } => *self = CondenseWatch::default(),
            Record::AttemptStarted { .. } => {
                let CondenseWatch { asked, cancelled, .. } = *self;
                *self = CondenseWatch { asked, cancelled, ..CondenseWatch::default() };
            }
            Record::RungTaken { rung, .. } => self.rung = Some(*rung),
            Record::CondenseOrdered { at } => {
                let may = policy.condense && self.rung == Some(Rung::Seed) && !self.asked && !self.cancelled;
                ensure(may, Oracle::Condensing, || format!("a summary that may not be asked for: {self:?}"))?;
                (self.asked, self.since) = (true, Some(*at));
            }
            Record::CondenseStopped { at, why } => {
                ensure(self.may_stop(*at, *why, policy), Oracle::Condensing, || {
                    format!("stopped as {why:?} without the reason: {self:?}")
                })?;
                self.stopped = Some(*why);
            }
            Record::Condensed { outcome, tally, .. } => {
                ensure(self.since.take().is_some(), Oracle::Condensing, || "nobody asked".to_owned())?;
                self.check_outcome(*outcome, *tally, world.condensed.as_ref())?;
                self.outcome = Some(*outcome);
            }
            Record::Downtime { span } => self.since = self.since.map(|since| since + *span),
            Record::CancelOrdered { .. } => self.cancelled = true,
            Record::SuspendOrdered { .. } => self.suspending = true,
            Record::Recovered { .. } => self.suspending = false,
            Record::Suspended { .. } => {}
            Record::Progressed { forgives, .. } => self.asked &= !forgives,
            Record::RunStarted { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::LimitReached { .. }
            | Record::Said { .. }
            | Record::CheckOrdered { .. }
            | Record::CheckStopped { .. }
            | Record::Stopped { .. }
            | Record::Checked { .. }
            | Record::InputEnded { .. }
            | Record::SilenceExcused { .. }
            | Record::StopOrdered { .. }
            | Record::AttemptEnded { .. }
            | Record::Swept { .. }
            | Record::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn may_stop(&self, at: Moment, why: StopWhy, policy: &Policy) -> bool {
        let late = self.since.is_some_and(|since| at >= since + policy.condense_timeout);
        self.since.is_some()
            && self.stopped.is_none()
            && match why {
                StopWhy::AttemptTimeout => late,
                StopWhy::Cancelled => self.cancelled,
                StopWhy::Suspended => self.suspending,
                StopWhy::Stalled
                | StopWhy::AuthRejected
                | StopWhy::OtherSession
                | StopWhy::Reserve
                | StopWhy::LimitReached
                | StopWhy::Memory
                | StopWhy::NoProgress
                | StopWhy::BackgroundStopped
                | StopWhy::Lingered => false,
            }
    }

    /// What is recorded is what was.
    fn check_outcome(&self, outcome: Condensed, tally: Tally, ended: Option<&Ended>) -> Verdict {
        let (right, spent) = match ended {
            None => (Condensed::NotNeeded, Tally::default()),
            Some(ended) => (self.right(ended.truth), ended.evidence.tally),
        };
        ensure(outcome == right, Oracle::Truth, || format!("{outcome:?}, and it was {right:?}"))?;
        ensure(tally == spent, Oracle::Tally, || format!("{tally:?} for a summary that took {spent:?}"))
    }

    fn right(&self, truth: Option<Fault>) -> Condensed {
        match truth {
            None => Condensed::Written,
            Some(Fault::UsageLimit) => Condensed::Failed(Fault::UsageLimit),
            Some(_) if self.stopped == Some(StopWhy::AttemptTimeout) => {
                Condensed::Failed(Fault::AttemptTimeout)
            }
            Some(Fault::Crashed) if self.stopped == Some(StopWhy::Suspended) => {
                Condensed::Failed(Fault::Interrupted)
            }
            Some(fault) => Condensed::Failed(fault),
        }
    }

    /// A process is about to start on this plan.
    pub(crate) fn check_spawn(&self, plan: &SpawnPlan, policy: &Policy) -> Verdict {
        let wanted = policy.condense && self.rung == Some(Rung::Seed);
        ensure(self.outcome.is_some() == wanted, Oracle::Condensing, || {
            format!("attempt {} starts, its older work being {:?}", plan.attempt, self.outcome)
        })?;
        let written = self.outcome == Some(Condensed::Written);
        ensure(plan.condensed == written, Oracle::Condensing, || {
            format!(
                "attempt {} is told a summary: {}; it was {:?}",
                plan.attempt, plan.condensed, self.outcome
            )
        })
    }
}
