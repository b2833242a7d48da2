//! A worker that a hook of a run's agent has started is no part of that run, which would have it ended with everything that
//! carries its mark.

use longhaul::{MARK_VARIABLE, RUN_VARIABLE};
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts this program anew in its own place, without the mark, if it carries one.
pub fn exec_if_marked() {
    if env::var_os(MARK_VARIABLE).is_none() && env::var_os(RUN_VARIABLE).is_none() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1)).env_remove(MARK_VARIABLE).env_remove(RUN_VARIABLE);
    // It only returns where that cannot be done. Then it works as it is: what is queued outlives it.
    let _ = command.exec();
}
