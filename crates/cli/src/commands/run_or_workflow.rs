//! `longhaul attach` and `longhaul resume`: find out whether the user means a run or a workflow.

use super::gsd::require_newest;
use super::{attach, detach, loop_workflow, resume};
use crate::args::{AttachArgs, GlobalArgs, ResumeArgs};
use crate::failure::Failure;
use crate::open_home::{self, RunOrWorkflow};
use clap::ArgMatches;

pub fn attach(global: &GlobalArgs, args: &AttachArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Run(dir) => attach::attach(global, &dir, &args.events),
        RunOrWorkflow::Workflow(dir) => loop_workflow::attach(global, &home, dir),
    }
}

pub fn resume(global: &GlobalArgs, args: &ResumeArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Workflow(dir) => match detach::start_or_leave(global, args.detach)? {
            Some(code) => Ok(code),
            None => {
                require_newest(&home, &dir)?;
                loop_workflow::resume(global, args, matches, &home, dir)
            }
        },
        RunOrWorkflow::Run(dir) if args.max_iterations.is_some() => {
            let hint = format!("leave it out: run {} has no iterations", dir.id());
            Err(Failure::usage("`--max-iterations` applies to a workflow, not to a run", hint))
        }
        RunOrWorkflow::Run(_) => resume::resume(global, args),
    }
}
