use super::{Health, SessionDocument, SessionHistory};
use longhaul_core::Continuity;
use proptest::prelude::*;
use std::collections::BTreeSet;

const KILLED: &[u8] = include_bytes!("../../../fixtures/claude/sessions/killed-in-parallel-tools.jsonl");
const RESUMED: &[u8] =
    include_bytes!("../../../fixtures/claude/sessions/killed-in-parallel-tools-resumed.jsonl");
const MANY_TURNS: &[u8] = include_bytes!("../../../fixtures/claude/sessions/many-turns.jsonl");
const COMPACTED: &[u8] = include_bytes!("../../../fixtures/claude/sessions/auto-compacted.jsonl");
const FORKED: &[u8] = include_bytes!("../../../fixtures/claude/sessions/concurrent-resume-forked-tree.jsonl");
const OVERLOADED: &[u8] =
    include_bytes!("../../../fixtures/claude/sessions/overloaded-exhausted-midrun.jsonl");
const ALL: [&[u8]; 6] = [KILLED, RESUMED, MANY_TURNS, COMPACTED, FORKED, OVERLOADED];

/// A row of a conversation as the agent writes it, with the fields that are used.
const ROW: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"Hi"}}"#;

fn parse(bytes: &[u8]) -> SessionDocument {
    SessionDocument::parse(bytes.to_vec())
}

fn health(bytes: &[u8]) -> Health {
    parse(bytes).health()
}

fn repair(bytes: &[u8]) -> Option<Vec<u8>> {
    parse(bytes).without_damage()
}

fn history(bytes: &[u8]) -> SessionHistory {
    parse(bytes).history(bytes.len() as u64).expect("the whole file")
}

/// Returns the first `count` lines of a file.
fn first_lines(bytes: &[u8], count: usize) -> &[u8] {
    let end: usize = bytes.split_inclusive(|&byte| byte == b'\n').take(count).map(<[u8]>::len).sum();
    &bytes[..end]
}

/// Returns the file up to the first line that contains this text.
fn until<'a>(bytes: &'a [u8], text: &str) -> &'a [u8] {
    let lines = String::from_utf8_lossy(bytes).lines().take_while(|line| !line.contains(text)).count();
    first_lines(bytes, lines)
}

#[test]
fn recorded_files_are_whole() {
    for file in ALL {
        assert_eq!(health(file), Health::Whole);
        assert_eq!(repair(file), None);
    }
}

