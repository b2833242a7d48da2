//! `longhaul gc`: removes the directories of old finished runs and workflows.
//!
//! Never removes a run that is unfinished, unreadable or stored elsewhere. Removes a run with its own
//! workspace only on request. Removes a run of a workflow only with the whole workflow.

use super::runs::{Row, RowState};
use crate::args::{GcArgs, GlobalArgs};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output::phrases;
use crate::output::table::{Column, table};
use crate::time_arg::ago;
use crate::{open_home, open_ledger, output};
use longhaul_core::{Moment, OutcomeKind, Rfc3339, RunId, Workflow, WorkflowRecord, WorkflowStage};
use longhaul_store::{
    Home, Journal, LedgerEntry, LedgerRun, RunDir, RunFilter, RunState, StoreError, WorkflowDir,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Output of the command.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GcOutput {
    /// Whether nothing was removed. The other fields then describe the plan.
    dry_run: bool,
    /// Removed runs, newest first.
    runs: Vec<Removed>,
    /// Removed workflows, newest first. Their runs are removed with them and are not in `runs`.
    workflows: Vec<RemovedWorkflow>,
    /// Freed disk space in bytes, including leftovers of killed processes.
    bytes: u64,
    /// Number of old runs that are kept, by reason.
    retained: BTreeMap<&'static str, u64>,
    /// Errors that were printed.
    #[serde(skip)]
    failures: BTreeSet<String>,
}

/// A removed workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RemovedWorkflow {
    /// Id of the workflow.
    id: String,
    /// Outcome of the workflow.
    outcome: &'static str,
    /// When the workflow finished.
    ended_at: Rfc3339,
    /// Disk space of the workflow and its runs in bytes.
    bytes: u64,
    /// Number of its runs.
    runs: usize,
}

/// Reason for keeping a run regardless of its age.
const NEWEST: &str = "among the newest";
const ELSEWHERE: &str = "stored elsewhere";
const WORKTREES: &str = "with git worktrees";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Removed {
    /// Id of the run.
    id: String,
    /// Outcome of the run.
    outcome: &'static str,
    /// When the run finished.
    ended_at: Option<Rfc3339>,
    /// Disk space of the directory in bytes.
    bytes: u64,
    /// Start of the task.
    task: String,
}

pub fn gc(global: &GlobalArgs, args: &GcArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let mut ledger = open_ledger::open(&home)?;
    let finished = ledger.runs(&RunFilter { states: vec![RunState::Finished], ..RunFilter::default() })?;
    let unfinished = vec![RunState::Running, RunState::Waiting, RunState::Suspended, RunState::Unreadable];
    let unfinished = ledger.runs(&RunFilter { states: unfinished, ..RunFilter::default() })?;
    let unfinished: BTreeSet<RunId> =
        unfinished.into_iter().filter_map(|run| Some(run.workflow?.id)).collect();
    let now = output::now();
    let mut collected = GcOutput { dry_run: args.dry_run, ..GcOutput::default() };
    for (index, unit) in units(&home, finished)?.into_iter().enumerate() {
        let has_unfinished_run = unit.workflow.as_ref().is_some_and(|dir| unfinished.contains(dir.id()));
        collect(&home, args, (index, now), unit, has_unfinished_run, &mut collected);
    }
    if !args.dry_run {
        let freed = home.remove_leftovers(|error| collected.fail(error))?;
        collected.bytes += freed;
        // Any other reader would update the ledger, too.
        let _ = ledger.catch_up();
    }
    output::print_output(global, &collected, || text(&collected, now));
    Ok(if collected.failures.is_empty() { 0 } else { UNEXPECTED_ERROR })
}

/// A run on its own, or a workflow with its finished runs. Each is kept or removed as a whole.
struct Unit {
    workflow: Option<WorkflowDir>,
    rows: Vec<Row>,
}

