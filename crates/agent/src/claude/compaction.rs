//! Which lines of a stream are worth keeping after the run. Deltas of messages that were completed say
//! nothing that the messages do not say; everything else is kept, as it was written.

use super::wire::{Origin, parse};
use memchr::memmem;
use std::collections::BTreeSet;

// A run with more cut messages keeps all of its deltas.
const CUT_MESSAGES_MAX: usize = 65_536;

/// The messages that were cut: their deltas are all that is left of them, and what they used is
/// estimated from these.
#[derive(Clone, Debug, Default)]
pub(super) struct CompactionFilter {
    ids: BTreeSet<u64>,
}

impl CompactionFilter {
    pub(super) fn remember(&mut self, message: u64) {
        if self.ids.len() < CUT_MESSAGES_MAX {
            self.ids.insert(message);
        }
    }

    /// Whether to keep this line.
    pub(super) fn keeps(&self, line: &[u8]) -> bool {
        // Most of what is left is not worth reading again.
        if memmem::find(line, b"\"stream_event\"").is_none() {
            return true;
        }
        let Some(origin) = parse::<Origin<'_>>(line).filter(|origin| origin.kind.is("stream_event")) else {
            return true;
        };
        let droppable = matches!(
            origin.event.kind.as_str(),
            "content_block_start" | "content_block_delta" | "content_block_stop" | "message_stop" | "ping"
        );
        let of_cut = match origin.api_message_id.as_str() {
            // Older versions do not say whose delta it is.
            "" => !self.ids.is_empty(),
            id => self.ids.contains(&fingerprint(id)) || self.ids.len() == CUT_MESSAGES_MAX,
        };
        !droppable || of_cut
    }
}

/// A message's id in eight bytes (FNV-1a): thousands of them are remembered.
pub(super) fn fingerprint(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
