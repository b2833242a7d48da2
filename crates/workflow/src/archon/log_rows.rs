//! Rows of an agent's JSONL log, as Archon's dashboard and scripts read them. A `session_end` row proves
//! success: an agent that ended with an error has none.

use longhaul_core::{Dollars, Rfc3339, Span, word_enum};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogRow<'a> {
    /// Time of the event.
    pub ts: Rfc3339,
    /// The event.
    #[serde(flatten)]
    pub event: LogEvent<'a>,
}

/// The event of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LogEvent<'a> {
    /// A message of the loop.
    Shell {
        /// Its severity.
        level: ShellLevel,
        /// Its text.
        message: &'a str,
    },
    /// The model's thinking.
    Thinking {
        /// The text.
        content: &'a str,
    },
    /// Text of the model.
    Text {
        /// The text.
        content: &'a str,
    },
    /// A tool call.
    ToolCall {
        /// Name of the tool.
        tool: &'a str,
        /// Its arguments.
        input: &'a Value,
    },
    /// The result of a tool call.
    ToolResult {
        /// The text.
        content: &'a str,
    },
    /// The end of an agent that finished its work.
    SessionEnd(SessionEnd<'a>),
    /// The end of all provers of an iteration.
    ParallelRoundEnd {
        /// Number of provers.
        prover_count: u32,
        /// Number of provers that did not finish their work.
        failed: u32,
    },
}

word_enum! {
    /// The severity of a message of the loop.
    #[derive(Deserialize)]
    pub enum ShellLevel {
        /// Progress.
        Info = "info",
        /// A problem that ends the loop.
        Error = "error",
    }
}

/// The usage of an agent with all of its attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionEnd<'a> {
    /// The session that can be resumed.
    pub session_id: &'a str,
    /// Cost of all attempts.
    pub total_cost_usd: Dollars,
    /// Time from start to end of the run.
    pub duration_ms: Span,
    /// Time in which the API answered. `None` if it is unknown.
    pub duration_api_ms: Option<Span>,
    /// Turns of all attempts.
    pub num_turns: u32,
    /// Input tokens of all attempts.
    pub input_tokens: u64,
    /// Output tokens of all attempts.
    pub output_tokens: u64,
    /// Tokens that all attempts read from the cache.
    pub cache_read_input_tokens: u64,
    /// Tokens that all attempts wrote to the cache.
    pub cache_creation_input_tokens: u64,
    /// Usage by model, in Claude Code's form `modelUsage`.
    pub model_usage: Value,
    /// The last answer.
    pub summary: &'a str,
}

#[cfg(test)]
mod tests;
