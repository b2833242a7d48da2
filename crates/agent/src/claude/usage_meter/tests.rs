use super::UsageMeter;
use crate::Prices;
use crate::claude::wire::{ResultLine, SessionUsage, StreamLine, parse};
use longhaul_core::{Tokens, Usage, Usd};
use std::collections::BTreeSet;

/// Measures a script with one event per entry: `start ID [THREAD]`, `delta ID BYTES`, `end ID OUTPUT`, `cut
/// ID` (ended without a reason), `stop ID`, `row ID [THREAD]`, `whole ID` (a row with its final usage),
/// `file ID` (the same in the agent's own file), `result MESSAGES OUTPUT MICRODOLLARS`, `exit`.
fn usage_of(script: &str) -> Usage {
    let mut meter = UsageMeter::new(Prices::bundled().clone());
    for event in script.split(';').map(str::trim) {
        let words: Vec<&str> = event.split(' ').collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let (id, thread) = (word(1), word(2));
        let usage = |output: &str| {
            format!(
                r#"{{"input_tokens":1000,"cache_read_input_tokens":3000,"cache_creation_input_tokens":200,"output_tokens":{output}}}"#
            )
        };
        let message = |reason: &str, output: &str| {
            let usage = usage(output);
            format!(
                r#"{{"id":"{id}","model":"claude-opus-5-5","stop_reason":{reason},"usage":{usage},"content":[{{"type":"text","text":"twelve bytes"}}]}}"#
            )
        };
        let stream = |event: &str, thread: &str| {
            format!(
                r#"{{"type":"stream_event","event":{event},"api_message_id":"{id}","parent_tool_use_id":"{thread}"}}"#
            )
        };
        let line = match word(0) {
            "start" => {
                stream(&format!(r#"{{"type":"message_start","message":{}}}"#, message("null", "1")), thread)
            }
            "delta" => {
                let text = "x".repeat(word(2).parse().expect("a number of bytes"));
                stream(&format!(r#"{{"type":"content_block_delta","delta":{{"text":"{text}"}}}}"#), "")
            }
            "end" => {
                let usage = format!(r#"{{"output_tokens":{}}}"#, word(2));
                stream(
                    &format!(
                        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#
                    ),
                    "",
                )
            }
            "cut" => stream(
                r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":1}}"#,
                "",
            ),
            "stop" => stream(r#"{"type":"message_stop"}"#, ""),
            "row" => format!(r#"{{"message":{}}}"#, message("null", "1")),
            "whole" | "file" => format!(r#"{{"message":{}}}"#, message("\"end_turn\"", "50")),
            "result" => {
                let count: u64 = word(1).parse().expect("a number of messages");
                let cost: f64 = word(3).parse().expect("micro-dollars");
                format!(
                    r#"{{"model_usage_since_last_result":{{"claude-opus-5-5":{{"inputTokens":{},"cacheReadInputTokens":{},"cacheCreationInputTokens":{},"outputTokens":{},"costUSD":{}}}}}}}"#,
                    count * 1000,
                    count * 3000,
                    count * 200,
                    word(2),
                    cost / 1e6
                )
            }
            "exit" => {
                meter.close_all();
                continue;
            }
            other => unreachable!("no event `{other}`"),
        };
        let bytes = line.as_bytes();
        match word(0) {
            "row" | "whole" => {
                meter.row(&parse::<StreamLine<'_>>(bytes).expect("it is JSON").message, thread)
            }
            "file" => meter.file_row(&parse::<StreamLine<'_>>(bytes).expect("it is JSON").message),
            "result" => meter.on_result(&parse::<ResultLine<'_>>(bytes).expect("it is JSON")),
            _ => meter.stream_event(&parse::<StreamLine<'_>>(bytes).expect("it is JSON")),
        }
    }
    meter.usage()
}

/// Checks the output tokens, the messages and the reported micro-dollars; after `~` the estimated ones, and after
/// `cut` the tokens and the number of truncated messages.
fn check(script: &str, expected: &str) {
    let usage = usage_of(script);
    let (complete, truncated) = (usage.tokens, usage.truncated_tokens);
    let mut text = format!("{} ({}) ${}", complete.output, usage.messages, usage.reported_cost.0);
    if usage.estimated_cost.0 > 0 {
        text.push_str(&format!(" ~{}", usage.estimated_cost.0));
    }
    if usage.truncated_messages > 0 {
        text.push_str(&format!(" cut {} ({})", truncated.output, usage.truncated_messages));
    }
    assert_eq!(text, expected, "{script}");
    let of_messages = |count: u32, output| Tokens {
        input: u64::from(count) * 1000,
        cache_read: u64::from(count) * 3000,
        cache_write: u64::from(count) * 200,
        output,
    };
    assert_eq!(complete, of_messages(usage.messages, complete.output), "{script}");
    assert_eq!(truncated, of_messages(usage.truncated_messages, truncated.output), "{script}");
    // Messages of sub-agents, which have a thread, are not turns.
    assert_eq!(usage.turns, usage.messages - sub_agents_messages(script), "{script}");
    assert!(!usage.unpriced, "{script}");
}

fn sub_agents_messages(script: &str) -> u32 {
    let events = script.split(';').map(|event| event.trim().split(' ').collect::<Vec<_>>());
    let threaded = events.filter(|event| matches!(event.last(), Some(&("t" | "u"))));
    threaded.map(|event| event[1].to_owned()).collect::<BTreeSet<_>>().len() as u32
}

#[test]
fn counts_messages_once() {
    check("start a; delta a 40; end a 50; stop a", "50 (1) $0 ~6600");
    check("start a; row a; row a; end a 50; row a; stop a; exit", "50 (1) $0 ~6600");
    check("start a; end a 50; start a; delta a 400; end a 50; exit", "50 (1) $0 ~6600");
    check("start a; end a 50; result 1 50 6600; row a; start a; end a 50; exit", "50 (1) $6600");
}

#[test]
fn estimates_truncated_messages() {
    // A message in progress is not counted.
    check("start a; delta a 40", "0 (0) $0");
    check("start a; delta a 40; delta a 2; exit", "0 (0) $0 ~5800 cut 10 (1)");
    check("start a; delta a 40; cut a; stop a", "0 (0) $0 ~5800 cut 10 (1)");
    check("start a; delta a 40; stop a", "0 (0) $0 ~5800 cut 10 (1)");
    // The same thread starts another message, so the first one was abandoned.
    check("start a; delta a 40; start b; end b 50; exit", "50 (1) $0 ~12400 cut 10 (1)");
    // Another thread does not end it.
    check("start a; delta a 40; start b t; end b 50; end a 50; exit", "100 (2) $0 ~13200");
    check("start a; delta a 40; whole b; exit", "50 (1) $0 ~12400 cut 10 (1)");
}

#[test]
fn result_covers_earlier_usage() {
    check("start a; end a 50; result 1 50 7000", "50 (1) $7000");
    check("start a; end a 50; result 1 50 7000; start b; end b 50", "100 (2) $7000 ~6600");
    check("start a; end a 50; result 1 50 7000; start b; end b 50; result 1 50 8000", "100 (2) $15000");
    // The agent's estimate for a truncated message is in its sum; ours is kept.
    check("start a; delta a 40; cut a; start b; end b 50; result 2 63 12460", "50 (1) $12460 cut 10 (1)");
    // After an error in the stream, the agent's sum lacks the message, with its input.
    check("start a; delta a 40; cut a; start b; end b 50; result 1 50 6600", "50 (1) $6600 ~5800 cut 10 (1)");
    check("start a; delta a 40; cut a; result 0 0 0", "0 (0) $0 ~5800 cut 10 (1)");
    check("result 0 0 0", "0 (0) $0");
}

#[test]
fn measures_sub_agents_by_rows() {
    // The next result states their output. Until then, the rows give it.
    check("row a t; row a t; exit", "6 (1) $0 ~5720");
    check("row a t; row a t; row b t; exit", "9 (2) $0 ~11380");
    check("start m; end m 50; row a t; row b u; result 3 777 9000", "777 (3) $9000");
    check("row a t; row b t; result 2 90 9000; row b t; exit", "90 (2) $9000");
    // They count at once.
    check("row a t", "3 (1) $0 ~5660");
    check("row a t; row b t; result 2 90 9000; row c t", "93 (3) $9000 ~5660");
    // A result lacks the message in progress.
    check("start m; end m 50; row a t; result 1 50 6600", "53 (2) $6600 ~5660");
    check("start m; end m 50; row a t; result 1 50 6600; row a t; row b t; exit", "59 (3) $6600 ~11380");
    check("row a t; row b t; row c u; result 2 90 9000; result 1 7 5000", "97 (3) $14000");
    // The usage of a complete row is exact.
    check("whole a; exit", "50 (1) $0 ~6600");
}

#[test]
fn files_of_sub_agents_state_usage_after_a_crash() {
    check("row a t; row b t; file a; file a; exit", "53 (2) $0 ~12260");
    check("row a t; row a t; row b t; file a; file b; exit", "100 (2) $0 ~13200");
    check("start m; end m 50; row a t; result 1 50 6600; row a t; file a; exit", "100 (2) $6600 ~6600");
    // Messages of earlier attempts and of earlier results do not count again.
    check("row a t; result 1 90 9000; row b t; file z; file a; file b; exit", "140 (2) $9000 ~6600");
}

#[test]
fn includes_requests_missing_from_stream() {
    let usage = usage_of("start a; end a 50; result 3 170 20000");
    assert_eq!(usage.tokens, Tokens { input: 3000, cache_read: 9000, cache_write: 600, output: 170 });
    assert_eq!((usage.messages, usage.reported_cost), (1, Usd(20_000)));
}

#[test]
fn memory_is_flat() {
    let mut meter = UsageMeter::new(Prices::default());
    for number in 0..20_000 {
        let line = format!(r#"{{"message":{{"id":"msg{number}","model":"m","content":[]}}}}"#);
        let row = parse::<StreamLine<'_>>(line.as_bytes()).expect("it is JSON");
        meter.row(&row.message, &format!("thread{number}"));
    }
    assert!(meter.live.len() <= super::LIVE_MESSAGES_MAX);
    meter.close_all();
    assert_eq!(meter.usage().messages, 20_000);
}

#[test]
fn saturates_absurd_counts() {
    let line = r#"{"type":"result","model_usage_since_last_result":{"a":{"inputTokens":1e30,"cacheReadInputTokens":1e30},"b":{"inputTokens":5}}}"#;
    let mut meter = UsageMeter::new(Prices::bundled().clone());
    meter.on_result(&parse::<ResultLine<'_>>(line.as_bytes()).expect("an object"));
    let usage = meter.usage();
    assert_eq!((usage.tokens.input, usage.tokens.total()), (u64::MAX, u64::MAX));
}

#[test]
fn usage_report_at_the_end_includes_sub_agents() {
    let mut meter = UsageMeter::new(Prices::bundled().clone());
    let report = |meter: &mut UsageMeter, text: &str| {
        meter.on_usage_report(&parse::<SessionUsage<'_>>(text.as_bytes()).expect("it is JSON"));
        let usage = meter.usage();
        (usage.reported_cost.0, usage.estimated_cost.0, usage.tokens.input, usage.tokens.output)
    };
    let end = r#"{"total_cost_usd":0.132,"model_usage":{"claude-opus-5-5":{"inputTokens":3000,"outputTokens":8200}}}"#;
    assert_eq!(report(&mut meter, end), (0, 0, 0, 0), "a resumed session has older usage");
    let result = r#"{"total_cost_usd":0.009,"usage":{"input_tokens":2000,"output_tokens":200},"modelUsage":{"claude-opus-5-5":{"inputTokens":2000,"outputTokens":200}}}"#;
    meter.on_result(&parse::<ResultLine<'_>>(result.as_bytes()).expect("it is JSON"));
    assert_eq!(report(&mut meter, end), (9_000, 0, 2000, 200), "nothing followed the result");
    let row = r#"{"message":{"id":"a","model":"claude-opus-5-5","usage":{"input_tokens":1000,"output_tokens":1},"content":[{"type":"text","text":"sub"}]}}"#;
    meter.row(&parse::<StreamLine<'_>>(row.as_bytes()).expect("it is JSON").message, "toolu_1");
    assert_eq!(report(&mut meter, end), (132_000, 0, 3000, 8200));
}
