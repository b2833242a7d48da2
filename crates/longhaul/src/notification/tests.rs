use super::{Notification, NotificationBody};
use expect_test::{Expect, expect};
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, Outcome, OutcomeKind, PromptKind, Record,
    Remaining, Remedy, Run, SessionId, SessionPlan, Span, Usage, Usd,
};
use longhaul_store::RunDir;

const AT: Moment = Moment(1_763_775_245_120);

fn dir() -> RunDir {
    RunDir::from_path("/runs/2025-11-22/kmzxqp".into()).expect("an absolute path")
}

fn plan(attempt: u32) -> AttemptPlan {
    let session = SessionPlan::New(SessionId::from("s"));
    AttemptPlan {
        attempt,
        session,
        prompt: PromptKind::Task,
        strategy: None,
        with_summary: false,
        remaining: Remaining::default(),
    }
}

/// Returns a run that waits this long for a usage limit.
fn waiting(span: Span) -> Run {
    let usage = Usage { reported_cost: Usd(120_000), estimated_cost: Usd(5_000), ..Usage::default() };
    let next = AfterAttempt::Attempt { at: AT + span, remedy: Remedy::ALL[0], plan: plan(2) };
    let ended = Record::AttemptEnded(AttemptEnd::new(Some(Fault::UsageLimit), usage, next));
    let records = [Record::RunStarted, Record::AttemptStarted { plan: plan(1) }, ended];
    let swept = Record::Swept { stopped_processes: 0 };
    Run::replay(records.iter().chain([&swept]).map(|record| (AT, record)))
}

fn check(notification: &Notification, expected: &Expect) {
    let line = notification.line();
    let value: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    expected.assert_eq(&format!("{} {value:#}\n", notification.name));
}

#[test]
fn notifies_of_a_long_wait() {
    let dir = dir();
    let notification = |span| {
        let (run, next) = (waiting(span), Some("longhaul attach kmzxqp".to_owned()));
        let subject = NotificationBody::of_run(&dir, &run, AT, " fix \"the\" tests\n", next);
        Notification::for_run_wait(subject, &run)
    };
    assert!(notification(Span::from_mins(15)).is_none());
    check(
        &notification(Span::from_mins(300)).expect("it is long"),
        &expect![[r#"
        wait-2 {
          "at": "2025-11-22T01:34:05.120Z",
          "attempts": 1,
          "dir": "/runs/2025-11-22/kmzxqp",
          "exit_code": null,
          "fault": "usage_limit",
          "kind": "waiting",
          "limit": null,
          "next": "longhaul attach kmzxqp",
          "outcome": null,
          "run": "kmzxqp",
          "task": "fix \"the\" tests",
          "total_cost_usd": 0.125,
          "until": "2025-11-22T06:34:05.120Z"
        }
    "#]],
    );
}

#[test]
fn notifies_of_an_outcome() {
    let check_outcome = |outcome: Outcome, expected: &Expect| {
        let run = waiting(Span::from_mins(1));
        let subject = NotificationBody::of_run(&dir(), &run, AT, &"word ".repeat(100), None);
        check(&Notification::for_outcome(subject, outcome, run.state().reopen_count), expected);
    };
    check_outcome(
        Outcome::DONE,
        &expect![[r#"
        outcome-0 {
          "at": "2025-11-22T01:34:05.120Z",
          "attempts": 1,
          "dir": "/runs/2025-11-22/kmzxqp",
          "exit_code": 0,
          "fault": null,
          "kind": "outcome",
          "limit": null,
          "next": null,
          "outcome": "done",
          "run": "kmzxqp",
          "task": "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word …",
          "total_cost_usd": 0.125,
          "until": null
        }
    "#]],
    );
    let retry = Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit);
    check_outcome(
        Outcome { retry_at: Some(AT), ..retry },
        &expect![[r#"
            outcome-0 {
              "at": "2025-11-22T01:34:05.120Z",
              "attempts": 1,
              "dir": "/runs/2025-11-22/kmzxqp",
              "exit_code": 75,
              "fault": "usage_limit",
              "kind": "outcome",
              "limit": null,
              "next": null,
              "outcome": "retry_later",
              "run": "kmzxqp",
              "task": "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word …",
              "total_cost_usd": 0.125,
              "until": "2025-11-22T01:34:05.120Z"
            }
        "#]],
    );
    check_outcome(
        Outcome::from_fault(OutcomeKind::NeedsPerson, Fault::Auth),
        &expect![[r#"
            outcome-0 {
              "at": "2025-11-22T01:34:05.120Z",
              "attempts": 1,
              "dir": "/runs/2025-11-22/kmzxqp",
              "exit_code": 23,
              "fault": "auth",
              "kind": "needs_person",
              "limit": null,
              "next": null,
              "outcome": "needs_person",
              "run": "kmzxqp",
              "task": "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word …",
              "total_cost_usd": 0.125,
              "until": null
            }
        "#]],
    );
}
