//! A scratch directory for an export or an import. It is in the home, which only its owner can read and which
//! no snapshot includes. If the process is killed, `longhaul gc` recognizes the directory by its name.

use super::TransferError;
use longhaul_store::{Home, OUTSIDE_LINK};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process;
use tempfile::{Builder, TempDir};

pub(super) fn scratch(home: &Home) -> Result<TempDir, TransferError> {
    let dir =
        Builder::new().prefix(&format!(".moving.{}-", process::id())).suffix(".new").tempdir_in(home.path());
    dir.map_err(TransferError::io("write", home.path()))
}

/// Records that `path`, outside of the home, is temporary, too. A scratch directory has one such path at most.
pub(super) fn register_temporary(scratch: &TempDir, path: &Path) -> Result<(), TransferError> {
    let link = std::path::absolute(path).and_then(|path| symlink(path, scratch.path().join(OUTSIDE_LINK)));
    link.map_err(TransferError::io("write", scratch.path()))
}
