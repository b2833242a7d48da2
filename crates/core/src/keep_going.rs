//! How a run is kept going when its agent stops by itself: what it is told, and when it has really finished.

use crate::Span;
use serde::{Deserialize, Serialize};

/// How an agent is kept going that stops by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepGoing {
    /// Whether it is asked for more than the task: to improve the work until there is nothing to improve.
    pub keep_improving: bool,
    /// After so many stops it is told how things stand; 0 is never.
    pub status_every: u32,
    /// After so many stops in a row between which the workspace did not change, the run ends.
    pub idle_stops_max: u32,
}

/// What an agent is told that stopped by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepGoingPrompt {
    /// Its how manieth stop it was.
    pub stop_number: u32,
    /// Whether it is asked for more than the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_improving: bool,
    /// How long the run has worked, where it is told how things stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_time: Option<Span>,
    /// Whether a limit is near, and it is told so for the first time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_near: bool,
}
