//! Removes an old finished workflow with all its runs, or keeps all of them.

use super::{GcOutput, NEWEST, RemovedWorkflow};
use crate::args::{GcArgs, StateFilter};
use crate::commands::runs::{Row, RowState};
use crate::failure::Failure;
use longhaul_core::{Moment, Outcome, Workflow, WorkflowRecord, WorkflowStage};
use longhaul_store::{Home, Journal, LedgerEntry, RunDir, StoreError, WorkflowDir};

/// Removes the workflow with these finished runs, or counts them as retained. `position` is its number among the
/// runs and workflows, newest first, and the current time.
pub fn collect(
    home: &Home,
    args: &GcArgs,
    (index, now): (usize, Moment),
    dir: &WorkflowDir,
    rows: Vec<Row>,
    has_unfinished_run: bool,
    collected: &mut GcOutput,
) -> Result<(), Failure> {
    let (ended_at, outcome) = match ended(dir) {
        Some((ended_at, outcome)) if !has_unfinished_run => (ended_at, outcome),
        Some(_) | None => {
            retain(collected, "in an unfinished workflow", rows.len());
            return Ok(());
        }
    };
    // A run that was resumed on its own later ends later than its workflow.
    let last = rows.iter().filter_map(|row| row.entry.ended_at).map(|ended| ended.0).max();
    if now.since(last.unwrap_or(ended_at).max(ended_at)) <= args.older_than {
        return Ok(());
    }
    let rows: Vec<Row> =
        rows.iter().map(|row| Row::new(LedgerEntry::read(&row.entry.run_dir()).run)).collect();
    // A worktree holds work that is not merged, and its repository still lists it. Only the user can drop it.
    let worktrees = dir.has_worktrees().then_some("with git worktrees that are not merged");
    if let Some(reason) = worktrees.or_else(|| keep_reason(home, args, index, outcome, &rows)) {
        retain(collected, reason, rows.len());
        return Ok(());
    }
    let runs: Vec<RunDir> = rows.iter().map(|row| row.entry.run_dir()).collect();
    let bytes = if collected.dry_run {
        dir.disk_bytes() + runs.iter().map(RunDir::disk_bytes).sum::<u64>()
    } else {
        match home.remove_workflow(dir, &runs) {
            Ok(bytes) => bytes,
            // Another process has just resumed the workflow.
            Err(StoreError::JournalLocked { .. }) => {
                retain(collected, "locked by another process", rows.len());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    };
    collected.bytes += bytes;
    collected.workflows.push(RemovedWorkflow {
        id: dir.id().to_string(),
        outcome: outcome.kind.as_str(),
        ended_at: ended_at.into(),
        bytes,
        runs: runs.len(),
    });
    Ok(())
}

/// Returns when and how a workflow finished. `None` if it is unfinished or unreadable, or has a supervisor.
fn ended(dir: &WorkflowDir) -> Option<(Moment, Outcome)> {
    let journal = Journal::<WorkflowRecord>::load(&dir.journal_path()).ok()?;
    let is_published = dir.status().is_ok_and(|status| status.returncode.is_some());
    match Workflow::replay(journal.records()).state().stage {
        WorkflowStage::Finished { at, outcome } if is_published => Some((at, outcome)),
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
    outcome: Outcome,
    rows: &[Row],
) -> Option<&'static str> {
    let is_named = |filter: &StateFilter| match filter {
        StateFilter::Outcome(kind) => *kind == outcome.kind,
        StateFilter::State(state) => *state == RowState::Finished,
    };
    let any_run = |test: &dyn Fn(&RunDir) -> bool| rows.iter().any(|row| test(&row.entry.run_dir()));
    if rows.iter().any(|row| row.state != RowState::Finished) {
        Some("in an unfinished workflow")
    } else if index < args.keep_last {
        Some(NEWEST)
    } else if args.keep.iter().any(is_named) {
        Some("kept by --keep")
    } else if any_run(&|run| !run.path().starts_with(home.runs_path())) {
        Some("stored elsewhere")
    } else if !args.include_workspaces && any_run(&|run| run.workspace_path().exists()) {
        Some("with a workspace of its own")
    } else {
        None
    }
}

/// Counts the runs of a retained workflow, which has at least itself.
fn retain(collected: &mut GcOutput, reason: &'static str, runs: usize) {
    if runs > 0 {
        *collected.retained.entry(reason).or_default() += runs as u64;
    }
}
