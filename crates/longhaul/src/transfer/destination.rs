//! The new or empty directory that a workspace is unpacked into. Files are first unpacked into a hidden
//! directory inside it. The import therefore needs write access only to this directory, which may be a
//! volume. An import that is killed while it moves the files out of the hidden directory leaves part of a workspace,
//! which no later import uses as a new directory.

use super::TransferError;
use longhaul_store::{if_exists, remove_dir};
use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const SCRATCH: &str = ".longhaul-import";

/// An unfinished workspace. Unless [`DestinationDir::keep`] is called, dropping it restores the former state.
#[derive(Debug)]
pub(super) struct DestinationDir {
    path: PathBuf,
    /// The directory, which is locked. `None` while another import may be using it.
    lock: Option<File>,
    created: Option<PathBuf>,
    moved: Vec<PathBuf>,
    is_kept: bool,
}

impl DestinationDir {
    /// Checks whether a workspace can be created at `path`. Changes nothing.
    pub(super) fn check(path: &Path) -> Result<(), TransferError> {
        // A killed import may have left its scratch directory, which can be replaced.
        let is_scratch = |entry: io::Result<DirEntry>| entry.is_ok_and(|entry| entry.file_name() == SCRATCH);
        match fs::read_dir(path).map(|mut entries| entries.all(is_scratch)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(TransferError::NotEmpty(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(TransferError::NotEmpty(path.to_owned()))
            }
            Err(error) => Err(TransferError::io("read", path)(error)),
        }
    }

    /// Creates the directory if it does not exist, and the hidden one inside it. Locks out other imports.
    pub(super) fn create(path: &Path) -> Result<DestinationDir, TransferError> {
        DestinationDir::check(path)?;
        let path = std::path::absolute(path).map_err(TransferError::io("create", path))?;
        let created = path.ancestors().take_while(|dir| !dir.exists()).last().map(Path::to_owned);
        let mut destination = DestinationDir { path, lock: None, created, moved: Vec::new(), is_kept: false };
        let path = &destination.path;
        // The user's umask applies, because the workspace belongs to the user.
        fs::create_dir_all(path).map_err(TransferError::io("create", path))?;
        destination.lock = Some(lock(path)?);
        // Another import may have used the directory before it was locked.
        DestinationDir::check(path)?;
        if_exists(remove_dir(&destination.scratch())).map_err(TransferError::io("remove", path))?;
        fs::create_dir(destination.scratch()).map_err(TransferError::io("create", path))?;
        Ok(destination)
    }

    pub(super) fn scratch(&self) -> PathBuf {
        DestinationDir::scratch_of(&self.path)
    }

    /// Returns the directory for the unfinished workspace at `path`.
    pub(super) fn scratch_of(path: &Path) -> PathBuf {
        path.join(SCRATCH)
    }

    pub(super) fn commit(&mut self) -> Result<(), TransferError> {
        let failed = |error| TransferError::io("move into", &self.path)(error);
        let scratch = self.scratch();
        for entry in fs::read_dir(&scratch).map_err(failed)? {
            let from = entry.map_err(failed)?.path();
            let to = self.path.join(from.file_name().unwrap_or_default());
            fs::rename(&from, &to).map_err(failed)?;
            self.moved.push(to);
        }
        fs::remove_dir(&scratch).map_err(failed)
    }

    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }

    fn restore(&self) {
        // Entries that cannot be removed stay in a directory that was empty or missing. The caller reports
        // the original error.
        for path in &self.moved {
            match fs::symlink_metadata(path) {
                Ok(metadata) if metadata.is_dir() => drop(fs::remove_dir_all(path)),
                Ok(_) => drop(fs::remove_file(path)),
                Err(_) => {}
            }
        }
        if self.lock.is_some() {
            drop(fs::remove_dir_all(self.scratch()));
        }
        if let Some(created) = &self.created {
            // Removes only empty directories, because another program may have started to use them.
            for dir in self.path.ancestors().take_while(|dir| dir.starts_with(created)) {
                drop(fs::remove_dir(dir));
            }
        }
    }
}

/// Locks a directory for an import. On a file system without locks, no import notices another.
fn lock(path: &Path) -> Result<File, TransferError> {
    let dir = File::open(path).map_err(TransferError::io("read", path))?;
    match dir.try_lock() {
        Err(TryLockError::WouldBlock) => Err(TransferError::InUse(path.to_owned())),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(dir),
    }
}

impl Drop for DestinationDir {
    fn drop(&mut self) {
        if !self.is_kept {
            self.restore();
        }
        // Closing is not enough: a child that is being started may have a copy of the file.
        if let Some(lock) = &self.lock {
            drop(lock.unlock());
        }
    }
}
