//! `longhaul gc`: removes the directories of old finished runs and workflows.
//!
//! Never removes a run that is unfinished, unreadable or stored elsewhere. Removes a run with its own
//! workspace only on request. Removes a run of a workflow only with the whole workflow.

mod workflow;

use super::runs::{Row, RowState};
use crate::args::{GcArgs, GlobalArgs, StateFilter};
use crate::failure::Failure;
use crate::output::phrases;
use crate::output::table::{Column, table};
use crate::time_arg::ago;
use crate::{open_home, open_ledger, output};
use longhaul_core::{Moment, Rfc3339, RunId};
use longhaul_store::{Home, LedgerEntry, LedgerRun, RunFilter, RunState, WorkflowDir};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Output of the command.
#[derive(Debug, Serialize)]
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
    let mut collected = GcOutput {
        dry_run: args.dry_run,
        runs: Vec::new(),
        workflows: Vec::new(),
        bytes: 0,
        retained: BTreeMap::new(),
    };
    for (index, unit) in units(&home, finished)?.into_iter().enumerate() {
        match unit {
            Unit::Run(row) => {
                let ended = row.entry.ended_at.map_or(now, |ended| ended.0);
                if now.since(ended) <= args.older_than {
                    continue;
                }
                // The ledger finds old runs, but only the journal decides on a removal.
                let row = Row::new(LedgerEntry::read(&row.entry.run_dir()).run);
                match keep_reason(&home, args, index, &row) {
                    Some(reason) => *collected.retained.entry(reason).or_default() += 1,
                    None => collect(&home, &row, &mut collected)?,
                }
            }
            Unit::Workflow(dir, rows) => {
                let has_unfinished = unfinished.contains(dir.id());
                workflow::collect(&home, args, (index, now), &dir, rows, has_unfinished, &mut collected)?;
            }
        }
    }
    if !args.dry_run {
        collected.bytes += home.remove_leftovers()?;
        // Any other reader would update the ledger, too.
        let _ = ledger.catch_up();
    }
    output::print_output(global, &collected, || text(&collected, now));
    Ok(0)
}

/// A run on its own, or a workflow with its finished runs. Each is kept or removed as a whole.
enum Unit {
    Run(Box<Row>),
    Workflow(WorkflowDir, Vec<Row>),
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
            None => units.push((started_at, Unit::Run(Box::new(Row::new(run))))),
        }
    }
    for (dir, rows) in workflows.into_values() {
        // An unreadable workflow is never removed, so its position does not matter.
        let started_at = dir.plan().map_or(Moment(0), |plan| plan.started_at.0);
        units.push((started_at, Unit::Workflow(dir, rows)));
    }
    units.sort_by_key(|(started_at, _)| std::cmp::Reverse(*started_at));
    Ok(units.into_iter().map(|(_, unit)| unit).collect())
}

fn keep_reason(home: &Home, args: &GcArgs, index: usize, row: &Row) -> Option<&'static str> {
    let dir = row.entry.run_dir();
    let is_named = |filter: &StateFilter| match filter {
        StateFilter::Outcome(kind) => row.entry.outcome == Some(*kind),
        StateFilter::State(state) => row.state == *state,
    };
    if row.state != RowState::Finished {
        Some("unfinished")
    } else if index < args.keep_last {
        Some(NEWEST)
    } else if args.keep.iter().any(is_named) {
        Some("kept by --keep")
    } else if !dir.path().starts_with(home.runs_path()) {
        Some("stored elsewhere")
    } else if !args.include_workspaces && dir.workspace_path().exists() {
        Some("with a workspace of its own")
    } else {
        None
    }
}

fn collect(home: &Home, row: &Row, collected: &mut GcOutput) -> Result<(), Failure> {
    let dir = row.entry.run_dir();
    let bytes = if collected.dry_run {
        dir.disk_bytes()
    } else {
        match home.remove_run(&dir) {
            Ok(bytes) => bytes,
            // Another process has just resumed the run.
            Err(longhaul_store::StoreError::JournalLocked { .. }) => {
                *collected.retained.entry("locked by another process").or_default() += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    };
    collected.bytes += bytes;
    collected.runs.push(Removed {
        id: row.entry.id.to_string(),
        outcome: row.state(),
        ended_at: row.entry.ended_at,
        bytes,
        task: row.entry.task.clone(),
    });
    Ok(())
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
    let action = if collected.dry_run { "would be removed" } else { "removed" };
    let of_workflows: usize = collected.workflows.iter().map(|workflow| workflow.runs).sum();
    let runs = phrases::counted((collected.runs.len() + of_workflows) as u64, "run");
    let workflows = match collected.workflows.len() as u64 {
        0 => String::new(),
        count => format!(" and {}", phrases::counted(count, "workflow")),
    };
    out += &format!("{runs}{workflows} {action}: {}\n", phrases::bytes(collected.bytes));
    for (reason, count) in &collected.retained {
        let flag = if *reason == NEWEST { " (--keep-last)" } else { "" };
        out += &format!("{count} kept: {reason}{flag}\n");
    }
    out
}
