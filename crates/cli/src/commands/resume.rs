//! `longhaul resume`: continues a finished run in its session, or forks a new run from it.

use super::supervise::{DisplayOptions, supervise_and_print, warn_of_neighbor};
use crate::args::{GlobalArgs, ResumeArgs};
use crate::failure::Failure;
use crate::output::lifecycle::Lifecycle;
use crate::output::print_status;
use crate::{changes, limit_flags, open_home, prompt_arg};
use longhaul::{ResumeOptions, RunStart, fork_request};
use longhaul_core::{OutcomeKind, Phase, Policy, ResumeRequest};
use longhaul_store::{Journal, RunDir};

// Default prompt of a fork.
const CONTINUE_PROMPT: &str = "Continue with the task.";

pub fn resume(global: &GlobalArgs, args: &ResumeArgs) -> Result<u8, Failure> {
    if let Some(code) = super::detach::start_or_leave(global, args.detach)? {
        return Ok(code);
    }
    let home = open_home::locate()?;
    let dir = open_home::find_run(&home, &args.run)?;
    let prompt = prompt_arg::read_optional(args.prompt.as_deref(), args.prompt_file.as_deref())?;
    let cwd = args.cwd.as_deref().map(prompt_arg::directory).transpose()?;
    let plan = dir.plan()?;
    let mut spec = changes::from_flags(&args.changes, &plan.spec, cwd)?;
    warn_of_neighbor(&spec.cwd, Some(dir.id()));
    let start: RunStart = if args.fork {
        spec.prompt = match (prompt, args.repeat_task) {
            (Some(text), _) => text,
            (None, true) => spec.prompt,
            (None, false) => {
                check_unfinished(&dir, " --fork")?;
                CONTINUE_PROMPT.to_owned()
            }
        };
        // A fork is a new run, with full limits.
        fork_request(&dir, spec)?.into()
    } else {
        let request = match (prompt, args.repeat_task) {
            (Some(text), _) => ResumeRequest::Prompt(text),
            (None, true) => ResumeRequest::RepeatTask,
            (None, false) => {
                check_unfinished(&dir, "")?;
                print_supervisor_death(&dir)?;
                ResumeRequest::Continue
            }
        };
        require_remaining(&spec.policy, &dir)?;
        let mut options = ResumeOptions::default();
        (options.request, options.spec) = (request, Some(spec));
        RunStart::Resume { dir, options: Box::new(options) }
    };
    let lifecycle = Lifecycle::for_plan(&plan).filter(|_| !global.detached);
    let display = DisplayOptions::open(global, &args.events)?;
    supervise_and_print(global, DisplayOptions { lifecycle, ..display }, &home, start)
}

/// Rejects limits that are already exhausted.
pub fn require_remaining(policy: &Policy, dir: &RunDir) -> Result<(), Failure> {
    limit_flags::require_remaining(dir.id(), &open_home::replay(dir)?, policy, &dir.plan()?.spec.policy)
}

/// Rejects a run that is done, because it needs a new prompt. `fork` is the flag that the user passed.
fn check_unfinished(dir: &RunDir, fork: &str) -> Result<(), Failure> {
    if !is_done(dir)? {
        return Ok(());
    }
    let run = dir.id();
    let session = if fork.is_empty() { "the same session" } else { "a copy of the session" };
    let hint = format!(
        "`longhaul resume {run}{fork} --repeat-task` repeats the task in {session}; to ask for more, pass a PROMPT instead of `--repeat-task`"
    );
    Err(Failure::not_started(format!("cannot resume run {run}: it has finished as done"), hint))
}

/// Reports that an orphaned run is taken over, as by `longhaul recover`.
fn print_supervisor_death(dir: &RunDir) -> Result<(), Failure> {
    let is_locked = Journal::is_locked(&dir.journal_path())?;
    if is_locked {
        return Ok(());
    }
    match &open_home::replay(dir)?.state().phase {
        Phase::Finished { .. } => {}
        Phase::Suspended { .. } => print_status(&format!("run {} was suspended; recovering it", dir.id())),
        _ => print_status(&format!("the supervisor of run {} died; recovering it", dir.id())),
    }
    Ok(())
}

pub fn is_done(dir: &RunDir) -> Result<bool, Failure> {
    Ok(open_home::replay(dir)?.state().outcome().is_some_and(|outcome| outcome.kind == OutcomeKind::Done))
}
