//! `longhaul gsd`: drives the GSD planning framework. Each command prints one envelope.

mod call;
mod earlier_run;
mod phase_commands;
mod phases;
mod projects;
mod registry;
mod slash_command;
mod status;

pub use earlier_run::{require_newest, unfinished_runs};
#[cfg(test)]
pub use registry::RegisteredProject;

use crate::args::{GlobalArgs, GsdArgs, GsdCommand};
use crate::commands::detach;
use crate::failure::{Failure, UNEXPECTED_ERROR, USAGE};
use crate::next_commands::quoted;
use crate::output::envelope::Envelope;
use crate::{output, prompt_arg};
use call::Caller;
use clap::ArgMatches;
use longhaul_core::Span;
use serde::Serialize;
use std::env;
use std::path::Path;
use std::time::Instant;

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

/// Returns a command line of `longhaul gsd` that works on this project from the present directory.
fn command_line(project_dir: &Path, rest: &str) -> String {
    let is_here = env::current_dir().is_ok_and(|here| here == project_dir);
    let dir = if is_here {
        String::new()
    } else {
        format!(" --project-dir {}", quoted(&project_dir.to_string_lossy()))
    };
    format!("longhaul gsd{dir} {rest}")
}

fn dispatch(global: &GlobalArgs, args: &GsdArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    if let Some(call) = args.command.call()
        && let Some(code) = detach::start_or_leave(global, call.detach)?
    {
        return Ok(code);
    }
    let project_dir = prompt_arg::directory(args.project_dir.as_deref().unwrap_or(Path::new(".")))?;
    let (_, matches) = matches.subcommand().expect("clap requires a subcommand");
    let caller = |args| Caller { global, project_dir: &project_dir, args, matches };
    match &args.command {
        GsdCommand::NewProject(args) => phase_commands::new_project(caller(&args.call), args),
        GsdCommand::PlanPhase(args) => phase_commands::plan_phase(caller(&args.call), args),
        GsdCommand::ExecutePhase(args) => phase_commands::execute_phase(caller(&args.call), args),
        GsdCommand::Next(args) => phase_commands::next(caller(&args.call), args),
        GsdCommand::Phases(args) => phases::phases(caller(&args.call), args),
        GsdCommand::VerifyPhase(args) => status::verify_phase(global, &project_dir, args),
        GsdCommand::Status => status::status(global, &project_dir),
        GsdCommand::Projects(command) => projects::projects(global, command),
    }
}

/// Prints the envelope of a command that calls no model, and returns its exit code.
fn print<T: Serialize + Default>(
    global: &GlobalArgs,
    since: Instant,
    result: T,
    text: impl FnOnce(&T) -> String,
) -> u8 {
    let envelope = Envelope::without_model(result, Span(since.elapsed().as_millis() as u64));
    output::print_envelope(global, &envelope, || text(&envelope.result));
    0
}

fn print_sentence(global: &GlobalArgs, since: Instant, sentence: String) -> u8 {
    print(global, since, Some(sentence), |sentence| format!("{}\n", sentence.as_deref().unwrap_or_default()))
}
