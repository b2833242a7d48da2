//! Follows the file that an agent writes its stream to. The file is the truth: a supervisor that
//! dies loses nothing, and a slow one never blocks the agent.

use super::watch::Watch;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

// One read takes this much at most: bounded memory, and a deadline is looked at between reads.
const CHUNK_BYTES: usize = 64 * 1024;

/// A reader that waits for more at the end of the file.
pub(crate) struct Tail {
    file: File,
    watch: Watch,
    chunk: Box<[u8]>,
}

impl Tail {
    /// Follows `path` from its beginning.
    pub(crate) fn open(path: &Path) -> io::Result<Tail> {
        // Watch first: what is written between the two is then read or announced, never missed.
        let watch = Watch::new(path)?;
        Ok(Tail { file: File::open(path)?, watch, chunk: vec![0; CHUNK_BYTES].into_boxed_slice() })
    }

    /// The next bytes that are there; empty at the present end.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.file.read(&mut self.chunk) {
                Ok(length) => return Ok(&self.chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns when the file may have grown.
    pub(crate) async fn grown(&mut self) -> io::Result<()> {
        self.watch.grown().await
    }
}
