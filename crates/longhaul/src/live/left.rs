//! What a process left in its files, read as a whole.

use super::tail::Tail;
use longhaul_agent::Decoder;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

// What an agent says about its own start fits in far less.
const STDERR_TAIL_BYTES: u64 = 16 * 1024;

/// Feeds a whole stream file to a decoder. What it announced is of no use any more.
pub(crate) fn decode(path: &Path, decoder: &mut dyn Decoder) -> io::Result<()> {
    let mut tail = Tail::open(path)?;
    let mut unheard = Vec::new();
    loop {
        let bytes = tail.read()?;
        if bytes.is_empty() {
            return Ok(());
        }
        decoder.feed(bytes, &mut unheard);
        unheard.clear();
    }
}

/// The last words of a process on its standard error.
pub(crate) fn tail_of(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(STDERR_TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(STDERR_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // What cannot be read proves nothing.
    read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
