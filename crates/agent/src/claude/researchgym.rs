//! Reads ResearchGym's records of Claude Code runs: `logs/transcript.json`, an array of messages. The parts
//! of a message are Python `repr` texts of the SDK's objects, as in `TextBlock(text='…')`, or JSON objects
//! with the same fields.
//!
//! Parts are classified by their origin, never by their text: work that mentions "500" or "timeout" is work.
//! ResearchGym's own prompts are recognized by their first sentence.

pub use crate::prompts::RESEARCHGYM_WRAP_UP as WRAP_UP;

use super::SYNTHETIC;
use super::vendor_terms::is_interruption_marker;
use crate::Conversation;
use crate::python_repr::PythonValue;
use crate::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use serde_json::value::to_raw_value;
use serde_json::{Deserializer, Value};

const CONTINUES: [&str; 2] =
    ["Please proceed to the next step using your best judgement.", "Continue from where you left off."];
const NOTES: [&str; 3] =
    ["⚠️ TIME WARNING: Only ", "Budget limit reached ($", "Time limit reached. Session ending."];

/// The text is not a ResearchGym transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a JSON array of messages")]
pub struct NotATranscript;

/// Parses `logs/transcript.json`. ResearchGym rewrites the file at each message, so a kill may truncate it;
/// the messages before that are read.
pub fn transcript(json: &[u8]) -> Result<Conversation, NotATranscript> {
    let mut rest = json.trim_ascii_start().strip_prefix(b"[").ok_or(NotATranscript)?;
    let mut reader = Reader::default();
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest);
        let mut messages = Deserializer::from_slice(rest).into_iter::<Value>();
        let Some(Ok(message)) = messages.next() else { return Ok(reader.conversation) };
        reader.read(&message);
        rest = &rest[messages.byte_offset()..];
    }
}

#[derive(Default)]
struct Reader {
    conversation: Conversation,
    is_wrapping_up: bool,
}

impl Reader {
    fn read(&mut self, message: &Value) {
        let source = match message["type"].as_str() {
            Some("AssistantMessage") if message["model"] == SYNTHETIC => PartSource::Program,
            Some("AssistantMessage") => PartSource::Model,
            Some("UserMessage") => PartSource::Tools,
            // Messages of the program about itself, and results.
            Some(_) | None => return,
        };
        match &message["content"] {
            Value::Array(parts) => parts.iter().for_each(|part| self.part(source, part)),
            Value::String(text) => self.text(source, text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }

    fn part(&mut self, source: PartSource, part: &Value) {
        let Value::String(text) = part else { return self.block(source, part_class(part), part) };
        match PythonValue::parse(text) {
            Some(PythonValue { class: Some(class), json }) => self.block(source, &class, &json),
            // A text that is not an object is a plain text, even if it looks like an object.
            Some(_) | None => self.text(source, text),
        }
    }

    fn block(&mut self, source: PartSource, class: &str, part: &Value) {
        let field = |name: &str| part[name].as_str().map(str::to_owned);
        match class {
            "TextBlock" => self.text(source, part["text"].as_str().unwrap_or_default()),
            "ToolUseBlock" | "ServerToolUseBlock" => self.push(TranscriptMessage {
                tool_use_id: field("id"),
                tool: field("name"),
                input: to_raw_value(&part["input"]).ok(),
                ..self.message(EventKind::ToolCall, MessageOrigin::Model)
            }),
            "ToolResultBlock" | "ServerToolResultBlock" => self.push(TranscriptMessage {
                tool_use_id: field("tool_use_id"),
                is_error: Some(part["is_error"] == true),
                content: Some(content_text(&part["content"])),
                ..self.message(EventKind::ToolResult, MessageOrigin::Tool)
            }),
            // Thinking, and parts that later versions may add, are not part of the conversation.
            _ => {}
        }
    }

    fn text(&mut self, source: PartSource, text: &str) {
        let is_one_of = |prompts: &[&str]| prompts.iter().any(|prompt| text.starts_with(prompt));
        let (kind, origin) = match source {
            PartSource::Model => (EventKind::Text, MessageOrigin::Model),
            PartSource::Program => (EventKind::Text, MessageOrigin::Agent),
            PartSource::Tools if is_interruption_marker(text) => (EventKind::Note, MessageOrigin::Agent),
            PartSource::Tools if is_one_of(&[WRAP_UP]) || is_one_of(&CONTINUES) => {
                self.is_wrapping_up = text.starts_with(WRAP_UP);
                (EventKind::Note, MessageOrigin::Longhaul)
            }
            PartSource::Tools if is_one_of(&NOTES) => (EventKind::Note, MessageOrigin::Longhaul),
            PartSource::Tools => (EventKind::Note, MessageOrigin::Tool),
        };
        self.push(TranscriptMessage { content: Some(text.to_owned()), ..self.message(kind, origin) });
    }

    fn message(&self, kind: EventKind, origin: MessageOrigin) -> TranscriptMessage {
        TranscriptMessage { wrap_up: self.is_wrapping_up, ..TranscriptMessage::new(kind, origin, 0) }
    }

    fn push(&mut self, message: TranscriptMessage) {
        self.conversation.push(message);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartSource {
    Model,
    Program,
    /// The tools, and other messages of the program to the model.
    Tools,
}

/// Returns the class of a JSON part by its fields, because it does not state a name.
fn part_class(part: &Value) -> &'static str {
    let has = |field: &str| part.get(field).is_some();
    if has("tool_use_id") {
        "ToolResultBlock"
    } else if has("name") && has("input") {
        "ToolUseBlock"
    } else if has("thinking") {
        "ThinkingBlock"
    } else {
        "TextBlock"
    }
}

/// Returns the text of a result: the text itself, or the texts of its parts.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match (part["text"].as_str(), part["type"].as_str()) {
                (Some(text), _) => text.to_owned(),
                (None, kind) => format!("[{}]", kind.unwrap_or("part")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
