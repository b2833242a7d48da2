//! A session file that was read and parsed once. It never changes a file.

use longhaul_agent::{Health, SessionDocument, SessionLayout};
use longhaul_store::read_regular;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

// The largest session observed so far has 40 MB. A file above this limit is not inspected.
const SESSION_BYTES_MAX: u64 = 512 << 20;

/// A session file that was inspected and is not read again while it stays unchanged.
pub(crate) struct LoadedSession {
    pub(super) path: PathBuf,
    version: (u64, u64, SystemTime),
    pub(super) document: SessionDocument,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileCondition {
    Absent,
    Empty,
    Damaged,
    /// Also used for a file that cannot be read or is too large to read, because the agent will report it.
    Whole,
}

impl LoadedSession {
    pub(super) fn load(layout: &SessionLayout, file: &Path) -> io::Result<LoadedSession> {
        // The version comes first, so that a later write is noticed.
        let version = version_of(file)?;
        let document = layout.parse(read(file)?);
        Ok(LoadedSession { path: file.to_owned(), version, document })
    }

    pub(super) fn is_current(&self) -> bool {
        version_of(&self.path).is_ok_and(|version| version == self.version)
    }
}

/// Returns the inode of a file, its size and the time of its last write. Every write to the file changes them.
fn version_of(file: &Path) -> io::Result<(u64, u64, SystemTime)> {
    let found = fs::metadata(file)?;
    Ok((found.ino(), found.len(), found.modified()?))
}

pub(super) fn condition(loaded: &io::Result<LoadedSession>) -> FileCondition {
    match loaded.as_ref().map(|loaded| loaded.document.health()) {
        Ok(Health::Whole) => FileCondition::Whole,
        Ok(Health::Damaged) => FileCondition::Damaged,
        Ok(Health::Empty) => FileCondition::Empty,
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileCondition::Absent,
        Err(_) => FileCondition::Whole,
    }
}

/// Reads a session file, or a stream to compare it with.
pub(super) fn read(file: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(file)?.len() > SESSION_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
    }
    read_regular(file)
}
