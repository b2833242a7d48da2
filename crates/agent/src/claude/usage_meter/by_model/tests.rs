use super::super::UsageMeter;
use super::{MODELS_MAX, split};
use crate::Prices;
use crate::claude::wire::{ResultLine, StreamLine, parse};
use expect_test::{Expect, expect};
use longhaul_core::Usage;
use std::fmt::Write;

const OPUS: &str = "claude-opus-5-5";

/// Measures a script with one event per entry:
///
/// - `MODEL INPUT OUTPUT`: a message
/// - `guess MODEL INPUT`: a sub-agent's message without its final usage
/// - `cut MODEL INPUT BYTES`: a truncated message
/// - `reports MODEL INPUT OUTPUT MICRODOLLARS, …`: a result by model
/// - `costs MICRODOLLARS`: a result with only a total
/// - `plain MODEL INPUT OUTPUT MICRODOLLARS`: a result of the plain format
///
/// A model `-` is missing.
fn meter_after(script: &str) -> UsageMeter {
    let mut meter = UsageMeter::new(Prices::bundled().clone());
    let events = script.split(';').map(str::trim).filter(|event| !event.is_empty());
    for (number, event) in events.enumerate() {
        let words: Vec<&str> = event.split(' ').collect();
        let id = format!("m{number}");
        let message = |model: &str, input: &str, output: &str, reason: &str| {
            let model = if model == "-" { String::new() } else { format!(r#""model":"{model}","#) };
            format!(
                r#"{{"id":"{id}",{model}"stop_reason":{reason},"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
            )
        };
        let row = |message: String| format!(r#"{{"message":{message}}}"#);
        let start = |message: String| {
            format!(r#"{{"type":"stream_event","event":{{"type":"message_start","message":{message}}}}}"#)
        };
        match words.as_slice() {
            ["guess", model, input] => {
                feed_row(&mut meter, &row(message(model, input, "1", "null")), "t");
            }
            ["cut", model, input, bytes] => {
                let text = "x".repeat(bytes.parse().expect("a number"));
                let delta = format!(
                    r#"{{"event":{{"type":"content_block_delta","delta":{{"text":"{text}"}}}},"api_message_id":"{id}"}}"#
                );
                let stop = format!(r#"{{"event":{{"type":"message_stop"}},"api_message_id":"{id}"}}"#);
                for line in [start(message(model, input, "1", "null")), delta, stop] {
                    meter.stream_event(&parse::<StreamLine<'_>>(line.as_bytes()).expect("it is JSON"));
                }
            }
            ["reports", ..] => {
                let reported =
                    event["reports".len()..].split(',').map(str::trim).filter(|part| !part.is_empty());
                let reported: Vec<String> = reported.map(reported_model).collect();
                result(&mut meter, &format!(r#""model_usage_since_last_result":{{{}}}"#, reported.join(",")));
            }
            ["costs", cost] => result(&mut meter, &format!(r#""total_cost_usd":{}"#, dollars(cost))),
            ["plain", model, input, output, cost] => result(
                &mut meter,
                &format!(
                    r#""modelUsage":{{"{model}":{{}}}},"usage":{{"input_tokens":{input},"output_tokens":{output}}},"total_cost_usd":{}"#,
                    dollars(cost)
                ),
            ),
            [model, input, output] => {
                feed_row(&mut meter, &row(message(model, input, output, "\"end_turn\"")), "");
            }
            other => unreachable!("no event {other:?}"),
        }
    }
    meter.close_all();
    meter
}

fn feed_row(meter: &mut UsageMeter, line: &str, thread: &str) {
    meter.row(&parse::<StreamLine<'_>>(line.as_bytes()).expect("it is JSON").message, thread);
}

fn result(meter: &mut UsageMeter, fields: &str) {
    meter.on_result(&parse::<ResultLine<'_>>(format!("{{{fields}}}").as_bytes()).expect("it is JSON"));
}

fn dollars(micro: &str) -> f64 {
    micro.parse::<f64>().expect("micro-dollars") / 1e6
}

fn reported_model(words: &str) -> String {
    let [name, input, output, cost] = words.split(' ').collect::<Vec<_>>()[..] else {
        unreachable!("not a model: {words}")
    };
    format!(r#""{name}":{{"inputTokens":{input},"outputTokens":{output},"costUSD":{}}}"#, dollars(cost))
}

fn parts(meter: &UsageMeter) -> Vec<(String, Usage)> {
    let parts = meter.by_model();
    let sum = parts.iter().fold(Usage::default(), |sum, (_, part)| sum.plus(*part));
    assert_eq!(sum, meter.usage(), "{parts:#?}");
    assert!(parts.is_sorted_by(|one, other| one.0 < other.0), "{parts:#?}");
    parts
}

/// Checks the input, output, messages and reported micro-dollars of each model, and after `~` the estimated
/// ones.
fn check(script: &str, expected: Expect) {
    let models: Vec<String> =
        parts(&meter_after(script)).iter().map(|(name, usage)| render(name, *usage)).collect();
    expected.assert_eq(&models.join("; "));
}

fn render(name: &str, usage: Usage) -> String {
    let name = if name.is_empty() { "-" } else { name };
    let mut text = String::new();
    let Usage {
        tokens,
        truncated_tokens,
        messages,
        truncated_messages,
        turns,
        reported_cost: cost,
        estimated_cost,
        unpriced,
    } = usage;
    let count = if turns == messages { turns.to_string() } else { format!("{turns} of {messages}") };
    write!(text, "{name} {} {} ({count}) ${}", tokens.input, tokens.output, cost.0)
        .expect("writing to a string cannot fail");
    if estimated_cost.0 > 0 {
        write!(text, " ~{}", estimated_cost.0).expect("writing to a string cannot fail");
    }
    if truncated_messages > 0 {
        write!(text, " cut {} {} ({truncated_messages})", truncated_tokens.input, truncated_tokens.output)
            .expect("writing to a string cannot fail");
    }
    text.push_str(if unpriced { " unpriced" } else { "" });
    text
}

#[test]
fn prices_usage_without_result_by_model() {
    check("", expect![""]);
    check(
        "claude-opus-5-5 1000 50; claude-sonnet-4-5 1000 50; claude-opus-5-5 1000 50",
        expect!["claude-opus-5-5 2000 100 (2) $0 ~10000; claude-sonnet-4-5 1000 50 (1) $0 ~3750"],
    );
    check(
        "claude-opus-5-5 1000 50; house-7b 1000 50",
        expect!["claude-opus-5-5 1000 50 (1) $0 ~5000; house-7b 1000 50 (1) $0 unpriced"],
    );
    check(
        "claude-opus-5-5 1000 50; cut claude-sonnet-4-5 1000 40",
        expect!["claude-opus-5-5 1000 50 (1) $0 ~5000; claude-sonnet-4-5 0 0 (0) $0 ~3150 cut 1000 10 (1)"],
    );
    // Rounding leaves a millionth: each part costs half a millionth more than shown.
    check(
        "claude-haiku-5-5 5 0; claude-haiku-5-5-20260101 5 0; claude-haiku-5-5[1m] 5 0",
        expect![
            "claude-haiku-5-5 5 0 (1) $0; claude-haiku-5-5-20260101 5 0 (1) $0 ~1; claude-haiku-5-5[1m] 5 0 (1) $0 ~1"
        ],
    );
    // Messages without a model, next to two models and to one.
    check(
        "claude-opus-5-5 1000 50; claude-sonnet-4-5 1000 50; - 100 5",
        expect![
            "- 100 5 (1) $0 unpriced; claude-opus-5-5 1000 50 (1) $0 ~5000; claude-sonnet-4-5 1000 50 (1) $0 ~3750"
        ],
    );
    check("claude-opus-5-5 1000 50; - 100 5", expect!["claude-opus-5-5 1100 55 (2) $0 ~5000 unpriced"]);
    check("- 100 5", expect!["- 100 5 (1) $0 unpriced"]);
}

#[test]
fn result_reports_cost_by_model() {
    check("reports", expect![""]);
    check("claude-opus-5-5 1000 50; reports", expect!["claude-opus-5-5 1000 50 (1) $0"]);
    check(
        "claude-opus-5-5 1000 50; claude-haiku-5-5 1000 50; reports claude-opus-5-5 1000 50 7000, claude-haiku-5-5 1000 50 130",
        expect!["claude-haiku-5-5 1000 50 (1) $130; claude-opus-5-5 1000 50 (1) $7000"],
    );
    // Two results, and usage after them.
    check(
        "claude-opus-5-5 1000 50; reports claude-opus-5-5 1000 50 7000; claude-haiku-5-5 1000 50; \
         reports claude-haiku-5-5 1000 50 130; claude-haiku-5-5 1000 50",
        expect!["claude-haiku-5-5 2000 100 (2) $130 ~125; claude-opus-5-5 1000 50 (1) $7000"],
    );
    // Requests that the stream does not show, of a model that it does not name.
    check(
        "claude-opus-5-5 1000 50; reports claude-opus-5-5 1000 50 7000, claude-haiku-5-5 400 20 50",
        expect!["claude-haiku-5-5 400 20 (0) $50; claude-opus-5-5 1000 50 (1) $7000"],
    );
    // Output that the stream does not show belongs to the busiest model.
    check(
        "claude-opus-5-5 1000 50; reports claude-opus-5-5 1000 60 7000, claude-haiku-5-5 400 20 50",
        expect!["claude-haiku-5-5 400 20 (0) $50; claude-opus-5-5 1000 60 (1) $7000"],
    );
    // The output of sub-agents is only known from the result.
    check(
        "claude-opus-5-5 1000 50; guess claude-haiku-5-5 1000; guess claude-haiku-5-5 1000; \
         reports claude-opus-5-5 1000 50 7000, claude-haiku-5-5 2000 777 600",
        expect!["claude-haiku-5-5 2000 777 (0 of 2) $600; claude-opus-5-5 1000 50 (1) $7000"],
    );
    // A truncated message stays with its model, as does the cost that the report omits.
    check(
        "claude-opus-5-5 1000 50; cut claude-sonnet-4-5 1000 40; reports claude-opus-5-5 1000 50 5000, claude-sonnet-4-5 1000 1 3015",
        expect!["claude-opus-5-5 1000 50 (1) $5000; claude-sonnet-4-5 0 0 (0) $3015 ~135 cut 1000 10 (1)"],
    );
    // It also stays unpriced, unless the report contains all of it.
    check(
        "house-7b 1000 50; cut house-70b 1000 40; reports house-7b 1000 50 5000, house-70b 1000 1 3015",
        expect!["house-70b 0 0 (0) $3015 cut 1000 10 (1) unpriced; house-7b 1000 50 (1) $5000"],
    );
    check(
        "house-7b 1000 50; cut house-70b 1000 40; reports house-7b 1000 50 5000, house-70b 1000 10 3015",
        expect!["house-70b 0 0 (0) $3015 cut 1000 10 (1); house-7b 1000 50 (1) $5000"],
    );
}

#[test]
fn uses_reported_names() {
    check(
        "claude-sonnet-4-5-20250929 1000 50; reports claude-sonnet-4-5[1m] 1000 50 3750; claude-sonnet-4-5-20250929 1000 50",
        expect!["claude-sonnet-4-5[1m] 2000 100 (2) $3750 ~3750"],
    );
    check(
        "claude-sonnet-4-5-20250929 1000 50; reports us.anthropic.claude-sonnet-4-5-20250929-v1:0 1000 50 3750",
        expect!["us.anthropic.claude-sonnet-4-5-20250929-v1:0 1000 50 (1) $3750"],
    );
    // One name starts with the other, but they are two models.
    check(
        "claude-opus-5 1000 50; claude-opus-5-5 1000 50; reports claude-opus-5-5 1000 50 5000, claude-opus-5 1000 50 6250",
        expect!["claude-opus-5 1000 50 (1) $6250; claude-opus-5-5 1000 50 (1) $5000"],
    );
    // In a later exchange, whose result does not include it yet.
    check(
        "claude-sonnet-4-5-20250929 1000 50; reports claude-sonnet-4-5[1m] 1000 50 3750; \
         claude-sonnet-4-5-20250929 1000 50; claude-opus-5-5 1000 50; reports claude-opus-5-5 1000 50 5000",
        expect!["claude-opus-5-5 1000 50 (1) $5000; claude-sonnet-4-5[1m] 2000 100 (2) $3750"],
    );
    check(
        "claude-sonnet-4-5 2000 100; reports claude-sonnet-4-5[1m] 1000 50 3750, claude-sonnet-4-5 1000 50 3750",
        expect!["claude-sonnet-4-5 1000 50 (1) $3750; claude-sonnet-4-5[1m] 1000 50 (0) $3750"],
    );
    // With and without a variant: the messages of both have the same name.
    check(
        "claude-sonnet-4-5 1000 50; claude-sonnet-4-5 1000 50; \
         reports claude-sonnet-4-5 1000 50 3750, claude-sonnet-4-5[1m] 1000 50 3750",
        expect!["claude-sonnet-4-5 1000 50 (2) $3750; claude-sonnet-4-5[1m] 1000 50 (0) $3750"],
    );
}

#[test]
fn matches_names_of_gateways() {
    check(
        "glm-4.6 1000 50; glm-4.6 1000 50; reports claude-opus-5-5 2000 100 10000",
        expect!["claude-opus-5-5 2000 100 (2) $10000"],
    );
    check(
        "glm-4.6 1000 50; claude-haiku-5-5 1000 50; reports claude-opus-5-5 1000 50 5000, claude-haiku-5-5 1000 50 125",
        expect!["claude-haiku-5-5 1000 50 (1) $125; claude-opus-5-5 1000 50 (1) $5000"],
    );
    // Two other names, matched by their prompts and by their total usage.
    check(
        "glm-4.5 1000 50; glm-4.6 2000 100; reports claude-opus-5-5 2100 200 10000, claude-haiku-5-5 1000 50 125",
        expect!["claude-haiku-5-5 1000 50 (1) $125; claude-opus-5-5 2100 200 (1) $10000"],
    );
    check(
        "glm-4.5 1000 50; glm-4.6 1000 51; reports claude-opus-5-5 1000 51 5000, claude-haiku-5-5 1000 50 125",
        expect!["claude-haiku-5-5 1000 50 (1) $125; claude-opus-5-5 1000 51 (1) $5000"],
    );
    check("- 1000 50; reports claude-opus-5-5 1000 50 5000", expect!["claude-opus-5-5 1000 50 (1) $5000"]);
    // A sub-agent's message that the result does not include yet, next to a request that the stream does not
    // show.
    check(
        "guess glm-4.6 5000; reports claude-opus-5-5 100 5 500",
        expect!["claude-opus-5-5 100 5 (0) $500; glm-4.6 0 0 (0 of 1) $0"],
    );
    // Messages that the result includes in part.
    check(
        "glm-4.6 1000 50; glm-4.5 1000 50; glm-4 1000 50; reports claude-opus-5-5 1200 60 5000",
        expect!["claude-opus-5-5 1200 60 (1) $5000; glm-4.5 800 40 (1) $0; glm-4.6 1000 50 (1) $0"],
    );
    // It is unknown which of two models was requested.
    check(
        "glm-4.6 1000 50; reports claude-opus-5-5 1000 60 5200, claude-sonnet-4-5 1000 60 3900",
        expect!["claude-opus-5-5 1000 60 (0) $5200; claude-sonnet-4-5 1000 60 (0) $3900; glm-4.6 0 0 (1) $0"],
    );
}

#[test]
fn splits_reported_sum() {
    // By the prices of the table, whose ratio is 5 to 3.75.
    check(
        "claude-opus-5-5 1000 50; claude-sonnet-4-5 1000 50; costs 17500",
        expect!["claude-opus-5-5 1000 50 (1) $10000; claude-sonnet-4-5 1000 50 (1) $7500"],
    );
    // By output if the table has no price for them.
    check(
        "house-7b 1000 100; house-70b 1000 300; costs 4000",
        expect!["house-70b 1000 300 (1) $3000; house-7b 1000 100 (1) $1000"],
    );
    check(
        "house-7b 1000 100; cut house-70b 1000 400; costs 4000",
        expect!["house-70b 0 0 (0) $2000 cut 1000 100 (1); house-7b 1000 100 (1) $2000"],
    );
    // An invalid sum is ignored.
    check(
        "claude-opus-5-5 1000 50; claude-sonnet-4-5 1000 50; costs -1",
        expect!["claude-opus-5-5 1000 50 (1) $0 ~5000; claude-sonnet-4-5 1000 50 (1) $0 ~3750"],
    );
    check(
        "house-70b 2000 0; house-7b 1000 0; costs 4000",
        expect!["house-70b 2000 0 (1) $4000; house-7b 1000 0 (1) $0"],
    );
    check(
        "claude-opus-5-5 1000 50; costs 7000; claude-opus-5-5 1000 50; costs 12000",
        expect!["claude-opus-5-5 2000 100 (2) $12000"],
    );
    // Without any message, it belongs to the only model of the process.
    check("claude-opus-5-5 1000 50; costs 7000; costs 12000", expect!["claude-opus-5-5 1000 50 (1) $12000"]);
    check("costs 7000", expect!["- 0 0 (0) $7000"]);
    check("plain claude-opus-5-5 1000 50 7000", expect!["claude-opus-5-5 1000 50 (0) $7000"]);
}

#[test]
fn splits_without_remainder() {
    let check = |sum: u64, weights: &[u64], expected: &[u64]| assert_eq!(split(sum, weights), expected);
    check(100, &[1, 1, 2], &[25, 25, 50]);
    check(100, &[1, 1, 1], &[33, 33, 34]);
    check(1, &[1, 1], &[0, 1]);
    check(100, &[0, 0], &[0, 0]);
    check(100, &[], &[]);
    check(u64::MAX, &[u64::MAX, u64::MAX], &[u64::MAX / 2, u64::MAX / 2 + 1]);
    let many = split(u64::MAX, &[u64::MAX; MODELS_MAX + 1]);
    assert_eq!(many.iter().map(|part| u128::from(*part)).sum::<u128>(), u128::from(u64::MAX));
}

#[test]
fn memory_is_flat() {
    let mut meter = UsageMeter::new(Prices::default());
    let message = |meter: &mut UsageMeter, number: u32, model: &str| {
        let line = format!(
            r#"{{"message":{{"id":"m{number}","model":"{model}","usage":{{"output_tokens":7}},"stop_reason":"end_turn"}}}}"#
        );
        feed_row(meter, &line, "");
    };
    message(&mut meter, 1000, &"x".repeat(1000));
    for number in 0..1000 {
        message(&mut meter, number, &format!("model{number}"));
        if number % 90 == 89 {
            result(&mut meter, &format!(r#""total_cost_usd":{number}"#));
        }
    }
    message(&mut meter, 1001, OPUS);
    meter.close_all();
    let parts = parts(&meter);
    // One part has no name: it collects the name that is too long and all names beyond the limit.
    assert_eq!(parts.len(), MODELS_MAX);
    assert!(parts[0].0.is_empty() && parts[0].1.messages > 900, "{:?}", parts[0]);
    assert!(parts.iter().all(|(name, _)| name.len() < 10), "{parts:?}");
    assert!(meter.committed.0.len() <= MODELS_MAX);
}
