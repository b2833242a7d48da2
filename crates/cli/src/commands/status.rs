//! `longhaul status`: the runs that go on or wait, and those that nobody supervises any more.

use super::runs::{Row, RowState, table};
use crate::args::{Global, OutputFormat};
use crate::failure::Failure;
use crate::output::pager::page;
use crate::output::paint::Paint;
use crate::{home, ledger, output};
use longhaul_store::{RunFilter, RunState};
use serde::Serialize;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// How many work.
    running: usize,
    /// How many wait.
    waiting: usize,
    /// How many have lost their supervisor.
    orphaned: usize,
    /// All of them, the newest first.
    runs: Vec<Going>,
}

/// A run that is not over.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Going {
    #[serde(flatten)]
    row: Row,
    /// What it does or waits for, in words.
    now: String,
}

/// Carries out the command and returns its exit code.
pub fn status(global: &Global) -> Result<u8, Failure> {
    let mut ledger = ledger::open(&home::locate()?)?;
    let states = vec![RunState::Running, RunState::Waiting];
    let found = ledger.runs(&RunFilter { states, ..RunFilter::default() });
    let now = output::now();
    let runs: Vec<Going> = found
        .map_err(|error| ledger::failure(&error))?
        .into_iter()
        .map(Row::new)
        // One may have ended since the ledger was asked.
        .filter(|row| row.state != RowState::Over)
        .map(|row| Going { now: table::doing(&row, now), row })
        .collect();
    let count = |state| runs.iter().filter(|going| going.row.state == state).count();
    let status = Status {
        running: count(RowState::Running),
        waiting: count(RowState::Waiting),
        orphaned: count(RowState::Orphaned),
        runs,
    };
    match output::format(global) {
        OutputFormat::Text if status.runs.is_empty() => {
            output::print_text("no run goes on; `longhaul runs` lists those that are over\n")
        }
        OutputFormat::Text => {
            let rows: Vec<_> = status.runs.into_iter().map(|going| (going.row, going.now)).collect();
            page(global, &table::going_on(&rows, now, output::width(), Paint::stdout()));
        }
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&status),
    }
    Ok(0)
}
