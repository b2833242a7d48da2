//! What ResearchGym recorded of its runs of Claude Code: `logs/transcript.json`, an array of messages whose parts are
//! what Python's `repr` makes of the SDK's objects, as in `TextBlock(text='…')`, or JSON objects with the same fields.
//!
//! What counts is where a part comes from, never what it says: work that mentions "500" or "timeout" is work.

use crate::claude::{SYNTHETIC, called, is_interruption_mark};
use crate::python::Python;
use crate::transcript::{Answer, AnswerKind, Provenance, Transcript, What};
use serde_json::{Deserializer, Value};

/// That a file is no such record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no JSON array of messages")]
pub struct NoTranscript;

/// What was said and done by `logs/transcript.json`. It is rewritten as a whole at each message, so that a kill may
/// have cut it: the messages before that are read.
///
/// # Errors
/// If it is no array.
pub fn transcript(json: &[u8]) -> Result<Transcript, NoTranscript> {
    let mut rest = json.trim_ascii_start().strip_prefix(b"[").ok_or(NoTranscript)?;
    let mut transcript = Transcript::default();
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest);
        let mut messages = Deserializer::from_slice(rest).into_iter::<Value>();
        let Some(Ok(message)) = messages.next() else { return Ok(transcript) };
        read(&message, &mut transcript);
        rest = &rest[messages.byte_offset()..];
    }
}

fn read(message: &Value, transcript: &mut Transcript) {
    let speaker = match message["type"].as_str() {
        Some("AssistantMessage") if message["model"] == SYNTHETIC => Speaker::Program,
        Some("AssistantMessage") => Speaker::Model,
        Some("UserMessage") => Speaker::Tools,
        // What the program says of itself, and the ends of turns.
        Some(_) | None => return,
    };
    match &message["content"] {
        Value::Array(parts) => {
            for part in parts {
                part_of(speaker, part, transcript);
            }
        }
        Value::String(text) => said(speaker, text, transcript),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// Whose message it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Model,
    Program,
    /// The tools, and what the program has to tell besides.
    Tools,
}

fn part_of(speaker: Speaker, part: &Value, transcript: &mut Transcript) {
    let Value::String(text) = part else { return block(speaker, kind_of(part), part, transcript) };
    match Python::read(text) {
        Ok(object @ Python::Object(..)) => {
            let Python::Object(class, _) = &object else { return };
            block(speaker, class, &object.json(), transcript);
        }
        // A text that is no object is what was said; so is one that looks like an object and is none.
        Ok(_) | Err(_) => said(speaker, text, transcript),
    }
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

fn block(speaker: Speaker, class: &str, part: &Value, transcript: &mut Transcript) {
    let field = |name: &str| part[name].as_str().unwrap_or_default();
    match class {
        "TextBlock" => said(speaker, field("text"), transcript),
        "ToolUseBlock" | "ServerToolUseBlock" => {
            let call = called(field("id"), field("name"), &part["input"].to_string());
            transcript.push(What::Called(call), Provenance::Work, None);
        }
        "ToolResultBlock" | "ServerToolResultBlock" => {
            let is_error = part["is_error"] == true;
            let answer = Answer {
                call: field("tool_use_id").to_owned(),
                kind: if is_error { AnswerKind::Error } else { AnswerKind::Fine },
                text: content(&part["content"]),
            };
            transcript.push(What::Answered(answer), Provenance::Work, None);
        }
        // Thoughts, and what later versions may have: nothing that was said or done.
        _ => {}
    }
}

fn said(speaker: Speaker, text: &str, transcript: &mut Transcript) {
    let text = text.to_owned();
    let (what, provenance) = match speaker {
        Speaker::Model => (What::Said(text), Provenance::Work),
        Speaker::Program => (What::Said(text), Provenance::Synthetic),
        Speaker::Tools if is_interruption_mark(&text) => (What::Told(text), Provenance::Synthetic),
        Speaker::Tools => (What::Told(text), Provenance::Work),
    };
    transcript.push(what, provenance, None);
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
