//! Background commands and sub-agents that ended with an attempt's agent: `attempts/NNN/background.json`,
//! derived from its stream when the attempt ends. It is for people and for the next prompt; no decision
//! depends on it.

use serde::{Deserialize, Serialize};

/// A background task that was stopped with its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppedTask {
    /// The command, or the description of a sub-agent, on one line.
    pub command: String,
    /// File with its output, if the agent named it.
    pub output_file: Option<String>,
    /// Last lines of its output, if any.
    pub last_lines: Option<String>,
}
