//! Stops the leftover processes of an attempt: every process that belongs to the run.
//!
//! Agents start their tools in separate process sessions, and the tools of a killed agent survive. Stopping
//! the process group is therefore not enough.

use super::run_marker::RunMarker;
use super::system::{ProcessHandle, processes_of};
use rustix::process::{Pid, Signal};
use std::io;
use std::time::Duration;

// SIGTERM is sent in the first rounds, SIGKILL in the later ones.
const TERM_ROUNDS: u32 = 10;
const FAST_ROUNDS: u32 = 100;
const FAST_ROUND: Duration = Duration::from_millis(50);
// A process that waits for a disk or a file server dies only after that has answered. Together, the rounds take a
// minute: systemd kills a service that stops for 90 seconds, unless its unit says otherwise.
const ROUNDS_MAX: u32 = FAST_ROUNDS + 55;
const SLOW_ROUND: Duration = Duration::from_secs(1);

/// Stops every process that carries `marker` and returns their number.
///
/// # Errors
/// Returns an error if a process of the run survives a minute of signals, or if the processes cannot be listed.
pub(crate) async fn sweep(marker: &RunMarker) -> io::Result<u32> {
    sweep_and_count(marker, Vec::new()).await
}

/// Like [`sweep`], but also counts the processes in `stopped`, which were already signalled.
pub(crate) async fn sweep_and_count(marker: &RunMarker, mut stopped: Vec<Pid>) -> io::Result<u32> {
    for round in 0..ROUNDS_MAX {
        let processes = processes_of(marker);
        if processes.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(stopped.len() as u32);
        }
        let signal = if round < TERM_ROUNDS { Signal::TERM } else { Signal::KILL };
        for process in processes.iter().flatten() {
            if !stopped.contains(&process.pid()) {
                stopped.push(process.pid());
            }
            process.signal(signal);
        }
        tokio::time::sleep(if round < FAST_ROUNDS { FAST_ROUND } else { SLOW_ROUND }).await;
    }
    let alive = processes_of(marker)?;
    if alive.is_empty() {
        return Ok(stopped.len() as u32);
    }
    let pids: Vec<String> = alive.iter().map(|process| process.pid().to_string()).collect();
    Err(io::Error::other(format!("processes of run {} cannot be stopped: {}", marker.run(), pids.join(", "))))
}

pub(crate) fn processes_with(marker: &RunMarker) -> Vec<Pid> {
    processes_of(marker).iter().flatten().map(ProcessHandle::pid).collect()
}

impl RunMarker {
    /// Returns the PIDs of the run's live processes, except that of this process.
    pub fn processes(&self) -> Vec<u32> {
        processes_with(self).into_iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect()
    }
}
