//! The rows of a session file, and the fields of stream events that a conversation is built from. Content
//! stays unparsed until it is needed, because most of a session file never is.

use super::{Flag, ResultMeta, Text, WireUsage, lenient, parse};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

records! {
    /// A row of a session file.
    Row {
        "type" => kind: Text<'a>,
        "uuid" => uuid: Text<'a>,
        "parentUuid" => parent: Text<'a>,
        "logicalParentUuid" => logical_parent: Text<'a>,
        "isSidechain" => is_sidechain: Flag,
        "isMeta" => is_meta: Flag,
        "isCompactSummary" => is_compact_summary: Flag,
        "isApiErrorMessage" => is_api_error_message: Flag,
        "promptSource" => prompt_source: Text<'a>,
        "turnOrigin" => turn_origin: Text<'a>,
        "origin" => origin: PromptOrigin<'a>,
        "toolDenialKind" => denial_kind: Text<'a>,
        "permissionDecision" => permission_decision: Flag,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: RowMessage<'a>,
        "attachment" => attachment: Attachment<'a>,
        "operation" => operation: Text<'a>,
        "content" => content: Raw<'a>,
    }

    /// A stream event, with the fields for a conversation.
    ConversationEvent {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "isSynthetic" => is_synthetic: Flag,
        "is_api_error_message" => is_api_error_message: Flag,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: RowMessage<'a>,
        "tool_result_meta" => tool_result_meta: lenient::List<NonExecution<'a>>,
        "summary" => summary: Raw<'a>,
    }

    /// A stream event, with the fields for the transcript.
    TranscriptEvent {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "isSynthetic" => is_synthetic: Flag,
        "is_api_error_message" => is_api_error_message: Flag,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: RowMessage<'a>,
        "tool_result_meta" => tool_result_meta: lenient::List<ResultMeta<'a>>,
        "summary" => summary: Raw<'a>,
    }

    /// A stream event with its message unparsed, to be written as a session row.
    UnwrittenEvent {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "uuid" => uuid: Text<'a>,
        "session_id" => session_id: Text<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "is_api_error_message" => is_api_error_message: Flag,
        "timestamp" => timestamp: Text<'a>,
        "message" => message: Raw<'a>,
        "tool_use_result" => tool_use_result: Raw<'a>,
        "tool_result_meta" => tool_result_meta: lenient::List<NonExecution<'a>>,
    }

    /// Fields that distinguish a row of a session file from an event of a stream.
    FormatSignature {
        "sessionId" => session_file_id: Text<'a>,
        "session_id" => stream_id: Text<'a>,
    }

    /// A message with its content unparsed.
    RowMessage {
        "id" => id: Text<'a>,
        "model" => model: Text<'a>,
        "stop_reason" => stop_reason: Text<'a>,
        "usage" => usage: WireUsage<'a>,
        "content" => content: Raw<'a>,
    }

    /// The origin of a prompt, unless it is from a person or a host.
    PromptOrigin {
        "kind" => kind: Text<'a>,
    }

    /// Content that the agent program adds to the conversation.
    Attachment {
        "type" => kind: Text<'a>,
        "commandMode" => command_mode: Text<'a>,
        "prompt" => prompt: Raw<'a>,
    }

    /// The reason why a tool call did not run or did not finish.
    NonExecution {
        "id" => id: Text<'a>,
        "non_execution_kind" => kind: Text<'a>,
        "permission_decision" => permission_decision: Flag,
    }

    /// A content block with its own content unparsed.
    Part {
        "type" => kind: Text<'a>,
        "id" => id: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "name" => name: Text<'a>,
        "text" => text: Raw<'a>,
        "thinking" => thinking: Raw<'a>,
        "input" => input: Raw<'a>,
        "content" => content: Raw<'a>,
        "is_error" => is_error: Flag,
    }
}

/// Fields that every row of a session file repeats.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::claude) struct RowContext<'a> {
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    user_type: Raw<'a>,
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    entrypoint: Raw<'a>,
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    cwd: Raw<'a>,
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    session_id: Raw<'a>,
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    version: Raw<'a>,
    #[serde(borrow, skip_serializing_if = "Raw::is_missing")]
    git_branch: Raw<'a>,
}

impl RowContext<'_> {
    /// Returns whether the row belongs to this session.
    pub(in crate::claude) fn belongs_to(&self, session: &str) -> bool {
        self.session_id.text().is_some_and(|id| id == session)
    }
}

/// A raw value.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::claude) struct Raw<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(input).map(|raw| Raw(Some(raw)))
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(output)
    }
}

impl<'a> Raw<'a> {
    /// Returns whether the value is missing.
    pub(in crate::claude) fn is_missing(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the JSON text, or an empty text if it is missing.
    pub(in crate::claude) fn json(self) -> &'a str {
        self.0.map_or("", RawValue::get)
    }

    /// Returns the value if it is a string. Half surrogate pairs, which the agent writes when it truncates a
    /// text within a character, become replacement characters.
    pub(in crate::claude) fn text(self) -> Option<String> {
        serde_json::from_str::<Lossy>(self.json()).ok().map(|text| text.0)
    }

    /// Parses a message's content into blocks. A plain string is one text block.
    pub(in crate::claude) fn parts(self) -> Vec<Part<'a>> {
        if self.json().starts_with('"') {
            let text = Text::new("text");
            return vec![Part { kind: text, text: self, ..Part::default() }];
        }
        parse::<lenient::List<Part<'a>>>(self.json().as_bytes()).map(|list| list.0).unwrap_or_default()
    }
}

/// A string that may contain half surrogate pairs.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct LossyVisitor;
        impl<'de> Visitor<'de> for LossyVisitor {
            type Value = Lossy;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
            // serde_json offers a list where bytes are requested, but a list is not a string.
            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Lossy, A::Error> {
                Err(serde::de::Error::custom("a list"))
            }
        }
        // As bytes, because only then does serde_json accept half pairs.
        input.deserialize_bytes(LossyVisitor)
    }
}
