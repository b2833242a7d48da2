//! A transcript as a worker reads it: a file that others write to, that may have been replaced, and of which only whole lines
//! count. It is never changed.

use crate::database::ByteRange;
use crate::judging::row_ids;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The longest slice. Sessions have some megabytes; what is longer is judged in several slices, so that memory stays
/// bounded.
pub(super) const SLICE_BYTES_MAX: u64 = 32 << 20;

// A single row may be longer than that: an image, a file. One that is longer than this is no row.
const ROW_BYTES_MAX: u64 = 64 << 20;
// The head of a session names it, and its rows have ids: two files that are the same in both places are the same.
const SAMPLE_BYTES: u64 = 4 << 10;
const CHUNK_BYTES: usize = 64 << 10;

/// The part behind the last one, to the last whole line that there is now; nothing if there is none.
pub(super) fn next_part(
    path: &Path,
    last: Option<ByteRange>,
    bytes_max: u64,
) -> io::Result<Option<ByteRange>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let (begins, generation) = match last {
        None => (0, 0),
        Some(last) if length >= last.ends && fingerprint(&file, last.ends)? == last.fingerprint => {
            (last.ends, last.generation)
        }
        // It is another file now. What was judged before is known by its rows.
        Some(last) => (0, last.generation + 1),
    };
    let reach = length.min(begins.saturating_add(bytes_max));
    let ends = match line_end_before(&file, begins, reach)? {
        Some(ends) => ends,
        None if reach == length => return Ok(None),
        None => match line_end_after(&file, reach)? {
            Some(ends) => ends,
            None => return Ok(None),
        },
    };
    let fingerprint = fingerprint(&file, ends)?;
    // What was written in the meantime is the next event's.
    let more = reach < length && line_end_before(&file, ends, length)?.is_some();
    Ok(Some(ByteRange { begins, ends, generation, fingerprint, more }))
}

/// Whether the part is still what it was.
pub(super) fn is_there(path: &Path, part: ByteRange) -> io::Result<bool> {
    let file = open(path)?;
    Ok(file.metadata()?.len() >= part.ends && fingerprint(&file, part.ends)? == part.fingerprint)
}

/// Its bytes.
pub(super) fn read(path: &Path, part: ByteRange) -> io::Result<Vec<u8>> {
    let length = part.ends.saturating_sub(part.begins);
    if length > ROW_BYTES_MAX {
        return Err(io::Error::other(format!("a single line of it has {length} bytes")));
    }
    let file = open(path)?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, part.begins)?;
    Ok(bytes)
}

/// The ids of rows, as hashes.
pub(super) struct Rows {
    pub(super) all: BTreeSet<i64>,
    /// Whether there is nothing beside rows with an id.
    pub(super) has_no_other: bool,
}

impl Rows {
    pub(super) fn new(bytes: &[u8]) -> Rows {
        let mut rows = Rows { all: BTreeSet::new(), has_no_other: true };
        let mut reached = 0;
        for (id, range) in row_ids(bytes) {
            rows.all.insert(hash_of(&id));
            rows.has_no_other &= bytes[reached..range.start].trim_ascii().is_empty();
            reached = range.end;
        }
        rows.has_no_other &= bytes[reached..].trim_ascii().is_empty();
        rows
    }
}

/// A number for an id or a text: of the rows of a whole life two will not have the same one.
pub(super) fn hash_of(text: &str) -> i64 {
    first_bytes(&Sha256::digest(text))
}

fn first_bytes(digest: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
}

/// A hash of the file's first bytes and of those before `ends`.
fn fingerprint(file: &File, ends: u64) -> io::Result<i64> {
    let mut hash = Sha256::new();
    for begins in [0, ends.saturating_sub(SAMPLE_BYTES)] {
        let mut sample = vec![0; usize::try_from(SAMPLE_BYTES.min(ends)).unwrap_or_default()];
        file.read_exact_at(&mut sample, begins)?;
        hash.update(&sample);
    }
    Ok(first_bytes(&hash.finalize()))
}

/// Where the last line that ends in this range ends.
fn line_end_before(file: &File, begins: u64, ends: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = ends;
    while at > begins {
        let from = at.saturating_sub(CHUNK_BYTES as u64).max(begins);
        let chunk = &mut chunk[..usize::try_from(at - from).unwrap_or_default()];
        file.read_exact_at(chunk, from)?;
        if let Some(place) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(from + place as u64 + 1));
        }
        at = from;
    }
    Ok(None)
}

/// Where the first line ends that ends behind this place.
fn line_end_after(file: &File, mut at: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read_at(&mut chunk, at)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(place) = chunk[..read].iter().position(|byte| *byte == b'\n') {
            return Ok(Some(at + place as u64 + 1));
        }
        at += read as u64;
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    // A pipe would keep us waiting for ever, and a directory has no lines.
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

#[cfg(test)]
mod tests;
