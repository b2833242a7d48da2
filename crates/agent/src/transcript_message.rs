//! The messages of a conversation, as written to the transcript for people and their scripts. No decision
//! reads them.
//!
//! Field names follow existing research harnesses where they have one, so that their readers can parse our
//! transcripts. Fields are only ever added.

use crate::tool_input::{ToolArgument, ToolInput};
use longhaul_core::Tokens;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{self, Write};

/// A message of the conversation, or one part of a message that has several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptMessage {
    /// The type of the message, as research harnesses name it.
    #[serde(rename = "type")]
    pub class: MessageClass,
    /// The kind of message.
    pub kind: EventKind,
    /// The side of the conversation it belongs to.
    pub role: MessageRole,
    /// Its author.
    pub origin: MessageOrigin,
    /// The time in RFC 3339, or `None` if the stream does not state it.
    pub timestamp: Option<String>,
    /// Number of the attempt, starting at 1.
    pub attempt: u32,
    /// The session, as the agent named it.
    pub session_id: Option<String>,
    /// The call that started this sub-agent's conversation. `None` in the main conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
    /// The API message that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The text, or the result of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether the call starts a sub-agent, whose conversation is also in the transcript.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subagent: bool,
    /// The id of the call, on the call, on its result, and on the note that reports its end in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The arguments of a call, as the model wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Box<RawValue>>,
    /// Number of bytes omitted from the content or the input. A marker takes their place.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_bytes: u64,
    /// Whether it belongs to a wrap-up. A session that is resumed continues from the message before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrap_up: bool,
    /// Whether a call continues in the background, so that its result only reports its start. A later note with its id
    /// reports its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Whether a call was denied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Whether a call was interrupted: it may have taken effect in full, in part or not at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Whether a call or an exchange failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The model's stop reason, on the last part of a completed message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Usage of the message, on its last part only, so that a sum over all lines counts each message once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<MessageUsage>,
    /// Cost of the message in dollars by our price table, or `None` if the table lacks the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub estimated_cost_usd: Option<f64>,
    /// Fields of a result message.
    #[serde(flatten)]
    pub outcome: Option<ResultDetails>,
}

/// The fields of a line of the transcript that assign it to an attempt. Its content is not parsed.
#[derive(Clone, Debug, Deserialize)]
pub struct MessageHeader {
    /// Number of the attempt.
    pub attempt: u32,
    /// The kind of message.
    pub kind: EventKind,
    /// The time in RFC 3339, if it is known.
    pub timestamp: Option<String>,
}

impl MessageHeader {
    /// Returns the header of a line, or `None` if the line is not a message of a known kind.
    pub fn parse(line: &[u8]) -> Option<MessageHeader> {
        serde_json::from_slice(line).ok()
    }
}

/// The fields of a result message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultDetails {
    /// The vendor's kind of result.
    pub subtype: String,
    /// The vendor's reason why the exchange ended.
    pub terminal_reason: Option<String>,
    /// The answer.
    pub result: Option<String>,
    /// The vendor's error messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Duration of the exchange, as the vendor measured it.
    pub duration_ms: Option<u64>,
    /// Duration of the session's requests to the API so far, as the vendor measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_api_ms: Option<u64>,
    /// Number of turns, as the vendor counts them.
    pub num_turns: Option<u64>,
    /// Reported cost since the process's previous result, in dollars.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<f64>,
    /// Reported cost of the session so far. It continues to grow when a session is resumed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub total_cost_usd: Option<f64>,
}

/// Tokens of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageUsage {
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Output tokens, including thinking.
    pub output_tokens: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read_input_tokens: u64,
    /// Input tokens written to the prompt cache.
    pub cache_creation_input_tokens: u64,
}

impl From<Tokens> for MessageUsage {
    fn from(tokens: Tokens) -> MessageUsage {
        MessageUsage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_input_tokens: tokens.cache_read,
            cache_creation_input_tokens: tokens.cache_write,
        }
    }
}

/// The type of a message, as research harnesses name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MessageClass {
    /// A message to the model, including the results of its calls.
    #[default]
    UserMessage,
    /// A message of the model.
    AssistantMessage,
    /// A message from the agent program to the model.
    SystemMessage,
    /// The end of an exchange.
    ResultMessage,
}

