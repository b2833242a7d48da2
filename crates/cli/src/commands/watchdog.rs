//! `longhaul watchdog`: started by every supervisor beside its first agent; no person types it. Its three standard
//! streams lead nowhere.

use super::finish_tool;
use super::run::failure;
use crate::args::WatchdogArgs;
use crate::failure::Failure;
use crate::run_learning;
use crate::runtime;
use longhaul::watchdog::watch;
use longhaul::{Environment, RunError, RunRequest};
use longhaul_agent::{AgentSpec, Program};
use longhaul_core::ProcessId;
use longhaul_store::{Plan, RunDir};
use std::env;

/// The hidden subcommand.
const SUBCOMMAND: &str = "watchdog";

/// What surrounds every agent that this program starts: our own variables, and this program as its watchdog and as
/// who serves our tool. Where it does not know its own file there is neither.
pub fn environment() -> Environment {
    let program = |path| Program { path, leading_args: vec![SUBCOMMAND.to_owned()] };
    let watchdog = env::current_exe().ok().map(program);
    Environment {
        watchdog,
        finish_tool: finish_tool::program(),
        hook: run_learning::hook(),
        ..Environment::default()
    }
}

/// A request made of a plan, with what this program offers its agent.
pub fn with_own_programs(request: RunRequest, plan: &Plan) -> RunRequest {
    let environment = environment();
    let finish = environment.finish_tool.clone().filter(|_| plan.finish_tool);
    let learn = environment.learn(plan);
    RunRequest { agent: AgentSpec { finish_tool: finish, learn, ..request.agent }, environment, ..request }
}

/// Carries out the command and returns its exit code.
pub fn watchdog(args: &WatchdogArgs) -> Result<u8, Failure> {
    super::detach::leave_terminal();
    let dir = RunDir::at(args.run_dir.clone()).ok_or_else(|| {
        let error = format!("watch {}: this is not the absolute path of a run", args.run_dir.display());
        Failure::usage(error, "longhaul starts its watchdogs itself")
    })?;
    let supervisor = ProcessId { pid: args.supervisor, start_ticks: args.start_ticks };
    let watched = runtime::new()?.block_on(watch(&dir, supervisor));
    watched.map(|_| 0).map_err(|error| failure(RunError::NotStarted(error)))
}
