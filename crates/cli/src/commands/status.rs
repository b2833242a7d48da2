//! `longhaul status`: lists the unfinished runs.

mod watch;

use super::runs::{Row, RowState, activity, table};
use crate::args::{GlobalArgs, OutputFormat, StatusArgs};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page;
use crate::{open_home, open_ledger, output};
use longhaul_store::{Home, RunFilter, RunState};
use serde::Serialize;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusOutput {
    /// Number of running runs.
    running: usize,
    /// Number of waiting runs.
    waiting: usize,
    /// Number of suspended runs.
    suspended: usize,
    /// Number of orphaned runs.
    orphaned: usize,
    /// The unfinished runs, newest first.
    runs: Vec<ActiveRun>,
}

/// An unfinished run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ActiveRun {
    #[serde(flatten)]
    row: Row,
    /// Description of the current activity.
    activity: String,
    /// Commands that the agent runs in the background.
    background: Vec<String>,
}

impl ActiveRun {
    fn new(row: Row) -> ActiveRun {
        let background = background_of(&row);
        let suffix =
            (!background.is_empty()).then(|| format!("; in the background: {}", background.join("; ")));
        let activity_text = activity(&row, output::now()).unwrap_or_default() + &suffix.unwrap_or_default();
        ActiveRun { row, activity: activity_text, background }
    }
}

fn background_of(row: &Row) -> Vec<String> {
    let dir = (row.state == RowState::Running).then(|| row.entry.run_dir());
    // An unreadable status only hides the background commands.
    dir.and_then(|dir| dir.status().ok()).map(|status| status.background).unwrap_or_default()
}

pub fn status(global: &GlobalArgs, args: &StatusArgs) -> Result<u8, Failure> {
    if args.watch {
        return watch::watch();
    }
    let now = output::now();
    let runs: Vec<ActiveRun> = unfinished(&open_home::locate()?)?.into_iter().map(ActiveRun::new).collect();
    let count = |state| runs.iter().filter(|run| run.row.state == state).count();
    let status = StatusOutput {
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

fn unfinished(home: &Home) -> Result<Vec<Row>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let states = vec![RunState::Running, RunState::Waiting, RunState::Suspended];
    let found = ledger.runs(&RunFilter { states, ..RunFilter::default() });
    let rows = found?.into_iter().map(Row::new);
    // A run may have finished since the ledger was read.
    Ok(rows.filter(|row| row.state != RowState::Finished).collect())
}
