//! What ResearchGym recorded of its runs of Claude Code: `logs/transcript.json`, an array of messages whose parts are
//! what Python's `repr` makes of the SDK's objects, as in `TextBlock(text='…')`, or JSON objects with the same fields.
//!
//! The origin of a part decides, never its words: work that mentions "500" or "timeout" is work. The prompts of
//! ResearchGym itself are recognized by their whole first sentence.

use crate::claude::{SYNTHETIC, called, is_interruption_mark};
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult, ToolResultKind};
use crate::python_repr::PythonValue;
use serde_json::{Deserializer, Value};

/// The prompt by which ResearchGym ends a run: the answers to it are no part of the work.
pub const WRAP_UP: &str = "Time limit reached. Commit any uncommitted changes and stop.";
/// The prompts after which it continues the work.
const CONTINUES: [&str; 2] =
    ["Please proceed to the next step using your best judgement.", "Continue from where you left off."];
/// Its other prompts.
const NOTES: [&str; 3] =
    ["⚠️ TIME WARNING: Only ", "Budget limit reached ($", "Time limit reached. Session ending."];

/// That a file is no such record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no JSON array of messages")]
pub struct NotATranscript;

/// What was said and done by `logs/transcript.json`. It is rewritten as a whole at each message, so that a kill may
/// have cut it: the messages before that are read.
///
/// # Errors
/// If it is no array.
pub fn transcript(json: &[u8]) -> Result<Conversation, NotATranscript> {
    let mut rest = json.trim_ascii_start().strip_prefix(b"[").ok_or(NotATranscript)?;
    let mut reader = Reader::default();
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest);
        let mut messages = Deserializer::from_slice(rest).into_iter::<Value>();
        let Some(Ok(message)) = messages.next() else { return Ok(reader.transcript) };
        reader.read(&message);
        rest = &rest[messages.byte_offset()..];
    }
}

/// Reads the messages of one file.
#[derive(Default)]
struct Reader {
    transcript: Conversation,
    /// Whether the run is being ended.
    is_wrapping_up: bool,
}

impl Reader {
    fn read(&mut self, message: &Value) {
        let speaker = match message["type"].as_str() {
            Some("AssistantMessage") if message["model"] == SYNTHETIC => PartSource::Program,
            Some("AssistantMessage") => PartSource::Model,
            Some("UserMessage") => PartSource::Tools,
            // What the program says of itself, and the ends of turns.
            Some(_) | None => return,
        };
        match &message["content"] {
            Value::Array(parts) => parts.iter().for_each(|part| self.part(speaker, part)),
            Value::String(text) => self.text(speaker, text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }

    fn part(&mut self, speaker: PartSource, part: &Value) {
        let Value::String(text) = part else { return self.block(speaker, kind_of(part), part) };
        match PythonValue::read(text) {
            Ok(object @ PythonValue::Object(..)) => {
                let PythonValue::Object(class, _) = &object else { return };
                self.block(speaker, class, &object.json());
            }
            // A text that is no object is what was said; so is one that looks like an object and is none.
            Ok(_) | Err(_) => self.text(speaker, text),
        }
    }

    fn block(&mut self, speaker: PartSource, class: &str, part: &Value) {
        let field = |name: &str| part[name].as_str().unwrap_or_default();
        match class {
            "TextBlock" => self.text(speaker, field("text")),
            "ToolUseBlock" | "ServerToolUseBlock" => {
                let call = called(field("id"), field("name"), &part["input"].to_string());
                self.push(EntryKind::ToolCall(call), self.work());
            }
            "ToolResultBlock" | "ServerToolResultBlock" => {
                let is_error = part["is_error"] == true;
                let answer = ToolResult {
                    call: field("tool_use_id").to_owned(),
                    kind: if is_error { ToolResultKind::Error } else { ToolResultKind::Ok },
                    text: content(&part["content"]),
                };
                self.push(EntryKind::ToolResult(answer), self.work());
            }
            // Thoughts, and what later versions may have: nothing that was said or done.
            _ => {}
        }
    }

    fn text(&mut self, speaker: PartSource, text: &str) {
        let is_one_of = |prompts: &[&str]| prompts.iter().any(|prompt| text.starts_with(prompt));
        let provenance = match speaker {
            PartSource::Program => Provenance::Synthetic,
            PartSource::Tools if is_interruption_mark(text) => Provenance::Synthetic,
            PartSource::Tools if text.starts_with(WRAP_UP) => {
                self.is_wrapping_up = true;
                Provenance::Longhaul
            }
            PartSource::Tools if is_one_of(&CONTINUES) => {
                self.is_wrapping_up = false;
                Provenance::Longhaul
            }
            PartSource::Tools if is_one_of(&NOTES) => Provenance::Longhaul,
            PartSource::Model | PartSource::Tools => self.work(),
        };
        let text = text.to_owned();
        self.push(
            if speaker == PartSource::Tools {
                EntryKind::AgentNote(text)
            } else {
                EntryKind::ModelText(text)
            },
            provenance,
        );
    }

    fn work(&self) -> Provenance {
        if self.is_wrapping_up { Provenance::WrapUp } else { Provenance::Work }
    }

    fn push(&mut self, what: EntryKind, provenance: Provenance) {
        self.transcript.push(what, provenance, None);
    }
}

/// Whose message it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartSource {
    Model,
    Program,
    /// The tools, and what the program has to tell besides.
    Tools,
}

/// The class of a part by its fields: those that are JSON have no name.
fn kind_of(part: &Value) -> &'static str {
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

/// The text of a result: as it is, or of its parts that are texts.
fn content(content: &Value) -> String {
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
