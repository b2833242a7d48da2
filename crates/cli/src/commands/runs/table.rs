//! Lists of runs for people.

use super::{Row, Standing};
use crate::output::columns::{Column, table};
use crate::output::words;
use crate::when::ago;
use longhaul_core::Moment;

/// The runs, one a line.
pub fn runs(rows: &[Row], now: Moment, width: usize) -> String {
    let mut cells = vec![["id", "state", "began", "worked", "cost", "task"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let run = &row.known;
        let task = match (&row.complaint, &row.name) {
            (Some(complaint), _) => complaint.clone(),
            (None, Some(name)) => format!("{name}: {}", row.task),
            (None, None) => row.task.clone(),
        };
        let worked = run.active.map_or_else(|| "-".to_owned(), |span| span.to_string());
        let state = row.word().to_owned();
        vec![row.id.clone(), state, ago(run.began_at, now), worked, cost(row), task]
    }));
    table(
        &cells,
        &[Column::Left, Column::Left, Column::Left, Column::Right, Column::Right, Column::Last],
        width,
    )
}

fn cost(row: &Row) -> String {
    let at_least = if row.unpriced { ">" } else { "" };
    format!("{at_least}${:.2}", row.total_cost_usd)
}

/// The runs that go on, each with what it does or waits for.
pub fn going_on(rows: &[(Row, String)], now: Moment, width: usize) -> String {
    let mut cells = vec![["id", "state", "began", "cost", "now"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|(row, doing)| {
        let began = ago(row.known.began_at, now);
        vec![row.id.clone(), row.word().to_owned(), began, cost(row), doing.clone()]
    }));
    table(&cells, &[Column::Left, Column::Left, Column::Left, Column::Right, Column::Last], width)
}

/// What a run that is not over waits for, or is doing.
pub fn doing(row: &Row, now: Moment) -> String {
    let why = row.known.fault.map(|fault| format!("{}; ", words::cause(fault))).unwrap_or_default();
    match (row.state, row.known.until) {
        (Standing::Orphaned, _) => {
            format!("nobody supervises it; go on with: longhaul recover {}", row.id)
        }
        (Standing::Waiting, Some(until)) => {
            format!("{why}attempt {} {}", row.attempts + 1, at(until, now))
        }
        (Standing::Waiting, None) => format!("{why}waiting"),
        (Standing::Running, _) => format!("attempt {}", row.attempts.max(1)),
        (Standing::Over, _) => row.word().to_owned(),
        (Standing::Unreadable, _) => row.complaint.clone().unwrap_or_default(),
    }
}

fn at(until: Moment, now: Moment) -> String {
    if until <= now {
        "now".to_owned()
    } else {
        format!("at {} (in {})", words::clock(until), until.since(now))
    }
}
