//! Reads transcripts that the user names.

use crate::failure::{Failure, OrFailure};
use longhaul_playbook::judging::Excerpt;
use longhaul_store::{open_regular, read_at_most};
use std::path::Path;

// A session of weeks with images has about 100 MB; its text is a small part of that.
pub const TRANSCRIPT_BYTES_MAX: u64 = 256 << 20;

/// Reads a transcript. A file of another kind is wrong usage.
pub fn read_transcript(path: &Path) -> Result<(Vec<u8>, Excerpt), Failure> {
    let bytes = open_regular(path).and_then(|file| read_at_most(file, TRANSCRIPT_BYTES_MAX)).or_usage(
        format!("cannot read {}", path.display()),
        "name a session file, such as ~/.claude/projects/*/*.jsonl",
    )?;
    let slice = excerpt(&bytes, &path.display().to_string())?;
    Ok((bytes, slice))
}

pub fn excerpt(bytes: &[u8], source: &str) -> Result<Excerpt, Failure> {
    Excerpt::new(bytes, |_| false).map_err(|error| {
        Failure::usage(format!("cannot read the transcript from {source}: {error}"), error.hint)
    })
}
