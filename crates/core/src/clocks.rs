//! How a run spent its time.

use crate::{Moment, Span};
use serde::{Deserialize, Serialize};

/// The clocks of a run. Wall = active + waiting + suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// When the run began.
    pub started: Moment,
    /// Time spent waiting with no process resident: backoffs and parks.
    pub waiting: Span,
    /// Time the machine was asleep.
    pub suspended: Span,
}

impl Clocks {
    /// Time since the run began.
    pub fn wall(&self, at: Moment) -> Span {
        at.since(self.started)
    }

    /// Time the run worked: wall without waits and sleep.
    pub fn active(&self, at: Moment) -> Span {
        self.wall(at) - self.waiting - self.suspended
    }
}
