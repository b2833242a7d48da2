use super::{INPUT_BYTES_MAX, RESULT_BYTES_MAX, bound, bounded_input};
use crate::claude::Claude;
use crate::transcript_message::{EventKind, MessageOrigin, ToolResultKind, TranscriptMessage};
use crate::{Decoder, Dialect, DoneSignals, Guards};
use expect_test::{Expect, expect};
use longhaul_core::Exit;
use serde_json::value::RawValue;
use std::fmt::Write;
use std::slice;

macro_rules! stream {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/claude/", $name, ".jsonl")).as_slice()
    };
}

fn decoder() -> Box<dyn Decoder> {
    let mut decoder = Claude::default().decoder(&Guards::default(), &DoneSignals::default());
    decoder.collect_messages(1);
    decoder
}

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<TranscriptMessage> {
    let mut decoder = decoder();
    for piece in pieces {
        decoder.feed(piece, &mut Vec::new());
    }
    decoder.evidence(Exit::Unobserved, "");
    decoder.take_messages()
}

fn json(messages: &[TranscriptMessage]) -> String {
    serde_json::to_string(messages).expect("messages are JSON")
}

/// Renders one line per message.
fn render(messages: &[TranscriptMessage]) -> String {
    let mut out = String::new();
    for message in messages {
        let TranscriptMessage { kind, origin, content, tool, input, usage, denied, interrupted, .. } =
            message;
        let text = content.as_deref().or(input.as_ref().map(|input| input.get())).unwrap_or_default();
        let text: String = text.chars().take(60).collect();
        let tool = tool.as_ref().map(|tool| format!(" {tool}")).unwrap_or_default();
        let usage_note = usage.map(|usage| format!(" [{} out]", usage.output_tokens)).unwrap_or_default();
        let labels = [(*denied, " DENIED"), (*interrupted, " INTERRUPTED")];
        let labels: String = labels.iter().filter(|(is_set, _)| *is_set).map(|(_, label)| *label).collect();
        writeln!(out, "{kind:?} by {origin:?}{tool} {text:?}{usage_note}{labels}")
            .expect("writing to a string cannot fail");
    }
    out
}

fn check(stream: &[u8], expected: &Expect) {
    expected.assert_eq(&render(&decode([stream])));
}

