//! Ends what an attempt left behind: every process that carries the run's mark in its environment.
//!
//! Agents put tool children into sessions of their own, and a killed agent's tools live on, so the
//! process group is not enough. A process is named by its pidfd, so that a reused number is never hit.

use longhaul_core::RunId;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::{fs, io};

/// The environment variable that names the run, and the runs around it, separated by colons.
pub const RUN_MARK: &str = "LONGHAUL_RUN";

// Politely for this long, then by force.
const POLITE_ROUNDS: u32 = 10;
const ROUNDS_MAX: u32 = 100;
const ROUND: Duration = Duration::from_millis(50);

/// Ends every process marked with `run` and returns how many there were.
///
/// # Errors
///
/// When some process of the run is still there after five seconds of SIGKILL.
pub async fn sweep(run: &RunId) -> io::Result<u32> {
    sweep_on(run, Vec::new()).await
}

/// The same, where `ended` were told to end before, and count whether they have by now or not.
///
/// # Errors
///
/// As [`sweep`].
pub(crate) async fn sweep_on(run: &RunId, mut ended: Vec<Pid>) -> io::Result<u32> {
    for round in 0..ROUNDS_MAX {
        let marked = marked(run);
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
    Err(io::Error::other(format!("processes of run {run} cannot be ended: {:?}", ended)))
}

/// The live processes that carry the run's mark, ours excepted.
pub fn marked(run: &RunId) -> Vec<(Pid, OwnedFd)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != getpid() && carries_mark(*pid, run))
        .filter_map(|pid| {
            let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            // Asked again through the open handle's time: the number may have changed hands between.
            carries_mark(pid, run).then_some((pid, process))
        })
        .collect()
}

/// Whether a process carries the run's mark.
pub(crate) fn carries_mark(pid: Pid, run: &RunId) -> bool {
    let runs = variable(pid, RUN_MARK).unwrap_or_default();
    runs.split(|byte| *byte == b':').any(|one| one == run.as_str().as_bytes())
}

/// A variable of a process's environment as it was when its program began.
pub(crate) fn variable(pid: Pid, name: &str) -> Option<Vec<u8>> {
    // A zombie has no environment left, and nothing to end.
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(value.to_owned())
}
