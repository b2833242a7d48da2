//! Reads transcripts: files that other processes append to or replace, of which only whole lines count. It
//! never changes them.

use crate::database::ByteRange;
use crate::judging::row_ids;
use longhaul_store::open_regular;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Maximum length of a slice. Sessions have some megabytes; longer ones are judged in several slices, so that
/// memory stays bounded.
pub(super) const SLICE_BYTES_MAX: u64 = 32 << 20;

// A single row with an image or a file may be longer than a slice. A longer line than this is not a row.
const ROW_BYTES_MAX: u64 = 64 << 20;
// The start of a session identifies it, and its rows have ids: files that agree at the start and before the
// end of a slice are the same.
const SAMPLE_BYTES: u64 = 4 << 10;
const CHUNK_BYTES: usize = 64 << 10;

/// Returns the part after the last one, up to the last whole line, or `None` if there is no new line.
pub(super) fn next_part(
    path: &Path,
    last: Option<ByteRange>,
    bytes_max: u64,
) -> io::Result<Option<ByteRange>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    let (start, generation) = match last {
        None => (0, 0),
        Some(last) if length >= last.end && fingerprint(&file, last.end)? == last.fingerprint => {
            (last.end, last.generation)
        }
        // The file was replaced. Rows that were judged before are recognized by their ids.
        Some(last) => (0, last.generation + 1),
    };
    let limit = length.min(start.saturating_add(bytes_max));
    let end = match line_end_before(&file, start, limit)? {
        Some(end) => end,
        None if limit == length => return Ok(None),
        None => match line_end_after(&file, limit)? {
            Some(end) => end,
            None => return Ok(None),
        },
    };
    let fingerprint = fingerprint(&file, end)?;
    // Lines that were written after the length was read belong to the next event.
    let more = limit < length && line_end_before(&file, end, length)?.is_some();
    Ok(Some(ByteRange { start, end, generation, fingerprint, more }))
}

pub(super) fn is_unchanged(path: &Path, part: ByteRange) -> io::Result<bool> {
    let file = open_regular(path)?;
    Ok(file.metadata()?.len() >= part.end && fingerprint(&file, part.end)? == part.fingerprint)
}

pub(super) fn read(path: &Path, part: ByteRange) -> io::Result<Vec<u8>> {
    let length = part.end.saturating_sub(part.start);
    if length > ROW_BYTES_MAX {
        return Err(io::Error::other(format!("one line has {length} bytes")));
    }
    let file = open_regular(path)?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, part.start)?;
    Ok(bytes)
}

/// Returns the hashed ids of the rows in these lines.
pub(super) fn row_hashes(bytes: &[u8]) -> BTreeSet<i64> {
    row_ids(bytes).map(|id| hash_text(&id)).collect()
}

/// Hashes an id or a text to a number. Collisions among the rows of one user are improbable.
pub(super) fn hash_text(text: &str) -> i64 {
    first_bytes(&Sha256::digest(text))
}

fn first_bytes(digest: &[u8]) -> i64 {
    i64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

/// Hashes the file's first bytes and those before `end`.
fn fingerprint(file: &File, end: u64) -> io::Result<i64> {
    let mut hash = Sha256::new();
    for start in [0, end.saturating_sub(SAMPLE_BYTES)] {
        let mut sample = vec![0; usize::try_from(SAMPLE_BYTES.min(end)).unwrap_or_default()];
        file.read_exact_at(&mut sample, start)?;
        hash.update(&sample);
    }
    Ok(first_bytes(&hash.finalize()))
}

/// Returns the end of the last line that ends in this range.
fn line_end_before(file: &File, start: u64, end: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut offset = end;
    while offset > start {
        let chunk_start = offset.saturating_sub(CHUNK_BYTES as u64).max(start);
        let chunk = &mut chunk[..usize::try_from(offset - chunk_start).unwrap_or_default()];
        file.read_exact_at(chunk, chunk_start)?;
        if let Some(index) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(chunk_start + index as u64 + 1));
        }
        offset = chunk_start;
    }
    Ok(None)
}

/// Returns the end of the first line that ends after this offset.
fn line_end_after(file: &File, mut offset: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read_at(&mut chunk, offset)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(index) = chunk[..read].iter().position(|byte| *byte == b'\n') {
            return Ok(Some(offset + index as u64 + 1));
        }
        offset += read as u64;
    }
}

#[cfg(test)]
mod tests;
