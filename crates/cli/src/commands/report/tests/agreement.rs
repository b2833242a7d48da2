//! Simulated runs: the history, the state of the core, the ledger, `status.json`, the report, `show` and `why`
//! agree about the attempts, costs, waits and clocks of a run.

use super::super::gather;
use super::*;
use crate::commands::show;
use crate::run_history::{TimelineEvent, timeline};
use longhaul_core::{HistoryEventKind, State};
use longhaul_store::{Home, NewRun, Status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

const SEEDS: u64 = 300;

/// One run in every form.
struct Renderings {
    history: RunHistory,
    /// Time as of which all forms describe the run.
    as_of: Moment,
    ledger: LedgerEntry,
    report: Value,
    show: Value,
}

impl Renderings {
    fn new(home: &Home, seed: u64, records: &[(Moment, Record)]) -> Renderings {
        let day = "2026-09-21".parse().expect("a date");
        let NewRun { dir, mut journal, .. } = home.create_run(&day, seed, &plan("simulated")).expect("a run");
        for (at, record) in records {
            journal.append(*at, slice::from_ref(record)).expect("a step");
        }
        // Without a supervisor, a run is shown as of its last record.
        drop(journal);
        let history = RunHistory::new(records.iter().map(|(at, record)| (*at, record)));
        let last = records.last().map_or(Moment(0), |(at, _)| *at);
        let state = history.state();
        let as_of = if state.outcome().is_some() { state.finished_at } else { last };
        let (run, inputs) = (Some(dir.id().to_string()), vec![gather::one(&dir, last)]);
        let report = ReportData::new(run, None, inputs, Vec::new(), last, &TimeZone::UTC);
        let report = serde_json::to_value(&report.runs[0]).expect("JSON");
        let loaded =
            show::load(&dir, &TimeFormat::utc()).unwrap_or_else(|failure| panic!("{}", failure.error));
        let show = serde_json::to_value(&loaded.show_output).expect("JSON");
        Renderings { history, as_of, ledger: LedgerEntry::read(&dir), report, show }
    }

    fn state(&self) -> &State {
        self.history.state()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Returns the sum of a field over a list, in whole units of a millionth.
fn sum(list: &[Value], field: &str) -> u64 {
    list.iter().map(|item| micros(&item[field])).sum()
}

/// Returns a number in millionths. A missing number counts as zero.
fn micros(value: &Value) -> u64 {
    (value.as_f64().unwrap_or_default() * 1e6).round() as u64
}

fn millis(span: Span) -> u64 {
    span.millis() * 1_000_000
}

fn total(spans: impl Iterator<Item = Span>) -> Span {
    spans.fold(Span::ZERO, |sum, span| sum + span)
}

/// The history adds up to the state of the core.
fn check_history(run: &Renderings) {
    let (history, state) = (&run.history, run.state());
    let clocks = state.clocks_at(run.as_of);
    assert_eq!(history.attempts().len() as u32, state.attempts());
    assert_eq!(total(history.waits().map(|wait| wait.duration(run.as_of))), clocks.waiting);
    let downtime = history.events().iter().map(|event| match event.kind {
        HistoryEventKind::Downtime { duration, in_wait: false, .. } => duration,
        HistoryEventKind::Suspended { until, .. } => until.unwrap_or(run.as_of).since(event.at),
        _ => Span::ZERO,
    });
    assert_eq!(total(downtime), clocks.downtime);
    let usage = history.attempts().iter().map(|attempt| attempt.total_usage());
    assert_eq!(usage.fold(Usage::default(), Usage::plus), state.usage);
    assert_eq!(history.checks().len() as u32, state.checks);
    let finish =
        history.events().iter().rfind(|event| matches!(event.kind, HistoryEventKind::Finished { .. }));
    if let (Some(_), Some(HistoryEventKind::Finished { outcome, clocks, usage })) =
        (state.outcome(), finish.map(|event| event.kind.clone()))
    {
        assert_eq!((Some(outcome), clocks, usage), (state.outcome(), state.clocks, state.usage));
    }
}

fn check_ledger(run: &Renderings) {
    let (state, row) = (run.state(), &run.ledger.run);
    assert_eq!((row.attempts, row.reopen_count), (state.attempts(), state.reopen_count));
    assert_eq!((row.cost.0, row.estimated_cost.0), (state.usage.reported_cost, state.usage.estimated_cost));
    assert_eq!((row.waiting, row.downtime), (state.clocks.waiting, state.clocks.downtime));
    assert_eq!(row.active, row.ended_at.map(|ended_at| state.active(ended_at.0)));
    let spend = run.ledger.spend.values().map(|spend| spend.cost + spend.estimated_cost);
    assert_eq!(spend.fold(Usd::ZERO, |sum, cost| sum + cost), state.usage.total_cost());
    for (row, attempt) in run.ledger.attempts.iter().zip(run.history.attempts()) {
        assert_eq!(row.waited, attempt.completed_wait().unwrap_or_default());
        assert_eq!(row.cost + row.estimated_cost, attempt.usage().total_cost());
    }
}

/// `status.json` has the same totals as the other forms.
fn check_status(run: &Renderings) {
    let (state, row) = (run.state(), &run.ledger.run);
    let status = Status::new(&row.id, run.history.run(), &Preset::Default.policy(), 1, run.as_of);
    assert_eq!((status.attempt, status.resume_generation), (row.attempts, row.reopen_count));
    assert_eq!((status.fault, status.retry_at), (row.fault, row.retry_at));
    assert_eq!((status.total_cost_usd.0, status.usage_of(state)), (row.total_cost(), state.usage));
    assert_eq!(status.returncode, state.outcome().as_ref().map(Outcome::exit_code));
}

fn check_report(run: &Renderings) {
    let (report, state) = (&run.report, run.state());
    assert_eq!(report["attempts_total"], state.attempts());
    let cost = micros(&report["reported_cost_usd"]) + micros(&report["estimated_cost_usd"]);
    assert_eq!(cost, state.usage.total_cost().0);
    let clocks = state.clocks_at(run.as_of);
    assert_eq!(micros(&report["active_ms"]), millis(clocks.active(run.as_of)));
    assert_eq!(micros(&report["wall_ms"]), millis(clocks.wall(run.as_of)));
    let attempts = list(&report["attempts"]);
    if attempts.len() as u32 == state.attempts() {
        assert_eq!(sum(attempts, "waited_ms"), millis(clocks.waiting));
        let cost = ["reported_cost_usd", "estimated_cost_usd", "summary_cost_usd", "review_cost_usd"];
        assert_eq!(cost.map(|field| sum(attempts, field)).iter().sum::<u64>(), state.usage.total_cost().0);
    }
}

fn check_show(run: &Renderings) {
    let (show, state) = (&run.show, run.state());
    let clocks = state.clocks_at(run.as_of);
    let printed = ["wall_ms", "active_ms", "waiting_ms", "downtime_ms"].map(|field| micros(&show[field]));
    let (wall, active) = (clocks.wall(run.as_of), clocks.active(run.as_of));
    assert_eq!(printed, [wall, active, clocks.waiting, clocks.downtime].map(millis));
    assert_eq!(micros(&show["total_cost_usd"]), state.usage.total_cost().0);
    let attempts = list(&show["attempts"]);
    assert_eq!(attempts.len() as u32, state.attempts());
    let summaries: Vec<Value> = attempts.iter().map(|attempt| attempt["summary"].clone()).collect();
    let reviews: Vec<Value> = list(&show["checks"]).iter().map(|check| check["review"].clone()).collect();
    let cost =
        [sum(attempts, "total_cost_usd"), sum(&summaries, "total_cost_usd"), sum(&reviews, "total_cost_usd")];
    let cost: u64 = cost.into_iter().sum();
    assert_eq!(cost, state.usage.total_cost().0);
    assert_eq!(list(&show["checks"]).len() as u32, state.checks);
    let reported = list(&run.report["attempts"]);
    let omitted = attempts.len() - reported.len();
    for (shown, reported) in attempts.iter().skip(omitted).zip(reported) {
        for field in ["number", "fault", "stop_cause", "strategy", "reason", "duration_ms"] {
            assert_eq!(shown[field], reported[field], "{field} of {shown}");
        }
        if !shown["waited_ms"].is_null() {
            assert_eq!(shown["waited_ms"], reported["waited_ms"]);
        }
    }
}

fn check_why(run: &Renderings) {
    let state = run.state();
    let entries = timeline(&run.history, &BTreeMap::new());
    let last = entries.iter().rev().find_map(|entry| match &entry.kind {
        TimelineEvent::Finished { attempts, wall_ms, waiting_ms, downtime_ms, total_cost_usd, .. } => {
            Some((*attempts, [*wall_ms, *waiting_ms, *downtime_ms], *total_cost_usd))
        }
        _ => None,
    });
    if state.outcome().is_some() {
        let clocks = state.clocks;
        let spans = [clocks.wall(run.as_of), clocks.waiting, clocks.downtime];
        assert_eq!(last, Some((state.attempts(), spans, state.usage.total_cost().into())));
    }
}

#[test]
fn all_reports_of_simulated_runs_agree() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let home = Home::open(Some(dir.path().join("home")), |_| None).expect("a home");
    let (mut waits, mut summaries, mut escalations, mut suspensions) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut records = longhaul_sim::journal(seed);
        if seed % 2 == 1 {
            // Half of the runs are read before they finish, between two steps.
            let (last, _) = records[records.len() * (seed as usize % 17) / 17];
            records.retain(|(at, _)| *at <= last);
        }
        let run = Renderings::new(&home, seed, &records);
        let checks = [check_history, check_ledger, check_status, check_report, check_show, check_why];
        let checked = catch_unwind(AssertUnwindSafe(|| checks.iter().for_each(|check| check(&run))));
        assert!(checked.is_ok(), "the reports of seed {seed} disagree");
        let attempts = run.history.attempts();
        waits += run.history.waits().count();
        summaries += attempts.iter().filter(|attempt| attempt.summary.is_some()).count();
        escalations += attempts.iter().filter(|attempt| attempt.stops.len() > 1).count();
        suspensions += attempts.iter().filter(|attempt| attempt.waits.len() > 1).count();
    }
    // The runs contain what the reports could disagree about.
    assert!(
        waits > 100 && summaries > 0 && escalations > 0 && suspensions > 0,
        "{waits} {summaries} {escalations} {suspensions}"
    );
}
