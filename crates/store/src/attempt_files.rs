//! The JSON files of an attempt, each with its name. They are derived: people, the next prompt and a takeover
//! read them, and the core classifies what they record.

use crate::{Durability, OsText};
use longhaul_core::{
    AnsweredQuestion, BackgroundTask, Dollars, Exit, ProcessId, Rfc3339, SessionId, Span, Tokens, Usage,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A file of an attempt's directory, for [`AttemptDir::read`](crate::AttemptDir::read).
pub trait AttemptFile: Serialize + DeserializeOwned {
    /// Name of the file.
    const NAME: &str;
    /// Kind of its content, for errors: `exit`.
    const DESCRIPTION: &str;
    /// The events that a written file survives.
    const DURABILITY: Durability = Durability::Process;
}

/// The command line and environment of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argv {
    /// Program, as it was called.
    pub program: OsText,
    /// Arguments, without the program.
    pub args: Vec<OsText>,
    /// Working directory.
    pub cwd: OsText,
    /// Changes to the environment.
    pub env: EnvNames,
}

impl AttemptFile for Argv {
    const NAME: &str = "argv.json";
    const DESCRIPTION: &str = "arguments";
}

/// Names of environment variables. The type cannot hold a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvNames {
    /// Variables set for the agent.
    set: BTreeSet<String>,
    /// Variables withheld from the agent.
    removed: BTreeSet<String>,
    /// Variables that the agent needs to reach its API, its account and its configuration, if they were set.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    needed: BTreeSet<String>,
}

impl EnvNames {
    /// Creates the names of variables that are set for the agent and of those withheld from it. A `=` and
    /// everything after it is a value and is cut off.
    pub fn new<'a>(
        set: impl IntoIterator<Item = &'a str>,
        removed: impl IntoIterator<Item = &'a str>,
    ) -> EnvNames {
        EnvNames { set: names(set), removed: names(removed), needed: BTreeSet::new() }
    }

    /// Returns the same names with `needed` as the variables that the agent needs.
    #[must_use]
    pub fn with_needed<'a>(self, needed: impl IntoIterator<Item = &'a str>) -> EnvNames {
        EnvNames { needed: names(needed), ..self }
    }

    /// Returns the variables that are set.
    pub fn set(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(String::as_str)
    }

    /// Returns the variables that the agent needs.
    pub fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }

    /// Returns the variables that are withheld.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(String::as_str)
    }
}

fn names<'a>(variables: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    variables.into_iter().filter_map(|variable| variable.split('=').next()).map(str::to_owned).collect()
}

/// The end of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptExit {
    /// Exit status or signal.
    pub exit: Exit,
    /// When the exit was observed.
    pub ended_at: Rfc3339,
    /// The process. `None` if it was never started.
    #[serde(default)]
    pub process: Option<ProcessId>,
    /// Whether there was evidence that the kernel or a memory limit of Longhaul killed it.
    #[serde(default)]
    pub oom_killed: bool,
}

impl AttemptFile for AttemptExit {
    const NAME: &str = "exit.json";
    const DESCRIPTION: &str = "exit";
}

/// `attempts/NNN/session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionBaseline {
    /// Session that the attempt writes to.
    pub session: SessionId,
    /// Path of the agent's session file.
    pub file: OsText,
    /// File with the history that the session starts with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<OsText>,
    /// Length of that history in bytes; 0 for a new session.
    pub bytes: u64,
    /// The agent's id of the last row of that history, to detect another file of the same length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_row: Option<String>,
    /// Message of that history to resume at, if that is not its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<String>,
    /// Whether the file existed. Only then can it be missing later.
    pub existed: bool,
}

impl AttemptFile for SessionBaseline {
    const NAME: &str = "session.json";
    const DESCRIPTION: &str = "session";
}

impl AttemptFile for Vec<AnsweredQuestion> {
    const NAME: &str = "answers.json";
    const DESCRIPTION: &str = "answers";
}

impl AttemptFile for Vec<BackgroundTask> {
    const NAME: &str = "background.json";
    const DESCRIPTION: &str = "background tasks";
}

/// The usage of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelUsage {
    /// Name of the model as the agent reports it; empty if it is unknown.
    pub model: String,
    /// Reported cost.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Estimated cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some tokens could not be priced.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages.
    pub truncated_tokens: Tokens,
    /// Number of completed messages.
    pub messages: u32,
}

impl ModelUsage {
    /// Attributes this usage to a model.
    pub fn new(model: String, usage: &Usage) -> ModelUsage {
        ModelUsage {
            model,
            cost: usage.reported_cost.into(),
            estimated_cost: usage.estimated_cost.into(),
            unpriced: usage.unpriced,
            tokens: usage.tokens,
            truncated_tokens: usage.truncated_tokens,
            messages: usage.messages,
        }
    }
}

impl AttemptFile for Vec<ModelUsage> {
    const NAME: &str = "usage.json";
    const DESCRIPTION: &str = "usage";
}

/// A stop of the agent by the watchdog. No supervisor observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchdogStop {
    /// When the watchdog started to stop the agent.
    pub at: Rfc3339,
    /// How long the agent had been silent by then, in milliseconds without the machine's sleep.
    pub silent_ms: Span,
    /// Number of stopped processes. `None` if the watchdog died before they had exited.
    pub processes_stopped: Option<u32>,
}

impl AttemptFile for WatchdogStop {
    const NAME: &str = "watchdog.json";
    const DESCRIPTION: &str = "watchdog stop";
    // Nothing else records it.
    const DURABILITY: Durability = Durability::Power;
}
