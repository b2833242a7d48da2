//! Opens a workflow: creates it, takes it over from a dead supervisor, or resumes it. If it cannot start, nothing
//! is changed.

use super::archon_files::ArchonFiles;
use super::commands::Commands;
use super::driver::{Driver, Live, stop_event};
use super::notifier::WorkflowNotifier;
use super::results::Results;
use super::run_spans::RunSpans;
use super::worktrees::{Worktrees, check_worktrees};
use super::{WorkflowError, WorkflowObserver, WorkflowStart};
use crate::Environment;
use crate::clock::{calendar_now, local_now, random_seed};
use crate::live::RunMarker;
use crate::recover::{orphans, take_lock};
use longhaul_core::{
    CancelSource, ItemState, Moment, OutcomeKind, Run, RunCost, RunId, RunKey, Workflow, WorkflowEvent,
    WorkflowPolicy, WorkflowRecord,
};
use longhaul_store::{Home, Journal, LoadedJournal, StoreError, WorkflowDir, WorkflowPlan, WorkflowSource};
use longhaul_workflow::WorkflowFile;
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) async fn open(
    home: Home,
    environment: Environment,
    start: WorkflowStart,
    observer: &mut dyn WorkflowObserver,
    mut cancels: mpsc::Receiver<CancelSource>,
) -> Result<(Driver<'_>, WorkflowEvent), WorkflowError> {
    let early_stop = cancels.try_recv().ok();
    // A workflow that a user cancels merges nothing into its project, which may be in use or missing.
    let is_cancelled = matches!(start, WorkflowStart::Recover(_))
        && matches!(early_stop, Some(CancelSource::Person | CancelSource::PersonNow));
    let (dir, plan, journal, loaded, first) = match start {
        WorkflowStart::New(plan) => {
            let (dir, plan, journal) = create(&home, *plan)?;
            (dir, plan, journal, LoadedJournal::default(), WorkflowEvent::Started)
        }
        WorkflowStart::Recover(dir) => {
            let (plan, journal, loaded) = take_over(&home, &dir, is_cancelled).await?;
            if !is_cancelled {
                check_project(&plan)?;
            }
            let workflow = Workflow::replay(loaded.records());
            match workflow.state().outcome() {
                Some(outcome) if dir.is_outcome_published() => {
                    return Err(WorkflowError::AlreadyFinished { workflow: dir.id().clone(), outcome });
                }
                None if !is_cancelled => {
                    let runs = current_runs(&home, &dir, &plan, &workflow);
                    check_no_run_works(&dir, &runs, |run| run.item.outcome().is_some())?;
                }
                Some(_) | None => {}
            }
            let first = match loaded.last_step_at() {
                // The supervisor died before its first step.
                None => WorkflowEvent::Started,
                Some(last_step_at) => WorkflowEvent::TakenOver {
                    idle_since: last_activity(&home, &dir, &plan, &loaded, last_step_at),
                },
            };
            (dir, plan, journal, loaded, first)
        }
        WorkflowStart::Attach(dir) => return Err(WorkflowError::Orphaned(dir.id().clone())),
        WorkflowStart::Resume { dir, resume } => {
            let (plan, journal, loaded) = take_over(&home, &dir, false).await?;
            check_project(&plan)?;
            let workflow = Workflow::replay(loaded.records());
            if workflow.state().outcome().is_none() {
                return Err(WorkflowError::NotFinished(dir.id().clone()));
            }
            // They arrived too late to stop the finished workflow.
            dir.requests().clear();
            let (limits, iterations_max) = (resume.limits, resume.iterations_max);
            let runs = current_runs(&home, &dir, &plan, &workflow);
            let repeated = workflow.state().repeated_phases(&plan.policy);
            check_no_run_works(&dir, &runs, |run| repeated.contains(&run.key.phase))?;
            let continued = runs.iter().filter(|run| run.is_continued()).map(|run| run.key).collect();
            let costs = runs.iter().filter_map(CurrentRun::newer_cost).collect();
            let event = WorkflowEvent::Reopened { limits, iterations_max, continued, costs };
            (dir, plan, journal, loaded, event)
        }
    };
    let file = parse(&plan.file, &plan.parameters)?;
    let worktrees = (!is_cancelled && needs_worktrees(&plan.policy))
        .then(|| Worktrees::open(plan.project_dir.as_path(), home.path(), &dir).map(Arc::new))
        .transpose()?;
    observer.on_start(&dir, &plan);
    let marker = RunMarker::new(&dir, &plan.marker);
    let project_dir = plan.project_dir.as_path().to_owned();
    let commands = Commands::new(dir.clone(), project_dir, environment.clone(), marker);
    if !loaded.entries.is_empty() {
        commands.stop_all().await;
    }
    let mut results = Results::default();
    let mut notifier = WorkflowNotifier::new(&dir, &plan, environment.clone());
    let mut spans = RunSpans::default();
    for (_, record) in loaded.records() {
        results.apply(&dir, &plan.policy, record)?;
        spans.apply(record);
        notifier.apply(record);
    }
    let archon = archon_files(&home, &dir, &plan, &file, &loaded, observer);
    let workflow = Workflow::replay(loaded.records());
    let mut live = Live::new(loaded.last_step_at());
    // It comes before everything that the takeover leads to.
    live.events.extend(early_stop.map(stop_event));
    let driver = Driver {
        home,
        environment,
        dir,
        plan,
        file,
        workflow,
        journal,
        commands,
        worktrees,
        results,
        spans,
        notifier,
        archon,
        observer,
        cancels,
        live,
    };
    Ok((driver, first))
}

