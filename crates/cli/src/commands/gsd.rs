//! `longhaul gsd`: drives the GSD planning framework. Each command prints one envelope.

mod call;
mod earlier_run;
mod installed;
mod local;
mod phase_commands;
mod phases;
mod projects;
mod registry;
mod slash_command;
mod status;
mod verify_phase;

#[cfg(test)]
pub use registry::RegisteredProject;

use crate::args::{GlobalArgs, GsdArgs, GsdCommand};
use crate::commands::detach;
use crate::failure::{Failure, UNEXPECTED_ERROR, USAGE};
use crate::prompt_arg;
use clap::ArgMatches;
use std::path::Path;

pub fn gsd(global: &GlobalArgs, args: &GsdArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    let result = dispatch(global, args, matches);
    if !args.exit_zero {
        return result;
    }
    match result {
        Ok(_) => Ok(0),
        Err(failure) => {
            let exit_code = if failure.exit_code == USAGE { UNEXPECTED_ERROR } else { 0 };
            Err(Failure { exit_code, ..failure })
        }
    }
}

fn dispatch(global: &GlobalArgs, args: &GsdArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    if args.command.call().is_some_and(|call| call.detach) {
        return detach::start(global);
    }
    if args.command.call().is_some_and(|call| call.detached) {
        detach::leave_terminal();
    }
    let project_dir = prompt_arg::directory(args.project_dir.as_deref().unwrap_or(Path::new(".")))?;
    let (_, matches) = matches.subcommand().expect("clap requires a subcommand");
    match &args.command {
        GsdCommand::NewProject(args) => phase_commands::new_project(global, &project_dir, args, matches),
        GsdCommand::PlanPhase(args) => phase_commands::plan_phase(global, &project_dir, args, matches),
        GsdCommand::ExecutePhase(args) => phase_commands::execute_phase(global, &project_dir, args, matches),
        GsdCommand::Next(args) => phase_commands::next(global, &project_dir, args, matches),
        GsdCommand::Phases(args) => phases::phases(global, &project_dir, args, matches),
        GsdCommand::VerifyPhase(args) => verify_phase::verify_phase(global, &project_dir, args),
        GsdCommand::Status => status::status(global, &project_dir),
        GsdCommand::Projects(command) => projects::projects(global, command),
    }
}
