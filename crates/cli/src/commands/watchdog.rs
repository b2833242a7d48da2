//! `longhaul watchdog`: stops an orphaned run's silent agent. Every supervisor starts it together with its
//! first agent.
//!
//! Not for people. Its standard streams are closed.

use super::finish_tool;
use crate::args::WatchdogArgs;
use crate::failure::Failure;
use crate::hints::Hint;
use crate::next_commands::notified_command;
use crate::own_program::subcommand;
use crate::run_learning;
use crate::runtime;
use crate::workflow_next_commands::notified_workflow_command;
use clap::Parser;
use longhaul::Environment;
use longhaul::watchdog::watch;
use longhaul_core::ProcessId;
use longhaul_store::{RunDir, StoreError};
use std::ffi::OsString;

/// Name of the subcommand that a supervisor starts.
pub const SUBCOMMAND: &str = "watchdog";

/// Returns the environment of every agent: this process's variables, and this program as watchdog and as
/// server of the finish tool. Both are missing if the program's own path is unknown.
pub fn environment() -> Environment {
    let mut environment = Environment::default();
    environment.watchdog = subcommand(SUBCOMMAND);
    environment.finish_tool = subcommand(finish_tool::SUBCOMMAND);
    environment.hook = run_learning::hook();
    environment.notified_command = Some(notified_command);
    environment.notified_workflow_command = Some(notified_workflow_command);
    environment.store_hint = Some(StoreError::hint);
    environment
}

pub fn main(args: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = WatchdogArgs::parse_from([OsString::from("longhaul watchdog")].into_iter().chain(args));
    super::detach::leave_terminal();
    let dir = RunDir::from_path(args.run_dir.clone()).ok_or_else(|| {
        let error = format!(
            "cannot watch {}: this is not the absolute path of a run directory",
            args.run_dir.display()
        );
        Failure::usage(error, "longhaul starts its watchdogs itself")
    })?;
    let supervisor = ProcessId { pid: args.supervisor, start_ticks: args.start_ticks };
    runtime::new()?.block_on(watch(&dir, supervisor))?;
    Ok(0)
}
