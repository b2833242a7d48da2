//! Builds a conversation from a session file. Rows keep the order of the file, including those of abandoned
//! branches: the model may have forgotten them, but their effects remain.
//!
//! Fields that the vendor sets identify the author of a message. Conversations of sub-agents are omitted,
//! because the result of the call that started one contains its outcome.

use super::SYNTHETIC;
use super::conversation_reducer::{content_text, model_part, tool_result};
use super::session_file::{lines, rows};
use super::vendor_terms::is_interruption_marker;
use super::wire::{Row, parse};
use crate::Conversation;
use crate::prompts::{is_longhaul_prompt, is_wrap_up, split_task};
use crate::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use std::borrow::Cow;

/// Returns whether a file is a session file or else a stream, or `None` if it is neither.
pub(super) fn is_session(bytes: &[u8]) -> Option<bool> {
    let by_signature = lines(bytes).filter_map(parse::<Row<'_>>).find_map(|row| {
        let is_session = row.session_file_id.non_empty().is_some();
        (is_session || row.stream_id.non_empty().is_some()).then_some(is_session)
    });
    // Files that other programs write in the session format often name no session. An event of a stream
    // always does.
    let is_message =
        |row: Row<'_>| matches!(row.kind.as_str(), "user" | "assistant") && !row.message.content.0.is_empty();
    by_signature.or_else(|| rows(bytes).any(is_message).then_some(true))
}

/// Parses a session file. That of a sub-agent has only rows that are marked as a side chain (2.1.330).
pub(super) fn from_file(bytes: &[u8]) -> Conversation {
    let conversation = read(rows(bytes).filter(|row| !row.is_sidechain.is_set()));
    if conversation.messages.is_empty() { read(rows(bytes)) } else { conversation }
}

fn read<'a>(rows: impl Iterator<Item = Row<'a>>) -> Conversation {
    let mut reader = Reader::default();
    for row in rows {
        match row.kind.as_str() {
            "queue-operation" => reader.queue(&row),
            "user" => reader.user(&row),
            "assistant" => reader.assistant(&row),
            "attachment" => reader.attachment(&row),
            _ => {}
        }
    }
    reader.conversation
}

#[derive(Default)]
struct Reader {
    conversation: Conversation,
    /// The last prompt as it was sent to the agent.
    queued: Option<String>,
    is_wrapping_up: bool,
}

impl Reader {
    fn queue(&mut self, row: &Row<'_>) {
        match row.operation.as_str() {
            "enqueue" => self.queued = row.content.text().map(Cow::into_owned),
            // It was added to a running exchange and follows as an attachment.
            "remove" => self.queued = None,
            _ => {}
        }
    }

    fn user(&mut self, row: &Row<'_>) {
        let interrupted = row.is_interrupted();
        for block in row.message.content.0.iter().filter(|block| block.kind.is("tool_result")) {
            let base = self.message(row, EventKind::ToolResult, MessageOrigin::Tool);
            self.conversation.push(TranscriptMessage { interrupted, ..tool_result(block, base) });
        }
        let text = content_text(&row.message.content.0);
        let is_marker = || row.turn_origin.non_empty().is_none() && is_interruption_marker(&text);
        if row.is_compact_summary.is_set() {
            self.push(row, EventKind::Summary, MessageOrigin::Agent, text);
        } else if row.origin.kind.is("task-notification") {
            self.push(row, EventKind::Note, MessageOrigin::Tool, text);
        } else if row.is_meta.is_set() || is_marker() || row.prompt_source.is("system") {
            self.push(row, EventKind::Note, MessageOrigin::Agent, text);
        } else {
            // The agent records a slash command with its own markup; its row is a prompt (`turnOrigin`)
            // without the `promptSource` of other prompts (2.1.330).
            let rewritten = row.turn_origin.non_empty().is_some() && row.prompt_source.non_empty().is_none();
            let text = self.queued.take().filter(|_| rewritten).unwrap_or(text);
            self.prompt(row, text);
        }
    }

    fn assistant(&mut self, row: &Row<'_>) {
        let is_synthetic = row.message.model.is(SYNTHETIC) || row.is_api_error_message.is_set();
        let origin = if is_synthetic { MessageOrigin::Agent } else { MessageOrigin::Model };
        for block in &row.message.content.0 {
            let part = model_part(block, |kind| self.message(row, kind, origin));
            part.into_iter().for_each(|part| self.conversation.push(part));
        }
    }

    /// Handles a prompt that was sent during an exchange, which the agent records as an attachment.
    fn attachment(&mut self, row: &Row<'_>) {
        let attachment = &row.attachment;
        if !attachment.kind.is("queued_command") {
            return;
        }
        let text = content_text(&attachment.prompt.blocks());
        if attachment.command_mode.is("prompt") {
            self.prompt(row, text);
        } else {
            self.push(row, EventKind::Note, MessageOrigin::Tool, text);
        }
    }

    /// Adds a prompt of the user or of Longhaul. A handoff prompt becomes its task and a summary of the earlier
    /// work.
    fn prompt(&mut self, row: &Row<'_>, text: String) {
        self.is_wrapping_up = is_wrap_up(&text);
        if is_longhaul_prompt(&text) {
            self.push(row, EventKind::Prompt, MessageOrigin::Longhaul, text);
        } else if let Some((task, record)) = split_task(&text) {
            self.push(row, EventKind::Prompt, MessageOrigin::Person, task.to_owned());
            self.push(row, EventKind::Summary, MessageOrigin::Agent, record.to_owned());
        } else {
            self.push(row, EventKind::Prompt, MessageOrigin::Person, text);
        }
    }

    fn push(&mut self, row: &Row<'_>, kind: EventKind, origin: MessageOrigin, text: String) {
        let message = TranscriptMessage { content: Some(text), ..self.message(row, kind, origin) };
        self.conversation.push(message);
    }

    fn message(&self, row: &Row<'_>, kind: EventKind, origin: MessageOrigin) -> TranscriptMessage {
        TranscriptMessage {
            timestamp: row.timestamp.owned(),
            id: row.message.id.owned(),
            model: row.message.model.owned(),
            wrap_up: self.is_wrapping_up,
            ..TranscriptMessage::new(kind, origin, 0)
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
