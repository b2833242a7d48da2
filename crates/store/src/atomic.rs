//! Replaces a file atomically: a reader sees the old content or the new, never a part. A failure leaves the
//! old file unchanged and no temporary file.

use crate::files::{make_dir, private, sync_dir};
use crate::{StoreError, failpoint_io};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::Serialize;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The events that a replaced file survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A crash of this process. For files that can be derived again; there is no disk flush.
    Process,
    /// A power cut. The content and its name are flushed to disk before the function returns.
    Power,
}

/// Replaces the file at `path` with `content`, readable by its owner only.
pub fn replace(path: &Path, content: &[u8], durability: Durability) -> Result<(), StoreError> {
    let scratch = TempFile::next_to(path);
    scratch
        .create()
        .and_then(|file| {
            failpoint_io::write_all(&file, path, content)?;
            match durability {
                Durability::Process => Ok(()),
                Durability::Power => failpoint_io::sync_all(&file, path),
            }
        })
        .and_then(|()| scratch.persist(path))
        .map_err(StoreError::io("write", path))?;
    match durability {
        Durability::Process => Ok(()),
        Durability::Power => path.parent().map_or(Ok(()), sync_dir),
    }
}

/// Replaces the file at `path` with `value` as indented JSON.
pub fn replace_json(path: &Path, value: &impl Serialize, durability: Durability) -> Result<(), StoreError> {
    replace(path, &to_json(path, value)?, durability)
}

/// Returns `value` as indented JSON that ends in a newline.
pub(crate) fn to_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
    let mut text = text.map_err(StoreError::io("write", path))?;
    text.push(b'\n');
    Ok(text)
}

/// A temporary name next to the final file or directory. On drop, a file or directory with this name is
/// removed.
#[derive(Debug)]
pub(crate) struct TempFile {
    pub(crate) path: PathBuf,
}

impl TempFile {
    /// Creates a hidden name that no other writer uses: it contains this process's id, because the process may be
    /// killed, and a random number, because every container has the same ids.
    pub(crate) fn next_to(path: &Path) -> TempFile {
        // The standard library has no other source of chance.
        let random = RandomState::new().build_hasher().finish();
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}-{random:x}.new", std::process::id()));
        TempFile { path: path.with_file_name(name) }
    }

    pub(crate) fn create_dir_next_to(path: &Path) -> Result<TempFile, StoreError> {
        let scratch = TempFile::next_to(path);
        make_dir(&scratch.path).map_err(StoreError::io("create directory", &scratch.path))?;
        Ok(scratch)
    }

    pub(crate) fn create(&self) -> io::Result<File> {
        failpoint_io::open(private().write(true).create(true).truncate(true), &self.path)
    }

    pub(crate) fn persist(&self, path: &Path) -> io::Result<()> {
        failpoint_io::rename(&self.path, path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After `persist`, nothing has this name. If the removal fails, only a hidden file remains.
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => drop(fs::remove_dir_all(&self.path)),
            Ok(_) => drop(fs::remove_file(&self.path)),
            Err(_) => {}
        }
    }
}

/// Removes temporary files that killed writers left for this path, and the database files that belong to
/// them.
pub(crate) fn clear_next_to(path: &Path) {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let prefix = format!(".{name}.");
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_next_to = entry.file_name().to_string_lossy().starts_with(&prefix);
        if is_next_to && is_leftover(&entry.path(), Duration::ZERO) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Returns whether a path has a temporary name whose process has exited, and has not changed for `age_min`. The
/// process of a container that shares the home seems to have exited, too.
pub(crate) fn is_leftover(path: &Path, age_min: Duration) -> bool {
    let writer = || {
        let name = path.file_name()?.to_str()?.trim_end_matches("-wal").trim_end_matches("-shm");
        let (_, writer) = name.strip_prefix('.')?.strip_suffix(".new")?.rsplit_once('.')?;
        Pid::from_raw(writer.split_once('-')?.0.parse().ok()?)
    };
    let age = || fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok();
    writer().is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
        && age().is_some_and(|age| age >= age_min)
}

#[cfg(test)]
mod tests;