/// Returns the finished runs and all workflows, newest first. A run whose workflow is gone is a run on its own.
fn units(home: &Home, finished: Vec<LedgerRun>) -> Result<Vec<Unit>, Failure> {
    let mut workflows: BTreeMap<RunId, (WorkflowDir, Vec<Row>)> = BTreeMap::new();
    for dir in home.workflows_newest_first()? {
        workflows.insert(dir.id().clone(), (dir, Vec::new()));
    }
    let mut units: Vec<(Moment, Unit)> = Vec::new();
    for run in finished {
        let workflow = run.workflow.as_ref().and_then(|position| workflows.get_mut(&position.id));
        let started_at = run.started_at.0;
        match workflow {
            Some((_, rows)) => rows.push(Row::new(run)),
            None => units.push((started_at, Unit { workflow: None, rows: vec![Row::new(run)] })),
        }
    }
    for (dir, rows) in workflows.into_values() {
        // An unreadable workflow is never removed, so its position does not matter.
        let started_at = dir.plan().map_or(Moment(0), |plan| plan.started_at.0);
        units.push((started_at, Unit { workflow: Some(dir), rows }));
    }
    units.sort_by_key(|(started_at, _)| std::cmp::Reverse(*started_at));
    Ok(units.into_iter().map(|(_, unit)| unit).collect())
}

/// Removes a unit, or counts its runs as retained. `position` is its number among the units, newest first, and the
/// current time.
fn collect(
    home: &Home,
    args: &GcArgs,
    (index, now): (usize, Moment),
    Unit { workflow, rows }: Unit,
    has_unfinished_run: bool,
    collected: &mut GcOutput,
) {
    let ended = workflow.as_ref().map(|dir| ended(dir).filter(|_| !has_unfinished_run));
    if ended == Some(None) {
        collected.retain("in an unfinished workflow", rows.len());
        return;
    }
    // A run that was resumed on its own later ends later than its workflow.
    let run_ends = rows.iter().filter_map(|row| row.entry.ended_at).map(|ended| ended.0);
    let ended = ended.flatten();
    let ended_at = run_ends.chain(ended.map(|(ended_at, _)| ended_at)).max().unwrap_or(now);
    if now.since(ended_at) <= args.older_than {
        return;
    }
    // The ledger finds old runs, but only the journal decides on a removal.
    let rows: Vec<Row> =
        rows.iter().map(|row| Row::new(LedgerEntry::read(&row.entry.run_dir()).run)).collect();
    let outcome = ended.map(|(_, outcome)| outcome).or_else(|| rows.first()?.entry.outcome);
    if let Some(reason) = keep_reason(home, args, index, workflow.as_ref(), outcome, &rows) {
        collected.retain(reason, rows.len());
        return;
    }
    let runs: Vec<RunDir> = rows.iter().map(|row| row.entry.run_dir()).collect();
    let removed = match &workflow {
        _ if collected.dry_run => {
            let of_workflow = workflow.as_ref().map_or(0, |dir| dir.disk_bytes());
            Ok(of_workflow + runs.iter().map(|run| run.disk_bytes()).sum::<u64>())
        }
        Some(dir) => home.remove(dir, &runs),
        None => runs.iter().map(|run| home.remove(run, &[])).sum(),
    };
    let bytes = match removed {
        Ok(bytes) => bytes,
        // Another process has just resumed it.
        Err(StoreError::JournalLocked { .. }) => {
            collected.retain("locked by another process", rows.len());
            return;
        }
        Err(error) => {
            collected.fail(error);
            collected.retain("not removable", rows.len());
            return;
        }
    };
    collected.bytes += bytes;
    match (workflow, ended) {
        (Some(dir), Some((ended_at, outcome))) => collected.workflows.push(RemovedWorkflow {
            id: dir.id().to_string(),
            outcome: outcome.as_str(),
            ended_at: ended_at.into(),
            bytes,
            runs: runs.len(),
        }),
        (_, _) => collected.runs.extend(rows.into_iter().map(|row| Removed {
            id: row.entry.id.to_string(),
            outcome: row.state(),
            ended_at: row.entry.ended_at,
            bytes,
            task: row.entry.task,
        })),
    }
}

/// Returns when and how a workflow finished. `None` if it is unfinished or unreadable, or has a supervisor.
fn ended(dir: &WorkflowDir) -> Option<(Moment, OutcomeKind)> {
    let journal = Journal::<WorkflowRecord>::load(&dir.journal_path()).ok()?;
    match Workflow::replay(journal.records()).state().stage {
        WorkflowStage::Finished { at, outcome } if dir.is_outcome_published() => Some((at, outcome.kind)),
        WorkflowStage::New
        | WorkflowStage::Running
        | WorkflowStage::Suspended { .. }
        | WorkflowStage::Finished { .. } => None,
    }
}

