//! Opens and creates files and directories that only their owner may read. Nothing here is atomic or durable
//! by itself: see `atomic.rs`.

use crate::{StoreError, failpoint_io, read_regular};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Returns options for a file that only its owner may read. The standard library opens every file
/// close-on-exec, so no agent inherits one of them, in particular no lock.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    failpoint_io::make_dir(DirBuilder::new().mode(0o700), path)
}

/// Creates a directory and its missing parents, if it does not exist.
pub(crate) fn make_dirs(path: &Path) -> Result<(), StoreError> {
    failpoint_io::make_dir(DirBuilder::new().mode(0o700).recursive(true), path)
        .map_err(StoreError::io("create directory", path))
}

/// Creates the directory that contains `path`, and its missing parents, if it does not exist.
pub(crate) fn make_parents(path: &Path) -> Result<(), StoreError> {
    path.parent().map_or(Ok(()), make_dirs)
}

/// Flushes a directory to disk, which makes the names in it durable.
pub(crate) fn sync_dir(path: &Path) -> Result<(), StoreError> {
    File::open(path)
        .and_then(|dir| failpoint_io::sync_all(&dir, path))
        .map_err(StoreError::io("sync directory", path))
}

/// Returns `None` if a file or a directory does not exist.
pub fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Reads a whole JSON file. Returns `None` if it does not exist. Unknown fields are ignored.
pub fn read_json_if_exists<T: DeserializeOwned>(
    description: &'static str,
    path: &Path,
) -> Result<Option<T>, StoreError> {
    match read_json(description, path) {
        Err(StoreError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Removes a file, if it exists.
pub fn remove_if_exists(path: &Path) -> Result<(), StoreError> {
    if_exists(fs::remove_file(path)).map(drop).map_err(StoreError::io("remove", path))
}

/// Reads a whole JSON file. Unknown fields are ignored.
pub(crate) fn read_json<T: DeserializeOwned>(
    description: &'static str,
    path: &Path,
) -> Result<T, StoreError> {
    let text = read_regular(path).map_err(StoreError::io("read", path))?;
    serde_json::from_slice(&text).map_err(|cause| StoreError::Unreadable {
        description,
        path: path.to_owned(),
        cause,
        written_by: writer(&text),
    })
}

/// Returns the version that a file names as its writer, even if the rest of the file cannot be parsed.
fn writer(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct WrittenBy {
        longhaul_version: String,
    }
    serde_json::from_slice::<WrittenBy>(text).ok().map(|written_by| written_by.longhaul_version)
}
