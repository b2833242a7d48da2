//! Ends what an attempt left behind: every process that carries the run's [`Mark`].
//!
//! Agents put tool children into sessions of their own, and a killed agent's tools live on, so the
//! process group is not enough. A process is named by its pidfd, so that a reused number is never hit.

use super::run_marker::RunMarker;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::{fs, io};

// Politely for this long, then by force.
const POLITE_ROUNDS: u32 = 10;
const ROUNDS_MAX: u32 = 100;
const ROUND: Duration = Duration::from_millis(50);

/// Ends every process that carries `mark` and returns how many there were.
///
/// # Errors
///
/// When some process of the run is still there after five seconds of SIGKILL.
pub async fn sweep(marker: &RunMarker) -> io::Result<u32> {
    sweep_on(marker, Vec::new()).await
}

/// The same, where `ended` were told to end before, and count whether they have by now or not.
///
/// # Errors
///
/// As [`sweep`].
pub(crate) async fn sweep_on(marker: &RunMarker, mut ended: Vec<Pid>) -> io::Result<u32> {
    for round in 0..ROUNDS_MAX {
        let marked = processes_with(marker);
        if marked.is_empty() {
            return Ok(ended.len() as u32);
        }
        let signal = if round < POLITE_ROUNDS { Signal::TERM } else { Signal::KILL };
        for (pid, process) in &marked {
            if !ended.contains(pid) {
                ended.push(*pid);
            }
            // One that is gone by now is what we want.
            let _ = pidfd_send_signal(process, signal);
        }
        tokio::time::sleep(ROUND).await;
    }
    let pids: Vec<String> = ended.iter().map(ToString::to_string).collect();
    Err(io::Error::other(format!("processes of run {} cannot be stopped: {}", marker.run(), pids.join(", "))))
}

/// The live processes that carry it, ours excepted.
pub fn processes_with(marker: &RunMarker) -> Vec<(Pid, OwnedFd)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != getpid() && marker.is_on(*pid))
        .filter_map(|pid| {
            let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            // Asked again through the open handle's time: the number may have changed hands between.
            marker.is_on(pid).then_some((pid, process))
        })
        .collect()
}
