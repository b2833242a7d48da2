//! `longhaul loop`: runs a workflow and supervises it until it finishes.

mod board;
mod dry_run;
mod envelope;
mod phase_run;
mod plan_check;
mod progress;
mod supervise;
mod targets;

#[cfg(test)]
pub use dry_run::LoopDryRun;
pub use dry_run::{ValidateOutput, print as print_dry_run};
#[cfg(test)]
pub use envelope::WorkflowEnvelope;
#[cfg(test)]
pub use progress::WorkflowLine;
pub use supervise::{find, supervise_and_print};
pub use targets::{attach, cancel, recover_one, resume};

use crate::args::{GlobalArgs, LoopArgs, LoopCommand, ValidateArgs};
use crate::commands::run::TypedFlags;
use crate::failure::Failure;
use crate::next_commands::recover_or_cancel;
use crate::{open_home, output, prompt_arg, run_learning};
use clap::ArgMatches;
use longhaul::workflow::{WorkflowStart, check_worktrees, recoverable_workflows};
use longhaul_core::{RunSpec, WorkflowPolicy};
use longhaul_store::{Home, WorkflowPlan, WorkflowSource, read_regular_to_string};
use longhaul_workflow::{BUILTINS, LoopOptions, OptionError, WorkflowFile, WorkflowFileError, builtin};
pub use phase_run::OF_WORKFLOW;
use phase_run::PhaseRuns;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Enough for the parts of a run that are no agent: a build or a test of the project.
pub const MEMORY_RESERVE_BYTES: u64 = 500_000_000;

pub fn run(global: &GlobalArgs, args: &LoopArgs, matches: &ArgMatches) -> Result<u8, Failure> {
    match &args.command {
        Some(LoopCommand::Validate(args)) => return validate(args, global),
        Some(LoopCommand::CheckProgress(args)) => return plan_check::check_progress(args, global),
        None => {}
    }
    if let Some(code) = super::detach::start_or_leave(global, args.detach)? {
        return Ok(code);
    }
    let path = args.project.as_deref().unwrap_or(Path::new("."));
    let project_dir = prompt_arg::directory(path).map_err(|failure| Failure {
        hint: Some("name an existing directory after the workflow".to_owned()),
        ..failure
    })?;
    let mut typed = TypedFlags::read(matches, &OF_WORKFLOW);
    // The working directory of all runs.
    typed.set("cwd", &project_dir);
    let plan = prepare(args, &typed, project_dir)?;
    if args.dry_run {
        if plan.policy.phases.iter().any(|phase| phase.has_worktrees) {
            check_worktrees(plan.project_dir.as_path(), open_home::locate()?.path())?;
        }
        return print_dry_run(&plan, global);
    }
    let home = open_home::open()?;
    warn_of_orphan(&home, plan.project_dir.as_path());
    run_learning::warn_if_unusable(plan.runs.iter().filter_map(|run| run.learn.as_ref()));
    supervise_and_print(global, &home, WorkflowStart::New(Box::new(plan)))
}

/// Checks everything that can be wrong before a model is called.
fn prepare(args: &LoopArgs, typed: &TypedFlags, project_dir: PathBuf) -> Result<WorkflowPlan, Failure> {
    let path = args.file.as_deref().unwrap_or(Path::new(""));
    let source = read_source(path)?;
    let parameters = args.all_parameters();
    let file = WorkflowFile::parse(&source.text, source.path.as_path(), &parameters)?;
    let mut policy = file.policy(&LoopOptions {
        from: args.from.clone(),
        only: args.only.clone(),
        skip: args.all_skipped(),
        iterations_max: args.max_iterations.map(Into::into),
        parallel_max: args.max_parallel.map(Into::into),
        serial: args.serial,
        budget: args.budget,
        time: args.time_limit,
    })?;
    file.check_project(&project_dir)?;
    let has_limit = policy.limits.budget.is_some() || policy.limits.time.is_some();
    let PhaseRuns { runs, origins, notify } = PhaseRuns::resolve(&file, &source, typed, has_limit)?;
    let runs = plan_check::with_checks(&file, &policy, runs)?;
    adopt_limits(&mut policy, &runs);
    let source = WorkflowSource { files: file.files().clone(), ..source };
    Ok(WorkflowPlan {
        name: args.name.clone(),
        parameters,
        focus: args.focus.clone(),
        memory_reserve: args.memory_reserve.or(file.memory_reserve()).unwrap_or(MEMORY_RESERVE_BYTES),
        origins,
        notify,
        ..WorkflowPlan::new(project_dir, source, policy, runs)
    })
}

