//! Follows the file that an agent writes its stream to. The file is the only source. If the supervisor dies,
//! no output is lost, and a slow supervisor never blocks the agent.

use longhaul_store::open_regular;
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::Path;

// Largest read. It bounds memory, and deadlines are checked between reads.
const CHUNK_BYTES: usize = 64 * 1024;

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
    chunk: Box<[u8]>,
    /// Whether the last read reached the end, so that the next one can be skipped.
    at_end: bool,
}

impl Tail {
    pub(crate) fn open(path: &Path) -> io::Result<Tail> {
        Ok(Tail { file: open(path)?, chunk: vec![0; CHUNK_BYTES].into_boxed_slice(), at_end: false })
    }

    /// Returns the next bytes, or an empty slice at the current end.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        if mem::take(&mut self.at_end) {
            return Ok(&[]);
        }
        loop {
            match self.file.read(&mut self.chunk) {
                Ok(length) => {
                    self.at_end = length > 0 && length < CHUNK_BYTES;
                    return Ok(&self.chunk[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
