//! Reports on runs that are built from records.

mod agreement;
mod pages;
mod timelines;
mod workflows;

use super::calls::{CallEnd, ToolCallRow, ToolCalls};
use super::data::{ReportData, RunInput};
use super::run_health::RunHealth;
use super::run_timeline::RunTimeline;
use super::{html, text};
use crate::next_commands::next_commands;
use crate::output::time::TimeFormat;
use expect_test::expect;
use jiff::tz::TimeZone;
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Dollars, Fault, Limit, Moment, Outcome, OutcomeKind, Preset,
    PromptKind, Record, Remedy, RunHistory, RunSpec, SessionPlan, Span, Tokens, Usage, Usd,
};
use longhaul_store::{LedgerEntry, LedgerSpend, Plan, QUARTER_MS, RunDir, RunState};
use std::collections::BTreeMap;

/// 2026-01-01, midnight.
const START: u64 = 1_767_225_600_000;

/// Returns the moment this many seconds after the start.
fn at(seconds: u64) -> Moment {
    Moment(START + seconds * 1_000)
}

fn cents(cents: u64) -> Usd {
    Usd(cents * 10_000)
}

fn usage(reported: u64, estimated: u64) -> Usage {
    Usage {
        tokens: Tokens { input: 1_000, output: 20_000, cache_read: 3_000_000, cache_write: 40 },
        messages: 2,
        reported_cost: cents(reported),
        estimated_cost: cents(estimated),
        ..Usage::default()
    }
}

fn spawn(attempt: u32) -> AttemptPlan {
    AttemptPlan::new(attempt, SessionPlan::New("one".into()), PromptKind::Task)
}

/// Builds a run's records, attempt by attempt.
#[derive(Default)]
struct RunRecords {
    steps: Vec<(Moment, Vec<Record>)>,
    attempts: u32,
}

impl RunRecords {
    fn started() -> RunRecords {
        RunRecords::default().and(0, Record::RunStarted).attempt(0)
    }

    fn and(mut self, seconds: u64, record: Record) -> RunRecords {
        self.steps.push((at(seconds), vec![record]));
        self
    }

    fn attempt(mut self, seconds: u64) -> RunRecords {
        self.attempts += 1;
        let plan = spawn(self.attempts);
        self.and(seconds, Record::AttemptStarted { plan })
    }

    fn progress(self, seconds: u64) -> RunRecords {
        self.and(seconds, Record::ProgressMade { resets_retries: true })
    }

    fn attempt_ended(
        self,
        seconds: u64,
        fault: Option<Fault>,
        usage: Usage,
        next: AfterAttempt,
    ) -> RunRecords {
        let ended = Record::AttemptEnded(AttemptEnd::new(fault, usage, next));
        self.and(seconds, ended).and(seconds, Record::Swept { stopped_processes: 0 })
    }

    /// The attempt fails, and the run waits for this many seconds.
    fn fails(self, seconds: u64, fault: Fault, wait: u64) -> RunRecords {
        let plan = spawn(self.attempts + 1);
        let next = AfterAttempt::Attempt { at: at(seconds + wait), remedy: Remedy::WaitOut, plan };
        self.attempt_ended(seconds, Some(fault), usage(0, 5), next)
    }

    fn finished(self, seconds: u64, fault: Option<Fault>, outcome: Outcome) -> RunRecords {
        self.attempt_ended(seconds, fault, usage(120, 0), AfterAttempt::Finish(outcome))
            .and(seconds, Record::RunFinished { outcome })
    }

    fn history(&self) -> RunHistory {
        let steps = self.steps.iter();
        RunHistory::new(steps.flat_map(|(at, records)| records.iter().map(|record| (*at, record))))
    }

