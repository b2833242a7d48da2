//! Checks whether the disk has room for the agent's output. On a full disk the output is lost, including the
//! end of a tool call or an exchange. The run would wait for that end forever.

use longhaul_store::{Durability, RunDir, StoreError, replace};
use rustix::fs::statvfs;
use std::fs;

// This is more than the free space in the last block of a file.
const PROBE: [u8; 4096] = [0; 4096];

/// Reads the free space of the file system. If it reports none, tries a write, because some file systems
/// report wrong figures.
pub(crate) fn check(dir: &RunDir) -> Result<(), StoreError> {
    if !statvfs(dir.path()).is_ok_and(|stats| stats.f_blocks > 0 && stats.f_bavail == 0) {
        return Ok(());
    }
    let probe = dir.path().join("room.probe");
    let written = replace(&probe, &PROBE, Durability::Process);
    // The file exists only if there was room.
    let _ = fs::remove_file(probe);
    match written {
        Err(error) if error.is_disk_full() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
