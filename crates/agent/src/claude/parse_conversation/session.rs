//! A transcript from a session file.

use super::{answer_kind, call_of, provenance_of_prompt, text_of};
use crate::claude::session_file::rows;
use crate::claude::timestamp::moment;
use crate::claude::wire::Row;
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult};

/// Reads a session file. Rows are taken in the order of the file, those of abandoned branches included:
/// the model may have forgotten them, but what was done there is done.
pub fn of_session(bytes: &[u8], ours: &[String]) -> Conversation {
    of_rows(rows(bytes).filter(|row| !row.is_sidechain.0), ours)
}

/// Reads the conversation of a sub-agent, which has a file of its own: each of its rows says that it is beside the
/// session's own (2.1.330).
pub(super) fn of_sidechain(bytes: &[u8]) -> Conversation {
    of_rows(rows(bytes).filter(|row| row.is_sidechain.0), &[])
}

fn of_rows<'a>(rows: impl Iterator<Item = Row<'a>>, ours: &[String]) -> Conversation {
    let mut reader = Reader { transcript: Conversation::default(), ours, queued: None };
    for row in rows {
        match row.kind.as_str() {
            "queue-operation" => reader.queue(&row),
            "user" => reader.user(&row),
            "assistant" => reader.assistant(&row),
            "attachment" => reader.attachment(&row),
            _ => {}
        }
    }
    reader.transcript
}

struct Reader<'a> {
    transcript: Conversation,
    ours: &'a [String],
    /// The last prompt as it was handed to the agent.
    queued: Option<String>,
}

impl Reader<'_> {
    fn queue(&mut self, row: &Row<'_>) {
        match row.operation.as_str() {
            "enqueue" => self.queued = row.content.text(),
            // It was woven into a turn, and comes as an attachment.
            "remove" => self.queued = None,
            _ => {}
        }
    }

    fn user(&mut self, row: &Row<'_>) {
        let at = moment(row.timestamp.as_str());
        for part in row.message.content.parts().iter().filter(|part| part.kind.is("tool_result")) {
            let interrupted =
                vendor_terms::is_interrupted(row.denial_kind.as_str(), row.permission_decision.0);
            let answer = ToolResult {
                call: part.tool_use_id.as_str().to_owned(),
                kind: answer_kind(part.is_error.0, interrupted),
                text: text_of(part.content),
            };
            self.transcript.push(EntryKind::ToolResult(answer), Provenance::Work, at);
        }
        let text = text_of(row.message.content);
        if row.is_compact_summary.0 {
            self.transcript.push(EntryKind::Compaction(text), Provenance::Work, at);
        } else if row.origin.kind.is("task-notification") {
            self.transcript.push(EntryKind::AgentNote(text), Provenance::Work, at);
        } else if row.is_meta.0 || is_interruption_mark(row, &text) || row.prompt_source.is("system") {
            self.transcript.push(EntryKind::AgentNote(text), Provenance::Synthetic, at);
        } else {
            let text = self.as_asked(row, text);
            let provenance = provenance_of_prompt(&text, self.ours);
            self.transcript.push(EntryKind::Prompt(text), provenance, at);
        }
    }

    /// A prompt as it was handed to the agent. A slash command is recorded as marks of the agent's own;
    /// its row is a prompt (`turnOrigin`) without the `promptSource` that other prompts have (2.1.330).
    fn as_asked(&mut self, row: &Row<'_>, text: String) -> String {
        let rewritten = row.turn_origin.stated().is_some() && row.prompt_source.stated().is_none();
        self.queued.take().filter(|_| rewritten).unwrap_or(text)
    }

    fn assistant(&mut self, row: &Row<'_>) {
        let at = moment(row.timestamp.as_str());
        let synthetic = row.message.model.is(SYNTHETIC) || row.is_api_error_message.0;
        let provenance = if synthetic { Provenance::Synthetic } else { Provenance::Work };
        for part in row.message.content.parts() {
            match part.kind.as_str() {
                "text" => {
                    let text = part.text.text().unwrap_or_default();
                    self.transcript.push(EntryKind::ModelText(text), provenance, at);
                }
                "tool_use" => self.transcript.push(EntryKind::ToolCall(call_of(&part)), provenance, at),
                _ => {}
            }
        }
    }

    /// What is said during a turn is woven into it, and recorded as an attachment.
    fn attachment(&mut self, row: &Row<'_>) {
        let attachment = &row.attachment;
        if !attachment.kind.is("queued_command") {
            return;
        }
        let at = moment(row.timestamp.as_str());
        let text = text_of(attachment.prompt);
        if attachment.command_mode.is("prompt") {
            let provenance = provenance_of_prompt(&text, self.ours);
            self.transcript.push(EntryKind::Prompt(text), provenance, at);
        } else {
            self.transcript.push(EntryKind::AgentNote(text), Provenance::Work, at);
        }
    }
}

fn is_interruption_mark(row: &Row<'_>, text: &str) -> bool {
    row.turn_origin.stated().is_none() && vendor_terms::is_interruption_mark(text)
}
