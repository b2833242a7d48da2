//! Checks: commands that verify the work when the agent claims that it is done.

use crate::Span;
use serde::{Deserialize, Serialize};

/// Limits of the checks of a run. The plan lists the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckPolicy {
    /// Number of failed checks after which the run ends.
    pub failures_max: u32,
    /// Time limit of one check, for all of its commands together. `None` if unlimited.
    pub timeout: Option<Span>,
}

impl CheckPolicy {
    /// The limits of a check if none are configured.
    pub const DEFAULT: CheckPolicy = CheckPolicy {
        // An agent that has not passed by then learns nothing new from the same output.
        failures_max: 10,
        // Enough for a whole test suite. A check that takes longer is more likely hung.
        timeout: Some(Span::from_mins(30)),
    };
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// Every command exited with 0.
    Passed,
    /// A command failed.
    Failed,
    /// The check was stopped before it ended.
    Stopped,
}
