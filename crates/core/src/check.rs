//! Checks: commands that verify the work when the agent claims that it is done.

use crate::{Span, word_enum};
use serde::{Deserialize, Serialize};

/// The checks of a run and their limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checks {
    /// Commands in shell syntax. They run in order, and the first failure decides.
    pub commands: Vec<String>,
    /// Number of failed checks after which the run ends.
    pub failures_max: u32,
    /// Time limit of one check, for all of its commands together. `None` if unlimited.
    pub timeout: Option<Span>,
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
        }
    }
}

word_enum! {
    /// The result of a check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum CheckResult {
        /// Every command exited with 0.
        Passed = "passed",
        /// A command failed.
        Failed = "failed",
        /// The check was stopped before it ended.
        Stopped = "stopped",
    }
}
