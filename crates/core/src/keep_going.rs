//! Keep-going: data for prompting an agent that stopped on its own to continue.

use crate::Span;
use serde::{Deserialize, Serialize};

/// Settings of keep-going.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeepGoing {
    /// Whether to ask for more than the task: to improve the work until nothing is left to improve.
    pub keep_improving: bool,
    /// Number of stops between two status reports to the agent. 0 disables them.
    pub status_every: u32,
    /// Number of stops in a row without a change to the workspace after which the run ends.
    pub idle_stops_max: u32,
    /// Whether the agent gets a tool to claim that the work is done, if a program serves it.
    pub finish_tool: bool,
    /// Last line of a message with which the agent claims that the work is done. `None` if no line does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
}

impl KeepGoing {
    /// The settings if none are configured.
    pub const DEFAULT: KeepGoing = KeepGoing {
        keep_improving: false,
        // A status report at every stop would only fill the conversation.
        status_every: 5,
        // Two stops without changes can be a pause; after three the agent has nothing left to change.
        idle_stops_max: 3,
        finish_tool: true,
        done_when: None,
    };
}

/// Content of the prompt for an agent that stopped on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepGoingPrompt {
    /// Ordinal of this stop, starting at 1.
    pub stop_number: u32,
    /// Whether to ask for more than the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_improving: bool,
    /// Time that the run has worked. `None` if the prompt contains no status report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_time: Option<Span>,
    /// Whether to warn, once, that a limit is near.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_near: bool,
}
