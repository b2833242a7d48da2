//! Selects the lines of a stream to drop after the run: the deltas of completed messages, whose content the messages
//! repeat. Keeps everything else.

use super::wire::StreamLine;
use std::collections::BTreeSet;
use std::ops::Range;

// A stream with more truncated messages keeps all deltas.
const TRUNCATED_MESSAGES_MAX: usize = 65_536;
// Two or three ranges per message. Later deltas are kept.
const RANGES_MAX: usize = 65_536;

#[derive(Clone, Debug, Default)]
pub(super) struct Deltas(Vec<DeltaRange>);

/// Consecutive deltas of one message.
#[derive(Clone, Debug)]
struct DeltaRange {
    /// The fingerprint of its id.
    message: u64,
    bytes: Range<u64>,
}

impl Deltas {
    /// Records an event of type `stream_event`, which has these bytes of the stream.
    pub(super) fn add(&mut self, event: &StreamLine<'_>, bytes: Range<u64>) {
        let is_delta = matches!(
            event.event.kind.as_str(),
            "content_block_start" | "content_block_delta" | "content_block_stop" | "message_stop" | "ping"
        );
        if !is_delta || bytes.is_empty() {
            return;
        }
        let message = fingerprint(event.api_message_id.as_str());
        let continued = |last: &&mut DeltaRange| last.message == message && last.bytes.end == bytes.start;
        if let Some(last) = self.0.last_mut().filter(continued) {
            last.bytes.end = bytes.end;
        } else if self.0.len() < RANGES_MAX {
            self.0.push(DeltaRange { message, bytes });
        }
    }

    /// Returns the bytes of all deltas except those of truncated messages.
    pub(super) fn droppable(&self, truncated: &TruncatedMessages) -> Vec<Range<u64>> {
        let deltas = self.0.iter().filter(|delta| !truncated.contains(delta.message));
        deltas.map(|delta| delta.bytes.clone()).collect()
    }
}

/// The truncated messages. Only their deltas remain, and their usage is estimated from these.
#[derive(Clone, Debug, Default)]
pub(super) struct TruncatedMessages(BTreeSet<u64>);

impl TruncatedMessages {
    pub(super) fn remember(&mut self, message: u64) {
        if self.0.len() < TRUNCATED_MESSAGES_MAX {
            self.0.insert(message);
        }
    }

    /// Returns whether a message may be truncated.
    fn contains(&self, message: u64) -> bool {
        // Older versions do not state the message of a delta.
        let is_unknown = message == fingerprint("") && !self.0.is_empty();
        is_unknown || self.0.contains(&message) || self.0.len() == TRUNCATED_MESSAGES_MAX
    }
}

/// Hashes a message id to eight bytes (FNV-1a), because thousands of them are stored.
pub(super) fn fingerprint(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
