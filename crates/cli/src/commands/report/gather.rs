//! Collects the inputs of a report: runs and spending from the ledger, activity from the journals, tool calls
//! from the ends of the transcripts.
//!
//! Changes only the ledger.

use super::calls::ToolCalls;
use super::data::{Bounds, RunInput};
use super::run_timeline::RunTimeline;
use crate::failure::Failure;
use crate::next_commands::{next_commands, target};
use crate::output::phrases;
use crate::run_history::{errors_of, live_usage};
use crate::{open_home, open_ledger};
use longhaul_core::{Moment, RunId};
use longhaul_store::{Home, Journal, LedgerEntry, LedgerRun, RunDir, RunFilter, RunState};
use std::collections::BTreeSet;

pub fn one(dir: &RunDir, now: Moment) -> RunInput {
    read(LedgerEntry::read(dir), Bounds::new(1), now)
}

/// Collects the inputs of the runs that were active since this time.
pub fn since(home: &Home, since: Moment, now: Moment) -> Result<Vec<RunInput>, Failure> {
    let filter = RunFilter { active_since: Some(since), ..RunFilter::default() };
    selected(home, &filter, |run| is_still_active(run, since), now)
}

pub fn of_workflow(home: &Home, workflow: &RunId, now: Moment) -> Result<Vec<RunInput>, Failure> {
    let is_of_workflow =
        |run: &LedgerRun| run.workflow.as_ref().is_some_and(|position| position.id == *workflow);
    selected(home, &RunFilter::default(), is_of_workflow, now)
}

pub fn workflows_of(runs: &[RunInput]) -> BTreeSet<RunId> {
    runs.iter().filter_map(|input| Some(input.entry.run.workflow.as_ref()?.id.clone())).collect()
}

fn selected(
    home: &Home,
    filter: &RunFilter,
    is_selected: impl Fn(&LedgerRun) -> bool,
    now: Moment,
) -> Result<Vec<RunInput>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let runs = ledger.runs(filter)?.into_iter().filter(is_selected);
    // Runs that were deleted in the meantime are omitted.
    let entries = runs.filter_map(|run| ledger.entry(&run.id).transpose());
    let entries: Vec<LedgerEntry> = entries.collect::<Result<_, _>>()?;
    let bounds = Bounds::new(entries.len());
    Ok(entries.into_iter().map(|entry| read(entry, bounds, now)).collect())
}

/// Returns whether something happened in an unfinished run since this time, or will happen. Runs that were aborted
/// earlier are omitted. The ledger selects finished runs by their start and their end.
fn is_still_active(run: &LedgerRun, since: Moment) -> bool {
    let written = u64::try_from(run.journal.modified / 1_000_000).unwrap_or_default();
    let last = run.until.map(|until| until.0).max(Some(Moment(written)));
    run.state == RunState::Finished || run.started_at.0 >= since || last >= Some(since) || is_attended(run)
}

fn is_attended(run: &LedgerRun) -> bool {
    Journal::is_locked(&run.run_dir().journal_path()).unwrap_or_default()
}

fn read(mut entry: LedgerEntry, bounds: Bounds, now: Moment) -> RunInput {
    let dir = entry.run.run_dir();
    let has_supervisor = entry.run.outcome.is_none() && is_attended(&entry.run);
    let (mut commands, mut errors) = (Vec::new(), Vec::new());
    let mut advice = None;
    let (timeline, hint) = match Journal::load(&dir.journal_path()) {
        Ok(journal) => {
            let history = journal.history();
            // An orphaned run is known up to its last decision.
            if let Ok(plan) = dir.plan() {
                commands = next_commands(&target(&dir), history.run(), &plan.spec);
                advice = phrases::advice_of(history.state(), &plan.spec.agent);
            }
            errors = errors_of(&dir, history.state());
            let until = if has_supervisor { Some(now) } else { journal.last_step_at() };
            let mut timeline = RunTimeline::new(&history, until.unwrap_or(now));
            if let Some(live) = timeline.attempts.last_mut().filter(|attempt| attempt.ended_at.is_none()) {
                let usage = live_usage(&dir.attempt(live.number));
                (live.cost, live.estimated_cost) = (usage.reported_cost.into(), usage.estimated_cost.into());
            }
            (Some(timeline), None)
        }
        Err(error) => {
            // The ledger may still have data from when the journal was readable.
            (entry.run.state, entry.run.error) = (RunState::Unreadable, Some(error.to_string()));
            (None, open_home::hint(&error))
        }
    };
    let calls = ToolCalls::read(&dir.transcript_path(), bounds.transcript_bytes, bounds.calls);
    RunInput { timeline, has_supervisor, hint, advice, errors, commands, calls, entry }
}
