//! Waits, checks and outages: the periods of a run between its attempts.

use crate::{CheckResult, Fault, Moment, ReviewResult, Span, Usage};

/// A wait for the next attempt, with no process running.
///
/// It starts when the sweep has stopped the last process: a sweep is work of the supervisor, not a wait. A
/// suspension ends it, and the takeover starts the next wait. The sum of all waits is the clock `waiting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitHistory {
    /// Start of the wait.
    pub from: Moment,
    /// Planned end of the wait.
    pub until: Moment,
    /// End of the wait. `None` if the run still waits.
    pub ended_at: Option<Moment>,
    /// Whether it ended without an attempt or a review, such as by a cancel.
    pub cut_short: bool,
    /// Fault of the attempt before it. `None` if that attempt succeeded.
    pub fault: Option<Fault>,
}

impl WaitHistory {
    /// Returns the length of the wait, as of `at` if it has not ended.
    pub fn duration(&self, at: Moment) -> Span {
        self.ended_at.unwrap_or(at).since(self.from)
    }
}

/// A check of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckHistory {
    /// Start of the check.
    pub started_at: Moment,
    /// End of the check. `None` if it is running.
    pub ended_at: Option<Moment>,
    /// Downtime since its start.
    pub downtime: Span,
    /// Result of the check. `None` if it is running.
    pub result: Option<CheckResult>,
    /// Its review. `None` if no reviewer has started.
    pub review: Option<ReviewHistory>,
}

/// The review of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewHistory {
    /// Number of its last reviewer process in the run, starting at 1.
    pub number: u32,
    /// Number of its reviewer processes.
    pub processes: u32,
    /// Start of the last one.
    pub started_at: Moment,
    /// Downtime since that start.
    pub downtime: Span,
    /// Result of the last one that ended. `None` if none has.
    pub result: Option<ReviewResult>,
    /// Usage of all of them. It belongs to the run and is listed with the attempt whose work is reviewed, but it
    /// is not part of that attempt's own usage.
    pub usage: Usage,
}

impl CheckHistory {
    /// Returns the duration without downtime, or `None` if the check is running.
    pub fn duration(&self) -> Option<Span> {
        self.ended_at.map(|ended| ended.since(self.started_at) - self.downtime)
    }
}

/// A period in which the API failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageHistory {
    /// End of the first attempt that the outage failed.
    pub from: Moment,
    /// The next progress. `None` if there was none before the run finished, or none yet.
    pub until: Option<Moment>,
}
