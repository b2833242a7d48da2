//! A directory for what an export or an import needs on the way: in the home, which is the owner's alone and never in a
//! snapshot. If the process is killed, `longhaul gc` finds it by its name.

use super::TransferError;
use longhaul_store::{Home, OUTSIDE};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process;
use tempfile::{Builder, TempDir};

/// Makes the directory.
///
/// # Errors
/// [`MoveError::Io`].
pub(super) fn scratch(home: &Home) -> Result<TempDir, TransferError> {
    let made =
        Builder::new().prefix(&format!(".moving.{}-", process::id())).suffix(".new").tempdir_in(home.path());
    made.map_err(TransferError::io("write", home.path()))
}

/// Notes that `path`, outside of the home, is only needed on the way too.
///
/// # Errors
/// [`MoveError::Io`].
pub(super) fn needs(scratch: &TempDir, path: &Path) -> Result<(), TransferError> {
    let noted = std::path::absolute(path).and_then(|path| symlink(path, scratch.path().join(OUTSIDE)));
    match noted {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(TransferError::io("write", scratch.path())(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
