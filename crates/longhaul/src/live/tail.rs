//! Follows the file that an agent writes its stream to, or reads it to its end. The file is the only source. If the
//! supervisor dies, no output is lost, and a slow supervisor never blocks the agent.

use longhaul_agent::Decoder;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_store::open_regular;
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::Path;

// Largest read. It bounds memory, and deadlines are checked between reads.
const CHUNK_BYTES_MAX: usize = 64 * 1024;
// First read. Its size doubles while reads are full: one process may follow a hundred agents that write little.
const CHUNK_BYTES_MIN: usize = 4 * 1024;

/// Opens the file without updates of its access time where the system has them for each read. They would turn every
/// read of a growing file into a write.
fn open(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        // Only the file's owner may set the flag. Without it, reading works, too.
        let _ = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags | OFlags::NOATIME));
    }
    Ok(file)
}

pub(crate) struct Tail {
    file: File,
    chunk: Vec<u8>,
    /// Number of bytes of the last read. Fewer than a chunk are the end, so that the next read can be skipped.
    last_bytes: usize,
    /// Number of bytes read so far.
    offset: u64,
    /// Length of the file when it was opened.
    initial_bytes: u64,
}

impl Tail {
    pub(crate) fn open(path: &Path) -> io::Result<Tail> {
        let file = open(path)?;
        let initial_bytes = file.metadata()?.len();
        Ok(Tail { file, chunk: vec![0; CHUNK_BYTES_MIN], last_bytes: 0, offset: 0, initial_bytes })
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether bytes that were written before the file was opened are not read yet.
    pub(crate) fn has_backlog(&self) -> bool {
        self.offset < self.initial_bytes
    }

    /// Returns the next bytes, or an empty slice at the current end.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        let last_bytes = mem::take(&mut self.last_bytes);
        if last_bytes == self.chunk.len() {
            self.chunk.resize((2 * last_bytes).min(CHUNK_BYTES_MAX), 0);
        } else if last_bytes > 0 {
            return Ok(&[]);
        }
        loop {
            match self.file.read(&mut self.chunk) {
                Ok(length) => {
                    self.last_bytes = length;
                    self.offset += length as u64;
                    return Ok(&self.chunk[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn reads_what_is_written_in_growing_chunks() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut tail = Tail::open(file.path()).expect("it exists");
        let mut out = OpenOptions::new().append(true).open(file.path()).expect("it exists");
        for bytes in [0, 10, CHUNK_BYTES_MIN, 3 * CHUNK_BYTES_MAX, 1] {
            let written: Vec<u8> = (0..bytes).map(|index| index as u8).collect();
            out.write_all(&written).expect("the disk has space");
            let mut read = Vec::new();
            loop {
                match tail.read().expect("it is readable") {
                    [] => break,
                    chunk => read.extend_from_slice(chunk),
                }
            }
            assert_eq!(read, written);
        }
        assert_eq!(tail.chunk.len(), CHUNK_BYTES_MAX);
        assert!(!tail.has_backlog(), "the file was empty at first");
        let mut tail = Tail::open(file.path()).expect("it exists");
        assert!(tail.has_backlog());
        while !tail.read().expect("it is readable").is_empty() {}
        assert!(!tail.has_backlog());
    }
}
