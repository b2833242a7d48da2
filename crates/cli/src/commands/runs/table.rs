//! Lists of runs for people.

use super::{Row, RowState};
use crate::output::color::{Colors, Style};
use crate::output::envelope_text::fit;
use crate::output::phrases;
use crate::output::table::{Column, colored_table, hide_columns};
use crate::time_arg::ago;
use longhaul_core::{Moment, OutcomeKind, Usd};

const COLUMNS: [(&str, Column); 6] = [
    ("id", Column::Left),
    ("state", Column::Left),
    ("started", Column::Left),
    ("active", Column::Right),
    ("cost", Column::Right),
    ("task", Column::Last),
];
const STATE: usize = 1;
// A narrow screen loses these columns, in this order, until the task has room.
const DISPENSABLE: [usize; 3] = [3, 4, 2];
// Room for a name and the first words of a task.
const TASK_WIDTH_MIN: usize = 24;
// What a row needs next to its id: the longest state and the first word of a task, with spaces.
const REST_WIDTH: usize = 24;

/// Renders a table of runs. An unfinished run has a second line with its activity.
pub fn runs(rows: &[(&Row, Option<String>)], now: Moment, width: usize, colors: Colors) -> String {
    let mut cells = vec![COLUMNS.map(|(name, _)| name.to_owned()).to_vec()];
    cells.extend(rows.iter().map(|(row, _)| line(row, now, width)));
    let kinds = COLUMNS.map(|(_, kind)| kind);
    let (cells, kinds) = hide_columns(&cells, &kinds, &DISPENSABLE, width, TASK_WIDTH_MIN);
    let table = colored_table(&cells, &kinds, width, colors, |row, column| {
        (column == STATE).then(|| style(rows[row - 1].0)).flatten()
    });
    let mut activities = rows.iter().map(|(_, activity)| activity.as_deref());
    let mut out = String::new();
    for (number, line) in table.lines().enumerate() {
        out += &format!("{line}\n");
        if let Some(activity) = (number > 0).then(|| activities.next().flatten()).flatten() {
            out += &format!("  {}\n", fit(activity, width.saturating_sub(2)));
        }
    }
    out
}

fn line(row: &Row, now: Moment, width: usize) -> Vec<String> {
    let task = || phrases::titled(row.entry.name.as_deref(), &row.entry.task);
    let task = row.entry.error.clone().unwrap_or_else(task);
    let active = row.entry.active.map_or_else(|| "-".to_owned(), |span| span.to_string());
    // The start of an id also selects the run.
    let id = fit(row.entry.id.as_str(), width.saturating_sub(REST_WIDTH));
    let task = phrases::one_line(&task);
    vec![id, row.state().to_owned(), ago(row.entry.started_at.0, now), active, cost(row), task]
}

/// Returns the style of a run's state. It highlights runs that need attention.
fn style(row: &Row) -> Option<Style> {
    match (row.state, row.entry.outcome) {
        (RowState::Running, _) => Some(Style::Hint),
        (RowState::Waiting | RowState::Suspended | RowState::Orphaned, _) => Some(Style::Warning),
        (RowState::Unreadable, _) => Some(Style::Bad),
        (RowState::Finished, outcome) => outcome.and_then(outcome_style),
    }
}

pub fn status_style(word: &str) -> Option<Style> {
    let kind = OutcomeKind::ALL.iter().find(|kind| kind.as_str() == word);
    kind.and_then(|kind| outcome_style(*kind))
}

pub fn outcome_style(outcome: OutcomeKind) -> Option<Style> {
    match outcome {
        OutcomeKind::Done => Some(Style::Good),
        OutcomeKind::NeedsPerson
        | OutcomeKind::Suspended
        | OutcomeKind::RetryLater
        | OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime => Some(Style::Warning),
        OutcomeKind::Failed
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Partial
        | OutcomeKind::Bug => Some(Style::Bad),
        OutcomeKind::Cancelled => None,
    }
}

