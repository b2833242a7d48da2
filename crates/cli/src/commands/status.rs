//! `longhaul status`: the runs that go on or wait, and those that nobody supervises any more.

mod watch;

use super::runs::{Row, RowState, activity, table};
use crate::args::{GlobalArgs, OutputFormat, StatusArgs};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page;
use crate::{open_home, open_ledger, output};
use longhaul_store::{Home, RunDir, RunFilter, RunState};
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// How many work.
    running: usize,
    /// How many wait.
    waiting: usize,
    /// How many a signal has suspended.
    suspended: usize,
    /// How many have lost their supervisor.
    orphaned: usize,
    /// All of them, the newest first.
    runs: Vec<ActiveRun>,
}

/// A run that is not over.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ActiveRun {
    #[serde(flatten)]
    row: Row,
    /// What it does or waits for, in words.
    activity: String,
    /// Commands that its agent runs in the background.
    background: Vec<String>,
}

impl ActiveRun {
    fn new(row: Row) -> ActiveRun {
        let background = background_of(&row);
        let running =
            (!background.is_empty()).then(|| format!("; in the background: {}", background.join("; ")));
        let now = activity(&row, output::now()).unwrap_or_default() + &running.unwrap_or_default();
        ActiveRun { row, activity: now, background }
    }
}

fn background_of(row: &Row) -> Vec<String> {
    let dir = RunDir::at(row.dir.clone().into()).filter(|_| row.state == RowState::Running);
    // A status that cannot be read is missing here only.
    dir.and_then(|dir| dir.status().ok()).map(|status| status.background).unwrap_or_default()
}

/// Carries out the command and returns its exit code.
pub fn status(global: &GlobalArgs, args: &StatusArgs) -> Result<u8, Failure> {
    if args.watch {
        return watch::watch();
    }
    let now = output::now();
    let runs: Vec<ActiveRun> = unfinished(&open_home::locate()?)?.into_iter().map(ActiveRun::new).collect();
    let count = |state| runs.iter().filter(|going| going.row.state == state).count();
    let status = Status {
        running: count(RowState::Running),
        waiting: count(RowState::Waiting),
        suspended: count(RowState::Suspended),
        orphaned: count(RowState::Orphaned),
        runs,
    };
    match output::format(global) {
        OutputFormat::Text if status.runs.is_empty() => {
            output::print_text("no unfinished runs; `longhaul runs` lists all runs\n")
        }
        OutputFormat::Text => {
            let rows: Vec<_> = status.runs.iter().map(|run| (&run.row, Some(run.activity.clone()))).collect();
            page(global, &table::runs(&rows, now, output::width(), Colors::stdout()));
        }
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&status),
    }
    Ok(0)
}

/// The unfinished runs, the newest first.
fn unfinished(home: &Home) -> Result<Vec<Row>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let states = vec![RunState::Running, RunState::Waiting, RunState::Suspended];
    let found = ledger.runs(&RunFilter { states, ..RunFilter::default() });
    let rows = found.map_err(|error| open_ledger::failure(&error))?.into_iter().map(Row::new);
    // A run may have finished since the ledger was asked.
    Ok(rows.filter(|row| row.state != RowState::Over).collect())
}
