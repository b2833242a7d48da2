//! `longhaul recover`: takes over all orphaned runs.

pub mod env_file;
mod service;
mod unit;

pub use service::{is_enabled, is_installed};

use super::loop_workflow;
use super::runs::{Row, table};
use super::show::print_end;
use super::supervise::{DisplayOptions, supervise, supervise_and_print, supervisor};
use crate::args::{GlobalArgs, RecoverArgs};
use crate::command_flags::check_channels;
use crate::failure::{self, Failure};
use crate::open_home::RunOrWorkflow;
use crate::output::color::Colors;
use crate::output::events::{self, Writer};
use crate::output::lifecycle::Lifecycle;
use crate::output::pager::page;
use crate::output::progress::ProgressDisplay;
use crate::output::{self, print_status};
use crate::run_learning::{destination, start_worker};
use crate::telemetry::TelemetryHandle;
use crate::{open_home, run_learning, runtime};
use longhaul::workflow::{WorkflowStart, recoverable_workflows};
use longhaul::{NoObserver, RunStart, recoverable};
use longhaul_core::{CancelSource, OutcomeKind, Span, Workflow, WorkflowRecord};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::{Home, Journal, JournalDir, LedgerEntry, RunDir, StoreError, WorkflowDir, is_judge_run};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use tokio::task::{JoinSet, LocalSet};

pub fn recover(global: &GlobalArgs, args: &RecoverArgs) -> Result<u8, Failure> {
    if let Some(code) = super::detach::start_or_leave(global, args.detach)? {
        return Ok(code);
    }
    let home = open_home::locate()?;
    if args.install || args.print_service {
        check_channels(&args.notify, None)?;
        let unit = service::unit(&home, args)?;
        return if args.print_service { Ok(service::print(&unit)) } else { service::install(&home, &unit) };
    }
    if args.uninstall {
        return service::uninstall();
    }
    let (workflows, runs) = match &args.run {
        Some(selector) => match target(&home, selector)? {
            RunOrWorkflow::Run(dir) if global.detached => {
                let options = DisplayOptions::open(global, &args.events)?;
                let start = RunStart::Recover { dir, notify: args.notify.commands() };
                return supervise_and_print(global, options, &home, start);
            }
            RunOrWorkflow::Run(run) => (Vec::new(), vec![run]),
            RunOrWorkflow::Workflow(workflow) if !args.list => {
                if args.notify.commands().is_some() {
                    output::print_warning("--notify applies to runs: the workflow keeps its channels", None);
                }
                let start = WorkflowStart::Recover(workflow);
                return loop_workflow::supervise_and_print(global, &home, start);
            }
            RunOrWorkflow::Workflow(workflow) => (vec![workflow], Vec::new()),
        },
        None => {
            let workflows = recoverable_workflows(&home)?;
            let workflows =
                recent(workflows, "workflow ", args.active_within, |dir| workflow_age(&home, dir));
            let runs =
                recoverable(&home)?.into_iter().filter(|run| unfinished_workflow_of(&home, run).is_none());
            // A run of the judge is cancelled at any age.
            let age = |run: &RunDir| if is_judge_run(run) { Span::ZERO } else { run_age(run) };
            (workflows, recent(runs, "", args.active_within, age))
        }
    };
    let mut unreadable = Vec::new();
    if args.run.is_none() {
        unreadable.extend(unreadable_workflows(&home, args.active_within)?);
        unreadable.extend(unreadable_runs(&home, args.active_within)?);
    }
    unreadable.iter().for_each(|failure| output::print_error(&failure.error, failure.hint.as_deref()));
    // No process reads the answer of such a run any more: the next worker asks again.
    let (judge_runs, runs): (Vec<RunDir>, Vec<RunDir>) = runs.into_iter().partition(is_judge_run);
    if args.list {
        let (workflows, runs) = recoverable_of(workflows, runs)?;
        list(&workflows, &runs, global);
        if workflows.is_empty() && runs.is_empty() && unreadable.is_empty() {
            print_status("nothing to recover");
        }
        return Ok(0);
    }
    if !judge_runs.is_empty() {
        runtime::supervise(cancel_judge_runs(&home, &judge_runs))?;
    }
    if args.run.is_none() {
        start_learning(&home);
    }
    if workflows.is_empty() && runs.is_empty() && unreadable.is_empty() {
        print_status("nothing to recover");
    }
    check_channels(&args.notify, None)?;
    let events = events::open(&args.events, global)?;
    let telemetry = TelemetryHandle::start();
    let results = supervise_all(&home, workflows, runs, global, args, events.as_ref(), &telemetry);
    events::close(events);
    telemetry.close();
    let mut exit_codes = results?;
    exit_codes.extend(unreadable.iter().map(|failure| failure.exit_code));
    match exit_codes.as_slice() {
        [only] => Ok(*only),
        all if all.iter().all(|code| *code == 0) => Ok(0),
        _ => Ok(failure::code(OutcomeKind::Incomplete)),
    }
}