fn keep_reason(
    home: &Home,
    args: &GcArgs,
    index: usize,
    workflow: Option<&WorkflowDir>,
    outcome: Option<OutcomeKind>,
    rows: &[Row],
) -> Option<&'static str> {
    let is_named = |kind: &OutcomeKind| {
        outcome == Some(*kind) || rows.iter().any(|row| row.entry.outcome == Some(*kind))
    };
    let any_run = |test: &dyn Fn(&RunDir) -> bool| rows.iter().any(|row| test(&row.entry.run_dir()));
    if workflow.is_some_and(WorkflowDir::has_worktrees) {
        // Its work may not be merged, and its repository still lists it. Only the user can drop it.
        Some(WORKTREES)
    } else if rows.iter().any(|row| row.state != RowState::Finished) {
        Some(if workflow.is_some() { "in an unfinished workflow" } else { "unfinished" })
    } else if index < args.keep_last {
        Some(NEWEST)
    } else if args.keep.iter().any(is_named) {
        Some("kept by --keep")
    } else if any_run(&|run| !run.path().starts_with(home.runs_path())) {
        Some(ELSEWHERE)
    } else if !args.include_workspaces && any_run(&|run| run.workspace_path().exists()) {
        Some("with a workspace of its own")
    } else {
        None
    }
}

impl GcOutput {
    /// Prints an error, once. The other runs do not depend on it.
    fn fail(&mut self, error: StoreError) {
        let failure = Failure::from(error);
        if self.failures.insert(failure.error.clone()) {
            output::print_error(&failure.error, failure.hint.as_deref());
        }
    }

    /// Counts retained runs. A retained workflow may have none.
    fn retain(&mut self, reason: &'static str, runs: usize) {
        if runs > 0 {
            *self.retained.entry(reason).or_default() += runs as u64;
        }
    }
}

fn text(collected: &GcOutput, now: Moment) -> String {
    let mut out = String::new();
    if !collected.runs.is_empty() || !collected.workflows.is_empty() {
        let mut cells = vec![["id", "outcome", "ended", "size", "task"].map(str::to_owned).to_vec()];
        cells.extend(collected.runs.iter().map(|run| {
            vec![
                run.id.clone(),
                run.outcome.to_owned(),
                run.ended_at.map_or_else(String::new, |ended| ago(ended.0, now)),
                phrases::bytes(run.bytes),
                run.task.clone(),
            ]
        }));
        cells.extend(collected.workflows.iter().map(|workflow| {
            vec![
                workflow.id.clone(),
                workflow.outcome.to_owned(),
                ago(workflow.ended_at.0, now),
                phrases::bytes(workflow.bytes),
                format!("workflow with {}", phrases::counted(workflow.runs as u64, "run")),
            ]
        }));
        let columns = [Column::Left, Column::Left, Column::Left, Column::Right, Column::Last];
        out = table(&cells, &columns, output::width()) + "\n";
    }
    let (deleted, freed) =
        if collected.dry_run { ("would be deleted", "would be freed") } else { ("deleted", "freed") };
    let of_workflows: usize = collected.workflows.iter().map(|workflow| workflow.runs).sum();
    let runs = phrases::counted((collected.runs.len() + of_workflows) as u64, "run");
    let workflows = match collected.workflows.len() as u64 {
        0 => String::new(),
        count => format!(" and {}", phrases::counted(count, "workflow")),
    };
    out += &format!("{runs}{workflows} {deleted}, {} {freed}\n", phrases::bytes(collected.bytes));
    for (reason, count) in &collected.retained {
        let note = match *reason {
            NEWEST => " (--keep-last)",
            ELSEWHERE => " (--runs-dir)",
            WORKTREES => " (`longhaul why WORKFLOW` names the commands that merge or drop them)",
            _ => "",
        };
        out += &format!("{count} kept: {reason}{note}\n");
    }
    out
}
