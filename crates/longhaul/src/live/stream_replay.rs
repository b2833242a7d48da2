//! Decodes the complete stream of a process.

use super::tail::Tail;
use longhaul_agent::Decoder;
use longhaul_agent::transcript_message::TranscriptMessage;
use std::io;
use std::path::Path;

/// Feeds a complete stream file to a decoder, and passes on the messages that it collects. The notices are
/// dropped, because no run receives them any more.
pub(crate) fn decode(
    path: &Path,
    decoder: &mut dyn Decoder,
    mut each: impl FnMut(Vec<TranscriptMessage>),
) -> io::Result<()> {
    let mut tail = Tail::open(path)?;
    let mut notices = Vec::new();
    loop {
        let bytes = tail.read()?;
        if bytes.is_empty() {
            return Ok(());
        }
        decoder.feed(bytes, &mut notices);
        notices.clear();
        each(decoder.take_messages());
    }
}