    /// Returns the collected input of the run, this many seconds after the start.
    fn read(&self, id: &str, task: &str, now: u64) -> RunInput {
        let history = self.history();
        let dir = RunDir::from_path(format!("/runs/2026-01-01/{id}").into()).expect("it is absolute");
        let mut entry = LedgerEntry::new(&dir, &plan(task));
        let spent = |cost: Usd, estimated_cost: Usd| LedgerSpend {
            cost,
            estimated_cost,
            unpriced: false,
            tokens: usage(0, 0).tokens,
            truncated: 7,
            messages: 2,
        };
        let mut spend = BTreeMap::<_, LedgerSpend>::new();
        for (at, record) in
            self.steps.iter().flat_map(|(at, records)| records.iter().map(move |record| (*at, record)))
        {
            entry.apply(at, record, &dir);
            if let Record::AttemptEnded(AttemptEnd {
                usage: Usage { reported_cost, estimated_cost, .. },
                ..
            }) = record
            {
                let mut add = |model: &str, usage: LedgerSpend| {
                    *spend.entry((at.0 / QUARTER_MS, model.to_owned())).or_default() += usage;
                };
                add("opus", spent(*reported_cost, *estimated_cost));
                add("haiku", spent(Usd::ZERO, Usd::ZERO));
            }
        }
        entry.spend = spend;
        entry.update_rows();
        let has_supervisor = entry.run.state != RunState::Finished;
        let timeline = Some(RunTimeline::new(&history, at(now)));
        let commands = next_commands(entry.run.id.as_str(), history.run(), &plan("").spec);
        RunInput {
            timeline,
            has_supervisor,
            hint: None,
            advice: None,
            errors: Vec::new(),
            commands,
            calls: calls(),
            entry,
        }
    }
}

fn plan(task: &str) -> Plan {
    let spec = RunSpec::new("claude", "/home/me/project", task, Preset::Drill.policy()).with(|spec| {
        spec.name = Some("nightly".to_owned());
        spec.model = Some("opus".to_owned());
    });
    Plan::new(spec, at(0), "4b1d".to_owned())
}

fn calls() -> ToolCalls {
    let call = |argument: &str, end| ToolCallRow {
        attempt: 1,
        at: Some("2026-01-01T00:00:05.000Z".to_owned()),
        tool: "Bash".to_owned(),
        argument: argument.to_owned(),
        subagent: false,
        result: end,
    };
    ToolCalls {
        last: vec![call("cargo test", CallEnd::Ok), call("git push", CallEnd::Denied)],
        truncated: true,
        exchange_ended: false,
    }
}

fn outcome_of_fault(kind: OutcomeKind, fault: Fault) -> Outcome {
    Outcome::from_fault(kind, fault)
}

/// Six runs, one of each kind.
fn runs() -> Vec<RunInput> {
    let done = RunRecords::started()
        .progress(100)
        .fails(200, Fault::Overloaded, 60)
        .attempt(260)
        .fails(290, Fault::Overloaded, 10)
        .attempt(300)
        .finished(3_600, None, Outcome::DONE);
    let budget = Outcome::from_limit(Limit::Budget, None);
    let mut unreadable = RunRecords::started().read("eee-bad", "something", 9_000);
    (unreadable.timeline, unreadable.has_supervisor) = (None, false);
    (unreadable.entry.run.state, unreadable.entry.run.error) = (
        RunState::Unreadable,
        Some("cannot read journal /runs/2026-01-01/eee-bad/journal.jsonl: line 3 is damaged".to_owned()),
    );
    unreadable.hint = Some("the work is still on record: longhaul handoff --from-transcript x".to_owned());
    let mut orphaned = RunRecords::started().read("fff-left", "carry on", 9_000);
    orphaned.has_supervisor = false;
    vec![
        done.read("aaa-done", "fix the failing tests", 9_000),
       RunRecords::started().finished(30, Some(Fault::Auth), outcome_of_fault(OutcomeKind::NeedsPerson, Fault::Auth)).read(
            "bbb-auth",
            "port the parser to the new grammar, keep every test of it, and write down what has changed for people who use it",
            9_000,
        ),
       RunRecords::started().progress(10).finished(1_800, None, budget).read("ccc-budget", "write the manual", 9_000),
       RunRecords::started().fails(30, Fault::UsageLimit, 20_000).read("ddd-waits", "reproduce the paper", 9_000),
        unreadable,
        orphaned,
    ]
}

fn report_of(inputs: Vec<RunInput>) -> ReportData {
    ReportData::new(None, Some(at(0)), inputs, Vec::new(), at(9_000), &TimeZone::UTC)
}

fn clock() -> TimeFormat {
    TimeFormat::utc()
}

