use super::{ArchonStatus, IterationMeta, PhaseMeta, ProverMeta, ProverMode};
use crate::archon::{Stage, slugs};
use expect_test::expect;
use longhaul_core::{Dollars, Moment, Span, Usd};

const START: Moment = Moment(1_774_679_984_120);

fn prover(file: &str, status: ArchonStatus, cost: Option<u64>) -> (String, ProverMeta) {
    let cost_usd = cost.map(|cents| Dollars(Usd::from_dollars(cents as f64 / 100.0).expect("an amount")));
    (
        slugs([file]).concat(),
        ProverMeta { file: file.to_owned(), status, session_id: Some("4f0c".into()), cost_usd },
    )
}

fn dollars(amount: f64) -> Usd {
    Usd::from_dollars(amount).expect("an amount")
}

#[test]
fn meta_has_the_keys_of_archon() {
    let mut meta = IterationMeta::new(2, Stage::Prover, ProverMode::Parallel, START);
    meta.plan = Some(PhaseMeta::ended(true, Span::from_secs(391), dollars(0.5)));
    meta.provers.extend([
        prover("A/B.lean", ArchonStatus::Done, Some(125)),
        prover("C.lean", ArchonStatus::Error, Some(10)),
    ]);
    meta.prover = Some(PhaseMeta::ended(false, Span(698_900), dollars(1.35)));
    meta.review = Some(PhaseMeta::running());
    meta.complete(Moment(START.0 + 1_052_999));
    let json = serde_json::to_string_pretty(&meta).expect("string keys");
    expect![[r#"
        {
          "iteration": 2,
          "stage": "prover",
          "mode": "parallel",
          "startedAt": "2026-03-28T06:39:44Z",
          "plan": {
            "status": "done",
            "durationSecs": 391,
            "costUsd": 0.5
          },
          "prover": {
            "status": "error",
            "durationSecs": 698,
            "costUsd": 1.35
          },
          "provers": {
            "A_B": {
              "file": "A/B.lean",
              "status": "done",
              "sessionId": "4f0c",
              "costUsd": 1.25
            },
            "C": {
              "file": "C.lean",
              "status": "error",
              "sessionId": "4f0c",
              "costUsd": 0.1
            }
          },
          "review": {
            "status": "running"
          },
          "completedAt": "2026-03-28T06:57:17Z",
          "wallTimeSecs": 1052,
          "totalCostUsd": 1.85
        }"#]]
    .assert_eq(&json);
}

#[test]
fn meta_of_archon_is_read() {
    let crashed = r#"{"iteration": 2, "stage": "prover", "mode": "parallel", "startedAt": "2026-03-28T06:39:44Z",
        "plan": {"status": "done", "durationSecs": 391}, "prover": {"status": "running"}, "newKey": {"a": 1},
        "provers": {"C": {"file": "C.lean", "status": "running"}}}"#;
    let meta: IterationMeta = serde_json::from_str(crashed).expect("it is a meta.json");
    assert_eq!(meta.started_at.0, Moment(START.0 - 120));
    assert_eq!((meta.completed_at, meta.total_cost_usd), (None, None));
    let again = serde_json::to_value(&meta).expect("string keys");
    assert_eq!(again["prover"], serde_json::json!({"status": "running"}));
    assert_eq!(again.get("completedAt"), None);
}
