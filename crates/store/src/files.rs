//! Opens and creates files and directories that only their owner may read, and reads files that must be regular:
//! opening a pipe waits for a writer, and a device may never end. Nothing here is atomic or durable by itself: see
//! `atomic.rs`.

use crate::{StoreError, failpoint_io};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
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

/// Opens a regular file for reading. A pipe, a socket or a device is an error at once.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(File::options().read(true), path)
}

/// Reads a whole regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file of UTF-8 text.
pub fn read_regular_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // The flag has no effect on a regular file, and a pipe opens without waiting.
    let file = options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?;
    let file_type = file.metadata()?.file_type();
    match (file_type.is_file(), file_type.is_dir()) {
        (true, _) => Ok(file),
        (false, true) => Err(rustix::io::Errno::ISDIR.into()),
        (false, false) => {
            let message = "this is a pipe or a device, not a regular file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

/// Reads everything. More bytes than the maximum are an error.
pub fn read_at_most(source: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{open_regular, read_regular};
    use crate::failpoint_io::make_fifo;
    use std::path::Path;

    #[test]
    fn rejects_irregular_files_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        make_fifo(&fifo).expect("the directory is writable");
        for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/dev/null"), dir.path()] {
            assert!(open_regular(path).is_err(), "{}", path.display());
        }
        std::fs::write(dir.path().join("file"), "text").expect("the directory is writable");
        assert_eq!(read_regular(&dir.path().join("file")).expect("a file"), b"text");
    }
}