#[test]
fn file_with_later_rows_of_the_attempt_is_ahead() {
    let (earlier, later) = (parse(KILLED), parse(RESUMED));
    let (end, last_row) = (earlier.last_row_id(), later.last_row_id());
    let stream = || format!(r#"{{"type":"assistant","uuid":"{}"}}"#, last_row.expect("a row")).into_bytes();
    assert!(later.is_ahead_of(&earlier, end, stream));
    assert!(later.is_ahead_of(&earlier, last_row, Vec::new));
    assert!(!earlier.is_ahead_of(&later, last_row, stream));
    // Another program wrote the later rows.
    assert!(!later.is_ahead_of(&earlier, end, Vec::new));
    // A person continued the earlier file.
    let row = r#"{"type":"user","uuid":"9b5d0f0e-6c0e-4a53-9d1c-0d8a6f1f7f11","message":{"role":"user","content":"x"}}"#;
    let continued = parse([KILLED, row.as_bytes(), b"\n"].concat().leak());
    assert!(!later.is_ahead_of(&continued, end, stream));
}

#[test]
fn finds_and_removes_damage() {
    let check = |file: &str, expected: Health, rest: Option<&str>| {
        assert_eq!(health(file.as_bytes()), expected, "{file}");
        assert_eq!(repair(file.as_bytes()), rest.map(|rest| rest.as_bytes().to_vec()), "{file}");
    };
    let row = format!("{ROW}\n");
    check(&row, Health::Whole, None);
    // The agent ends such a row before it appends the next.
    check(ROW, Health::Whole, None);
    check(&format!("{row}\n{row}"), Health::Whole, None);
    check(&format!("{row}{{\"type\":\"us"), Health::Damaged, Some(&row));
    check(&format!("{row}{{\"type\"\n{ROW}"), Health::Damaged, Some(&row.repeat(2)));
    check(&format!("{row}\0\0\0"), Health::Damaged, Some(&row));
    check(&format!("\0\0{row}"), Health::Damaged, Some(&row));
    check(&format!("{row}12\n{row}"), Health::Damaged, Some(&row.repeat(2)));
    check("", Health::Empty, None);
    check("{\"type\":\"queue-operation\",\"operation\":\"enqueue\"}\n", Health::Empty, None);
    check("garbage\n", Health::Empty, Some(""));
}

#[test]
fn half_surrogate_pairs_are_no_damage() {
    let row = ROW.replace("Hi", r"cut in an emoji: \ud83d");
    assert_eq!(health(row.as_bytes()), Health::Whole);
    assert_eq!(history(row.as_bytes()).rows, ["a"]);
}

#[test]
fn returns_answered_calls() {
    let check = |file: &[u8], answered: &[&str]| {
        assert_eq!(parse(file).answered_calls(None).iter().map(String::as_str).collect::<Vec<_>>(), answered);
    };
    let done = ["toolu_000_1_586587", "toolu_000_2_586587"];
    // The third call was killed.
    check(KILLED, &done);
    // The agent's placeholder result for the killed call states no outcome.
    check(RESUMED, &[done[0], done[1], "toolu_001_1_589727"]);
}

#[test]
fn history_ends_with_whole_row() {
    let file = format!("{ROW}\n{}\n", ROW.replace("\"a\"", "\"b\""));
    let rows = |bytes: usize| parse(file.as_bytes()).history(bytes as u64).map(|history| history.rows.len());
    assert_eq!(rows(0), Some(0));
    assert_eq!(rows(ROW.len() - 1), Some(0));
    assert_eq!(rows(ROW.len()), Some(1));
    assert_eq!(rows(file.len()), Some(2));
    assert_eq!(rows(file.len() + 1), None);
}

fn check_continues(before: &[u8], after: &[u8], expected: Continuity) {
    assert_eq!(parse(after).continuity(&history(before)), expected);
}

#[test]
fn resume_continues_from_end() {
    check_continues(KILLED, RESUMED, Continuity::Continued);
    check_continues(KILLED, KILLED, Continuity::Unchanged);
    for file in [MANY_TURNS, RESUMED] {
        for prompt in 1..String::from_utf8_lossy(file).lines().count() {
            let before = first_lines(file, prompt);
            let expected = match history(before).rows.len() {
                0 => Continuity::Unrelated,
                rows if rows == history(file).rows.len() => Continuity::Unchanged,
                _ => Continuity::Continued,
            };
            check_continues(before, file, expected);
        }
    }
    // A compaction starts new rows.
    check_continues(until(COMPACTED, "compact_boundary"), COMPACTED, Continuity::Continued);
    // A row truncated at the end does not matter.
    let torn = until(MANY_TURNS, "34f226");
    check_continues(torn, MANY_TURNS, Continuity::Continued);
}

#[test]
fn detects_lost_history() {
    let a_answered = until(FORKED, "\"Prompt B.\"");
    check_continues(until(FORKED, "\"Prompt A.\""), a_answered, Continuity::Continued);
    // B was written by another process and branches next to A.
    check_continues(a_answered, FORKED, Continuity::Branched);
    // That is correct only if it was resumed from this message.
    let resumed_at = |message: &str| {
        let end = BTreeSet::from([message.to_owned()]);
        parse(FORKED).continuity(&SessionHistory { end, ..history(a_answered) })
    };
    assert_eq!(resumed_at("b885d3bd-fd2c-476c-98f8-3d76cb1fd17a"), Continuity::Continued);
    assert_eq!(resumed_at("another"), Continuity::Branched);
    check_continues(KILLED, MANY_TURNS, Continuity::Unrelated);
    check_continues(b"", MANY_TURNS, Continuity::Unrelated);
    // A prompt that is no longer in the history was lost.
    let prompt = ROW.replace("\"a\"", "\"b\"").replace("null", "\"a\"");
    let other = ROW.replace("\"a\"", "\"c\"").replace("null", "\"a\"");
    let before = format!("{ROW}\n{prompt}\n");
    check_continues(before.as_bytes(), format!("{before}{other}\n").as_bytes(), Continuity::Branched);
    let circle = ROW.replace("\"a\"", "\"d\"").replace("null", "\"d\"");
    check_continues(before.as_bytes(), format!("{before}{circle}\n").as_bytes(), Continuity::Unrelated);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repair_keeps_every_row(
        cut in 0_usize..9_000,
        junk in prop_oneof![Just(vec![0; 40]), any::<Vec<u8>>(), Just(b"{\"half\":".to_vec())],
        ended in any::<bool>(),
    ) {
        let mut file = KILLED[..cut.min(KILLED.len())].to_vec();
        if ended {
            file.push(b'\n');
        }
        file.extend(&junk);
        file.push(b'\n');
        file.extend(ROW.as_bytes());
        let repaired = repair(&file).unwrap_or_else(|| file.clone());
        prop_assert_eq!(health(&repaired), Health::Whole);
        prop_assert_eq!(history(&repaired), history(&file));
        prop_assert_eq!(parse(&repaired).answered_calls(None), parse(&file).answered_calls(None));
    }

    #[test]
    fn accepts_any_bytes(bytes in any::<Vec<u8>>()) {
        prop_assert_eq!(health(&bytes), Health::Empty);
        prop_assert_eq!(parse(&bytes).continuity(&history(&bytes)), Continuity::Unchanged);
    }
}
