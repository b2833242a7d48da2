//! Resolves, locks and replaces the file of a playbook. Replacing is atomic, preserves the mode and follows
//! links.

use super::FileError;
use crate::backup::{write_backup, write_like};
use crate::failpoints::{Failpoint, is_interrupted, pass};
use longhaul_store::{if_exists, open_regular, read_at_most};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

// A change takes some milliseconds; fifty at once on a slow disk take less than this.
const LOCK_WAIT: Duration = Duration::from_secs(20);
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(5);
// A thousand points are a fifth of a megabyte.
const BYTES_MAX: u64 = 16 << 20;

/// The file itself, with all links resolved.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    dir: PathBuf,
    /// Whether links lead out of the project. The project's author may have created them, not the user.
    pub(super) is_outside: bool,
}

/// The lock on a playbook, released on drop. It locks the directory, so that no lock file remains in a
/// repository.
pub(super) struct Lock {
    _dir: File,
}

impl Target {
    /// Resolves the path of a project's playbook, which need not exist.
    pub(super) fn new(project: &Path, path: &Path) -> Result<Target, FileError> {
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                // A link whose target does not exist.
                Ok(target) => path.with_file_name("").join(target),
                Err(_) => behind_dir_link(path).unwrap_or_else(|| path.to_owned()),
            },
            Err(source) => return Err(FileError::io("find", path, source)),
        };
        let dir = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
        // Writing fails if the project does not exist.
        let is_outside =
            real(project).is_ok_and(|project| !real_dir(&dir).is_ok_and(|dir| dir.starts_with(project)));
        Ok(Target { path, dir, is_outside })
    }

    pub(super) fn bytes(&self) -> Result<Option<Vec<u8>>, FileError> {
        let bytes = open_regular(&self.path).and_then(|file| read_at_most(file, BYTES_MAX));
        if_exists(bytes).map_err(|source| FileError::io("read", &self.path, source))
    }

    pub(super) fn lock(&self) -> Result<Lock, FileError> {
        let failed = |source| FileError::io("lock", &self.dir, source);
        // Creates only the last component: a project that was removed is not created again.
        match fs::create_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FileError::io("create", &self.dir, error));
            }
            Ok(()) | Err(_) => {}
        }
        let dir = File::open(&self.dir).map_err(failed)?;
        let started = Instant::now();
        loop {
            match dir.try_lock() {
                Ok(()) => return Ok(Lock { _dir: dir }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => {
                    return Err(FileError::Busy(self.path.clone()));
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_RETRY_DELAY),
            }
        }
    }

    /// Writes the text to a temporary file next to the target. It is on disk when this returns, so space and
    /// permissions suffice.
    pub(super) fn prepare(&self, _lock: &Lock, text: &str) -> Result<PreparedFile, FileError> {
        let name = self.path.file_name().unwrap_or_default().display();
        let prepared = self.dir.join(format!(".{name}.longhaul.new"));
        // A writer that was killed may have left one. Only the owner of the lock writes one.
        drop(fs::remove_file(&prepared));
        write_like(&self.path, &prepared, text.as_bytes())
            .map_err(|source| FileError::io("write", &self.path, source))?;
        let prepared = PreparedFile { prepared, target: self.clone() };
        pass(Failpoint::Prepared);
        Ok(prepared)
    }
}

/// Returns the path of a missing file whose directory may be a link. The link's target need not exist.
fn behind_dir_link(path: &Path) -> Option<PathBuf> {
    let (dir, name) = (path.parent()?, path.file_name()?);
    let link = |_| fs::read_link(dir).map(|target| dir.with_file_name("").join(target));
    Some(fs::canonicalize(dir).or_else(link).ok()?.join(name))
}

fn real(dir: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
}

/// Returns the canonical path of a directory whose last component need not exist.
fn real_dir(dir: &Path) -> io::Result<PathBuf> {
    real(dir).or_else(|error| match (dir.parent(), dir.file_name()) {
        (Some(parent), Some(name)) if !dir.is_symlink() => Ok(real(parent)?.join(name)),
        _ => Err(error),
    })
}

/// A temporary file that will replace the target. It is removed on drop if it was not used.
pub(super) struct PreparedFile {
    prepared: PathBuf,
    target: Target,
}

impl PreparedFile {
    /// Replaces the target. Returns whether the change is certain to survive a power failure.
    pub(super) fn replace_target(self) -> Result<bool, FileError> {
        let PreparedFile { prepared, target } = &self;
        fs::rename(prepared, &target.path).map_err(|source| FileError::io("write", &target.path, source))?;
        let synced = File::open(&target.dir).and_then(|dir| dir.sync_all());
        pass(Failpoint::Replaced);
        Ok(synced.is_ok())
    }
}

impl Drop for PreparedFile {
    fn drop(&mut self) {
        if !is_interrupted() {
            // After `replace_target` there is no file under this name.
            drop(fs::remove_file(&self.prepared));
        }
    }
}

/// Backs up damaged content next to the path and returns the path of the copy. Content that is backed up
/// already is not written again.
pub(super) fn back_up_damaged(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let copy = write_backup(path, |number| format!(".damaged-{number}"), bytes)
        .map_err(|(path, source)| FileError::io("write", &path, source))?;
    pass(Failpoint::BackedUp);
    Ok(copy)
}
