//! A conversation as it is written down for people and their scripts: message by message, as it goes on. Nothing
//! here is read to decide anything; what a seed is made of is in [`crate::transcript`].
//!
//! The names of the fields are those of existing research harnesses where they have one, so that their readers can
//! read ours. Fields are only ever added.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One thing that was said or done: a message of the conversation, or one part of a message that has several.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptMessage {
    /// What the harnesses call it.
    #[serde(rename = "type")]
    pub class: MessageClass,
    /// What it is.
    pub kind: EventKind,
    /// In whose turn of the conversation it stands.
    pub role: MessageRole,
    /// Who wrote it.
    pub origin: MessageOrigin,
    /// When, in RFC 3339; nothing where nobody said so.
    pub timestamp: Option<String>,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The session, as the agent named it.
    pub session_id: Option<String>,
    /// The call that began the sub-agent whose conversation this is; nothing in the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
    /// The API message that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What was said; of a call, what it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether the call begins a sub-agent, whose conversation is then told too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subagent: bool,
    /// The call, in itself and in its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The arguments of a call, as the model wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Box<RawValue>>,
    /// How many bytes of the content or the input were left out, where a mark stands in their place.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_bytes: u64,
    /// Whether it belongs to the saving of the work before a limit: nothing that whoever goes on could use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrap_up: bool,
    /// Whether a call was not let run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Whether a call was cut off in its course: it may have taken effect in full, in part or not at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Whether a call or a turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Why the model stopped, on the last part of a completed message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What the message used, on its last part: a sum over all lines counts each message once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<MessageUsage>,
    /// What the message cost by our table of prices, in dollars; nothing for a model that is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub estimated_cost_usd: Option<f64>,
    /// Of a result: everything that only results have.
    #[serde(flatten)]
    pub outcome: Option<ResultDetails>,
}

/// What only a result says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultDetails {
    /// The vendor's kind of ending.
    pub subtype: String,
    /// Why the turn ended, in the vendor's word.
    pub terminal_reason: Option<String>,
    /// The answer.
    pub result: Option<String>,
    /// What went wrong, in the vendor's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// How long the turn took, by the vendor's clock.
    pub duration_ms: Option<u64>,
    /// What the vendor counts as its turns.
    pub num_turns: Option<u64>,
    /// What was spent since the last result of the process, as the vendor states it, in dollars.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<f64>,
    /// What the vendor states for the session so far: it counts on when a session is resumed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub total_cost_usd: Option<f64>,
}

/// Tokens of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageUsage {
    /// Input that no cache served.
    pub input_tokens: u64,
    /// Output, thinking included.
    pub output_tokens: u64,
    /// Input served from the prompt cache.
    pub cache_read_input_tokens: u64,
    /// Input written to the prompt cache.
    pub cache_creation_input_tokens: u64,
}

/// What the harnesses call a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MessageClass {
    /// Said to the model, the results of its calls included.
    UserMessage,
    /// Said or done by the model.
    AssistantMessage,
    /// Told to the model by the agent's program.
    SystemMessage,
    /// The end of a turn.
    ResultMessage,
}

/// In whose turn of the conversation something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The side that asks.
    User,
    /// The model's.
    Assistant,
    /// Nobody's.
    System,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// What the agent was asked.
    Prompt,
    /// What the model said.
    Text,
    /// What it thought, as far as the agent shows it.
    Thinking,
    /// A tool call.
    ToolCall,
    /// What a tool call brought.
    ToolResult,
    /// What the agent's program told the model.
    Note,
    /// The agent's own summary of all that came before.
    Summary,
    /// The end of a turn.
    Result,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageOrigin {
    /// Whoever asked for the work.
    Person,
    /// Longhaul, on its own behalf: to continue, to finish, to go on in a new session.
    Longhaul,
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// The agent's program: error messages, notices, results.
    Agent,
}

impl EventKind {
    /// What the harnesses call it, and whose turn it stands in.
    fn place(self) -> (MessageClass, MessageRole) {
        match self {
            EventKind::Prompt | EventKind::ToolResult => (MessageClass::UserMessage, MessageRole::User),
            EventKind::Text | EventKind::Thinking | EventKind::ToolCall => {
                (MessageClass::AssistantMessage, MessageRole::Assistant)
            }
            EventKind::Note | EventKind::Summary => (MessageClass::SystemMessage, MessageRole::System),
            EventKind::Result => (MessageClass::ResultMessage, MessageRole::System),
        }
    }

    /// Whether such a message is read from the agent's stream: what the agent was asked is not in there.
    pub fn comes_from_stream(self) -> bool {
        match self {
            EventKind::Prompt => false,
            EventKind::Text
            | EventKind::Thinking
            | EventKind::ToolCall
            | EventKind::ToolResult
            | EventKind::Note
            | EventKind::Summary
            | EventKind::Result => true,
        }
    }
}

impl TranscriptMessage {
    /// A message of this kind that says nothing yet.
    pub fn new(kind: EventKind, origin: MessageOrigin, attempt: u32) -> TranscriptMessage {
        let (class, role) = kind.place();
        TranscriptMessage {
            class,
            kind,
            role,
            origin,
            timestamp: None,
            attempt,
            session_id: None,
            parent_tool_use_id: None,
            id: None,
            model: None,
            content: None,
            tool: None,
            subagent: false,
            tool_use_id: None,
            input: None,
            truncated_bytes: 0,
            wrap_up: false,
            denied: false,
            interrupted: false,
            is_error: None,
            stop_reason: None,
            usage: None,
            estimated_cost_usd: None,
            outcome: None,
        }
    }
}

/// Writes down what the stream of one attempt tells, message by message. The same stream tells the same messages, in
/// whatever pieces it comes: whoever reads it again can pass over what is written down already.
pub trait TranscriptDecoder: Send {
    /// Takes in some bytes of the stream, and passes on the messages that they complete.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<TranscriptMessage>);

    /// The stream has ended: passes on what waited for more.
    fn finish(&mut self, out: &mut Vec<TranscriptMessage>);
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
