//! The processes of one sandbox: those with a run marker and the sandbox's home in their environment. No
//! other process ever receives a signal. [`of_program`] only lists processes.

use crate::sandbox::Sandbox;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

const ROUNDS_MAX: u32 = 50;
const ROUND: Duration = Duration::from_millis(50);

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub fn matching(sandbox: &Sandbox) -> Vec<Pid> {
    let pids = pids().filter_map(|pid| Pid::from_raw(pid.cast_signed()));
    pids.filter(|pid| belongs_to(*pid, sandbox)).collect()
}

/// Returns the processes of a program whose arguments match, with arguments separated by spaces.
pub fn of_program(program: &Path, is_match: impl Fn(&str) -> bool) -> Vec<u32> {
    let is_of_program = |pid: &u32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program)
            && is_match(&String::from_utf8_lossy(&arguments).replace('\0', " "))
    };
    pids().filter(is_of_program).collect()
}

/// Sends the signal if the process belongs to the sandbox.
pub fn signal(pid: Pid, signal: Signal, sandbox: &Sandbox) {
    // Checked after the handle was opened, so that a reused PID gets no signal.
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
        && belongs_to(pid, sandbox)
    {
        // If the process has exited, the signal is lost, and the table states that the fault was not
        // injected.
        let _ = pidfd_send_signal(process, signal);
    }
}

/// Kills the leftover processes, and returns how many there were.
pub fn end(sandbox: &Sandbox) -> usize {
    let mut remaining = matching(sandbox);
    let count = remaining.len();
    for _ in 0..ROUNDS_MAX {
        if remaining.is_empty() {
            break;
        }
        for pid in remaining {
            signal(pid, Signal::KILL, sandbox);
        }
        sleep(ROUND);
        remaining = matching(sandbox);
    }
    count
}

fn belongs_to(pid: Pid, sandbox: &Sandbox) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
        return false;
    };
    let home = format!("HOME={}", sandbox.home().display());
    let mut variables = environment.split(|byte| *byte == 0);
    variables.clone().any(|variable| variable == home.as_bytes())
        && variables.any(|variable| variable.starts_with(b"LONGHAUL_RUN="))
}
