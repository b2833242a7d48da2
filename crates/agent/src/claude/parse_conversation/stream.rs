//! A transcript from the recorded streams of attempts, whole or compacted.

use super::{answer_kind, call_of, provenance_of_prompt, text_of};
use crate::claude::session_file::lines;
use crate::claude::timestamp::moment;
use crate::claude::wire::{Heard, parse};
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::conversation::{Conversation, EntryKind, Provenance, ToolResult};

/// What is on record of one attempt.
#[derive(Clone, Copy, Debug)]
pub struct AttemptStream<'a> {
    /// What the agent was told at its start: the stream does not repeat it.
    pub prompt: Option<&'a str>,
    /// The bytes of its stream.
    pub stream: &'a [u8],
    /// After how many turns the agent was told to save its work, if it was.
    pub wraps_up_after: Option<u32>,
}

/// Reads the streams of attempts, in their order.
pub fn of_attempts(attempts: &[AttemptStream<'_>], ours: &[String]) -> Conversation {
    let mut transcript = Conversation::default();
    for attempt in attempts {
        if let Some(prompt) = attempt.prompt {
            let provenance = provenance_of_prompt(prompt, ours);
            transcript.push(EntryKind::Prompt(prompt.to_owned()), provenance, None);
        }
        let (wraps_up_after, turns) = (attempt.wraps_up_after, 0);
        let mut listener = Listener { transcript: &mut transcript, compacted: false, turns, wraps_up_after };
        for received in lines(attempt.stream).filter_map(parse::<Heard<'_>>) {
            listener.hear(&received);
        }
    }
    transcript
}

struct Listener<'a> {
    transcript: &'a mut Conversation,
    /// Whether the conversation was just compacted: its summary follows.
    compacted: bool,
    /// How many turns have ended.
    turns: u32,
    wraps_up_after: Option<u32>,
}

impl Listener<'_> {
    fn hear(&mut self, received: &Heard<'_>) {
        if received.parent_tool_use_id.stated().is_some() {
            return;
        }
        match (received.kind.as_str(), received.subtype.as_str()) {
            ("user", _) => self.user(received),
            ("assistant", _) => self.assistant(received),
            ("result", _) => self.turns += 1,
            ("system", "compact_boundary") => self.compacted = true,
            ("system", "task_notification") => {
                let text = received.summary.text().unwrap_or_default();
                self.transcript.push(
                    EntryKind::AgentNote(text),
                    self.work(),
                    moment(received.timestamp.as_str()),
                );
            }
            _ => {}
        }
    }

    /// Where what the model and its tools do now belongs.
    fn work(&self) -> Provenance {
        let wraps_up = self.wraps_up_after.is_some_and(|turns| self.turns >= turns);
        if wraps_up { Provenance::WrapUp } else { Provenance::Work }
    }

    fn user(&mut self, received: &Heard<'_>) {
        let at = moment(received.timestamp.as_str());
        for part in received.message.content.parts().iter().filter(|part| part.kind.is("tool_result")) {
            let call = part.tool_use_id.as_str();
            let interrupted = received.tool_result_meta.0.iter().any(|meta| {
                meta.id.is(call)
                    && vendor_terms::is_interrupted(meta.kind.as_str(), meta.permission_decision.0)
            });
            let kind = answer_kind(part.is_error.0, interrupted);
            let answer = ToolResult { call: call.to_owned(), kind, text: text_of(part.content) };
            self.transcript.push(EntryKind::ToolResult(answer), self.work(), at);
        }
        // The stream does not repeat prompts, so that all other text is the agent's program speaking.
        let text = text_of(received.message.content);
        if self.compacted && received.is_synthetic.0 {
            self.compacted = false;
            self.transcript.push(EntryKind::Compaction(text), self.work(), at);
        } else {
            self.transcript.push(EntryKind::AgentNote(text), Provenance::Synthetic, at);
        }
    }

    fn assistant(&mut self, received: &Heard<'_>) {
        let at = moment(received.timestamp.as_str());
        let synthetic = received.message.model.is(SYNTHETIC) || received.is_api_error_message.0;
        let provenance = if synthetic { Provenance::Synthetic } else { self.work() };
        for part in received.message.content.parts() {
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
}
