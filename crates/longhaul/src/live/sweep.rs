//! Stops the leftover processes of an attempt: every process that carries the run's [`RunMarker`].
//!
//! Agents start their tools in separate process sessions, and the tools of a killed agent survive. Stopping
//! the process group is therefore not enough. Processes are signalled by pidfd, so that a reused PID is never
//! hit.

use super::run_marker::RunMarker;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::{fs, io};

// SIGTERM is sent in the first rounds, SIGKILL in the later ones.
const TERM_ROUNDS: u32 = 10;
const ROUNDS_MAX: u32 = 100;
const ROUND: Duration = Duration::from_millis(50);

/// Stops every process that carries `marker` and returns their number.
///
/// # Errors
/// Returns an error if a process of the run survives five seconds of signals.
pub async fn sweep(marker: &RunMarker) -> io::Result<u32> {
    sweep_and_count(marker, Vec::new()).await
}

/// Like [`sweep`], but also counts the processes in `stopped`, which were already signalled.
pub(crate) async fn sweep_and_count(marker: &RunMarker, mut stopped: Vec<Pid>) -> io::Result<u32> {
    for round in 0..ROUNDS_MAX {
        let marked = processes_with(marker);
        if marked.is_empty() {
            return Ok(stopped.len() as u32);
        }
        let signal = if round < TERM_ROUNDS { Signal::TERM } else { Signal::KILL };
        for (pid, process) in &marked {
            if !stopped.contains(pid) {
                stopped.push(*pid);
            }
            // A failure means that the process has already exited.
            let _ = pidfd_send_signal(process, signal);
        }
        tokio::time::sleep(ROUND).await;
    }
    let pids: Vec<String> = stopped.iter().map(ToString::to_string).collect();
    Err(io::Error::other(format!("processes of run {} cannot be stopped: {}", marker.run(), pids.join(", "))))
}

/// Returns the live processes that carry the marker, except this process.
pub fn processes_with(marker: &RunMarker) -> Vec<(Pid, OwnedFd)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != getpid() && marker.is_on(*pid))
        .filter_map(|pid| {
            let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            // The marker is checked again after the handle is open, because the PID may have been reused in
            // between.
            marker.is_on(pid).then_some((pid, process))
        })
        .collect()
}
