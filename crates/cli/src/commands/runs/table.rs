//! Lists of runs for people.

use super::{Row, RowState};
use crate::output::columns::{Column, painted};
use crate::output::paint::{Meaning, Paint};
use crate::output::{clock, words};
use crate::when::ago;
use longhaul_core::{Moment, OutcomeKind};

// Where both lists have the state.
const STATE: usize = 1;

/// The runs, one a line.
pub fn runs(rows: &[Row], now: Moment, width: usize, paint: Paint) -> String {
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
    let columns = [Column::Left, Column::Left, Column::Left, Column::Right, Column::Right, Column::Last];
    painted(&cells, &columns, width, paint, |row, place| {
        (place == STATE).then(|| meaning(&rows[row - 1])).flatten()
    })
}

/// What the state of a run means to whoever looks for the ones to see to.
fn meaning(row: &Row) -> Option<Meaning> {
    match (row.state, row.outcome) {
        (RowState::Running, _) => Some(Meaning::Going),
        (RowState::Waiting | RowState::Orphaned, _) => Some(Meaning::Care),
        (RowState::Unreadable, _) => Some(Meaning::Bad),
        (RowState::Over, outcome) => outcome.and_then(outcome_meaning),
    }
}

/// What an outcome means.
pub fn outcome_meaning(outcome: OutcomeKind) -> Option<Meaning> {
    match outcome {
        OutcomeKind::Done => Some(Meaning::Good),
        OutcomeKind::NeedsPerson
        | OutcomeKind::RetryLater
        | OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime => Some(Meaning::Care),
        OutcomeKind::Failed
        | OutcomeKind::CheckFailed
        | OutcomeKind::Refused
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug => Some(Meaning::Bad),
        OutcomeKind::Cancelled => None,
    }
}

fn cost(row: &Row) -> String {
    let at_least = if row.unpriced { ">" } else { "" };
    format!("{at_least}{}", words::dollars(row.total_cost_usd))
}

/// What the attempts that are over cost: of the first one nothing is known yet.
fn cost_so_far(row: &Row) -> String {
    if row.attempts <= 1 && row.total_cost_usd == 0.0 { "-".to_owned() } else { cost(row) }
}

/// The runs that go on, each with what it does or waits for.
pub fn going_on(rows: &[(Row, String)], now: Moment, width: usize, paint: Paint) -> String {
    let mut cells = vec![["id", "state", "began", "cost", "now"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|(row, doing)| {
        let began = ago(row.known.began_at, now);
        vec![row.id.clone(), row.word().to_owned(), began, cost_so_far(row), doing.clone()]
    }));
    let columns = [Column::Left, Column::Left, Column::Left, Column::Right, Column::Last];
    painted(&cells, &columns, width, paint, |row, place| {
        (place == STATE).then(|| meaning(&rows[row - 1].0)).flatten()
    })
}

/// What a run that is not over waits for, or is doing.
pub fn doing(row: &Row, now: Moment) -> String {
    let why = row.known.fault.map(|fault| format!("{}; ", words::cause(fault))).unwrap_or_default();
    match (row.state, row.known.until) {
        (RowState::Orphaned, _) => format!("no supervisor: longhaul recover {}", row.id),
        (RowState::Waiting, Some(until)) => {
            format!("{why}attempt {} {}", row.attempts + 1, at(until, now))
        }
        (RowState::Waiting, None) => format!("{why}waiting"),
        (RowState::Running, _) => format!("attempt {}", row.attempts.max(1)),
        (RowState::Over, _) => row.word().to_owned(),
        (RowState::Unreadable, _) => row.complaint.clone().unwrap_or_default(),
    }
}

fn at(until: Moment, now: Moment) -> String {
    if until <= now {
        "now".to_owned()
    } else {
        format!("at {} (in {})", clock::coming(until), until.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use longhaul_core::{Fault, OutcomeKind, RunId, Span, Usd};
    use longhaul_store::{JournalMark, LedgerRun, RunState};

    const NOW: Moment = Moment(1_000_000_000_000);

    fn run(id: &str, minutes_ago: u64) -> LedgerRun {
        LedgerRun {
            id: RunId::from(id),
            day: "2001-09-09".to_owned(),
            dir: "/state/runs/2001-09-09/x".into(),
            name: None,
            agent: "claude".to_owned(),
            model: None,
            project: "/code/one".to_owned(),
            task: "Prove the lemma, and all that follows from it for every prime that is larger than seven"
                .to_owned(),
            state: RunState::Over,
            outcome: Some(OutcomeKind::Done),
            fault: None,
            until: None,
            retry_at: None,
            began_at: Moment(NOW.0 - minutes_ago * 60_000),
            ended_at: Some(NOW),
            active: Some(Span::from_mins(minutes_ago / 2)),
            waiting: Span::ZERO,
            suspended: Span::ZERO,
            attempts: 1,
            reopened: 0,
            cost: Usd(1_230_000),
            cost_estimated: Usd(4_000),
            unpriced: false,
            tokens: 1_000,
            complaint: None,
            journal: JournalMark::default(),
        }
    }

    #[test]
    fn runs_for_people() {
        let named = LedgerRun { name: Some("nightly".to_owned()), unpriced: true, ..run("longname", 90) };
        let failed = LedgerRun {
            outcome: Some(OutcomeKind::NeedsPerson),
            fault: Some(Fault::Auth),
            ..run("bcd", 60 * 24 * 3)
        };
        // Nobody holds the journal of a run that is nowhere.
        let orphaned = LedgerRun { state: RunState::Running, outcome: None, active: None, ..run("fgh", 1) };
        let unreadable = LedgerRun {
            state: RunState::Unreadable,
            outcome: None,
            active: None,
            complaint: Some("read plan /state/plan.json: no such file".to_owned()),
            ..run("jkm", 2)
        };
        let rows: Vec<Row> = [orphaned, unreadable, named, failed].into_iter().map(Row::new).collect();
        expect![[r#"
            id        state         began       worked    cost  task
            fgh       orphaned      1 min ago        -   $1.23  Prove the lemma, and all th…
            jkm       unreadable    2 min ago        -   $1.23  read plan /state/plan.json:…
            longname  done          1 h ago        45m  >$1.23  nightly: Prove the lemma, a…
            bcd       needs_person  3 days ago  1d 12h   $1.23  Prove the lemma, and all th…
        "#]]
        .assert_eq(&runs(&rows, NOW, 80, Paint::plain()));
        let going: Vec<_> = rows.into_iter().take(1).map(|row| (row.clone(), doing(&row, NOW))).collect();
        expect![[r#"
            id   state     began       cost  now
            fgh  orphaned  1 min ago  $1.23  no supervisor: longhaul recover fgh
        "#]]
        .assert_eq(&going_on(&going, NOW, 80, Paint::plain()));
    }
}
