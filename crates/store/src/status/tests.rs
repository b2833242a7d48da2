use super::*;
use expect_test::{Expect, expect};
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Preset, ProcessId, PromptKind, Record, Remedy, SessionPlan, Usage,
};

fn json(records: &[Record]) -> String {
    let run = Run::replay(records.iter().map(|record| (Moment(1_000), record)));
    let policy = Preset::Default.policy();
    let status = Status::new(&RunId::from("bcdfgh"), &run, &policy, 11, Moment(2_000));
    let text = serde_json::to_string_pretty(&status).expect("JSON");
    assert_eq!(serde_json::from_str::<Status>(&text).expect("status"), status);
    text
}

/// Checks the lines that differ from those of the running run.
fn check_changes(records: &[Record], expected: &Expect) {
    let (running, changed) = (json(&self::records()[..RUNNING]), json(records));
    assert_eq!(changed.lines().count(), running.lines().count(), "{changed}");
    let lines = changed.lines().zip(running.lines());
    let changes: Vec<&str> =
        lines.filter(|(changed, running)| changed != running).map(|(line, _)| line.trim()).collect();
    expected.assert_eq(&changes.join("\n"));
}

/// The number of records after which the run is running.
const RUNNING: usize = 4;

fn records() -> Vec<Record> {
    let session = SessionId::from("s");
    let plan = |attempt, session| AttemptPlan::new(attempt, session, PromptKind::Task);
    vec![
        Record::RunStarted,
        Record::AttemptStarted { plan: plan(1, SessionPlan::New(session.clone())) },
        Record::AttemptSpawned { process: ProcessId { pid: 7, start_ticks: 1 } },
        Record::SessionOpened { session: session.clone() },
        Record::AttemptEnded(AttemptEnd::new(
            Some(Fault::Overloaded),
            Usage::default(),
            AfterAttempt::Attempt {
                at: Moment(9_000),
                remedy: Remedy::WaitOut,
                plan: plan(2, SessionPlan::Resume(session)),
            },
        )),
        Record::Swept { stopped_processes: 0 },
        Record::RunFinished {
            outcome: Outcome {
                retry_at: Some(Moment(60_000)),
                ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::Overloaded)
            },
        },
    ]
}

#[test]
fn describes_running_run() {
    expect![[r#"
        {
          "run_id": "bcdfgh",
          "status": "running",
          "returncode": null,
          "phase": "running",
          "fault": null,
          "deadline_at": "1970-01-01T00:07:01.000Z",
          "deadline": "stall",
          "retry_at": null,
          "errors": [],
          "attempt": 1,
          "resume_generation": 0,
          "session_id": "s",
          "total_cost_usd": 0.0,
          "background": [],
          "usage": {
            "reported_cost_usd": 0.0,
            "estimated_cost_usd": 0.0,
            "unpriced": false,
            "tokens": {
              "input": 0,
              "output": 0,
              "cache_read": 0,
              "cache_write": 0
            },
            "truncated_tokens": {
              "input": 0,
              "output": 0,
              "cache_read": 0,
              "cache_write": 0
            },
            "messages": 0,
            "truncated_messages": 0,
            "turns": 0
          },
          "pid": 7,
          "supervisor_pid": 11,
          "updated_at": "1970-01-01T00:00:02.000Z"
        }"#]]
    .assert_eq(&json(&records()[..RUNNING]));
}

#[test]
fn describes_waiting_run() {
    check_changes(
        &records()[..6],
        &expect![[r#"
              "status": "waiting",
              "phase": "waiting",
              "fault": "overloaded",
              "deadline_at": "1970-01-01T00:00:09.000Z",
              "deadline": "next_attempt",
              "pid": null,"#]],
    );
}

#[test]
fn describes_finished_run() {
    check_changes(
        &records(),
        &expect![[r#"
              "status": "retry_later",
              "returncode": 75,
              "phase": "finished",
              "fault": "overloaded",
              "deadline_at": null,
              "deadline": null,
              "retry_at": "1970-01-01T00:01:00.000Z",
              "pid": null,"#]],
    );
}