#[test]
fn urgent_runs_come_first() {
    let report = report_of(runs());
    let lines: Vec<_> = report
        .runs
        .iter()
        .map(|run| {
            format!(
                "{} {}: {} | {}",
                run.id,
                run.health.label(),
                run.explanation,
                run.next.as_deref().unwrap_or("-")
            )
        })
        .collect();
    expect![[r#"
        bbb-auth needs a person: the credentials were rejected | longhaul resume bbb-auth
        eee-bad needs a person: cannot read journal /runs/2026-01-01/eee-bad/journal.jsonl: line 3 is damaged | -
        fff-left needs a person: unfinished, without a supervisor | longhaul recover fff-left
        ccc-budget failed: over budget: the budget stopped the run | longhaul resume ccc-budget
        aaa-done done: the work is done | -
        ddd-waits running: waiting: the account's usage limit is reached | -
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn summary_is_sum_of_ledger() {
    let inputs = runs();
    let reported: Usd = inputs.iter().map(|input| input.entry.run.cost.0).sum();
    let estimated: Usd = inputs.iter().map(|input| input.entry.run.estimated_cost.0).sum();
    let waiting: u64 = inputs.iter().map(|input| input.entry.run.waiting.millis()).sum();
    let report = report_of(inputs);
    assert_eq!((report.summary.cost.0, report.summary.estimated_cost.0), (reported, estimated));
    let by_model: (Usd, Usd) = (
        report.models.iter().map(|row| row.cost.0).sum(),
        report.models.iter().map(|row| row.estimated_cost.0).sum(),
    );
    let by_time: (Usd, Usd) = (
        report.spend.iter().map(|bar| bar.cost.0).sum(),
        report.spend.iter().map(|bar| bar.estimated_cost.0).sum(),
    );
    let by_attempt =
        report.runs.iter().flat_map(|run| &run.attempts).map(|attempt| attempt.cost.0).sum::<Usd>();
    assert_eq!((by_model, by_time, by_attempt), ((reported, estimated), (reported, estimated), reported));
    // The ledger contains neither the current wait nor the wasted attempts.
    let current_wait = 9_000 - 30;
    let wasted = report.lost_time.iter().map(|row| row.wasted.millis()).sum::<u64>();
    assert_eq!(report.summary.lost_time.millis(), waiting + current_wait * 1_000 + wasted);
    expect![[r#"
        ReportSummary {
            runs: 6,
            done: 1,
            failed: 1,
            needs_person: 3,
            running: 1,
            cancelled: 0,
            attempts: 8,
            cost: Dollars(
                Usd(
                    3600000,
                ),
            ),
            estimated_cost: Dollars(
                Usd(
                    150000,
                ),
            ),
            unpriced: false,
            cost_before: Dollars(
                Usd(
                    0,
                ),
            ),
            tokens: 18126240,
            active: Span(
                14390000,
            ),
            lost_time: Span(
                9130000,
            ),
        }
    "#]]
    .assert_debug_eq(&report.summary);
}

#[test]
fn earlier_cost_is_separate() {
    let read = RunRecords::started()
        .progress(1)
        .fails(10, Fault::Overloaded, 10_000)
        .attempt(10_010)
        .finished(10_020, None, Outcome::DONE);
    let inputs = vec![read.read("aaa", "t", 10_100)];
    let report = ReportData::new(None, Some(at(9_000)), inputs, Vec::new(), at(10_100), &TimeZone::UTC);
    assert_eq!(report.summary.cost_before.0, cents(5));
    assert_eq!((report.summary.cost.0, report.summary.estimated_cost.0), (cents(120), cents(5)));
}

#[test]
fn empty_report_is_valid() {
    let report = report_of(Vec::new());
    expect![[r#"
        LONGHAUL REPORT
        0 runs active since 2026-01-01 00:00; generated 2026-01-01 02:30.
        Times are UTC.

        SUMMARY
          runs        0, in 0 attempts: 0 done, 0 failed, 0 needs a person, 0 running
          spent       $0 reported by the agent; 0 tokens
          time lost   0s; active 0s

        NEEDS ATTENTION
          Nothing.

        TIME LOST
          None.

        FAULTS
          None.

        RUNS
        There are none.
    "#]]
    .assert_eq(&text::text(&report, &clock()));
    let page = html::page(&report, &clock());
    pages::check(&page);
    let tiles = |word: &str| page.matches(&format!("<dt>{word}</dt>")).count();
    assert_eq!((tiles("Failed"), tiles("Cancelled")), (1, 0), "only cancelled runs may be left out");
}

#[test]
fn text_is_100_columns_wide() {
    let text = text::text(&report_of(runs()), &clock());
    expect_test::expect_file!["tests/report.txt"].assert_eq(&text);
    for line in text.lines().filter(|line| !line.trim_start().starts_with("$ ")) {
        assert!(line.chars().count() <= 100, "{line}");
        assert_eq!(line, line.trim_end(), "a line ends with a space");
    }
}

#[test]
fn json_has_every_run() {
    let json = serde_json::to_value(report_of(runs())).expect("JSON");
    assert_eq!(json["runs"].as_array().expect("a list").len(), 6);
    expect![[r#"
        {
          "active_ms": 0,
          "advice": "the work is still on record: longhaul handoff --from-transcript x",
          "agent": "claude",
          "attempts": [],
          "attempts_total": 1,
          "calls": {
            "last": [
              {
                "argument": "cargo test",
                "at": "2026-01-01T00:00:05.000Z",
                "attempt": 1,
                "result": "ok",
                "subagent": false,
                "tool": "Bash"
              },
              {
                "argument": "git push",
                "at": "2026-01-01T00:00:05.000Z",
                "attempt": 1,
                "result": "denied",
                "subagent": false,
                "tool": "Bash"
              }
            ],
            "truncated": true
          },
          "cwd": "/home/me/project",
          "dir": "/runs/2026-01-01/eee-bad",
          "ended_at": null,
          "estimated_cost_usd": 0.0,
          "explanation": "cannot read journal /runs/2026-01-01/eee-bad/journal.jsonl: line 3 is damaged",
          "fault": null,
          "health": "needs_person",
          "id": "eee-bad",
          "limit": null,
          "lost_ms": 0,
          "model": "opus",
          "name": "nightly",
          "next": null,
          "outcome": null,
          "reported_cost_usd": 0.0,
          "retry_at": null,
          "started_at": "2026-01-01T00:00:00.000Z",
          "task": "something",
          "timeline": [],
          "total_tokens": 0,
          "unpriced": false,
          "wall_ms": 0,
          "workflow": null
        }
    "#]]
    .assert_eq(&(serde_json::to_string_pretty(&json["runs"][1]).expect("JSON") + "\n"));
    expect![[r#"
        [
          {
            "cause": "usage_limit",
            "runs": 1,
            "waiting_ms": 8970000,
            "wasted_ms": 30000
          },
          {
            "cause": "overloaded",
            "runs": 1,
            "waiting_ms": 70000,
            "wasted_ms": 30000
          },
          {
            "cause": "auth",
            "runs": 1,
            "waiting_ms": 0,
            "wasted_ms": 30000
          }
        ]
    "#]]
    .assert_eq(&(serde_json::to_string_pretty(&json["lost_time"]).expect("JSON") + "\n"));
}

#[test]
fn only_a_supervised_run_retries_on_its_own() {
    let run = |has_supervisor: bool, records: RunRecords| {
        let input = RunInput { has_supervisor, ..records.read("ggg", "go", 250) };
        let run = report_of(vec![input]).runs.remove(0);
        (run.retry_at.is_some(), run.explanation)
    };
    let waiting = || RunRecords::started().fails(200, Fault::Overloaded, 60);
    assert_eq!(run(true, waiting()), (true, "waiting: the API is overloaded".to_owned()));
    assert_eq!(run(false, waiting()), (false, "unfinished, without a supervisor".to_owned()));
    // It may also run a check, a review or a summary.
    assert_eq!(run(true, RunRecords::started()), (false, "it is working".to_owned()));
}

#[test]
fn health_decides_urgency() {
    let urgent: Vec<_> = report_of(runs()).runs.iter().map(|run| run.health.is_urgent()).collect();
    assert_eq!(urgent, [true, true, true, true, false, false]);
    assert!(!RunHealth::Cancelled.is_urgent(), "a person cancelled it");
}

#[test]
fn separates_reported_from_estimated_cost() {
    assert_eq!(
        super::cost(Dollars(Usd(1_500_000)), Dollars(Usd(20_000)), true),
        "$1.50 and about $0.0200 or more: partly unpriced"
    );
    assert_eq!(super::cost(Dollars::default(), Dollars(Usd(20_000)), false), "about $0.0200");
}
