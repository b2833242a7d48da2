//! Builds a conversation from a session file.

use super::{content_text, tool_call_from_block, tool_result_kind};
use crate::claude::session_file::rows;
use crate::claude::wire::Row;
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult};
use longhaul_core::parse_rfc3339 as moment;

/// Parses a session file. Rows keep the order of the file, including those of abandoned branches: the model
/// may have forgotten them, but their effects remain.
pub(super) fn from_session(bytes: &[u8]) -> Conversation {
    from_rows(rows(bytes).filter(|row| !row.is_sidechain.0))
}

/// Parses the conversation of a sub-agent, which has its own file. Each of its rows is marked as a side chain
/// (2.1.330).
pub(super) fn from_sidechain(bytes: &[u8]) -> Conversation {
    from_rows(rows(bytes).filter(|row| row.is_sidechain.0))
}

fn from_rows<'a>(rows: impl Iterator<Item = Row<'a>>) -> Conversation {
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
}

impl Reader {
    fn queue(&mut self, row: &Row<'_>) {
        match row.operation.as_str() {
            "enqueue" => self.queued = row.content.text(),
            // It was added to a running exchange and follows as an attachment.
            "remove" => self.queued = None,
            _ => {}
        }
    }

    fn user(&mut self, row: &Row<'_>) {
        let at = moment(row.timestamp.as_str());
        for block in row.message.content.0.iter().filter(|block| block.kind.is("tool_result")) {
            let interrupted =
                vendor_terms::is_interrupted(row.denial_kind.as_str(), row.permission_decision.0);
            let result = ToolResult {
                call: block.tool_use_id.as_str().to_owned(),
                kind: tool_result_kind(block.is_error.0, interrupted),
                text: content_text(&block.content.blocks()),
            };
            self.conversation.push(EntryKind::ToolResult(result), Provenance::Work, at);
        }
        let text = content_text(&row.message.content.0);
        if row.is_compact_summary.0 {
            self.conversation.push(EntryKind::Compaction(text), Provenance::Work, at);
        } else if row.origin.kind.is("task-notification") {
            self.conversation.push(EntryKind::AgentNote(text), Provenance::Work, at);
        } else if row.is_meta.0 || is_interruption_marker(row, &text) || row.prompt_source.is("system") {
            self.conversation.push(EntryKind::AgentNote(text), Provenance::Synthetic, at);
        } else {
            let text = self.original_prompt(row, text);
            self.conversation.push(EntryKind::Prompt(text), Provenance::Work, at);
        }
    }

    /// Returns a prompt as it was sent to the agent. The agent records a slash command with its own markup;
    /// its row is a prompt (`turnOrigin`) without the `promptSource` of other prompts (2.1.330).
    fn original_prompt(&mut self, row: &Row<'_>, text: String) -> String {
        let rewritten = row.turn_origin.non_empty().is_some() && row.prompt_source.non_empty().is_none();
        self.queued.take().filter(|_| rewritten).unwrap_or(text)
    }

    fn assistant(&mut self, row: &Row<'_>) {
        let at = moment(row.timestamp.as_str());
        let synthetic = row.message.model.is(SYNTHETIC) || row.is_api_error_message.0;
        let provenance = if synthetic { Provenance::Synthetic } else { Provenance::Work };
        for block in &row.message.content.0 {
            match block.kind.as_str() {
                "text" => {
                    let text = block.text.text().unwrap_or_default();
                    self.conversation.push(EntryKind::ModelText(text), provenance, at);
                }
                "tool_use" => {
                    self.conversation.push(EntryKind::ToolCall(tool_call_from_block(block)), provenance, at)
                }
                _ => {}
            }
        }
    }

    /// Handles a prompt that was sent during an exchange, which the agent records as an attachment.
    fn attachment(&mut self, row: &Row<'_>) {
        let attachment = &row.attachment;
        if !attachment.kind.is("queued_command") {
            return;
        }
        let at = moment(row.timestamp.as_str());
        let text = content_text(&attachment.prompt.blocks());
        if attachment.command_mode.is("prompt") {
            self.conversation.push(EntryKind::Prompt(text), Provenance::Work, at);
        } else {
            self.conversation.push(EntryKind::AgentNote(text), Provenance::Work, at);
        }
    }
}

fn is_interruption_marker(row: &Row<'_>, text: &str) -> bool {
    row.turn_origin.non_empty().is_none() && vendor_terms::is_interruption_marker(text)
}
