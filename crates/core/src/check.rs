//! Checks: commands and a reviewer that verify the work when the agent claims that it is done.

use crate::{Review, Span, words::stored_enum};
use serde::{Deserialize, Serialize};

/// The checks of a run and their limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Checks {
    /// Commands in shell syntax. They run in order, and the first failure decides.
    pub commands: Vec<String>,
    /// Number of failed checks after which the run ends.
    pub failures_max: u32,
    /// Time limit of one check, for all of its commands together. `None` if unlimited.
    pub timeout: Option<Span>,
    /// Review of the work, once every command has passed. `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

impl Checks {
    /// Creates checks with the default limits.
    pub fn new(commands: Vec<String>) -> Checks {
        Checks {
            commands,
            // An agent that has not passed by then learns nothing new from the same output.
            failures_max: 10,
            // Enough for a whole test suite. A check that takes longer is more likely hung.
            timeout: Some(Span::from_mins(30)),
            review: None,
        }
    }
}

/// The running part of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStage {
    /// The commands run.
    Commands,
    /// The reviewer runs.
    Review,
}

stored_enum! {
    /// The result of a check.
    pub enum CheckResult {
        /// Every command exited with 0, and the reviewer considers the task complete.
        Passed = "passed",
        /// A command failed, the reviewer found something missing, or it gave no verdict.
        Failed = "failed",
        /// A command exited with 23, the exit code of the outcome `needs_person`.
        NeedsPerson = "needs_person",
        /// A command ran longer than the check's timeout.
        TimedOut = "timed_out",
        /// The check was stopped before it ended.
        Stopped = "stopped",
    }
}
