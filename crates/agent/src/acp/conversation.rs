//! Builds the conversation of recorded attempts from their transcripts, for a handoff to a fresh session.

use super::transcript_decoder::AcpTranscriptDecoder;
use crate::conversation::{EntryKind, Provenance, ToolResult, ToolResultKind};
use crate::transcript_message::{EventKind, TranscriptMessage};
use crate::{Conversation, Prices, RecordedAttempt, tool_call};

/// Returns the conversation of these attempts.
pub(super) fn of_attempts(attempts: &[RecordedAttempt]) -> Conversation {
    attempts.iter().map(of_attempt).fold(Conversation::default(), Conversation::then)
}

fn of_attempt(attempt: &RecordedAttempt) -> Conversation {
    let mut conversation = Conversation::default();
    if let Some(prompt) = &attempt.user_prompt {
        conversation.push(EntryKind::Prompt(prompt.clone()), Provenance::Work, None);
    }
    let mut results = 0;
    for message in messages(&attempt.stream) {
        let is_wrap_up = attempt.wrap_up_after_results.is_some_and(|after| results >= after);
        results += u32::from(message.kind == EventKind::Result);
        let provenance = if is_wrap_up { Provenance::WrapUp } else { Provenance::Work };
        if let Some(kind) = entry(message) {
            conversation.push(kind, provenance, None);
        }
    }
    conversation
}

/// Returns the transcript of a stream.
pub(super) fn messages(stream: &[u8]) -> Vec<TranscriptMessage> {
    let mut decoder = AcpTranscriptDecoder::new(Prices::default(), 1);
    let mut messages = Vec::new();
    decoder.feed(stream, &mut messages);
    decoder.finish(&mut messages);
    messages
}

fn entry(message: TranscriptMessage) -> Option<EntryKind> {
    let text = message.content.unwrap_or_default();
    let id = message.tool_use_id.unwrap_or_default();
    match message.kind {
        EventKind::Text => Some(EntryKind::ModelText(text)),
        EventKind::ToolCall => {
            let input = message.input.as_ref().map_or("{}", |input| input.get());
            Some(EntryKind::ToolCall(tool_call(&id, &message.tool.unwrap_or_default(), input)))
        }
        EventKind::ToolResult => {
            let kind =
                if message.is_error == Some(true) { ToolResultKind::Error } else { ToolResultKind::Ok };
            Some(EntryKind::ToolResult(ToolResult { call: id, kind, text }))
        }
        EventKind::Prompt
        | EventKind::Thinking
        | EventKind::Note
        | EventKind::Summary
        | EventKind::Result => None,
    }
}
