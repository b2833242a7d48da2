//! `longhaul rerun`: repeats the tasks of earlier runs, one after another, each as a new run in a new session
//! under the same policy.

use super::report::run_health::RunHealth;
use super::runs::project;
use super::supervise::{DisplayOptions, supervise_and_print};
use crate::args::{ChangeArgs, EventsArgs, GlobalArgs, RerunArgs};
use crate::failure::{self, Failure};
use crate::{changes, open_home, open_ledger, output};
use longhaul::{RunRequest, SuperviseError, rerun_request};
use longhaul_core::{Moment, OutcomeKind};
use longhaul_store::{Home, LedgerRun, RunDir, RunFilter, RunState};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

// Covers a night and the evening before it.
const SINCE_MS: u64 = 24 * 3_600_000;

/// Output of `--dry-run`. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RerunPlan {
    /// Tasks to repeat, in order.
    runs: Vec<RerunTarget>,
}

/// A task to repeat.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RerunTarget {
    /// Id of the earlier run.
    id: String,
    /// Working directory of the earlier run and of the new one.
    cwd: String,
    /// The full prompt.
    task: String,
}

pub fn rerun(global: &GlobalArgs, args: &RerunArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dirs = if args.failed {
        failed(&home, args.since)?
    } else {
        args.runs.iter().map(|run| open_home::find_run(&home, run)).collect::<Result<_, _>>()?
    };
    for dir in &dirs {
        check_workspace(dir)?;
    }
    if args.dry_run {
        return print_plan(global, &dirs);
    }
    if dirs.is_empty() {
        output::print_status("no failed tasks to rerun");
    }
    let (is_multiple, mut code) = (dirs.len() > 1, 0);
    let requests = dirs.into_iter().map(|dir| prepare(&args.changes, &dir));
    for request in requests.collect::<Result<Vec<_>, Failure>>()? {
        let display = DisplayOptions::open(global, &EventsArgs::default())?;
        let started = supervise_and_print(global, display, &home, request.into());
        let exit_code = match started {
            // The other tasks do not depend on this one.
            Err(failure) if is_multiple => {
                output::print_error(&failure.error, failure.hint.as_deref());
                failure.exit_code
            }
            started => started?,
        };
        if exit_code != 0 {
            code = if is_multiple { failure::code(OutcomeKind::Incomplete) } else { exit_code };
        }
        // A signal such as Ctrl-C stops the whole sequence.
        if exit_code > 128 {
            return Ok(exit_code);
        }
    }
    Ok(code)
}

fn prepare(args: &ChangeArgs, dir: &RunDir) -> Result<RunRequest, Failure> {
    let plan = dir.plan()?;
    let spec = changes::from_flags(args, &plan.spec, None)?;
    Ok(rerun_request(dir, spec)?)
}

/// Returns the last run of each failed task, oldest first, which is the order of the original requests. Prints the runs
/// that cannot be repeated.
fn failed(home: &Home, since: Option<Moment>) -> Result<Vec<RunDir>, Failure> {
    let since = since.unwrap_or(Moment(output::now().0.saturating_sub(SINCE_MS)));
    let project = Some(project(Path::new(".")));
    let filter = RunFilter { since: Some(since), project, ..RunFilter::default() };
    let runs = open_ledger::open(home)?.runs(&filter)?;
    // A workflow repeats its own runs.
    let runs = runs.into_iter().filter(|run| run.workflow.is_none());
    let mut seen = BTreeSet::new();
    let last = runs.filter(|run| {
        // The ledger has only the beginning of a long task.
        let task = run.run_dir().plan().map_or_else(|_| run.task.clone(), |plan| plan.spec.prompt);
        seen.insert((run.project.clone(), task))
    });
    let mut failed: Vec<RunDir> = last.filter(has_failed).map(|run| run.run_dir()).collect();
    failed.retain(|dir| {
        let skipped = check_workspace(dir).err();
        skipped.iter().for_each(|failure| output::print_warning(&failure.error, failure.hint.as_deref()));
        skipped.is_none()
    });
    failed.reverse();
    Ok(failed)
}

fn has_failed(run: &LedgerRun) -> bool {
    let has_failed = |kind| kind != OutcomeKind::Suspended && RunHealth::of_outcome(kind).is_urgent();
    run.state == RunState::Finished && run.outcome.is_some_and(has_failed)
}

/// Rejects a run whose working directory is missing, or that had its own workspace: a new run would find the results of
/// the old one there.
fn check_workspace(dir: &RunDir) -> Result<(), Failure> {
    if dir.workspace_path().exists() {
        let error = format!("cannot rerun {}: it worked in its own copy of the workspace", dir.id());
        return Err(Failure::usage(error, "start it again with its original command"));
    }
    let path = dir.plan()?.spec.cwd;
    match fs::read_dir(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(SuperviseError::Workspace { path, source }.into()),
    }
}

fn print_plan(global: &GlobalArgs, dirs: &[RunDir]) -> Result<u8, Failure> {
    let targets = dirs.iter().map(|dir| {
        let plan = dir.plan()?;
        let cwd = plan.spec.cwd.display().to_string();
        Ok(RerunTarget { id: dir.id().to_string(), cwd, task: plan.spec.prompt })
    });
    let targets = targets.collect::<Result<Vec<RerunTarget>, Failure>>()?;
    let plan = RerunPlan { runs: targets };
    output::print_output(global, &plan, || {
        let line = |target: &RerunTarget| {
            let task = target.task.split_whitespace().collect::<Vec<_>>().join(" ");
            output::envelope_text::cut(&format!("{}  {}: {task}", target.id, target.cwd), output::width())
                + "\n"
        };
        plan.runs.iter().map(line).collect()
    });
    Ok(0)
}
