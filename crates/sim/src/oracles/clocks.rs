//! An own count of the time a run waited and slept.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{AfterAttempt, Moment, Record, Run, Span};

/// Time as the records tell it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockWatch {
    started_at: Moment,
    waiting: Span,
    downtime: Span,
    finished: Span,
    /// The run is over since then.
    over_since: Option<Moment>,
    /// The run is suspended since then, and whether it waited before.
    suspended: Option<(Moment, bool)>,
    /// Another attempt is decided.
    more: bool,
    /// No process is resident since then.
    waits_since: Option<Moment>,
}

impl ClockWatch {
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::RunStarted { at } => self.started_at = *at,
            Record::RunReopened { at, .. } => {
                let since = self.over_since.take().unwrap_or(*at);
                self.finished = self.finished + at.since(since);
            }
            Record::AttemptEnded { next, .. } => self.more = matches!(next, AfterAttempt::Attempt { .. }),
            Record::Swept { at, .. } if self.more => self.waits_since = Some(*at),
            Record::AttemptStarted { at, .. } | Record::RunFinished { at, .. } => {
                if let Some(since) = self.waits_since.take() {
                    self.waiting = self.waiting + at.since(since);
                }
                self.over_since = matches!(record, Record::RunFinished { .. }).then_some(*at);
            }
            // A wait pauses while the run is suspended.
            Record::Suspended { at, .. } => {
                self.suspended = Some((*at, self.waits_since.is_some()));
                if let Some(since) = self.waits_since.take() {
                    self.waiting = self.waiting + at.since(since);
                }
            }
            Record::Recovered { at, .. } => {
                let Some((since, waited)) = self.suspended.take() else { return };
                self.downtime = self.downtime + at.since(since);
                self.waits_since = waited.then_some(*at);
            }
            Record::Downtime { duration: span } if self.waits_since.is_none() => {
                self.downtime = self.downtime + *span
            }
            Record::Swept { .. }
            | Record::Downtime { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::LimitReached { .. }
            | Record::PromptSent { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::CheckEnded { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::StopOrdered { .. }
            | Record::SuspendOrdered { .. }
            | Record::CancelRequested { .. } => {}
        }
    }

    /// How long the run has taken by then.
    pub(crate) fn wall(&self, at: Moment) -> Span {
        at.since(self.started_at) - self.finished
    }

    /// How long it has worked by then.
    pub(crate) fn active(&self, at: Moment) -> Span {
        let waits = self.waits_since.map_or(Span::ZERO, |since| at.since(since));
        self.wall(at) - self.waiting - self.downtime - waits
    }

    /// At the end the run's clocks say the same.
    pub(crate) fn check(&self, run: &Run, now: Moment) -> OracleResult {
        let clocks = run.state().clocks;
        let same = clocks.started == self.started_at
            && clocks.waiting == self.waiting
            && clocks.downtime == self.downtime
            && clocks.finished == self.finished;
        ensure(same, Oracle::Clocks, || format!("the run says {clocks:?}, the world {self:?}"))?;
        let parts = clocks.active(now) + clocks.waiting + clocks.downtime;
        let whole = now.since(self.started_at) - self.finished;
        ensure(parts == whole && clocks.wall(now) == whole, Oracle::Clocks, || {
            format!(
                "active, waiting and downtime are {parts}, the wall clock says {}, it was {whole}",
                clocks.wall(now)
            )
        })
    }
}