/// The side of the conversation a message belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The side that sends prompts.
    #[default]
    User,
    /// The model.
    Assistant,
    /// Neither side.
    System,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A prompt.
    #[default]
    Prompt,
    /// Text of the model.
    Text,
    /// The model's thinking, as far as the agent shows it.
    Thinking,
    /// A tool call.
    ToolCall,
    /// The result of a tool call.
    ToolResult,
    /// A note from the agent program to the model.
    Note,
    /// The agent's own summary of everything before it.
    Summary,
    /// The end of an exchange.
    Result,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageOrigin {
    /// The user.
    #[default]
    Person,
    /// Longhaul, on its own behalf, such as a prompt to continue, to wrap up or to start a new session.
    Longhaul,
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// The agent program: error messages, notices, results.
    Agent,
}

impl EventKind {
    fn class_and_role(self) -> (MessageClass, MessageRole) {
        match self {
            EventKind::Prompt | EventKind::ToolResult => (MessageClass::UserMessage, MessageRole::User),
            EventKind::Text | EventKind::Thinking | EventKind::ToolCall => {
                (MessageClass::AssistantMessage, MessageRole::Assistant)
            }
            EventKind::Note | EventKind::Summary => (MessageClass::SystemMessage, MessageRole::System),
            EventKind::Result => (MessageClass::ResultMessage, MessageRole::System),
        }
    }

    /// Returns whether such messages are read from the agent's stream. Prompts are not in the stream.
    pub fn comes_from_stream(self) -> bool {
        self != EventKind::Prompt
    }
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolResultKind {
    /// It succeeded.
    Ok,
    /// It failed or was denied.
    Error,
    /// It was interrupted: it may have taken effect in full, in part or not at all.
    Unknown,
}

impl TranscriptMessage {
    /// Creates a message of this kind without content.
    pub fn new(kind: EventKind, origin: MessageOrigin, attempt: u32) -> TranscriptMessage {
        let (class, role) = kind.class_and_role();
        TranscriptMessage { class, kind, role, origin, attempt, ..TranscriptMessage::default() }
    }

    /// Appends the message as one line of JSON.
    ///
    /// # Errors
    /// Returns an error of serde_json, which has none for a message.
    pub fn write_line(&self, lines: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(LineWriter(lines), self)?;
        lines.push(b'\n');
        Ok(())
    }

    /// Returns whether a message can concern cost, from its JSON: it states usage, or it belongs to a sub-agent or starts
    /// one. Most messages are long and do not, and need not be parsed.
    pub fn can_concern_cost(json: &[u8]) -> bool {
        let keys: [&[u8]; 3] = [b"\"usage\":", b"\"parent_tool_use_id\":", b"\"subagent\":"];
        keys.iter().any(|key| memmem::find(json, key).is_some())
    }

    /// Returns whether it is part of the work in the main conversation, or of its wrap-up: the user's, the model's or its
    /// tools'. A later attempt has no use for other messages.
    pub fn is_work(&self) -> bool {
        let is_work = match self.origin {
            MessageOrigin::Person | MessageOrigin::Model | MessageOrigin::Tool => true,
            MessageOrigin::Agent => self.kind == EventKind::Summary,
            MessageOrigin::Longhaul => false,
        };
        is_work && self.parent_tool_use_id.is_none()
    }

    /// Returns the content, or an empty text if there is none.
    pub fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns how the call of a result ended.
    pub fn result_kind(&self) -> ToolResultKind {
        match (self.interrupted, self.is_error) {
            (true, _) => ToolResultKind::Unknown,
            (false, Some(true)) => ToolResultKind::Error,
            (false, Some(false) | None) => ToolResultKind::Ok,
        }
    }

    /// Returns the most informative argument of a call, if a known one is present.
    pub fn argument(&self) -> Option<ToolArgument<'_>> {
        ToolInput::parse(self.input.as_ref()?.get()).argument(self.tool.as_deref()?)
    }
}

/// Appends to bytes. Most parts of JSON are single bytes, for which the vector's own writer is slow.
struct LineWriter<'a>(&'a mut Vec<u8>);

impl Write for LineWriter<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes {
            [byte] => self.0.push(*byte),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