/// Cancels orphaned runs of the playbook's judge, so that no process stays and their cost is known.
async fn cancel_judge_runs(home: &Home, runs: &[RunDir]) {
    let (supervisor, mut observer) = (supervisor(home), NoObserver);
    for dir in runs {
        let start = RunStart::Recover { dir: dir.clone(), notify: None };
        let run = supervisor.observe(start, &mut observer);
        run.canceller().cancel_by(CancelSource::PersonNow);
        match run.await {
            Ok(_) => print_status(&format!("cancelled {}: a judge run whose answer is lost", dir.id())),
            Err(error) => {
                output::print_warning(&format!("cannot cancel judge run {}: {error}", dir.id()), None)
            }
        }
    }
}

/// Starts a worker if lessons are due. Runs do not wait for it.
fn start_learning(home: &Home) {
    let paths = LearningPaths::in_home(home.path());
    let Ok(Some(learning)) = LearningDb::open_existing(&paths) else { return };
    let api = destination();
    for judge in JudgeKind::ALL {
        let is_due = learning.has_due(output::now(), &api, *judge).unwrap_or(false);
        if is_due && start_worker(&paths, &api, *judge).is_ok() {
            print_status("learning from past sessions continues in the background: longhaul playbook status");
        }
    }
}

/// Returns the workflows and runs that are unfinished and have no supervisor. A named one may be neither.
fn recoverable_of(
    mut workflows: Vec<WorkflowDir>,
    runs: Vec<RunDir>,
) -> Result<(Vec<WorkflowDir>, Vec<RunDir>), Failure> {
    workflows.retain(|dir| !is_taken_over(dir, dir.is_outcome_published()));
    let mut recoverable = Vec::new();
    for run in runs {
        let is_finished = open_home::replay(&run)?.state().outcome().is_some() && run.is_outcome_published();
        recoverable.extend((!is_taken_over(&run, is_finished)).then_some(run));
    }
    Ok((workflows, recoverable))
}

/// Lists the workflows and runs: one id on each line for programs, a table of runs for people.
fn list(workflows: &[WorkflowDir], runs: &[RunDir], global: &GlobalArgs) {
    workflows.iter().for_each(|workflow| output::print_text(&format!("{}\n", workflow.id())));
    if !output::out::stdout_is_terminal() {
        runs.iter().for_each(|run| output::print_text(&format!("{}\n", run.id())));
    } else if !runs.is_empty() {
        let rows: Vec<Row> = runs.iter().map(|run| Row::new(LedgerEntry::read(run).run)).collect();
        let rows: Vec<_> = rows.iter().map(|row| (row, None)).collect();
        page(global, &table::runs(&rows, output::now(), output::width(), Colors::stdout()));
    }
}