#[test]
fn renders_conversation() {
    check(
        stream!("success-partial-messages"),
        &expect![[r#"
        Text by Model "I will create the file."
        ToolCall by Model Write "{\"file_path\":\"/demo/hello.txt\",\"content\":\"hello\\n\"}" [50 out]
        ToolResult by Tool "File created successfully at: /demo/hello.txt (file state is"
        Thinking by Model "Check it."
        Text by Model "Now check it and list in parallel."
        ToolCall by Model Bash "{\"command\":\"cat hello.txt\",\"description\":\"Show file\"}"
        ToolCall by Model Bash "{\"command\":\"ls -1; exit 3\",\"description\":\"List, failing\"}" [50 out]
        ToolResult by Tool "hello"
        ToolResult by Tool "Exit code 3\nhello.txt"
        Text by Model "All done: hello.txt exists." [77 out]
        Result by Agent ""
    "#]],
    );
}

#[test]
fn writes_every_field() {
    let messages = decode([stream!("success-partial-messages")]);
    let selected = [0, 1, 2, messages.len() - 1].map(|index| serde_json::to_string_pretty(&messages[index]));
    let selected: Vec<String> = selected.into_iter().map(|text| text.expect("a message is JSON")).collect();
    expect![[r#"
        {
          "type": "AssistantMessage",
          "kind": "text",
          "role": "assistant",
          "origin": "model",
          "timestamp": "2026-11-21T23:40:38.900Z",
          "attempt": 1,
          "session_id": "e889cf41-b764-4cee-8b18-adf904ff4c35",
          "id": "msg_010_4438803",
          "model": "claude-opus-5-5",
          "content": "I will create the file."
        }
        {
          "type": "AssistantMessage",
          "kind": "tool_call",
          "role": "assistant",
          "origin": "model",
          "timestamp": "2026-11-21T23:40:38.946Z",
          "attempt": 1,
          "session_id": "e889cf41-b764-4cee-8b18-adf904ff4c35",
          "id": "msg_010_4438803",
          "model": "claude-opus-5-5",
          "tool": "Write",
          "tool_use_id": "toolu_01000_388030",
          "input": {"file_path":"/demo/hello.txt","content":"hello\n"},
          "stop_reason": "tool_use",
          "usage": {
            "input_tokens": 1000,
            "output_tokens": 50,
            "cache_read_input_tokens": 3000,
            "cache_creation_input_tokens": 200
          },
          "estimated_cost_usd": 0.0066
        }
        {
          "type": "UserMessage",
          "kind": "tool_result",
          "role": "user",
          "origin": "tool",
          "timestamp": "2026-11-21T23:40:39.880Z",
          "attempt": 1,
          "session_id": "e889cf41-b764-4cee-8b18-adf904ff4c35",
          "content": "File created successfully at: /demo/hello.txt (file state is current in your context — no need to Read it back)",
          "tool_use_id": "toolu_01000_388030",
          "is_error": false
        }
        {
          "type": "ResultMessage",
          "kind": "result",
          "role": "system",
          "origin": "agent",
          "timestamp": null,
          "attempt": 1,
          "session_id": "e889cf41-b764-4cee-8b18-adf904ff4c35",
          "is_error": false,
          "subtype": "success",
          "terminal_reason": "completed",
          "result": "All done: hello.txt exists.",
          "duration_ms": 6284,
          "duration_api_ms": 1353,
          "num_turns": 4,
          "cost_usd": 0.02034,
          "total_cost_usd": 0.02034
        }"#]].assert_eq(&selected.join("\n"));
}

#[test]
fn marks_denied_and_interrupted_calls() {
    check(
        stream!("sdk-hooks-callbacks"),
        &expect![[r#"
        Text by Model "fetch"
        ToolCall by Model Bash "{\"command\":\"curl http://evil.example/\",\"description\":\"d\"}"
        ToolCall by Model WebFetch "{\"url\":\"https://evil.example/x\",\"prompt\":\"p\"}"
        ToolResult by Tool "PreToolUse:Bash hook error: Blocked URL: evil.example is not" DENIED
        ToolResult by Tool "PreToolUse:WebFetch hook error: Blocked URL: evil.example is" DENIED
        Text by Model "step"
        ToolCall by Model Bash "{\"command\":\"echo step\",\"description\":\"s\"}"
        ToolResult by Tool "step"
        Text by Model "Done one."
        Note by Agent "Stop hook feedback:\nContinue: the checks have not been run."
        Text by Model "Checks run, done."
        Result by Agent ""
    "#]],
    );
    check(
        stream!("permission-denied-no-host"),
        &expect![[r#"
        Text by Model "w"
        ToolCall by Model Write "{\"file_path\":\"/demo/a.txt\",\"content\":\"x\"}"
        ToolResult by Tool "Claude requested permissions to write to /demo/a.txt, but yo" DENIED
        Text by Model "could not"
        Result by Agent ""
    "#]],
    );
    check(
        stream!("killed-sigint-mid-tool"),
        &expect![[r#"
        Text by Model "First step."
        ToolCall by Model Bash "{\"command\":\"echo first >> side.txt\",\"description\":\"First\"}" [50 out]
        ToolResult by Tool "(Bash completed with no output)"
        Text by Model "Running the long command."
        ToolCall by Model Bash "{\"command\":\"echo start >> side.txt; bash -c 'exec -a longtas" [50 out]
        ToolResult by Tool "The user doesn't want to proceed with this tool use. The too" INTERRUPTED
        Note by Agent "[Request interrupted by user for tool use]"
        Result by Agent ""
    "#]],
    );
}

#[test]
fn separates_agent_program_from_model() {
    check(
        stream!("overloaded-exhausted-midrun"),
        &expect![[r#"
        Text by Model "s"
        ToolCall by Model Bash "{\"command\":\"echo one\"}"
        ToolResult by Tool "one"
        Text by Agent "API Error: 529 Overloaded. This is a server-side issue, usua"
        Result by Agent ""
    "#]],
    );
    check(
        stream!("success-auto-compacted"),
        &expect![[r#"
        Text by Model "step"
        ToolCall by Model Bash "{\"command\":\"echo one\"}"
        ToolResult by Tool "one"
        Summary by Agent "This session is being continued from a previous conversation"
        Text by Model "All good."
        Result by Agent ""
    "#]],
    );
}

/// A truncated stream gives a prefix of the messages, without the truncated message.
#[test]
fn truncated_stream_gives_prefix() {
    let stream = stream!("success-partial-messages");
    let whole: Vec<String> = decode([stream]).iter().map(|message| json(slice::from_ref(message))).collect();
    for cut in 0..stream.len() {
        let mut decoder = decoder();
        decoder.feed(&stream[..cut], &mut Vec::new());
        let messages = decoder.take_messages();
        let found: Vec<String> = messages.iter().map(|message| json(slice::from_ref(message))).collect();
        assert_eq!(found, whole[..found.len()], "cut at {cut}");
    }
}

#[test]
fn long_results_keep_their_ends() {
    let result = |text: &str| {
        let result = TranscriptMessage::new(EventKind::ToolResult, MessageOrigin::Tool, 1);
        let mut result = TranscriptMessage { content: Some(text.to_owned()), ..result };
        bound(&mut result);
        (result.content.expect("a text"), result.truncated_bytes)
    };
    let (short, long) = ("é".repeat(RESULT_BYTES_MAX / 2), "é".repeat(RESULT_BYTES_MAX));
    assert_eq!(result(&short), (short, 0));
    let (bounded, omitted) = result(&long);
    assert!(bounded.len() < RESULT_BYTES_MAX + 64, "{}", bounded.len());
    assert!(bounded.contains(&format!("[{omitted} bytes omitted]")), "{omitted}");
    assert_eq!(bounded.matches('é').count() * 2 + omitted as usize, long.len());
}

#[test]
fn long_arguments_keep_their_form() {
    let check = |input: &str, file_path: Option<&str>| {
        let (bounded, omitted) = bounded_input(input);
        assert!(omitted > 0 && bounded.as_ref().is_none_or(|input| input.get().len() <= INPUT_BYTES_MAX));
        let value =
            bounded.map(|input| serde_json::from_str::<serde_json::Value>(input.get()).expect("JSON"));
        assert_eq!(value.as_ref().and_then(|value| value["file_path"].as_str()), file_path);
    };
    let text = "x".repeat(INPUT_BYTES_MAX);
    check(&format!(r#"{{"file_path":"a.txt","content":"{text}"}}"#), Some("a.txt"));
    // No text in it is long, and it is too deep to be parsed.
    check(&("[".repeat(INPUT_BYTES_MAX) + &"]".repeat(INPUT_BYTES_MAX)), None);
    let short = r#"{"command":"ls"}"#;
    let input = Some(RawValue::from_string(short.to_owned()).expect("JSON"));
    let call = TranscriptMessage::new(EventKind::ToolCall, MessageOrigin::Model, 1);
    let mut call = TranscriptMessage { input, ..call };
    bound(&mut call);
    assert_eq!((call.input.expect("it is short").get(), call.truncated_bytes), (short, 0));
}

/// The agent requested this message again without streaming, so there are no deltas and no usage.
#[test]
fn does_not_wait_for_missing_end() {
    let mut decoder = decoder();
    let row = br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"One."}]}}"#;
    decoder.feed(&[row.as_slice(), b"\n"].concat(), &mut Vec::new());
    assert_eq!(decoder.take_messages().len(), 1);
}

/// Some gateways state the input of a message only at its start.
#[test]
fn usage_includes_input_from_start_of_message() {
    let lines = [
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1000,"cache_read_input_tokens":500,"output_tokens":1}}}}"#,
        r#"{"type":"assistant","message":{"id":"m","model":"claude-opus-5-5","content":[{"type":"text","text":"One."}]}}"#,
        r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}}"#,
    ];
    let messages = decode([lines.join("\n").as_bytes(), b"\n"]);
    let usage = messages[0].usage.expect("the message has usage");
    assert_eq!((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (1000, 500, 9));
    // 1,000 tokens of input, 500 of cached input and 9 of output.
    assert_eq!(messages[0].estimated_cost_usd, Some(0.00428));
}

#[test]
fn stream_kinds_come_from_stream() {
    let messages = decode([stream!("success-partial-messages")]);
    assert!(messages.iter().all(|message| message.kind.comes_from_stream()));
}

/// Messages in between wait for the message in progress, so that the order is kept. Sub-agents' messages have
/// no usage.
#[test]
fn separates_sub_agents() {
    let row = |message: &str, stop: &str, block: &str, parent: &str| {
        format!(
            r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":{parent},"message":{{"id":"{message}",
            "model":"claude-opus-5-5","stop_reason":{stop},"usage":{{"output_tokens":5}},"content":[{block}]}}}}"#
        )
        .replace('\n', "")
    };
    let call = r#"{"type":"tool_use","id":"t","name":"Agent","input":{"description":"Count"}}"#;
    let text = r#"{"type":"text","text":"One."}"#;
    let start = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m2"}}}"#;
    let message_end = r#"{"type":"stream_event","api_message_id":"m2","event":{"type":"message_delta",
        "delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}}"#;
    let lines = [
        row("m1", "\"tool_use\"", call, "null"),
        row("s1", "null", text, "\"t\""),
        start.to_owned(),
        row("m2", "null", text, "null"),
        row("s2", "\"end_turn\"", text, "\"t\""),
        message_end.replace('\n', ""),
    ];
    let stream = lines.join("\n");
    let messages = decode([stream.as_bytes()]);
    let found: Vec<_> = messages
        .iter()
        .map(|message| {
            let output_tokens = message.usage.map(|usage| usage.output_tokens);
            (message.id.as_deref(), message.parent_tool_use_id.as_deref(), message.subagent, output_tokens)
        })
        .collect();
    assert_eq!(
        found,
        [
            (Some("m1"), None, true, Some(5)),
            (Some("s1"), Some("t"), false, None),
            (Some("m2"), None, false, Some(9)),
            (Some("s2"), Some("t"), false, None),
        ]
    );
}

/// The lines of 2.1.330: the result of a call in the background reports only its start.
#[test]
fn marks_start_and_end_of_background_calls() {
    let result = |call: &str, details: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"tool_use_id":"{call}","type":"tool_result","content":"Started."}}]}},"tool_use_result":{details}}}"#
        )
    };
    let end = |call: &str, status: &str, summary: &str| {
        format!(
            r#"{{"type":"system","subtype":"task_notification","tool_use_id":"{call}","status":"{status}","summary":"{summary}"}}"#
        )
    };
    let start = |call: &str, is_backgrounded: bool| {
        format!(
            r#"{{"type":"system","subtype":"task_started","tool_use_id":"{call}","is_backgrounded":{is_backgrounded}}}"#
        )
    };
    let lines = [
        start("a", true),
        // A call that becomes a background call, and one that stays in the foreground.
        start("b", false),
        start("d", false),
        end("d", "completed", "sleep 5"),
        result("a", r#"{"isAsync":true,"status":"async_launched","agentId":"a1"}"#),
        result("b", r#"{"stdout":"","backgroundTaskId":"b1"}"#),
        result("c", r#"{"stdout":"","backgroundTaskId":""}"#),
        result("d", r#""text""#),
        end("a", "completed", "There are 42 files."),
        end("b", "failed", ""),
        end("c", "stopped", "Stopped."),
    ];
    let messages = decode([lines.join("\n").as_bytes()]);
    let found: Vec<_> = messages
        .iter()
        .map(|message| {
            let call = message.tool_use_id.as_deref().unwrap_or_default();
            (call, message.background, message.result_kind(), message.text())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", true, ToolResultKind::Ok, "Started."),
            ("b", true, ToolResultKind::Ok, "Started."),
            ("c", false, ToolResultKind::Ok, "Started."),
            ("d", false, ToolResultKind::Ok, "Started."),
            ("a", false, ToolResultKind::Ok, "There are 42 files."),
            ("b", false, ToolResultKind::Error, "failed"),
            ("c", false, ToolResultKind::Unknown, "Stopped."),
        ]
    );
}
