//! Recognizes a supervisor that Ctrl-Z or SIGSTOP has frozen. It holds its run, but reacts to no request.

use crate::output;
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
    format!("its supervisor (process {pid}) is frozen by Ctrl-Z or SIGSTOP")
}

/// Reports that a request waits until the supervisor continues.
pub fn print_if_frozen(dir: &Path) {
    if let Some(pid) = frozen_supervisor(dir) {
        output::print_status(&format!("waiting: {}; continue it with `kill -CONT {pid}`", describe(pid)));
    }
}
