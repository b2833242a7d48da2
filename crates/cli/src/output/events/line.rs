//! Formats one event as a line of JSON: a record of the journal with the id of its run. Keys are only ever
//! added.

use crate::output;
use longhaul_core::{Moment, Record};
use longhaul_store::rfc3339;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The `type` that distinguishes Longhaul's events from those of an agent.
pub const TYPE: &str = "longhaul";

#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    run: &'a str,
    seq: u64,
    at: String,
    record: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A gap: events are missing before the next one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventGap<'a> {
    /// Id of the run.
    run: &'a str,
    /// Number of the last missing event.
    seq: u64,
    /// Number of missing events.
    omitted: u64,
}

#[derive(Deserialize)]
pub struct EventPosition {
    pub run: String,
    pub seq: u64,
}

/// Formats a record that was decided at `at`. `seq` counts the records of the run, starting at 1. Only a stream that mixes
/// it with the agent's own events needs a `type`.
pub fn record_line(
    r#type: Option<&'static str>,
    run: &str,
    seq: u64,
    at: Moment,
    record: &Record,
) -> Vec<u8> {
    let Ok(Value::Object(mut rest)) = serde_json::to_value(record) else {
        unreachable!("a record is an object with string keys")
    };
    let record = rest.remove("record").unwrap_or_default();
    output::line(&Line { r#type, run, seq, at: rfc3339(at), record, rest }).into_bytes()
}

pub fn gap_line(run: &str, from: u64, to: u64) -> Vec<u8> {
    output::line(&EventGap { run, seq: to, omitted: to + 1 - from }).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{TYPE, gap_line, record_line};
    use expect_test::{Expect, expect};
    use longhaul_core::{Fault, Moment, Outcome, OutcomeKind, Record, SessionId, Span};

    fn check(line: &[u8], expected: &Expect) {
        expected.assert_eq(str::from_utf8(line).expect("text"));
    }

    #[test]
    fn record_has_run_id() {
        let at = Moment(1_763_775_245_120);
        let record = Record::SessionOpened { session: SessionId::from("0e9bdb0f") };
        check(
            &record_line(None, "kmzxqp", 4, at, &record),
            &expect![[r#"
                {"run":"kmzxqp","seq":4,"at":"2025-11-22T01:34:05.120Z","record":"session_opened","session":"0e9bdb0f"}
            "#]],
        );
        check(
            &record_line(Some(TYPE), "kmzxqp", 4, at, &record),
            &expect![[r#"
                {"type":"longhaul","run":"kmzxqp","seq":4,"at":"2025-11-22T01:34:05.120Z","record":"session_opened","session":"0e9bdb0f"}
            "#]],
        );
        check(
            &record_line(None, "kmzxqp", 5, at, &Record::Downtime { duration: Span(2_000) }),
            &expect![[r#"
                {"run":"kmzxqp","seq":5,"at":"2025-11-22T01:34:05.120Z","record":"downtime","duration":2000}
            "#]],
        );
        let outcome =
            Outcome { retry_at: Some(at), ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit) };
        check(
            &record_line(None, "kmzxqp", 6, at, &Record::RunFinished { outcome }),
            &expect![[r#"
                {"run":"kmzxqp","seq":6,"at":"2025-11-22T01:34:05.120Z","record":"run_finished","outcome":{"fault":"usage_limit","kind":"retry_later","retry_at":1763775245120}}
            "#]],
        );
    }

    #[test]
    fn gap_counts_missing_events() {
        check(
            &gap_line("kmzxqp", 5, 9),
            &expect![[r#"
                {"run":"kmzxqp","seq":9,"omitted":5}
            "#]],
        );
    }
}
