use super::{CompletedSpan, ConversationSpans};
use expect_test::{Expect, expect};
use longhaul_agent::dialect_for;
use longhaul_core::Moment;

const START: Moment = Moment(1_000_000);

/// What a stream tells, a line each: times in milliseconds after the beginning of the attempt, which lasted 99 seconds.
fn check(stream: &str, expected: &Expect) {
    expected.assert_eq(&spans(&[stream]));
}

fn spans(pieces: &[&str]) -> String {
    let dialect = dialect_for("claude").expect("it is known");
    let mut conversation = ConversationSpans::new(dialect.transcript_decoder(1), START, 0);
    let mut told = Vec::new();
    for piece in pieces {
        told.extend(conversation.feed(piece.as_bytes(), Moment(START.0 + 50_000)));
    }
    told.extend(conversation.end(Moment(START.0 + 99_000)));
    told.iter().map(line).collect()
}

fn line(told: &CompletedSpan) -> String {
    let after = |at: Moment| at.0.saturating_sub(START.0);
    let of = |within: &Option<String>| within.as_ref().map(|call| format!(" of {call}")).unwrap_or_default();
    match told {
        CompletedSpan::Turn(turn) => format!(
            "{}..{} turn {}{}: {} tokens, {}\n",
            after(turn.started_at),
            after(turn.ended_at),
            turn.id,
            of(&turn.parent),
            turn.usage.map_or("unknown".to_owned(), |usage| usage.output_tokens.to_string()),
            turn.stop_reason.as_deref().unwrap_or("cut"),
        ),
        CompletedSpan::Call(call) => format!(
            "{}..{} {} {}{}: {:?}\n",
            after(call.started_at),
            after(call.ended_at),
            call.tool,
            call.id,
            of(&call.parent),
            call.ending,
        ),
    }
}

/// A line of a stream, so many seconds after the beginning.
fn at(second: u64, json: &str) -> String {
    let time = jiff::Timestamp::from_millisecond((START.0 + second * 1_000) as i64).expect("a time");
    format!("{{\"timestamp\":\"{time}\",\"session_id\":\"s\",{}\n", &json[1..])
}

fn says(second: u64, id: &str, block: &str, stop: &str, parent: Option<&str>) -> String {
    let parent = parent.map(|call| format!("\"{call}\"")).unwrap_or("null".to_owned());
    let usage = r#""usage":{"input_tokens":5,"output_tokens":7}"#;
    at(
        second,
        &format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"{id}","model":"m","content":[{block}],"stop_reason":{stop},{usage}}}}}"#
        ),
    )
}

fn calls(id: &str, tool: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}"#)
}

fn brings(second: u64, id: &str, is_error: bool, parent: Option<&str>) -> String {
    let parent = parent.map(|call| format!("\"{call}\"")).unwrap_or("null".to_owned());
    at(
        second,
        &format!(
            r#"{{"type":"user","parent_tool_use_id":{parent},"message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{is_error},"content":"x"}}]}}}}"#
        ),
    )
}

const TEXT: &str = r#"{"type":"text","text":"I am on it."}"#;

#[test]
fn a_turn_begins_when_all_results_are_there() {
    let stream = [
        says(2, "m1", &calls("t1", "Bash"), "null", None),
        says(3, "m1", &calls("t2", "Read"), "\"tool_use\"", None),
        brings(5, "t2", false, None),
        brings(9, "t1", true, None),
        says(11, "m2", TEXT, "\"end_turn\"", None),
        at(11, r#"{"type":"result","subtype":"success","is_error":false,"result":"I am on it."}"#),
    ]
    .concat();
    check(
        &stream,
        &expect![[r#"
            0..3000 turn m1: 7 tokens, tool_use
            3000..5000 Read t2: Returned
            2000..9000 Bash t1: Failed
            9000..11000 turn m2: 7 tokens, end_turn
        "#]],
    );
    let (head, tail) = stream.split_at(stream.len() / 2);
    assert_eq!(spans(&[&stream]), spans(&[head, tail]), "in whatever pieces it comes");
}

#[test]
fn a_sub_agent_has_a_conversation_of_its_own() {
    check(
        &[
            says(1, "m1", &calls("t1", "Task"), "\"tool_use\"", None),
            says(3, "s1", &calls("t2", "Bash"), "null", Some("t1")),
            brings(4, "t2", false, Some("t1")),
            says(6, "s2", TEXT, "null", Some("t1")),
            brings(7, "t1", false, None),
        ]
        .concat(),
        &expect![[r#"
            0..1000 turn m1: 7 tokens, tool_use
            1000..3000 turn s1 of t1: unknown tokens, cut
            3000..4000 Bash t2 of t1: Returned
            4000..6000 turn s2 of t1: unknown tokens, cut
            1000..7000 Task t1: Returned
        "#]],
    );
}

#[test]
fn what_is_cut_ends_with_the_attempt() {
    check(
        &[says(1, "m1", &calls("t1", "Bash"), "\"tool_use\"", None), says(2, "m2", TEXT, "null", None)]
            .concat(),
        &expect![[r#"
            0..1000 turn m1: 7 tokens, tool_use
            1000..2000 turn m2: unknown tokens, cut
            1000..99000 Bash t1: Interrupted
        "#]],
    );
}

#[test]
fn what_the_agents_program_says_is_no_turn() {
    let synthetic = says(1, "m1", TEXT, "\"stop_sequence\"", None)
        .replace("\"model\":\"m\"", "\"model\":\"<synthetic>\"");
    check(&synthetic, &expect![[r#""#]]);
    check("no line\n{}\n", &expect![[r#""#]]);
}

#[test]
fn recorded_streams_tell_whole_turns() {
    let stream = include_str!("../../../agent/fixtures/claude/sdk-hooks-callbacks.jsonl");
    let told = spans(&[stream]);
    assert!(told.lines().any(|line| line.contains("turn")) && told.contains("Returned"), "{told}");
}
