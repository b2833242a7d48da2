//! Checks whether the disk has room for the agent's output. On a full disk the agent's output is lost,
//! including the end of a tool call or an exchange, and the run would wait for it forever.

use longhaul_store::{Durability, RunDir, StoreError, replace};
use rustix::fs::statvfs;
use std::fs;

// More than the last block of a file may have free.
const PROBE: [u8; 4096] = [0; 4096];

/// Asks the file system, and tries a write if it reports a full disk, because some report wrong figures.
///
/// # Errors
///
/// Returns the store's error if the disk is full.
pub(crate) fn check(dir: &RunDir) -> Result<(), StoreError> {
    if !statvfs(dir.path()).is_ok_and(|stats| stats.f_blocks > 0 && stats.f_bavail == 0) {
        return Ok(());
    }
    let probe = dir.path().join("room.probe");
    let written = replace(&probe, &PROBE, Durability::Process);
    // It exists only if there was room.
    let _ = fs::remove_file(probe);
    match written {
        Err(error) if error.is_disk_full() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
