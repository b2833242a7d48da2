//! Measures how a run spent its time.

use crate::{Moment, Span};
use serde::{Deserialize, Serialize};

/// The clocks of a run. `wall` = `active` + `waiting` + `downtime`. Time after the run finished counts in
/// none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// Start of the run.
    pub started: Moment,
    /// Time spent waiting with no process running: backoffs and parks.
    pub waiting: Span,
    /// Time in which nothing of the run was running: the machine slept, or no supervisor ran and the agent
    /// was idle.
    pub downtime: Span,
    /// Time between a finish of the run and its resumption by the user.
    #[serde(default)]
    pub finished: Span,
}

impl Clocks {
    /// Returns the time since the run started, without the time in which it was finished.
    pub fn wall(&self, at: Moment) -> Span {
        at.since(self.started) - self.finished
    }

    /// Returns the time that the run worked: wall time without waits and downtime.
    pub fn active(&self, at: Moment) -> Span {
        self.wall(at) - self.waiting - self.downtime
    }
}
