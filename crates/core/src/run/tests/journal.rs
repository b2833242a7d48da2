//! Serialized records: they survive a round trip, and every journal of a released format loads.

use super::summaries::with_summary;
use super::trace::{records_of, replay};
use crate::{Moment, Policy, Record, Span};
use expect_test::expect_file;
use serde::{Deserialize, Serialize};

/// A trace with every kind of record.
const EVERYTHING: &str = "start; spawn; open; exchange; cancel term; ends aborted; exit 0; swept; +1m; recover; tick; spawn; \
    open; exchange; retrying 1 529; tool; tool-ends; bill 120; ends 529; idle; exit 1; \
    swept; tick; spawn; sleep 1h; recover live; ends unclear; bill 40; exit 1; swept 2; tick; spawn; tick; exit 143; swept; tick; \
    spawn; limit until +2h; ends 429; exit 1; swept; tick; spawn; ends 400; exit 1; swept; spawn; bill 9; ends full; exit 1; \
    swept; tick; summary ok; spawn; cancel person; \
    ends aborted; exit 0; swept";

fn journal(policy: &Policy) -> String {
    records_of(policy, EVERYTHING).iter().map(line).collect()
}

/// A record with the time of its step. In the first version of the format, the time was a field of most records.
#[derive(Serialize, Deserialize)]
struct TimedRecord {
    #[serde(flatten)]
    record: Record,
    #[serde(default)]
    at: Moment,
}

fn line((at, record): &(Moment, Record)) -> String {
    let record = TimedRecord { record: record.clone(), at: *at };
    serde_json::to_string(&record).expect("a record serializes") + "\n"
}

fn load(text: &str) -> Vec<(Moment, Record)> {
    let load = |line| {
        // A record ignores its time.
        let record = serde_json::from_str(line).expect("a line of a journal is a record");
        let TimedRecord { at, .. } = serde_json::from_str(line).expect("a line of a journal may have a time");
        (at, record)
    };
    text.lines().map(load).collect()
}

#[test]
fn records_survive_a_round_trip() {
    let records = records_of(&with_summary(), EVERYTHING);
    assert_eq!(load(&records.iter().map(line).collect::<String>()), records);
}

/// The journal of this version. When it changes, add fields with defaults, and leave `format-1.jsonl` as it
/// is.
#[test]
fn current_journal_matches_checked_in_file() {
    expect_file!["journals/today.jsonl"].assert_eq(&journal(&with_summary()));
}

/// Never edit this file: it is the journal of the first version of format 1, and must load forever.
#[test]
fn loads_first_journal_of_format_1() {
    let records = load(include_str!("journals/format-1.jsonl"));
    let (first, current) = (replay(&records), replay(&records_of(&with_summary(), EVERYTHING)));
    assert_eq!(first.state(), current.state());
}

/// Fields of later versions do not prevent loading.
#[test]
fn ignores_unknown_fields() {
    let line = r#"{"record":"downtime","duration":60000,"reason":"lid closed"}"#;
    assert_eq!(load(line), [(Moment(0), Record::Downtime { duration: Span::from_mins(1) })]);
}