/// Returns the runs or workflows to recover. Those that have been inactive for long are skipped: they may have been
/// abandoned on purpose, and continuing costs money.
fn recent<D: Deref<Target = JournalDir>>(
    all: impl IntoIterator<Item = D>,
    noun: &str,
    active_within: Option<Span>,
    age_of: impl Fn(&D) -> Span,
) -> Vec<D> {
    let is_recent = |dir: &D| {
        let (id, age) = (dir.id(), age_of(dir));
        let is_recent = is_within(age, active_within);
        if !is_recent {
            print_status(&format!(
                "skipped {noun}{id}: it was last active {age} ago; recover it with `longhaul recover {id}`"
            ));
        }
        is_recent
    };
    all.into_iter().filter(is_recent).collect()
}

/// Returns the unfinished workflow that started the run. The supervisor of the workflow continues the run.
pub fn unfinished_workflow_of(home: &Home, run: &RunDir) -> Option<WorkflowDir> {
    let position = run.plan().ok()?.workflow?;
    let workflow = home.find_workflow(position.id.as_str()).ok()??;
    let loaded = Journal::load(&workflow.journal_path()).ok()?;
    Workflow::replay(loaded.records()).state().outcome().is_none().then_some(workflow)
}

/// Returns the run or workflow to recover. A run of an unfinished workflow means the workflow, which needs the run. The
/// path of its directory means the run alone.
fn target(home: &Home, selector: &str) -> Result<RunOrWorkflow, Failure> {
    let found = open_home::find_target(home, selector)?;
    let RunOrWorkflow::Run(run) = &found else { return Ok(found) };
    if selector.contains('/') {
        return Ok(found);
    }
    let Some(workflow) = unfinished_workflow_of(home, run) else { return Ok(found) };
    print_status(&format!("run {} belongs to workflow {}, which is recovered", run.id(), workflow.id()));
    Ok(RunOrWorkflow::Workflow(workflow))
}

/// Returns an error for each recent unfinished run whose journal cannot be read.
fn unreadable_runs(home: &Home, active_within: Option<Span>) -> Result<Vec<Failure>, Failure> {
    let recent = unfinished_runs(home)?.filter(|run| is_within(run_age(run), active_within));
    let errors = recent.filter_map(|run| <Journal>::load(&run.journal_path()).err());
    Ok(errors.map(Failure::from).collect())
}

/// Returns an error for each recent workflow without a published outcome whose plan or journal cannot be read.
pub fn unreadable_workflows(home: &Home, active_within: Option<Span>) -> Result<Vec<Failure>, Failure> {
    let workflows = home.workflows_newest_first()?.into_iter();
    let unfinished = workflows.filter(|dir| !dir.is_outcome_published());
    let recent = unfinished.filter(|dir| is_within(workflow_age(home, dir), active_within));
    let failures = recent.filter_map(|dir| {
        let journal = || Journal::<WorkflowRecord>::load(&dir.journal_path()).err();
        let failure = Failure::from(dir.plan().err().or_else(journal)?);
        Some(Failure { error: format!("workflow {}: {}", dir.id(), failure.error), ..failure })
    });
    Ok(failures.collect())
}

/// Returns the runs without a published outcome, also those whose files cannot be read.
fn unfinished_runs(home: &Home) -> Result<impl Iterator<Item = RunDir> + use<>, StoreError> {
    Ok(home.runs_newest_first()?.filter(|run| !run.is_outcome_published()))
}

/// Returns whether another `recover` took over the run or workflow since it was listed, and prints that.
fn is_taken(noun: &str, dir: &JournalDir, is_finished: bool) -> bool {
    let is_taken = is_taken_over(dir, is_finished);
    if is_taken {
        print_status(&format!("skipped {noun}{}: another process took it over", dir.id()));
    }
    is_taken
}

fn is_taken_over(dir: &JournalDir, is_finished: bool) -> bool {
    is_finished || Journal::is_locked(&dir.journal_path()).unwrap_or(false)
}

fn is_within(age: Span, limit: Option<Span>) -> bool {
    limit.is_none_or(|limit| limit == Span::ZERO || age <= limit)
}

