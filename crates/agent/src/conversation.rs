//! The history of a session, independent of any agent's format. A dialect builds it from a session file or
//! from recorded streams; a handoff prompt ([`handoff_prompt`](crate::handoff_prompt)) is written from it.
//!
//! The origin of every message is known from ids and from fields that the vendor set, never from its text.
//! Work that mentions "500" or "continue" is still work.

use crate::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use crate::{Decoder, RecordedAttempt};
use longhaul_core::Exit;

// Streams are decoded in pieces, so that the notices of a long one do not fill the memory.
const PIECE_BYTES: usize = 1 << 16;

/// The history of a session.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// All messages, oldest first. No text is empty.
    pub messages: Vec<TranscriptMessage>,
}

impl Conversation {
    /// Returns the first prompt from the user, which is the task of the session.
    pub fn task(&self) -> Option<&str> {
        let is_task = |message: &&TranscriptMessage| message.kind == EventKind::Prompt && message.is_work();
        self.messages.iter().find(is_task).map(TranscriptMessage::text)
    }

    /// Appends the conversation of a later session of the same run.
    #[must_use]
    pub fn then(mut self, later: Conversation) -> Conversation {
        self.messages.extend(later.messages);
        self
    }

    /// Adds a message, unless its text is empty. Only a tool may write nothing.
    pub(crate) fn push(&mut self, message: TranscriptMessage) {
        let is_tools = matches!(message.kind, EventKind::ToolCall | EventKind::ToolResult);
        if is_tools || !message.text().trim().is_empty() {
            self.messages.push(message);
        }
    }

    pub(crate) fn add_attempt(&mut self, attempt: &RecordedAttempt, decoder: Box<dyn Decoder>) {
        if let Some(prompt) = &attempt.user_prompt {
            self.push(TranscriptMessage {
                content: Some(prompt.clone()),
                ..TranscriptMessage::new(EventKind::Prompt, MessageOrigin::Person, 0)
            });
        }
        let start = self.messages.len();
        self.add_stream(&attempt.stream, decoder);
        let mut results = 0;
        for message in &mut self.messages[start..] {
            message.wrap_up = attempt.wrap_up_after_results.is_some_and(|after| results >= after);
            results += u32::from(message.kind == EventKind::Result);
        }
    }

    /// Adds the conversation in a stream, which contains no prompts.
    pub(crate) fn add_stream(&mut self, stream: &[u8], mut decoder: Box<dyn Decoder>) {
        decoder.collect_messages(0);
        let mut notices = Vec::new();
        for piece in stream.chunks(PIECE_BYTES) {
            decoder.feed(piece, &mut notices);
            notices.clear();
            self.messages.extend(decoder.take_messages());
        }
        decoder.evidence(Exit::Unobserved, "");
        self.messages.extend(decoder.take_messages());
    }
}
