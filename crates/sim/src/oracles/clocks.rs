//! Counts the waits and the downtime of a run, independently of the core.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{AfterAttempt, AttemptEnd, Moment, Record, Run, Span};

#[derive(Clone, Debug, Default)]
pub(crate) struct ClockWatch {
    started_at: Moment,
    waiting: Span,
    downtime: Span,
    finished: Span,
    finished_since: Option<Moment>,
    /// Moment at which the run was suspended, and whether it waited before.
    suspended: Option<(Moment, bool)>,
    retries: bool,
    /// Start of the current wait without a process.
    waits_since: Option<Moment>,
}

impl ClockWatch {
    pub(crate) fn on_record(&mut self, at: Moment, record: &Record) {
        match record {
            Record::RunStarted => self.started_at = at,
            Record::RunReopened { .. } => {
                let since = self.finished_since.take().unwrap_or(at);
                self.finished = self.finished + at.since(since);
            }
            Record::AttemptEnded(AttemptEnd { next, .. }) => {
                self.retries = matches!(next, AfterAttempt::Attempt { .. })
            }
            Record::Swept { .. } if self.retries => self.waits_since = Some(at),
            Record::ReviewEnded { retry_at: Some(_), .. } => self.waits_since = Some(at),
            Record::AttemptStarted { .. } | Record::ReviewStarted { .. } | Record::RunFinished { .. } => {
                if let Some(since) = self.waits_since.take() {
                    self.waiting = self.waiting + at.since(since);
                }
                self.finished_since = matches!(record, Record::RunFinished { .. }).then_some(at);
            }
            // A wait pauses while the run is suspended.
            Record::Suspended { .. } => {
                self.suspended = Some((at, self.waits_since.is_some()));
                if let Some(since) = self.waits_since.take() {
                    self.waiting = self.waiting + at.since(since);
                }
            }
            Record::Recovered { .. } => {
                let Some((since, waited)) = self.suspended.take() else { return };
                self.downtime = self.downtime + at.since(since);
                self.waits_since = waited.then_some(at);
            }
            Record::Downtime { duration: span } if self.waits_since.is_none() => {
                self.downtime = self.downtime + *span
            }
            _ => {}
        }
    }

    /// Returns the time from the start of the run to `at`, without the time in which it was finished.
    pub(crate) fn wall(&self, at: Moment) -> Span {
        at.since(self.started_at) - self.finished
    }

    /// Returns the time that the run has worked until `at`.
    pub(crate) fn active(&self, at: Moment) -> Span {
        let waits = self.waits_since.map_or(Span::ZERO, |since| at.since(since));
        self.wall(at) - self.waiting - self.downtime - waits
    }

    /// Checks at the end that the run's clocks agree with these.
    pub(crate) fn check(&self, run: &Run, now: Moment) -> OracleResult {
        let clocks = run.state().clocks;
        let same = clocks.started == self.started_at
            && clocks.waiting == self.waiting
            && clocks.downtime == self.downtime
            && clocks.finished == self.finished;
        ensure(same, Oracle::Clocks, || format!("the run counts {clocks:?}, the oracle {self:?}"))?;
        let parts = clocks.active(now) + clocks.waiting + clocks.downtime;
        let total = now.since(self.started_at) - self.finished;
        ensure(parts == total && clocks.wall(now) == total, Oracle::Clocks, || {
            format!(
                "active time, waits and downtime are {parts}, the wall clock shows {}, the true time is {total}",
                clocks.wall(now)
            )
        })
    }
}
