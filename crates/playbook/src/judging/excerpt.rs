//! What a judge may see of a part of a transcript: what the person and the agent said, and a line for each tool call.
//!
//! What the agent's program said of itself, what Longhaul said, older work in a summary (it was judged before), and what a
//! playbook told the session are no work of the session's, and left out. What tools brought is not shown, but for why they
//! failed and what a person answered: it is long, and full of other people's words.

mod calls;
mod cited;
mod noise;
mod rows;
mod secrets;

pub use rows::row_ids;

use crate::PointId;
use longhaul_agent::claude::Claude;
use longhaul_agent::conversation::{ConversationEntry, EntryKind, Provenance};
use longhaul_agent::{Conversation, Dialect, estimated_tokens};
use serde::Serialize;
use thiserror::Error;

/// What a judge may see of a part of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// What was said and done, oldest first.
    pub messages: Vec<ExcerptMessage>,
    /// The points that the agent cited, in the order in which it first did.
    pub cited: Vec<PointId>,
}

/// One thing said or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcerptMessage {
    /// Who spoke.
    pub role: Role,
    /// What was said.
    pub content: String,
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or whoever speaks for one.
    User,
    /// The model.
    Assistant,
    /// A tool, in a line of ours.
    Tool,
}

/// Why a file is no transcript that can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ExcerptError {
    /// It is not made of lines of JSON.
    #[error("it is not made of lines of JSON")]
    NotLines,
    /// It is, but in nobody's form that is known.
    #[error("its lines are of a form that is not known: it may be another tool's")]
    UnknownFormat,
}

impl ExcerptError {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            ExcerptError::NotLines | ExcerptError::UnknownFormat => {
                "name a session file of Claude Code, or the stream that it prints with --output-format stream-json"
            }
        }
    }
}

impl Excerpt {
    /// What these bytes show: whole lines of a session file, of a sub-agent's, or of a stream. Rows whose id `is_judged`
    /// knows are passed over.
    ///
    /// # Errors
    /// If they are not lines of a transcript.
    pub fn new(bytes: &[u8], is_judged: impl FnMut(&str) -> bool) -> Result<Excerpt, ExcerptError> {
        let fresh = rows::without(bytes, is_judged);
        match Claude::new().conversation_from_file(&fresh) {
            Some(transcript) => Ok(Excerpt::of_transcript(&transcript)),
            None if fresh.len() < bytes.len() => Ok(Excerpt::default()),
            None => rows::without_a_word(bytes).map(|()| Excerpt::default()),
        }
    }

    fn of_transcript(transcript: &Conversation) -> Excerpt {
        let mut messages = Vec::new();
        let outcomes = calls::outcomes(transcript);
        for entry in &transcript.entries {
            if let Some((role, text)) = shown(entry, &outcomes) {
                let content = secrets::without(text.trim());
                if !content.is_empty() {
                    messages.push(ExcerptMessage { role, content });
                }
            }
        }
        Excerpt { cited: cited(&messages), messages }
    }

    /// Whether there is nothing to judge: nobody said or did anything.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// About how many tokens it is, as a reflector reads it.
    pub fn tokens(&self) -> u64 {
        estimated_tokens(&as_json(self.messages.iter()))
    }

    /// What was said, as JSON: a list of `{"role", "content"}`, in the form of the ACE playbook hooks, without tools.
    pub fn trajectories(&self) -> String {
        as_json(self.messages.iter().filter(|message| message.role != Role::Tool))
    }
}

/// The points that the agent cites in these messages, in the order in which it first does.
pub(super) fn cited(messages: &[ExcerptMessage]) -> Vec<PointId> {
    let mut cited = Vec::new();
    for message in messages.iter().filter(|message| message.role == Role::Assistant) {
        cited::collect(&message.content, &mut cited);
    }
    cited
}

/// Who speaks in an entry, and the words that are shown of it.
fn shown(entry: &ConversationEntry, outcomes: &calls::ToolOutcomes<'_>) -> Option<(Role, String)> {
    match entry.provenance {
        Provenance::Work => {}
        Provenance::WrapUp | Provenance::Longhaul | Provenance::Synthetic => return None,
    }
    match &entry.kind {
        EntryKind::Prompt(text) => Some((Role::User, noise::without(text)?)),
        EntryKind::ModelText(text) => Some((Role::Assistant, text.clone())),
        EntryKind::Compaction(_) => None,
        EntryKind::AgentNote(text) => Some((Role::Tool, calls::notice(text))),
        EntryKind::ToolCall(call) => Some((Role::Tool, outcomes.line(call))),
        EntryKind::ToolResult(answer) => Some((Role::Tool, outcomes.late(answer)?)),
    }
}

/// Messages as a list in JSON, one a line. A `</` in it is written as `<\/`, which is the same in JSON: nothing within can
/// close the tag that it stands in.
pub(super) fn as_json<'a>(messages: impl Iterator<Item = &'a ExcerptMessage>) -> String {
    let lines: Vec<String> = messages.map(line).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

/// One message in such a list.
pub(super) fn line(message: &ExcerptMessage) -> String {
    // Two words and a text are always JSON.
    serde_json::to_string(message).unwrap_or_default().replace("</", "<\\/")
}

#[cfg(test)]
mod tests;
