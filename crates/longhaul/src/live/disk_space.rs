//! Checks whether the disk has room for the agent's output. On a full disk the output is lost, including the
//! end of a tool call or an exchange. The run would wait for that end forever.

use longhaul_store::{Durability, RunDir, StoreError, replace};
use rustix::fs::statvfs;
use std::fs;

/// Room that an agent needs to start, in bytes. It writes several lines before the first poll finds a full disk.
pub(crate) const START: u64 = 256 << 10;
/// Room in bytes without which the agent's output is being lost: more than the free space in the last block of
/// a file.
pub(crate) const OUTPUT: u64 = 4096;

/// Reads the free space of the file system. If it reports less than `room` bytes, tries to write them, because some
/// file systems report wrong figures.
pub(crate) fn check(dir: &RunDir, room: u64) -> Result<(), StoreError> {
    let is_short = statvfs(dir.path())
        .is_ok_and(|stats| stats.f_blocks > 0 && stats.f_bavail.saturating_mul(stats.f_frsize) < room);
    if !is_short {
        return Ok(());
    }
    let probe = dir.path().join("room.probe");
    let written = replace(&probe, &vec![0; room as usize], Durability::Process);
    // The file exists only if there was room.
    let _ = fs::remove_file(probe);
    match written {
        Err(error) if error.is_disk_full() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
