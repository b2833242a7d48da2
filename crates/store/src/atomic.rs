//! Replacing a file as a whole: a reader sees the old content or the new, never a part.
//! A failure leaves the old file as it was and nothing beside it.

use crate::files::{private, sync_dir};
use crate::{StoreError, failpoint_io};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a replaced file survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of our process. For files that can be derived again: no disk flush.
    Process,
    /// A power cut: the content and its name are flushed to the disk before we return.
    Power,
}

/// Replaces the file at `path` by `content`, readable by its owner only.
///
/// # Errors
/// [`StoreError::Io`]; the old file is then as it was.
pub fn replace(path: &Path, content: &[u8], durability: Durability) -> Result<(), StoreError> {
    let scratch = TempFile::beside(path);
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
    match (durability, path.parent()) {
        (Durability::Power, Some(dir)) => sync_dir(dir),
        (Durability::Power, None) | (Durability::Process, _) => Ok(()),
    }
}

/// Replaces the file at `path` by `value` as indented JSON.
///
/// # Errors
/// As [`replace`].
pub fn replace_json(path: &Path, value: &impl Serialize, durability: Durability) -> Result<(), StoreError> {
    replace(path, &to_json(path, value)?, durability)
}

/// `value` as indented JSON that ends in a newline.
pub(crate) fn to_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|cause| StoreError::Io {
        doing: "write",
        path: path.to_owned(),
        cause: cause.into(),
    })?;
    text.push(b'\n');
    Ok(text)
}

/// A name beside a file or directory in the making. What is there is removed unless it was put in
/// its place.
#[derive(Debug)]
pub(crate) struct TempFile {
    pub(crate) path: PathBuf,
}

impl TempFile {
    /// A name that no other writer uses: hidden, with our process id and a count.
    pub(crate) fn beside(path: &Path) -> TempFile {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}-{count}.new", std::process::id()));
        TempFile { path: path.with_file_name(name) }
    }

    pub(crate) fn create(&self) -> io::Result<File> {
        // A process of our number that was killed may have left one: it is nobody's.
        failpoint_io::open(private().write(true).create(true).truncate(true), &self.path)
    }

    /// Gives what was made its final name.
    pub(crate) fn persist(&self, path: &Path) -> io::Result<()> {
        failpoint_io::rename(&self.path, path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After `put` there is nothing under this name. A failure leaves a hidden file, no more.
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_dir() => drop(fs::remove_dir_all(&self.path)),
            Ok(_) => drop(fs::remove_file(&self.path)),
            Err(_) => {}
        }
    }
}

/// Removes what writers that were killed left below a directory. One that lives is left to end its own.
pub(crate) fn clear(dir: &Path) {
    // What cannot be read or removed is a hidden file, no more.
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|found| found.is_dir());
        match entry.file_name().to_str().and_then(writer_of) {
            Some(pid) if is_gone(pid) && is_dir => drop(fs::remove_dir_all(entry.path())),
            Some(pid) if is_gone(pid) => drop(fs::remove_file(entry.path())),
            Some(_) => {}
            None if is_dir => clear(&entry.path()),
            None => {}
        }
    }
}

/// Removes what writers that were killed left of making the file at this path, and what a database had beside that.
pub(crate) fn clear_beside(path: &Path) {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let begins = format!(".{name}.");
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let left = entry.file_name().into_string().ok().filter(|left| left.starts_with(&begins));
        let left = left.as_deref().map(|left| left.trim_end_matches("-wal").trim_end_matches("-shm"));
        if left.is_some_and(is_left) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Whether a name is that of something in the making whose process is gone.
pub(crate) fn is_left(name: &str) -> bool {
    writer_of(name).is_some_and(is_gone)
}

/// The process that a scratch name is of.
fn writer_of(name: &str) -> Option<Pid> {
    let (_, writer) = name.strip_prefix('.')?.strip_suffix(".new")?.rsplit_once('.')?;
    Pid::from_raw(writer.split_once('-')?.0.parse().ok()?)
}

fn is_gone(pid: Pid) -> bool {
    test_kill_process(pid) == Err(Errno::SRCH)
}

#[cfg(test)]
mod tests;
