//! `longhaul gc`: removes the directories of runs that have long been over. Never one that is not over, that cannot be
//! read, that is kept elsewhere, or in which somebody worked, unless that was asked for.

use super::runs::{Row, RowState};
use crate::args::{GcArgs, GlobalArgs, OutputFormat, StateFilter};
use crate::failure::Failure;
use crate::open_home::{self, of_store};
use crate::output::phrases;
use crate::output::table::{Column, table};
use crate::time_arg::ago;
use crate::{open_ledger, output};
use longhaul_core::Moment;
use longhaul_store::{Home, LedgerEntry, RunFilter, RunState};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GcOutput {
    /// Whether nothing was removed: the rest is what would be.
    dry_run: bool,
    /// What was removed, or would be, the newest first.
    runs: Vec<Removed>,
    /// What that frees of the disk, with what earlier removals had left.
    bytes: u64,
    /// How many old runs are kept, by why.
    retained: BTreeMap<&'static str, u64>,
}

/// Why one is kept however old it is.
const NEWEST: &str = "among the newest";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Removed {
    /// The run's id.
    id: String,
    /// How it ended.
    outcome: &'static str,
    /// When it was over.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    ended_at: Option<String>,
    /// What its directory took of the disk.
    bytes: u64,
    /// How its task begins.
    task: String,
    #[serde(skip)]
    ended: Moment,
}

/// Carries out the command and returns its exit code.
pub fn gc(global: &GlobalArgs, args: &GcArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let mut ledger = open_ledger::open(&home)?;
    let filter = RunFilter { states: vec![RunState::Finished], ..RunFilter::default() };
    let over = ledger.runs(&filter).map_err(|error| open_ledger::failure(&error))?;
    let now = output::now();
    let mut collected =
        GcOutput { dry_run: args.dry_run, runs: Vec::new(), bytes: 0, retained: BTreeMap::new() };
    for (place, row) in over.into_iter().map(Row::new).enumerate() {
        let ended = row.known.ended_at.unwrap_or(now);
        if now.since(ended) <= args.older_than {
            continue;
        }
        // The ledger finds them; what is removed for good is a matter of its journal.
        let row = Row::new(LedgerEntry::read(&row.known.run_dir()).run);
        match keep_reason(&home, args, place, &row) {
            Some(why) => *collected.retained.entry(why).or_default() += 1,
            None => collect(&home, &row, ended, &mut collected)?,
        }
    }
    if !args.dry_run {
        collected.bytes += home.remove_leftovers().map_err(|error| of_store(&error))?;
        // The next one who reads it would, too.
        let _ = ledger.catch_up();
    }
    match output::format(global) {
        OutputFormat::Text => output::print_text(&text(&collected, now)),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&collected),
    }
    Ok(0)
}

fn keep_reason(home: &Home, args: &GcArgs, place: usize, row: &Row) -> Option<&'static str> {
    let dir = row.known.run_dir();
    let is_named = |asked: &StateFilter| match asked {
        StateFilter::Outcome(kind) => row.outcome == Some(*kind),
        StateFilter::Finished => row.state == RowState::Over,
        StateFilter::Running
        | StateFilter::Waiting
        | StateFilter::Suspended
        | StateFilter::Orphaned
        | StateFilter::Unreadable => false,
    };
    if row.state != RowState::Over {
        Some("not over, by its journal")
    } else if place < args.keep_last {
        Some(NEWEST)
    } else if args.keep.iter().any(is_named) {
        Some("of an outcome that is kept")
    } else if !dir.path().starts_with(home.runs_path()) {
        Some("kept in a place of its own")
    } else if !args.include_workspaces && dir.workspace_path().exists() {
        Some("with a workspace of its own")
    } else {
        None
    }
}

fn collect(home: &Home, row: &Row, ended: Moment, collected: &mut GcOutput) -> Result<(), Failure> {
    let dir = row.known.run_dir();
    let bytes = if collected.dry_run {
        dir.disk_bytes()
    } else {
        match home.remove_run(&dir) {
            Ok(bytes) => bytes,
            // Somebody has just let it go on.
            Err(longhaul_store::StoreError::JournalLocked { .. }) => {
                *collected.retained.entry("in somebody's hands").or_default() += 1;
                return Ok(());
            }
            Err(error) => return Err(of_store(&error)),
        }
    };
    collected.bytes += bytes;
    collected.runs.push(Removed {
        id: row.id.clone(),
        outcome: row.state(),
        ended_at: row.ended_at.clone(),
        bytes,
        task: row.task.clone(),
        ended,
    });
    Ok(())
}

fn text(collected: &GcOutput, now: Moment) -> String {
    let mut out = String::new();
    if !collected.runs.is_empty() {
        let mut cells = vec![["id", "outcome", "ended", "size", "task"].map(str::to_owned).to_vec()];
        cells.extend(collected.runs.iter().map(|run| {
            vec![
                run.id.clone(),
                run.outcome.to_owned(),
                ago(run.ended, now),
                phrases::bytes(run.bytes),
                run.task.clone(),
            ]
        }));
        let columns = [Column::Left, Column::Left, Column::Left, Column::Right, Column::Last];
        out = table(&cells, &columns, output::width()) + "\n";
    }
    let done = if collected.dry_run { "would be removed" } else { "removed" };
    let runs = if collected.runs.len() == 1 { "run" } else { "runs" };
    out += &format!("{} {runs} {done}: {}\n", collected.runs.len(), phrases::bytes(collected.bytes));
    for (why, count) in &collected.retained {
        let flag = if *why == NEWEST { " (--keep-last)" } else { "" };
        out += &format!("{count} kept: {why}{flag}\n");
    }
    out
}
