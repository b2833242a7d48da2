//! Recognizes a supervisor that Ctrl-Z or SIGSTOP has frozen. It holds its run, but reacts to no request.

use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The field of `status.json` of a run and of a workflow.
#[derive(Deserialize)]
struct Supervisor {
    supervisor_pid: u32,
}

/// Returns the PID of the supervisor of a run or workflow that is locked, if that process is frozen.
pub fn frozen_supervisor(dir: &Path) -> Option<u32> {
    let status = fs::read(dir.join("status.json")).ok()?;
    let Supervisor { supervisor_pid } = serde_json::from_slice(&status).ok()?;
    longhaul::is_frozen(supervisor_pid).then_some(supervisor_pid)
}

pub fn describe(pid: u32) -> String {
    format!("the supervisor (process {pid}) is frozen by Ctrl-Z or SIGSTOP")
}

/// Returns what continues a run or workflow that is locked, if its supervisor is frozen.
pub fn hint(dir: &Path) -> Option<String> {
    frozen_supervisor(dir).map(|pid| format!("{}; continue it with `kill -CONT {pid}`", describe(pid)))
}
