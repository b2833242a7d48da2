//! Serialized records: they survive a round trip, and every journal of a released format loads.

use super::summaries::with_summary;
use super::trace::records_of;
use crate::{Policy, Record, Run, Span};
use expect_test::expect_file;

/// A trace with every kind of record.
const EVERYTHING: &str = "start; spawn; open; exchange; cancel term; ends aborted; exit 0; swept; +1m; recover; tick; spawn; \
    open; exchange; retrying 1 529; tool; tool-ends; bill 120; ends 529; idle; exit 1; \
    swept; tick; spawn; sleep 1h; recover live; ends unclear; bill 40; exit 1; swept 2; tick; spawn; tick; exit 143; swept; tick; \
    spawn; limit until +2h; ends 429; exit 1; swept; tick; spawn; ends 400; exit 1; swept; spawn; bill 9; ends full; exit 1; \
    swept; tick; summary ok; spawn; cancel person; \
    ends aborted; exit 0; swept";

fn journal(policy: &Policy) -> String {
    let lines = records_of(policy, EVERYTHING).iter().map(line).collect::<Vec<_>>();
    lines.join("\n") + "\n"
}

fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("a record serializes")
}

fn load(text: &str) -> Vec<Record> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of a journal is a record")).collect()
}

#[test]
fn records_survive_a_round_trip() {
    let records = records_of(&with_summary(), EVERYTHING);
    let text: Vec<String> = records.iter().map(line).collect();
    assert_eq!(load(&text.join("\n")), records);
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
    let (first, current) = (Run::replay(&records), Run::replay(&records_of(&with_summary(), EVERYTHING)));
    assert_eq!(first.state(), current.state());
}

/// Fields of later versions do not prevent loading.
#[test]
fn ignores_unknown_fields() {
    let line = r#"{"record":"downtime","duration":60000,"reason":"lid closed"}"#;
    assert_eq!(load(line), [Record::Downtime { duration: Span::from_mins(1) }]);
}