/// Returns the files that a working run writes. Its journal does not grow during an exchange.
fn files_of(run: &RunDir) -> Vec<PathBuf> {
    let attempt = run.attempts().ok().and_then(|mut attempts| attempts.pop());
    let stream = attempt.map(|attempt| attempt.stream_path());
    [run.journal_path(), run.status_path()].into_iter().chain(stream).collect()
}

/// Returns how long ago a run was last active.
fn run_age(run: &RunDir) -> Span {
    age(run, files_of(run))
}

/// Returns how long ago a workflow or one of its runs was last active. Its own files do not change while they work.
fn workflow_age(home: &Home, dir: &WorkflowDir) -> Span {
    let status = dir.status().ok();
    let items = status.iter().flat_map(|status| &status.phases).flat_map(|phase| &phase.items);
    let runs = items.filter_map(|item| home.run_with_id(item.run.as_ref()?).ok()?);
    let files = runs.flat_map(|run| files_of(&run)).chain([dir.journal_path(), dir.status_path()]);
    age(dir, files.collect())
}

/// Returns how long ago one of these files of a run or workflow was last modified.
fn age(dir: &JournalDir, files: Vec<PathBuf>) -> Span {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let newest = files.iter().filter_map(|file| modified(file)).max().or_else(|| modified(dir.path()));
    let age = newest.and_then(|newest| newest.elapsed().ok()).unwrap_or_default();
    Span::from_secs(age.as_secs())
}

/// Supervises all workflows and runs on one thread and prints each envelope when its run finishes. Returns the exit
/// codes.
fn supervise_all(
    home: &Home,
    workflows: Vec<WorkflowDir>,
    runs: Vec<RunDir>,
    global: &GlobalArgs,
    args: &RecoverArgs,
    events: Option<&Writer>,
    telemetry: &TelemetryHandle,
) -> Result<Vec<u8>, Failure> {
    let format = output::format(global);
    let prints_report = !events.is_some_and(Writer::is_on_stdout);
    let is_single = workflows.len() + runs.len() == 1;
    let is_all = args.run.is_none();
    runtime::supervise(LocalSet::new().run_until(async {
        let mut supervised = JoinSet::new();
        for dir in workflows {
            let (home, global) = (home.clone(), global.clone());
            supervised.spawn_local(async move {
                let result = loop_workflow::recover_one(&global, &home, dir.clone()).await;
                let is_skipped =
                    result.is_err() && is_all && is_taken("workflow ", &dir, dir.is_outcome_published());
                if is_skipped { Ok(0) } else { result }
            });
        }
        for dir in runs {
            let supervisor = supervisor(home);
            let (events, telemetry) = (events.map(Writer::queue), telemetry.observer());
            let mut screen = if is_single {
                ProgressDisplay::new(global, true)
            } else {
                ProgressDisplay::prefixed(global, dir.id())
            };
            let lifecycle = dir.plan().ok().and_then(|plan| Lifecycle::for_plan(&plan));
            let start = RunStart::Recover { dir: dir.clone(), notify: args.notify.commands() };
            let global = global.clone();
            supervised.spawn_local(async move {
                let result = supervise(&supervisor, start, &mut screen, format, events, telemetry).await;
                screen.close();
                if result.is_err() && is_all && is_taken("", &dir, dir.is_outcome_published()) {
                    return Ok(0);
                }
                result.iter().for_each(|report| run_learning::queue_sessions(&report.dir));
                lifecycle.iter().for_each(|lifecycle| lifecycle.emit_end(&result));
                result.map(|report| {
                    if prints_report {
                        print_end(&global, &report);
                    }
                    report.outcome.exit_code()
                })
            });
        }
        let mut codes = Vec::new();
        while let Some(result) = supervised.join_next().await {
            let result = result.map_err(|error| Failure::unexpected(error.to_string()))?;
            match result {
                Ok(code) => codes.push(code),
                Err(failure) if is_single => return Err(failure),
                Err(failure) => {
                    output::print_error(&failure.error, failure.hint.as_deref());
                    codes.push(failure.exit_code);
                }
            }
        }
        Ok(codes)
    }))?
}
