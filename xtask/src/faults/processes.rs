//! The processes of one place: those that carry a run's mark and the place's own home in their environment. Nothing
//! else is ever looked at or sent a signal.

use crate::bench::sandbox::Sandbox;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

const ROUNDS_MAX: u32 = 50;
const ROUND: Duration = Duration::from_millis(50);

/// The live processes of the place that belong to a run.
pub fn matching(place: &Sandbox) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| is_of(*pid, place))
        .collect()
}

/// Sends the signal, if the process is one of the place's.
pub fn signal(pid: Pid, signal: Signal, place: &Sandbox) {
    // Asked after the handle was opened, so that a number that changed hands is not hit.
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
        && is_of(pid, place)
    {
        // One that is gone by now was missed; the table says that the fault did not strike.
        let _ = pidfd_send_signal(process, signal);
    }
}

/// Ends whatever is left, after it was counted.
pub fn end(place: &Sandbox) {
    for _ in 0..ROUNDS_MAX {
        let left = matching(place);
        if left.is_empty() {
            return;
        }
        for pid in left {
            signal(pid, Signal::KILL, place);
        }
        sleep(ROUND);
    }
}

fn is_of(pid: Pid, place: &Sandbox) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) else { return false };
    let home = format!("HOME={}", place.home().display());
    let mut variables = environment.split(|byte| *byte == 0);
    variables.clone().any(|variable| variable == home.as_bytes())
        && variables.any(|variable| variable.starts_with(b"LONGHAUL_RUN="))
}
