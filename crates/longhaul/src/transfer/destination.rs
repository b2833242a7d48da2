//! The directory that a workspace is unpacked into: one that is not there yet, or an empty one. The work is
//! done in a hidden directory inside of it, so that it works where only that directory is ours to write
//! to (a volume), and that a process that is killed leaves nothing that looks like a workspace.

use super::TransferError;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

const SCRATCH: &str = ".longhaul-import";

/// A workspace in the making. Dropped before [`Place::settle`] has returned, it leaves all as it was.
#[derive(Debug)]
pub(super) struct DestinationDir {
    path: PathBuf,
    /// The highest directory that was made for it.
    made: Option<PathBuf>,
    /// What has been given its place.
    moved: Vec<PathBuf>,
    settled: bool,
}

impl DestinationDir {
    /// Whether a workspace could be made there. Changes nothing.
    ///
    /// # Errors
    /// [`MoveError::NotEmpty`] and [`MoveError::Io`].
    pub(super) fn check(path: &Path) -> Result<(), TransferError> {
        // What an import that was killed has left is nobody's.
        let is_ours = |entry: io::Result<DirEntry>| entry.is_ok_and(|entry| entry.file_name() == SCRATCH);
        match fs::read_dir(path).map(|mut entries| entries.all(is_ours)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(TransferError::NotEmpty(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(TransferError::NotEmpty(path.to_owned()))
            }
            Err(error) => Err(TransferError::io("read", path)(error)),
        }
    }

    /// Makes the directory, if it is not there, and the hidden one inside.
    ///
    /// # Errors
    /// As [`Place::check`].
    pub(super) fn begin(path: &Path) -> Result<DestinationDir, TransferError> {
        DestinationDir::check(path)?;
        let path = std::path::absolute(path).map_err(TransferError::io("create", path))?;
        let made = path.ancestors().take_while(|dir| !dir.exists()).last().map(Path::to_owned);
        let place = DestinationDir { path, made, moved: Vec::new(), settled: false };
        drop(fs::remove_dir_all(place.scratch()));
        // As the user's umask has it: a workspace is theirs.
        fs::create_dir_all(place.scratch()).map_err(TransferError::io("create", &place.path))?;
        Ok(place)
    }

    /// Where to make the workspace.
    pub(super) fn scratch(&self) -> PathBuf {
        DestinationDir::scratch_of(&self.path)
    }

    /// Where the workspace of a directory is made.
    pub(super) fn scratch_of(path: &Path) -> PathBuf {
        path.join(SCRATCH)
    }

    /// Gives everything that was made its place.
    ///
    /// # Errors
    /// [`MoveError::Io`].
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

    /// Leaves what was made where it is.
    pub(super) fn keep(mut self) {
        self.settled = true;
    }
}

impl Drop for DestinationDir {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // What cannot be removed stays in a directory that was empty or not there; the error that brought us
        // here is what is told.
        for path in &self.moved {
            match fs::symlink_metadata(path) {
                Ok(found) if found.is_dir() => drop(fs::remove_dir_all(path)),
                Ok(_) => drop(fs::remove_file(path)),
                Err(_) => {}
            }
        }
        drop(fs::remove_dir_all(self.scratch()));
        if let Some(made) = &self.made {
            // Each only if it is empty: somebody else may have begun to use it.
            for dir in self.path.ancestors().take_while(|dir| dir.starts_with(made)) {
                drop(fs::remove_dir(dir));
            }
        }
    }
}
