use super::{CompletedSpan, ConversationSpans};
use expect_test::{Expect, expect};
use longhaul_agent::{DoneSignals, Guards, dialect_named};
use longhaul_core::{Exit, Moment};

const START: Moment = Moment(1_000_000);

/// Checks the spans of a stream, one per line, in milliseconds since the start of the attempt. It lasted 99
/// seconds.
fn check(stream: &str, expected: &Expect) {
    expected.assert_eq(&spans(&[stream]));
}

fn spans(pieces: &[&str]) -> String {
    let dialect = dialect_named("claude").expect("it is known");
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    decoder.collect_messages(1);
    let mut conversation = ConversationSpans::new(START, 0);
    let mut completed = Vec::new();
    for piece in pieces {
        decoder.feed(piece.as_bytes(), &mut Vec::new());
        completed.extend(conversation.add(&decoder.take_messages(), Moment(START.0 + 50_000)));
    }
    decoder.evidence(Exit::Unobserved, "");
    completed.extend(conversation.add(&decoder.take_messages(), Moment(START.0 + 99_000)));
    completed.extend(conversation.end(Moment(START.0 + 99_000)));
    completed.iter().map(line).collect()
}

fn line(span: &CompletedSpan) -> String {
    let since_start = |at: Moment| at.0.saturating_sub(START.0);
    let parent_text =
        |parent: &Option<String>| parent.as_ref().map(|call| format!(" of {call}")).unwrap_or_default();
    match span {
        CompletedSpan::Turn(turn) => format!(
            "{}..{} turn {}{}: {} tokens, {}\n",
            since_start(turn.started_at),
            since_start(turn.ended_at),
            turn.id,
            parent_text(&turn.parent),
            turn.usage.map_or("unknown".to_owned(), |usage| usage.output_tokens.to_string()),
            turn.stop_reason.as_deref().unwrap_or("cut"),
        ),
        CompletedSpan::Call(call) => format!(
            "{}..{} {} {}{}: {:?}\n",
            since_start(call.started_at),
            since_start(call.ended_at),
            call.tool,
            call.id,
            parent_text(&call.parent),
            call.outcome,
        ),
    }
}

/// Returns a line of a stream, `second` seconds after the start.
fn at(second: u64, json: &str) -> String {
    let time = longhaul_core::rfc3339(START + longhaul_core::Span::from_secs(second));
    format!("{{\"timestamp\":\"{time}\",\"session_id\":\"s\",{}\n", &json[1..])
}

fn message(second: u64, id: &str, block: &str, stop: &str, parent: Option<&str>) -> String {
    let parent = parent.map(|call| format!("\"{call}\"")).unwrap_or("null".to_owned());
    let usage = r#""usage":{"input_tokens":5,"output_tokens":7}"#;
    at(
        second,
        &format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"{id}","model":"m","content":[{block}],"stop_reason":{stop},{usage}}}}}"#
        ),
    )
}

fn tool_use(id: &str, tool: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}"#)
}

fn tool_result(second: u64, id: &str, is_error: bool, parent: Option<&str>) -> String {
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
fn turn_starts_after_last_tool_result() {
    let stream = [
        message(2, "m1", &tool_use("t1", "Bash"), "null", None),
        message(3, "m1", &tool_use("t2", "Read"), "\"tool_use\"", None),
        tool_result(5, "t2", false, None),
        tool_result(9, "t1", true, None),
        message(11, "m2", TEXT, "\"end_turn\"", None),
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
    assert_eq!(spans(&[&stream]), spans(&[head, tail]), "the pieces of a stream do not matter");
}

#[test]
fn sub_agent_has_its_own_conversation() {
    check(
        &[
            message(1, "m1", &tool_use("t1", "Task"), "\"tool_use\"", None),
            message(3, "s1", &tool_use("t2", "Bash"), "null", Some("t1")),
            tool_result(4, "t2", false, Some("t1")),
            message(6, "s2", TEXT, "null", Some("t1")),
            tool_result(7, "t1", false, None),
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
fn open_spans_end_with_attempt() {
    check(
        &[
            message(1, "m1", &tool_use("t1", "Bash"), "\"tool_use\"", None),
            message(2, "m2", TEXT, "null", None),
        ]
        .concat(),
        &expect![[r#"
            0..1000 turn m1: 7 tokens, tool_use
            1000..2000 turn m2: unknown tokens, cut
            1000..99000 Bash t1: Interrupted
        "#]],
    );
}

#[test]
fn synthetic_message_is_not_a_turn() {
    let synthetic = message(1, "m1", TEXT, "\"stop_sequence\"", None)
        .replace("\"model\":\"m\"", "\"model\":\"<synthetic>\"");
    check(&synthetic, &expect![[r#""#]]);
    check("no line\n{}\n", &expect![[r#""#]]);
}

#[test]
fn recorded_stream_has_complete_turns() {
    let stream = include_str!("../../../agent/fixtures/claude/sdk-hooks-callbacks.jsonl");
    let text = spans(&[stream]);
    assert!(text.lines().any(|line| line.contains("turn")) && text.contains("Returned"), "{text}");
}