/// Rebuilds Archon's files, if the workflow keeps them.
fn archon_files(
    home: &Home,
    dir: &WorkflowDir,
    plan: &WorkflowPlan,
    file: &WorkflowFile,
    loaded: &LoadedJournal<WorkflowRecord>,
    observer: &mut dyn WorkflowObserver,
) -> Option<ArchonFiles> {
    let (id, project_dir) = (dir.id().clone(), plan.project_dir.as_path().to_owned());
    let (policy, parameters) = (&plan.policy, file.parameters());
    let mut archon =
        ArchonFiles::new(home.clone(), id, project_dir, file.archon_files()?, policy, parameters);
    for entry in &loaded.entries {
        entry.records.iter().for_each(|record| archon.apply(entry.at, record));
    }
    if let Err(problem) = archon.write_all() {
        observer.on_warning(&problem);
    }
    Some(archon)
}

fn create(
    home: &Home,
    mut plan: WorkflowPlan,
) -> Result<(WorkflowDir, WorkflowPlan, Journal<WorkflowRecord>), WorkflowError> {
    // The files that it names are read now, and never again.
    plan.file.files = parse(&plan.file, &plan.parameters)?.files().clone();
    let now = local_now();
    let _lock = home.lock_project(plan.project_dir.as_path(), None)?;
    if needs_worktrees(&plan.policy) {
        check_worktrees(plan.project_dir.as_path(), home.path())?;
    }
    plan.started_at = Moment(now.timestamp().as_millisecond() as u64).into();
    plan.marker = RunMarker::random();
    plan.runs.iter_mut().for_each(|spec| spec.prompt.clear());
    let (dir, journal) = home.create_workflow(&now.date(), random_seed(), &plan)?;
    Ok((dir, plan, journal))
}

fn parse(source: &WorkflowSource, parameters: &[(String, String)]) -> Result<WorkflowFile, WorkflowError> {
    let WorkflowSource { path, text, files } = source;
    Ok(WorkflowFile::parse_with_files(text, path.as_path(), parameters, files)?)
}

fn needs_worktrees(policy: &WorkflowPolicy) -> bool {
    policy.phases.iter().any(|phase| phase.has_worktrees)
}

type Opened = (WorkflowPlan, Journal<WorkflowRecord>, LoadedJournal<WorkflowRecord>);

/// Opens and locks the journal of a workflow. Waits a moment for a supervisor that was just killed, without the lock of
/// the project: another takeover on this thread would wait for that lock forever.
async fn take_over(home: &Home, dir: &WorkflowDir, is_cancelled: bool) -> Result<Opened, WorkflowError> {
    let plan = dir.trusted_plan()?;
    let (journal, loaded) = take_lock(|| {
        let project_dir = plan.project_dir.as_path();
        let _lock = if is_cancelled { None } else { home.lock_project(project_dir, Some(dir.id()))? };
        Journal::open_append(&dir.journal_path())
    })
    .await?;
    dir.clear_scratch();
    Ok((plan, journal, loaded))
}

