use super::{Damage, DamageKind, Health, continuity, facts, health, repair};
use crate::claude::layout::ClaudeSessionLayout;
use crate::{Prices, SessionLayout};
use expect_test::expect;
use longhaul_core::{Continuity, Tokens};
use proptest::prelude::*;

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
fn finds_and_removes_damage() {
    let check = |file: &str, expected: Health, rest: Option<&str>| {
        assert_eq!(health(file.as_bytes()), expected, "{file}");
        assert_eq!(repair(file.as_bytes()), rest.map(|rest| rest.as_bytes().to_vec()), "{file}");
    };
    let damaged = |line, offset: usize, bytes: usize, kind| {
        Health::Damaged(vec![Damage { line, offset: offset as u64, bytes: bytes as u64, kind }])
    };
    let row = format!("{ROW}\n");
    let after = row.len();
    check(&row, Health::Whole, None);
    // The agent ends such a row before it appends the next.
    check(ROW, Health::Whole, None);
    check(&format!("{row}\n{row}"), Health::Whole, None);
    check(&format!("{row}{{\"type\":\"us"), damaged(2, after, 11, DamageKind::Torn), Some(&row));
    check(&format!("{row}{{\"type\"\n{ROW}"), damaged(2, after, 7, DamageKind::Torn), Some(&row.repeat(2)));
    check(&format!("{row}\0\0\0"), damaged(2, after, 3, DamageKind::Nul), Some(&row));
    check(&format!("\0\0{row}"), damaged(1, 0, 2 + ROW.len(), DamageKind::Nul), Some(&row));
    check(&format!("{row}12\n{row}"), damaged(2, after, 2, DamageKind::Garbage), Some(&row.repeat(2)));
    check("", Health::Empty, None);
    check("{\"type\":\"queue-operation\",\"operation\":\"enqueue\"}\n", Health::Empty, None);
    check("garbage\n", Health::Empty, Some(""));
}

#[test]
fn half_surrogate_pairs_are_no_damage() {
    let row = ROW.replace("Hi", r"cut in an emoji: \ud83d");
    assert_eq!(health(row.as_bytes()), Health::Whole);
    assert_eq!(facts(row.as_bytes()).rows, ["a"]);
}

#[test]
fn separates_answered_and_unanswered_calls() {
    let check = |file: &[u8], answered: &[&str], unanswered: &[&str]| {
        let facts = facts(file);
        assert_eq!(facts.answered.iter().map(String::as_str).collect::<Vec<_>>(), answered);
        assert_eq!(facts.unanswered, unanswered);
    };
    let done = ["toolu_000_1_586587", "toolu_000_2_586587"];
    let killed = ["toolu_000_3_586587"];
    check(KILLED, &done, &killed);
    // The agent's placeholder result for the killed call states no outcome.
    check(RESUMED, &[done[0], done[1], "toolu_001_1_589727"], &killed);
}

#[test]
fn each_message_counts_once() {
    let facts = facts(MANY_TURNS);
    let ids: Vec<_> = facts.messages.iter().map(|message| message.id.as_str()).collect();
    expect![[r#"
        [
            "msg_000_25452527",
            "msg_001_25452933",
            "msg_002_25456045",
            "msg_003_25456114",
            "msg_004_25459462",
            "msg_006_25462104",
            "msg_007_25462350",
            "msg_008_25490260",
        ]
    "#]]
    .assert_debug_eq(&ids);
    let one = Tokens { input: 100, output: 50, cache_read: 300, cache_write: 20 };
    assert!(facts.messages.iter().all(|message| message.tokens == one));
    let usage = facts.usage(Prices::bundled());
    // The cost that the agent itself reported at its end.
    assert_eq!((usage.messages, usage.estimated_cost.to_string()), (8, "$0.0125".to_owned()));
    assert!(!usage.unpriced);
}

fn check_continues(before: &[u8], after: &[u8], expected: Continuity) {
    assert_eq!(continuity(&facts(before), after), expected);
}

#[test]
fn resume_continues_from_end() {
    check_continues(KILLED, RESUMED, Continuity::Continued);
    check_continues(KILLED, KILLED, Continuity::Unchanged);
    for file in [MANY_TURNS, RESUMED] {
        for prompt in 1..String::from_utf8_lossy(file).lines().count() {
            let before = first_lines(file, prompt);
            let expected = match facts(before).rows.len() {
                0 => Continuity::Unrelated,
                rows if rows == facts(file).rows.len() => Continuity::Unchanged,
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
    let resumed_at = |message| ClaudeSessionLayout.continuity(a_answered, FORKED, Some(message));
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
        prop_assert_eq!(facts(&repaired), facts(&file));
    }

    #[test]
    fn accepts_any_bytes(bytes in any::<Vec<u8>>()) {
        let facts = facts(&bytes);
        prop_assert_eq!(health(&bytes), Health::Empty);
        prop_assert_eq!(continuity(&facts, &bytes), Continuity::Unchanged);
    }
}