/// Gives each phase the limits of its runs, which may also come from the user's configuration.
pub fn adopt_limits(policy: &mut WorkflowPolicy, runs: &[RunSpec]) {
    for (phase, run) in policy.phases.iter_mut().zip(runs) {
        (phase.budget, phase.time) = (run.policy.limits.budget, run.policy.limits.time);
    }
}

/// Reads a workflow file, or a built-in one if there is no such file.
fn read_source(path: &Path) -> Result<WorkflowSource, Failure> {
    let (path, text) = match read_regular_to_string(path) {
        Ok(text) => (std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), text),
        Err(error) => {
            let name = path.to_string_lossy();
            let builtin = builtin(&name).filter(|_| error.kind() == std::io::ErrorKind::NotFound);
            let Some(text) = builtin else {
                let names: Vec<&str> = BUILTINS.iter().map(|(name, _)| *name).collect();
                return Err(Failure::usage(
                    format!("cannot read workflow {name}: {error}"),
                    format!("name a workflow file, or a built-in workflow: {}", names.join(", ")),
                ));
            };
            (PathBuf::from(name.as_ref()), text.to_owned())
        }
    };
    Ok(WorkflowSource { path: path.into(), text, files: BTreeMap::new() })
}

impl From<WorkflowFileError> for Failure {
    fn from(error: WorkflowFileError) -> Failure {
        let (text, hint) = (error.to_string(), error.hint().to_owned());
        let (text, hint) = match error.option() {
            None => (text, hint),
            Some(OptionError::From(name)) => (format!("--from {name}: {text}"), hint),
            Some(OptionError::Only(name)) => (format!("--only {name}: {text}"), hint),
            Some(OptionError::Skip(name)) => (format!("--skip {name}: {text}"), hint),
            Some(OptionError::SkipsAll) => ("--skip names every phase of the workflow".to_owned(), hint),
            Some(OptionError::UnknownParameter(name)) => (format!("--set {name}: {text}"), hint),
            Some(OptionError::MissingParameter(name)) => (text, format!("pass it: `--set {name}=TEXT`")),
        };
        Failure::usage(text, hint)
    }
}

fn validate(args: &ValidateArgs, global: &GlobalArgs) -> Result<u8, Failure> {
    let source = read_source(&args.file)?;
    let file = WorkflowFile::parse(&source.text, source.path.as_path(), &args.parameters)?;
    phase_run::check_settings(&file)?;
    // A file can be valid although a required parameter is not set yet.
    let validated = ValidateOutput {
        description: file.description().map(str::to_owned),
        phases: file.phases().iter().map(|phase| phase.name.clone()).collect(),
        parameters: file.parameters().clone(),
    };
    output::print_output(global, &validated, || file.graph());
    Ok(0)
}

/// Warns of an unfinished workflow of this project, which would continue the same work.
fn warn_of_orphan(home: &Home, project_dir: &Path) {
    let is_here = |plan: WorkflowPlan| plan.project_dir.as_path() == project_dir;
    let orphaned = recoverable_workflows(home).unwrap_or_default();
    let orphan = orphaned.iter().find(|dir| dir.plan().is_ok_and(is_here));
    if let Some(id) = orphan.map(|dir| dir.id()) {
        let text = format!("workflow {id} of this directory has not finished");
        output::print_warning(&text, Some(&recover_or_cancel(id)));
    }
}
