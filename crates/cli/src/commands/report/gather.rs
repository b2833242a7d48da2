//! Collects the inputs of a report: runs and spending from the ledger, activity from the journals, tool calls
//! from the ends of the transcripts.
//!
//! Changes only the ledger.

use super::calls::ToolCalls;
use super::data::{Bounds, RunInput};
use super::run_timeline::RunTimeline;
use crate::failure::Failure;
use crate::next_commands::next_commands;
use crate::{open_home, open_ledger};
use longhaul_core::{Moment, RunId};
use longhaul_store::{Home, Journal, LedgerEntry, LedgerRun, RunDir, RunFilter, RunState};

pub fn one(dir: &RunDir, now: Moment) -> RunInput {
    read(LedgerEntry::read(dir), Bounds::new(1), now)
}

/// Collects the inputs of the runs that were active since this time.
pub fn since(home: &Home, since: Moment, now: Moment) -> Result<Vec<RunInput>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let runs = ledger.runs(&RunFilter { active_since: Some(since), ..RunFilter::default() })?;
    let active = runs.into_iter().filter(|run| was_active(run, since));
    // Runs that were deleted in the meantime are omitted.
    let entries = active.filter_map(|run| ledger.entry(&run.id).transpose());
    Ok(read_all(entries.collect::<Result<_, _>>()?, now))
}

/// Collects the inputs of all runs of a workflow.
pub fn of_workflow(home: &Home, workflow: &RunId, now: Moment) -> Result<Vec<RunInput>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let runs = ledger.runs(&RunFilter::default())?.into_iter();
    let runs = runs.filter(|run| run.workflow.as_ref().is_some_and(|position| position.id == *workflow));
    let entries: Vec<LedgerEntry> = runs.map(|run| LedgerEntry::read(&run.run_dir())).collect();
    Ok(read_all(entries, now))
}

/// Returns whether something happened in a run since this time, or will happen. Runs that finished or were
/// aborted earlier are omitted.
fn was_active(run: &LedgerRun, since: Moment) -> bool {
    let written = u64::try_from(run.journal.modified / 1_000_000).unwrap_or_default();
    let last = match run.state {
        RunState::Finished => run.ended_at.map(|ended| ended.0),
        RunState::Running | RunState::Waiting | RunState::Suspended | RunState::Unreadable => {
            run.until.map(|until| until.0).max(Some(Moment(written)))
        }
    };
    run.started_at.0 >= since
        || last.is_some_and(|last| last >= since)
        || run.state != RunState::Finished && is_attended(run)
}

fn is_attended(run: &LedgerRun) -> bool {
    Journal::is_locked(&run.run_dir().journal_path()).unwrap_or_default()
}

fn read_all(entries: Vec<LedgerEntry>, now: Moment) -> Vec<RunInput> {
    let bounds = Bounds::new(entries.len());
    entries.into_iter().map(|entry| read(entry, bounds, now)).collect()
}

fn read(mut entry: LedgerEntry, bounds: Bounds, now: Moment) -> RunInput {
    let dir = entry.run.run_dir();
    let has_supervisor = entry.run.outcome.is_none() && is_attended(&entry.run);
    let mut commands = Vec::new();
    let (timeline, hint) = match Journal::load(&dir.journal_path()) {
        Ok(journal) => {
            let history = journal.history();
            // An orphaned run is known up to its last decision.
            if let Ok(plan) = dir.plan() {
                commands = next_commands(dir.id(), history.run(), &plan.spec);
            }
            let until = if has_supervisor { Some(now) } else { journal.last_step_at() };
            (Some(RunTimeline::new(&history, until.unwrap_or(now))), None)
        }
        Err(error) => {
            // The ledger may still have data from when the journal was readable.
            (entry.run.state, entry.run.error) = (RunState::Unreadable, Some(error.to_string()));
            (None, open_home::hint(&error))
        }
    };
    let calls = ToolCalls::read(&dir.transcript_path(), bounds.transcript_bytes, bounds.calls);
    RunInput { timeline, has_supervisor, hint, commands, calls, entry }
}
