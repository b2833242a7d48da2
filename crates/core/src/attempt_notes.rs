//! Facts about an attempt that its files contain for people. The core never reads them.

use serde::{Deserialize, Serialize};

/// A question that was answered. Long texts are truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnsweredQuestion {
    /// The agent's question.
    pub question: String,
    /// The answer the agent received. Empty if there was none.
    pub answer: String,
    /// Key of the configured answer that matched. `None` if none matched and the default was sent.
    pub key: Option<String>,
}

/// A call that a guard denied because it names a blocked URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedCall {
    /// Name of the tool.
    pub tool: String,
    /// The URL, or the command or question that names it, shortened.
    pub url: String,
    /// The pattern that blocks it.
    pub pattern: String,
}

/// A command or sub-agent that the agent does not wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundTask {
    /// The tool call that started it.
    #[serde(skip)]
    pub call: String,
    /// The command, or the description of a sub-agent, on one line.
    pub command: String,
    /// File with its output, if the agent named it.
    pub output_file: Option<String>,
    /// Last lines of its output, if any. The decoder leaves this empty.
    pub last_lines: Option<String>,
}
