//! Selects the lines of a stream to keep after the run. Drops the deltas of completed messages, whose content
//! the messages repeat. Keeps everything else unchanged.

use super::wire::{StreamLine, parse};
use memchr::memmem;
use std::collections::BTreeSet;

// A stream with more truncated messages keeps all deltas.
const TRUNCATED_MESSAGES_MAX: usize = 65_536;

/// The truncated messages. Only their deltas remain, and their usage is estimated from these.
#[derive(Clone, Debug, Default)]
pub(super) struct CompactionFilter {
    ids: BTreeSet<u64>,
}

impl CompactionFilter {
    pub(super) fn remember(&mut self, message: u64) {
        if self.ids.len() < TRUNCATED_MESSAGES_MAX {
            self.ids.insert(message);
        }
    }

    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        // Most of the other lines need not be parsed.
        if memmem::find(line, b"\"stream_event\"").is_none() {
            return true;
        }
        let event = parse::<StreamLine<'_>>(line).filter(|event| event.kind.is("stream_event"));
        let Some(event) = event else { return true };
        let droppable = matches!(
            event.event.kind.as_str(),
            "content_block_start" | "content_block_delta" | "content_block_stop" | "message_stop" | "ping"
        );
        let is_truncated = match event.api_message_id.as_str() {
            // Older versions do not state the message of a delta.
            "" => !self.ids.is_empty(),
            id => self.ids.contains(&fingerprint(id)) || self.ids.len() == TRUNCATED_MESSAGES_MAX,
        };
        !droppable || is_truncated
    }
}

/// Hashes a message id to eight bytes (FNV-1a), because thousands of them are stored.
pub(super) fn fingerprint(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
