//! Shrinks a stream file after its process has exited, by dropping ranges of its bytes. Never reads what it drops, and
//! never holds the file in memory. A failure leaves the file unchanged.

use crate::StoreError;
use crate::atomic::TempFile;
use crate::open_regular;
use std::fs::{File, FileTimes};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

/// Drops these ranges of bytes, which are in order, from the stream at `path`.
///
/// The file is replaced atomically and keeps its modification time. Without ranges it is not touched.
///
/// # Errors
/// Returns [`StoreError::Io`] if the file cannot be read or written, or if it grew meanwhile. The file is then
/// unchanged.
pub fn compact(path: &Path, dropped: &[Range<u64>]) -> Result<(), StoreError> {
    if dropped.is_empty() {
        return Ok(());
    }
    let scratch = TempFile::next_to(path);
    let rewrite = || -> io::Result<()> {
        let source = open_regular(path)?;
        let before = source.metadata()?;
        let mut target = scratch.create()?;
        copy_without(&source, dropped, &mut target)?;
        if source.metadata()?.len() != before.len() {
            return Err(io::Error::other("it is still being written to"));
        }
        target.set_permissions(before.permissions())?;
        target.set_times(FileTimes::new().set_modified(before.modified()?))?;
        // Without this sync, a power cut after the rename could lose the original.
        target.sync_data()?;
        scratch.persist(path)
    };
    rewrite().map_err(StoreError::io("compact", path))
}

/// Copies a file without these ranges of bytes, which are in order.
pub(crate) fn copy_without(
    mut source: &File,
    dropped: &[Range<u64>],
    target: &mut impl Write,
) -> io::Result<()> {
    let mut start = 0;
    for range in dropped {
        source.seek(SeekFrom::Start(start))?;
        io::copy(&mut source.take(range.start.saturating_sub(start)), target)?;
        start = range.end;
    }
    source.seek(SeekFrom::Start(start))?;
    io::copy(&mut source, target)?;
    Ok(())
}

#[cfg(test)]
mod tests;