/// Returns when the dead supervisor or one of its live runs last wrote a status or sent a heartbeat. The runs work while
/// the workflow waits for them.
fn last_activity(
    home: &Home,
    dir: &WorkflowDir,
    plan: &WorkflowPlan,
    loaded: &LoadedJournal<WorkflowRecord>,
    last_step_at: Moment,
) -> Moment {
    let workflow = Workflow::replay(loaded.records());
    let ids =
        workflow.state().live().map(|(key, _)| key.run_id(dir.id(), &plan.policy.phases[key.phase].name));
    let runs = ids.filter_map(|id| home.run_with_id(&id).ok()?);
    let updated = runs.flat_map(|run| [run.status().ok().map(|status| status.updated_at.0), run.heartbeat()]);
    let now = calendar_now();
    updated.flatten().filter(|at| *at <= now).fold(last_step_at, Moment::max)
}

/// A run of the current iteration, as its own journal describes it now. The user may have resumed it since it ended.
struct CurrentRun<'a> {
    key: RunKey,
    item: &'a ItemState,
    id: RunId,
    run: Run,
    works: bool,
}

/// Returns the runs of the current iteration. It omits runs whose files cannot be read: they are replaced.
fn current_runs<'a>(
    home: &Home,
    dir: &WorkflowDir,
    plan: &WorkflowPlan,
    workflow: &'a Workflow,
) -> Vec<CurrentRun<'a>> {
    let read = |(key, item): (RunKey, &'a ItemState)| {
        let id = key.run_id(dir.id(), &plan.policy.phases[key.phase].name);
        let path = home.run_with_id(&id).ok()??.journal_path();
        let is_supervised = Journal::is_locked(&path).ok()?;
        let run = Run::replay(<Journal>::load(&path).ok()?.records());
        let works = is_supervised && run.state().outcome().is_none();
        Some(CurrentRun { key, item, id, run, works })
    };
    workflow.state().all_items().filter_map(read).collect()
}

impl CurrentRun<'_> {
    /// Returns whether the user has resumed the run on their own, and it is done or unfinished now.
    fn is_continued(&self) -> bool {
        let state = self.run.state();
        let has_failed = state.outcome().is_some_and(|outcome| outcome.kind != OutcomeKind::Done);
        state.is_reopened_by_user && !has_failed
    }

    /// Returns the cost of a run that costs more than when it ended, because the user has resumed it.
    fn newer_cost(&self) -> Option<RunCost> {
        let cost = self.run.state().usage.total_cost();
        (self.item.has_ended && cost > self.item.cost).then_some(RunCost { run: self.key, cost })
    }
}

/// Rejects a workflow of which such a run still works: the workflow does not wait for the run, and two agents would work
/// in one directory.
fn check_no_run_works(
    dir: &WorkflowDir,
    runs: &[CurrentRun<'_>],
    conflicts: impl Fn(&CurrentRun<'_>) -> bool,
) -> Result<(), WorkflowError> {
    match runs.iter().find(|run| run.works && conflicts(run)) {
        Some(run) => Err(WorkflowError::RunWorks { workflow: dir.id().clone(), run: run.id.clone() }),
        None => Ok(()),
    }
}

fn check_project(plan: &WorkflowPlan) -> Result<(), StoreError> {
    let project_dir = plan.project_dir.as_path();
    std::fs::read_dir(project_dir).map(drop).map_err(StoreError::io("open project", project_dir))
}

/// Returns the workflows that have no supervisor and either no outcome or an unpublished one, newest first. It
/// omits workflows whose files cannot be read.
///
/// # Errors
/// Returns an error if the home cannot be read.
pub fn recoverable_workflows(home: &Home) -> Result<Vec<WorkflowDir>, StoreError> {
    Ok(orphans(home.workflows_newest_first()?, |dir, loaded: LoadedJournal<WorkflowRecord>| {
        Workflow::replay(loaded.records()).state().outcome().is_some() && dir.is_outcome_published()
    }))
}

#[cfg(test)]
mod tests;
