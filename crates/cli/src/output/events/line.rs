//! One event as a line of JSON: a record of the journal, and whose it is. Keys are only ever added.

use crate::output;
use longhaul_core::{Moment, Record};
use longhaul_store::rfc3339;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

// What stands for the type of an event where the agent's own stand beside it.
const TYPE: &str = "longhaul";

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

/// That events are missing before the next one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventGap<'a> {
    /// The run's id.
    run: &'a str,
    /// The last of them.
    seq: u64,
    /// How many they are.
    omitted: u64,
}

/// What tells which event a line is.
#[derive(Deserialize)]
pub struct EventPosition {
    pub run: String,
    pub seq: u64,
}

/// The record of this number, counted from 1 over the whole run, that was decided `at`.
pub fn of(run: &str, seq: u64, at: Moment, record: &Record) -> Vec<u8> {
    of_type(None, (run, seq), at, record)
}

/// The same among an agent's own events, by whose `type` ours can be told.
pub fn among_others(run: &str, seq: u64, at: Moment, record: &Record) -> Vec<u8> {
    of_type(Some(TYPE), (run, seq), at, record)
}

fn of_type(r#type: Option<&'static str>, (run, seq): (&str, u64), at: Moment, record: &Record) -> Vec<u8> {
    let Ok(Value::Object(mut rest)) = serde_json::to_value(record) else {
        unreachable!("a record is an object with string keys")
    };
    let own = rest.remove("at").and_then(|at| at.as_u64());
    let record = rest.remove("record").unwrap_or_default();
    line(&Line { r#type, run, seq, at: rfc3339(own.map_or(at, Moment)), record, rest })
}

/// That the events from one number to another could not be told.
pub fn left_out(run: &str, (from, to): (u64, u64)) -> Vec<u8> {
    line(&EventGap { run, seq: to, omitted: to + 1 - from })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    output::line(value).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{among_others, left_out, of};
    use expect_test::{Expect, expect};
    use longhaul_core::{Fault, Moment, Outcome, OutcomeKind, Record, SessionId, Span};

    fn check(line: &[u8], expected: &Expect) {
        expected.assert_eq(str::from_utf8(line).expect("text"));
    }

    #[test]
    fn a_record_says_whose_it_is() {
        let at = Moment(1_763_775_245_120);
        let record = Record::SessionOpened { at, session: SessionId::from("0e9bdb0f") };
        check(
            &of("kmzxqp", 4, Moment(0), &record),
            &expect![[r#"
                {"run":"kmzxqp","seq":4,"at":"2025-11-22T01:34:05.120Z","record":"session_opened","session":"0e9bdb0f"}
            "#]],
        );
        check(
            &among_others("kmzxqp", 4, Moment(0), &record),
            &expect![[r#"
                {"type":"longhaul","run":"kmzxqp","seq":4,"at":"2025-11-22T01:34:05.120Z","record":"session_opened","session":"0e9bdb0f"}
            "#]],
        );
        // What has no time of its own was decided with its step.
        check(
            &of("kmzxqp", 5, at, &Record::Downtime { duration: Span(2_000) }),
            &expect![[r#"
                {"run":"kmzxqp","seq":5,"at":"2025-11-22T01:34:05.120Z","record":"downtime","duration":2000}
            "#]],
        );
        let outcome =
            Outcome { retry_at: Some(at), ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit) };
        check(
            &of("kmzxqp", 6, at, &Record::RunFinished { at, outcome }),
            &expect![[r#"
                {"run":"kmzxqp","seq":6,"at":"2025-11-22T01:34:05.120Z","record":"run_finished","outcome":{"fault":"usage_limit","kind":"retry_later","retry_at":1763775245120}}
            "#]],
        );
    }

    #[test]
    fn what_is_missing_is_counted() {
        check(
            &left_out("kmzxqp", (5, 9)),
            &expect![[r#"
                {"run":"kmzxqp","seq":9,"omitted":5}
            "#]],
        );
    }
}
