//! Reads the complete files of a process.

use super::tail::Tail;
use longhaul_agent::Decoder;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_store::open_regular;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

// An agent's messages about its own start are much shorter.
const STDERR_TAIL_BYTES: u64 = 16 * 1024;

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

pub(crate) fn tail_of(path: &Path) -> String {
    tail(path, STDERR_TAIL_BYTES).unwrap_or_default()
}

/// Returns at most `bytes_max` bytes from the end of a file. It starts with a whole line.
pub(crate) fn tail(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let skipped = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = if skipped > 0 { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &text };
    Ok(whole.to_owned())
}
