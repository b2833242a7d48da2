//! How a run spent its time.

use crate::{Moment, Span};
use serde::{Deserialize, Serialize};

/// The clocks of a run. Wall = active + waiting + downtime. Time in which it was over is in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// When the run began.
    pub started: Moment,
    /// Time spent waiting with no process resident: backoffs and parks.
    pub waiting: Span,
    /// Time the machine was asleep, or nobody supervised the run and its agent did nothing.
    pub downtime: Span,
    /// Time between an end and the moment when somebody let the run go on.
    #[serde(default)]
    pub finished: Span,
}

impl Clocks {
    /// Time since the run began, as long as it was not over.
    pub fn wall(&self, at: Moment) -> Span {
        at.since(self.started) - self.finished
    }

    /// Time the run worked: wall without waits and sleep.
    pub fn active(&self, at: Moment) -> Span {
        self.wall(at) - self.waiting - self.downtime
    }
}
