//! `longhaul runs`: lists runs, newest first. It reads the ledger and, for unfinished runs, whether a
//! supervisor is attached.

mod activity;
mod row;
pub mod table;

pub use crate::args::RowState;
use crate::args::{GlobalArgs, OutputFormat, RunsArgs, StateFilter};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page;
use crate::output::phrases::counted;
use crate::{open_home, open_ledger, output};
pub use activity::{activity, working};
use longhaul_store::{RunFilter, RunState};
pub use row::Row;
use serde::Serialize;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

// Newer runs fit on a screen or two; a pipe receives all.
const SCREEN_RUNS_MAX: u64 = 30;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunsOutput<'a> {
    /// The runs, newest first.
    runs: &'a [Row],
    /// Whether more runs match than were listed.
    more: bool,
}

pub fn runs(global: &GlobalArgs, args: &RunsArgs) -> Result<u8, Failure> {
    let limit = limit(args);
    let filter = filter(args, limit);
    let mut ledger = open_ledger::open(&open_home::locate()?)?;
    let found = ledger.runs(&filter)?;
    let mut rows: Vec<Row> =
        found.into_iter().map(Row::new).filter(|row| matches_state(&args.state, row)).collect();
    let more = limit.is_some_and(|limit| rows.len() as u64 > limit);
    if let Some(limit) = limit {
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    match output::format(global) {
        OutputFormat::Text => {
            if !rows.is_empty() {
                let now = output::now();
                let rows: Vec<_> = rows.iter().map(|row| (row, activity(row, now))).collect();
                page(global, &table::runs(&rows, now, output::width(), Colors::stdout()));
            }
            match rows.is_empty() {
                true if lists_all(args) => output::print_status("no runs yet; `longhaul run` starts one"),
                true => output::print_status("no run matches; `longhaul runs` lists all runs"),
                false if more => {
                    let listed = counted(rows.len() as u64, "run");
                    output::print_status(&format!("the newest {listed}; --all lists all"));
                }
                false => {}
            }
        }
        format => output::print_json(format, &RunsOutput { runs: &rows, more }),
    }
    Ok(0)
}

/// Returns the maximum number of runs to list. Only a terminal has a default limit, because a program must
/// not miss runs.
fn limit(args: &RunsArgs) -> Option<u64> {
    let screen_limit = || (!args.all && output::out::stdout_is_terminal()).then_some(SCREEN_RUNS_MAX);
    args.limit.map(NonZeroU64::get).or_else(screen_limit)
}

fn lists_all(args: &RunsArgs) -> bool {
    let RunsArgs { text, state, since, project, agent, session, limit: _, all: _ } = args;
    state.is_empty()
        && since.is_none()
        && [text.is_some(), project.is_some(), agent.is_some(), session.is_some()] == [false; 4]
}

fn filter(args: &RunsArgs, limit: Option<u64>) -> RunFilter {
    // The ledger does not know whether a supervisor is attached, so the rows of a state are counted later.
    let has_states = args.state.iter().any(|state| matches!(state, StateFilter::State(_)));
    let mut filter = RunFilter {
        since: args.since,
        project: args.project.as_deref().map(project),
        agent: args.agent.clone(),
        session: args.session.clone(),
        text: args.text.clone(),
        // One more, to see whether there are more.
        limit: limit.filter(|_| !has_states).map(|limit| limit.saturating_add(1)),
        ..RunFilter::default()
    };
    for state in &args.state {
        match state {
            StateFilter::State(state) => filter.states.extend(stored_states(*state)),
            StateFilter::Outcome(kind) => {
                filter.states.push(RunState::Finished);
                // Unfinished runs have no outcome.
                filter.outcomes.extend((!has_states).then_some(*kind));
            }
        }
    }
    filter
}

/// Returns the states in the ledger, which does not know whether a supervisor is attached.
fn stored_states(state: RowState) -> &'static [RunState] {
    match state {
        RowState::Running => &[RunState::Running],
        RowState::Waiting => &[RunState::Waiting],
        RowState::Suspended => &[RunState::Suspended],
        RowState::Orphaned => &[RunState::Running, RunState::Waiting],
        RowState::Unreadable => &[RunState::Unreadable],
        RowState::Finished => &[RunState::Finished],
    }
}

/// Returns a project directory in the form that runs store. The directory may no longer exist.
pub fn project(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    fs::canonicalize(&absolute).unwrap_or(absolute).display().to_string()
}

/// Returns whether a row is in one of the requested states. Rows know whether a supervisor is attached.
fn matches_state(states: &[StateFilter], row: &Row) -> bool {
    let matches = |state: &StateFilter| match state {
        StateFilter::State(state) => row.state == *state,
        StateFilter::Outcome(kind) => row.entry.outcome == Some(*kind),
    };
    states.is_empty() || states.iter().any(matches)
}
