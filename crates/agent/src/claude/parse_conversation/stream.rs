//! Builds a conversation from the recorded streams of attempts, complete or compacted.

use super::{content_text, tool_call_from_block, tool_result_kind};
use crate::RecordedAttempt;
use crate::claude::session_file::lines;
use crate::claude::wire::{StreamLine, parse};
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult};
use longhaul_core::parse_rfc3339 as moment;

/// Parses the streams of attempts, in order.
pub(in crate::claude) fn from_attempts(attempts: &[RecordedAttempt]) -> Conversation {
    let mut conversation = Conversation::default();
    for attempt in attempts {
        if let Some(prompt) = &attempt.user_prompt {
            conversation.push(EntryKind::Prompt(prompt.clone()), Provenance::Work, None);
        }
        read_stream(&attempt.stream, attempt.wrap_up_after_results, &mut conversation);
    }
    conversation
}

/// Parses one stream. The exchanges after the first `wrap_up_after` belong to a wrap-up.
pub(super) fn read_stream(stream: &[u8], wrap_up_after: Option<u32>, conversation: &mut Conversation) {
    let mut reader = Reader { conversation, compacted: false, exchanges: 0, wrap_up_after };
    for event in lines(stream).filter_map(parse::<StreamLine<'_>>) {
        reader.read(&event);
    }
}

struct Reader<'a> {
    conversation: &'a mut Conversation,
    /// Whether the conversation was just compacted, so that its summary follows.
    compacted: bool,
    /// Number of exchanges that ended.
    exchanges: u32,
    wrap_up_after: Option<u32>,
}

impl Reader<'_> {
    fn read(&mut self, event: &StreamLine<'_>) {
        if event.parent_tool_use_id.non_empty().is_some() {
            return;
        }
        match (event.kind.as_str(), event.subtype.as_str()) {
            ("user", _) => self.user(event),
            ("assistant", _) => self.assistant(event),
            ("result", _) => self.exchanges += 1,
            ("system", "compact_boundary") => self.compacted = true,
            ("system", "task_notification") => {
                let text = event.summary.text().unwrap_or_default();
                self.conversation.push(
                    EntryKind::AgentNote(text),
                    self.work(),
                    moment(event.timestamp.as_str()),
                );
            }
            _ => {}
        }
    }

    /// Returns the provenance of the current output of the model and its tools.
    fn work(&self) -> Provenance {
        let in_wrap_up = self.wrap_up_after.is_some_and(|exchanges| self.exchanges >= exchanges);
        if in_wrap_up { Provenance::WrapUp } else { Provenance::Work }
    }

    fn user(&mut self, event: &StreamLine<'_>) {
        let at = moment(event.timestamp.as_str());
        for block in event.message.content.0.iter().filter(|block| block.kind.is("tool_result")) {
            let call = block.tool_use_id.as_str();
            let interrupted = event.tool_result_meta.0.iter().any(|meta| {
                meta.id.is(call)
                    && vendor_terms::is_interrupted(meta.non_execution_kind.as_str(), meta.has_decision())
            });
            let kind = tool_result_kind(block.is_error.0, interrupted);
            let result =
                ToolResult { call: call.to_owned(), kind, text: content_text(&block.content.blocks()) };
            self.conversation.push(EntryKind::ToolResult(result), self.work(), at);
        }
        // The stream does not repeat prompts, so all other text is from the agent program.
        let text = content_text(&event.message.content.0);
        if self.compacted && event.is_synthetic.0 {
            self.compacted = false;
            self.conversation.push(EntryKind::Compaction(text), self.work(), at);
        } else {
            self.conversation.push(EntryKind::AgentNote(text), Provenance::Synthetic, at);
        }
    }

    fn assistant(&mut self, event: &StreamLine<'_>) {
        let at = moment(event.timestamp.as_str());
        let synthetic = event.message.model.is(SYNTHETIC) || event.is_api_error_message.0;
        let provenance = if synthetic { Provenance::Synthetic } else { self.work() };
        for block in &event.message.content.0 {
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
}
