//! Rows of an agent's JSONL log, as Archon's dashboard and scripts read them. A `session_end` row proves
//! success: an agent that ended with an error has none.

use longhaul_core::{Dollars, Moment, Rfc3339, Span, Tokens, word_enum};
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
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ShellLevel {
        /// Progress.
        Info = "info",
        /// Success.
        Ok = "ok",
        /// A problem that the loop survives.
        Warn = "warn",
        /// A problem that ends the loop.
        Error = "error",
    }
}

/// The usage of an agent with all of its attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionEnd<'a> {
    session_id: &'a str,
    total_cost_usd: Dollars,
    duration_ms: Span,
    duration_api_ms: Option<Span>,
    num_turns: u32,
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    model_usage: &'a Value,
    summary: &'a str,
}

/// A message of an agent's conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentMessage<'a> {
    /// The model's thinking.
    Thinking(&'a str),
    /// Text of the model.
    Text(&'a str),
    /// A tool call.
    ToolCall {
        /// Name of the tool.
        tool: &'a str,
        /// Its arguments.
        input: &'a Value,
    },
    /// The result of a tool call, as text.
    ToolResult(&'a str),
}

/// The last result of an agent, for all attempts of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct LastResult {
    /// Whether the agent did not finish its work.
    pub is_error: bool,
    /// The session that can be resumed.
    pub session_id: String,
    /// Cost of all attempts.
    pub total_cost: Dollars,
    /// Time from start to end of the run.
    pub duration: Span,
    /// Time in which the API answered. `None` if it is unknown.
    pub api_duration: Option<Span>,
    /// Turns of all attempts.
    pub turns: u32,
    /// Tokens of all attempts.
    pub tokens: Tokens,
    /// Usage by model, in Claude Code's form `modelUsage`.
    pub model_usage: Value,
    /// The last answer.
    pub answer: String,
}

impl<'a> LogRow<'a> {
    /// Creates the row of a message, or `None` for a text without content.
    pub fn from_message(at: Moment, message: AgentMessage<'a>) -> Option<LogRow<'a>> {
        let content = |text: &'a str| Some(text.trim()).filter(|text| !text.is_empty());
        let event = match message {
            AgentMessage::Thinking(text) => LogEvent::Thinking { content: content(text)? },
            AgentMessage::Text(text) => LogEvent::Text { content: content(text)? },
            AgentMessage::ToolCall { tool, input } => LogEvent::ToolCall { tool, input },
            AgentMessage::ToolResult(text) => LogEvent::ToolResult { content: text },
        };
        Some(LogRow { ts: at.into(), event })
    }

    /// Creates the row for the end of an agent, or `None` if its last result is an error.
    pub fn session_end(at: Moment, result: &'a LastResult) -> Option<LogRow<'a>> {
        let event = LogEvent::SessionEnd(SessionEnd {
            session_id: &result.session_id,
            total_cost_usd: result.total_cost,
            duration_ms: result.duration,
            duration_api_ms: result.api_duration,
            num_turns: result.turns,
            input_tokens: result.tokens.input,
            output_tokens: result.tokens.output,
            cache_read_input_tokens: result.tokens.cache_read,
            cache_creation_input_tokens: result.tokens.cache_write,
            model_usage: &result.model_usage,
            summary: &result.answer,
        });
        (!result.is_error).then(|| LogRow { ts: at.into(), event })
    }
}

#[cfg(test)]
mod tests;
