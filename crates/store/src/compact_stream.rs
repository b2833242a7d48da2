//! Shrinks a stream file after its process has exited, by dropping the lines that a filter rejects. Memory is
//! bounded for any line length. A failure leaves the file unchanged.

use crate::StoreError;
use crate::atomic::TempFile;
use crate::open_regular;
use std::fs::{File, FileTimes};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

// Droppable lines (partial messages) have a few kilobytes. A longer line than this is kept without asking the
// filter, so that a line of 64 MB can be copied in pieces.
const FILTERED_LINE_BYTES_MAX: u64 = 1 << 20;

// Large enough that system calls are cheap, small enough that 100 concurrent runs do not need much memory.
const BUFFER_BYTES: usize = 64 << 10;

/// Drops every line of the stream at `path` for which `keep` returns `false`.
///
/// `keep` receives each line without its newline. Lines over 1 MiB and a last line without a newline are
/// always kept. The file is replaced atomically and keeps its modification time; a file without dropped lines
/// is not touched.
///
/// # Errors
/// Returns [`StoreError::Io`] if the file cannot be read or written, and [`StoreError::StreamStillGrowing`]
/// if the file grew meanwhile. The file is then unchanged.
pub fn compact(path: &Path, keep: impl FnMut(&[u8]) -> bool) -> Result<(), StoreError> {
    let scratch = TempFile::next_to(path);
    let rewrite = || -> io::Result<bool> {
        let source = open_regular(path)?;
        let before = source.metadata()?;
        let copy_start = |length: u64| {
            let mut target = scratch.create()?;
            io::copy(&mut open_regular(path)?.take(length), &mut target)?;
            Ok(target)
        };
        let target = copy((&source).take(before.len()), copy_start, keep)?;
        if source.metadata()?.len() != before.len() {
            return Ok(false);
        }
        if let Some(target) = target {
            target.set_permissions(before.permissions())?;
            target.set_times(FileTimes::new().set_modified(before.modified()?))?;
            // Without this sync, a power cut after the rename could lose the original.
            target.sync_data()?;
            scratch.persist(path)?;
        }
        Ok(true)
    };
    let is_complete = rewrite().map_err(StoreError::io("compact", path))?;
    if is_complete { Ok(()) } else { Err(StoreError::StreamStillGrowing(path.to_owned())) }
}

/// Copies the kept lines to a new file. `copy_start` creates it at the first dropped line, with everything before: most
/// streams of whole messages have none, and their gigabytes need not be written again.
fn copy(
    source: impl Read,
    copy_start: impl FnOnce(u64) -> io::Result<File>,
    mut keep: impl FnMut(&[u8]) -> bool,
) -> io::Result<Option<File>> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, source);
    let mut copy_start = Some(copy_start);
    let mut writer = None;
    let (mut piece, mut copied_bytes) = (Vec::new(), 0);
    // Whether the last piece started a line that it did not end.
    let mut is_inside_line = false;
    loop {
        piece.clear();
        let read = reader.by_ref().take(FILTERED_LINE_BYTES_MAX).read_until(b'\n', &mut piece)?;
        if read == 0 {
            break;
        }
        let line = piece.strip_suffix(b"\n");
        // Part of a long line, or a torn last line, stays. The torn line shows how the stream ended.
        let is_dropped = line.is_some_and(|line| !is_inside_line && !keep(line));
        if is_dropped && let Some(copy_start) = copy_start.take() {
            let target = copy_start(copied_bytes)?;
            writer = Some(BufWriter::with_capacity(BUFFER_BYTES, target));
        } else if !is_dropped && let Some(writer) = &mut writer {
            writer.write_all(&piece)?;
        }
        copied_bytes += read as u64;
        is_inside_line = line.is_none();
    }
    Ok(writer.map(BufWriter::into_inner).transpose()?)
}

#[cfg(test)]
mod tests;
