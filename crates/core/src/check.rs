//! The commands that judge the work when the agent says that it is done.

use crate::Span;
use serde::{Deserialize, Serialize};

/// How the work of a run is judged. Which commands do it, the plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckPolicy {
    /// After so many checks in vain the run ends.
    pub failures_max: u32,
    /// How long one check may take, all of its commands together; nothing is unlimited.
    pub timeout: Option<Span>,
}

impl CheckPolicy {
    /// The bounds of a check for which no others are given.
    pub const DEFAULT: CheckPolicy = CheckPolicy {
        // An agent that has not passed by then does not learn what is missing from the same output.
        failures_max: 10,
        // A whole test suite. A check that takes longer is more likely hung.
        timeout: Some(Span::from_mins(30)),
    };
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// Every command exited with 0.
    Passed,
    /// One did not.
    Failed,
    /// It was ended before it was over.
    Stopped,
}
