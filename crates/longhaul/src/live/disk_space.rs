//! Whether the disk has room for what an agent says. One that has none swallows the agent's words, the end of
//! a tool or a turn among them, and a run that waits for these would wait for ever.

use longhaul_store::{Durability, RunDir, StoreError, replace};
use rustix::fs::statvfs;
use std::fs;

// More than the last block of a file may have left.
const PROBE: [u8; 4096] = [0; 4096];

/// Asks the file system, and tries a write where it says that it is full: some tell wrong figures.
///
/// # Errors
///
/// The store's own, if there is no room.
pub(crate) fn check(dir: &RunDir) -> Result<(), StoreError> {
    if !statvfs(dir.path()).is_ok_and(|found| found.f_blocks > 0 && found.f_bavail == 0) {
        return Ok(());
    }
    let probe = dir.path().join("room.probe");
    let written = replace(&probe, &PROBE, Durability::Process);
    // It is there only if there was room.
    let _ = fs::remove_file(probe);
    match written {
        Err(error) if error.is_disk_full() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
