//! Making a stream file smaller once its process is gone: lines that a filter does not want are
//! left out. Memory is bounded whatever a line's length, and any failure leaves the file as it was.

use crate::StoreError;
use crate::atomic::TempFile;
use crate::open_regular;
use std::fs::{File, FileTimes};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

// What can be left out (partial messages) is a few kilobytes a line; anything longer than this is
// kept without being looked at, so that a line of 64 MB passes through in pieces.
const JUDGED_LINE_BYTES_MAX: u64 = 1 << 20;

// Large enough that system calls do not count, small enough that 100 runs at once do not either.
const BUFFER_BYTES: usize = 64 << 10;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// Lines that were left out.
    pub dropped_lines: u64,
    /// The size before, in bytes.
    pub bytes_before: u64,
    /// The size after, in bytes.
    pub bytes_after: u64,
}

/// Leaves out of the stream at `path` every line for which `keep` says no. A line is given without
/// its newline; lines over 1 MiB and a last line without a newline are kept unasked. The file's
/// time is kept, the file is replaced as a whole, and one that loses nothing is not touched.
///
/// # Errors
/// [`StoreError::Io`], and [`StoreError::StreamBusy`] if the file grew meanwhile; the file is then
/// as it was.
pub fn compact(path: &Path, keep: impl FnMut(&[u8]) -> bool) -> Result<CompactionStats, StoreError> {
    let scratch = TempFile::beside(path);
    let settle = || -> io::Result<Option<CompactionStats>> {
        let source = open_regular(path)?;
        let before = source.metadata()?;
        let target = scratch.create()?;
        let mut compacted = copy((&source).take(before.len()), &target, keep)?;
        if source.metadata()?.len() != before.len() {
            return Ok(None);
        }
        if compacted.dropped_lines > 0 {
            target.set_permissions(before.permissions())?;
            target.set_times(FileTimes::new().set_modified(before.modified()?))?;
            // A name that points at unwritten data after a power cut would have lost the original.
            target.sync_data()?;
            scratch.persist(path)?;
        }
        compacted.bytes_after = target.metadata()?.len();
        Ok(Some(compacted))
    };
    let compacted = settle().map_err(StoreError::io("compact", path))?;
    compacted.ok_or_else(|| StoreError::StreamStillGrowing { path: path.to_owned() })
}

/// Copies the lines to keep.
fn copy(
    source: impl Read,
    target: &File,
    mut keep: impl FnMut(&[u8]) -> bool,
) -> io::Result<CompactionStats> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, source);
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, target);
    let mut compacted = CompactionStats::default();
    let mut piece = Vec::new();
    // Whether the last piece began a line that it did not end.
    let mut inside = false;
    loop {
        piece.clear();
        let read = reader.by_ref().take(JUDGED_LINE_BYTES_MAX).read_until(b'\n', &mut piece)?;
        if read == 0 {
            break;
        }
        compacted.bytes_before += read as u64;
        let line = piece.strip_suffix(b"\n");
        match line {
            Some(line) if !inside && !keep(line) => compacted.dropped_lines += 1,
            // Part of a long line, or a torn last line, which is evidence of how the stream ended.
            Some(_) | None => writer.write_all(&piece)?,
        }
        inside = line.is_none();
    }
    writer.flush()?;
    Ok(compacted)
}

#[cfg(test)]
mod tests;
