//! Extracts the part of a transcript that a judge may see: the messages of the user and the agent, and one
//! line for each tool call.
//!
//! Messages from the agent's program or Longhaul, injected playbooks and summaries of older work are omitted.
//! They are not work of the session, and the older work was judged before.
//!
//! Tool results are omitted too, except errors and the user's answers: they are long and contain text of
//! third parties.

mod calls;
mod noise;
mod rows;

pub use rows::row_ids;

use crate::{PointId, Section, UserError};
use longhaul_agent::transcript_message::{EventKind, TranscriptMessage};
use longhaul_agent::{Conversation, default_dialect, estimated_tokens};
use longhaul_store::redact;
use serde::Serialize;

/// The part of a transcript that a judge may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Messages and tool calls, oldest first.
    pub messages: Vec<ExcerptMessage>,
}

/// A message or a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcerptMessage {
    /// Author of the message.
    pub role: Role,
    /// Text of the message.
    pub content: String,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a program on the user's behalf.
    User,
    /// The model.
    Assistant,
    /// A tool, summarized in one line.
    Tool,
}

impl Excerpt {
    /// Extracts the messages from whole lines of a session file, a sub-agent's file or a stream. Rows whose
    /// ids satisfy `is_judged` are skipped.
    ///
    /// # Errors
    /// Returns [`UserError`] if the bytes are not lines of a transcript.
    pub fn new(bytes: &[u8], is_judged: impl FnMut(&str) -> bool) -> Result<Excerpt, UserError> {
        let unjudged = rows::remove_judged(bytes, is_judged);
        match default_dialect().conversation_from_file(&unjudged) {
            Some(transcript) => Ok(Excerpt::from_conversation(&transcript)),
            None if unjudged.len() < bytes.len() => Ok(Excerpt::default()),
            None => rows::check_messageless(bytes).map(|()| Excerpt::default()),
        }
    }

    fn from_conversation(transcript: &Conversation) -> Excerpt {
        let mut messages = Vec::new();
        let outcomes = calls::outcomes(transcript);
        // A wrap-up ends before the work does, so it is not judged as the end of the work.
        let work = transcript.messages.iter().filter(|message| message.is_work() && !message.wrap_up);
        for message in work {
            if let Some((role, text)) = visible_text(message, &outcomes) {
                let content = redact(text.trim());
                if !content.is_empty() {
                    messages.push(ExcerptMessage { role, content });
                }
            }
        }
        Excerpt { messages }
    }

    /// Returns whether there is nothing to judge.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns whether the agent wrote a message or called a tool.
    pub fn has_answer(&self) -> bool {
        self.messages.iter().any(|message| message.role != Role::User)
    }

    /// Estimates the tokens that a reflector reads.
    pub fn tokens(&self) -> u64 {
        estimated_tokens(&as_json(self.messages.iter()))
    }

    /// Returns the messages without tool calls as a JSON list of `{"role", "content"}`, the format of the ACE
    /// playbook hooks.
    pub fn trajectories(&self) -> String {
        as_json(self.messages.iter().filter(|message| message.role != Role::Tool))
    }
}

/// Returns the points that the agent cites in these messages, in order of first citation: `[pat-001]`, or
/// `[kpt_001]` of old playbooks.
pub(super) fn cited(messages: &[ExcerptMessage]) -> Vec<PointId> {
    let mut cited = Vec::new();
    for message in messages.iter().filter(|message| message.role == Role::Assistant) {
        let parts = message.content.split('[').skip(1).filter_map(|part| part.split_once(']'));
        for (name, _) in parts.filter(|(name, _)| is_point_name(name)) {
            let name = PointId::from(name);
            if !cited.contains(&name) {
                cited.push(name);
            }
        }
    }
    cited
}

fn is_point_name(name: &str) -> bool {
    let number = match name.split_once('-') {
        Some((slug, number)) if Section::ALL.iter().any(|section| section.slug() == slug) => Some(number),
        Some(_) => None,
        None => name.strip_prefix("kpt_"),
    };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn visible_text(message: &TranscriptMessage, outcomes: &calls::ToolOutcomes<'_>) -> Option<(Role, String)> {
    match message.kind {
        EventKind::Prompt => Some((Role::User, noise::user_text(message.text())?)),
        EventKind::Text => Some((Role::Assistant, message.text().to_owned())),
        EventKind::Note => Some((Role::Tool, calls::notice(message.text()))),
        EventKind::ToolCall => Some((Role::Tool, outcomes.line(message))),
        EventKind::ToolResult => Some((Role::Tool, outcomes.late_line(message)?)),
        EventKind::Summary | EventKind::Thinking | EventKind::Result => None,
    }
}

/// Returns messages as a JSON list, one per line. `</` is written as `<\/`, which is the same in JSON, so
/// that no message can close the tag around the list.
pub(super) fn as_json<'a>(messages: impl Iterator<Item = &'a ExcerptMessage>) -> String {
    let lines: Vec<String> = messages.map(line).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

pub(super) fn line(message: &ExcerptMessage) -> String {
    // Serializing strings never fails.
    serde_json::to_string(message).unwrap_or_default().replace("</", "<\\/")
}

#[cfg(test)]
mod tests;