/// Returns the cost of the attempts that ended. A first attempt that has not ended has none yet.
fn cost(row: &Row) -> String {
    let at_least = if row.entry.unpriced { ">" } else { "" };
    let is_running = matches!(row.state, RowState::Running | RowState::Orphaned);
    if is_running && row.entry.attempts <= 1 && row.total_cost_usd.0 == Usd::ZERO {
        return "-".to_owned();
    }
    format!("{at_least}{}", row.total_cost_usd.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use longhaul_core::{Fault, RunId, Span};
    use longhaul_store::{LedgerRun, RunState};

    const NOW: Moment = Moment(1_000_000_000_000);

    fn run(id: &str, minutes_ago: u64) -> LedgerRun {
        LedgerRun {
            id: RunId::from(id),
            dir: "/state/runs/2001-09-09/x".into(),
            agent: "claude".to_owned(),
            project: "/code/one".to_owned(),
            task: "Prove the lemma, and all that follows from it for every prime that is larger than seven"
                .to_owned(),
            state: RunState::Finished,
            outcome: Some(OutcomeKind::Done),
            started_at: Moment(NOW.0 - minutes_ago * 60_000).into(),
            ended_at: Some(NOW.into()),
            active: Some(Span::from_mins(minutes_ago / 2)),
            attempts: 1,
            cost: Usd(1_230_000).into(),
            estimated_cost: Usd(4_000).into(),
            tokens: 1_000,
            ..LedgerRun::default()
        }
    }

    #[test]
    fn renders_table() {
        let with_name = LedgerRun { name: Some("nightly".to_owned()), unpriced: true, ..run("longname", 90) };
        let failed = LedgerRun {
            outcome: Some(OutcomeKind::NeedsPerson),
            fault: Some(Fault::Auth),
            ..run("bcd", 60 * 24 * 3)
        };
        // No process holds the journal of a run that does not exist.
        let orphaned = LedgerRun { state: RunState::Running, outcome: None, active: None, ..run("fgh", 1) };
        let unreadable = LedgerRun {
            state: RunState::Unreadable,
            outcome: None,
            active: None,
            error: Some("cannot read plan /state/plan.json: no such file".to_owned()),
            ..run("jkm", 2)
        };
        let waiting = LedgerRun {
            state: RunState::Waiting,
            outcome: None,
            active: None,
            name: Some("nightly".to_owned()),
            ..run("mnp", 5)
        };
        let rows: Vec<Row> =
            [orphaned, waiting, unreadable, with_name, failed].into_iter().map(Row::new).collect();
        let activities = ["no supervisor: longhaul recover fgh", "waiting until 15:00:00: rate limited"];
        let activities = activities.map(|text| Some(text.to_owned())).into_iter().chain([None, None, None]);
        let rows: Vec<_> = rows.iter().zip(activities).collect();
        let text = |width| runs(&rows, NOW, width, Colors::plain());
        expect![[r#"
            id        state         started     active    cost  task
            fgh       orphaned      1 min ago        -   $1.23  Prove the lemma, and all th…
              no supervisor: longhaul recover fgh
            mnp       orphaned      5 min ago        -   $1.23  nightly: Prove the lemma, a…
              waiting until 15:00:00: rate limited
            jkm       unreadable    2 min ago        -   $1.23  cannot read plan /state/pla…
            longname  done          1 h ago        45m  >$1.23  nightly: Prove the lemma, a…
            bcd       needs_person  3 days ago  1d 12h   $1.23  Prove the lemma, and all th…
        "#]]
        .assert_eq(&text(80));
        expect![[r#"
            id        state         started     task
            fgh       orphaned      1 min ago   Prove the lemma, and al…
              no supervisor: longhaul recover fgh
            mnp       orphaned      5 min ago   nightly: Prove the lemm…
              waiting until 15:00:00: rate limited
            jkm       unreadable    2 min ago   cannot read plan /state…
            longname  done          1 h ago     nightly: Prove the lemm…
            bcd       needs_person  3 days ago  Prove the lemma, and al…
        "#]]
        .assert_eq(&text(60));
    }

    #[test]
    fn nothing_wraps_at_60_columns() {
        let long = "tell me a very long story ".repeat(9);
        for id in ["a", "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0", &"i".repeat(64)] {
            let row = Row::new(LedgerRun {
                name: Some("n".repeat(64)),
                outcome: Some(OutcomeKind::NeedsPerson),
                cost: Usd(123_456_780_000).into(),
                unpriced: true,
                ..run(id, 60 * 24 * 300)
            });
            let text = runs(&[(&row, Some(long.clone()))], NOW, 60, Colors::plain());
            assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
            assert_eq!(text.lines().count(), 3, "{text}");
        }
    }
}
