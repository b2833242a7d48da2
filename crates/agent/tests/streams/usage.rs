//! Tokens and cost of the recorded streams match their results.

use super::fixtures::{Fixture, all, find_fixture};
use longhaul_core::{Tokens, Usage, Usd};
use serde_json::Value;

fn results(fixture: &Fixture) -> Vec<Value> {
    let lines = fixture.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.map(|line| serde_json::from_slice::<Value>(line).expect("it is JSON"));
    events.filter(|event| event["type"] == "result").collect()
}

fn usage(fixture: &Fixture) -> Usage {
    fixture.decode([&fixture.bytes[..]]).1.usage
}

#[test]
fn cost_matches_results() {
    for fixture in all() {
        let dollars = |result: &Value| match &result["model_usage_since_last_result"] {
            Value::Object(models) => models.values().filter_map(|model| model["costUSD"].as_f64()).sum(),
            _ => result["total_cost_usd"].as_f64().unwrap_or_default(),
        };
        let reported: f64 = results(&fixture).iter().map(dollars).sum();
        let usage = usage(&fixture);
        assert_eq!(Some(usage.reported_cost), Usd::from_dollars(reported), "{}", fixture.name);
        assert!(!usage.unpriced, "{}", fixture.name);
    }
}

#[test]
fn tokens_match_results() {
    for fixture in all() {
        let reported = |key: &str| -> u64 {
            let results = results(&fixture);
            let models =
                results.iter().filter_map(|result| result["model_usage_since_last_result"].as_object());
            models.flat_map(|models| models.values()).filter_map(|model| model[key].as_u64()).sum()
        };
        let usage = usage(&fixture);
        // Usage after the last result is only our count; the plain `json` format reports no differences.
        if results(&fixture).is_empty() || fixture.name == "success-json-format" {
            continue;
        }
        let all = usage.tokens + usage.truncated_tokens;
        assert_eq!(all.input, reported("inputTokens"), "{}", fixture.name);
        assert_eq!(all.cache_read, reported("cacheReadInputTokens"), "{}", fixture.name);
        assert_eq!(all.cache_write, reported("cacheCreationInputTokens"), "{}", fixture.name);
        // For a truncated message, the agent's output estimate may differ from ours.
        let guess = if usage.truncated_messages > 0 { 5 } else { 0 };
        assert!(all.output.abs_diff(reported("outputTokens")) <= guess, "{}: {all:?}", fixture.name);
    }
}

#[test]
fn measures_recorded_streams() {
    let check = |name: &str, expected: Usage| assert_eq!(usage(&find_fixture(name)), expected, "{name}");
    let message = Tokens { input: 1000, output: 50, cache_read: 3000, cache_write: 200 };
    let completed = |messages, tokens, cost| Usage {
        tokens,
        messages,
        turns: messages,
        reported_cost: Usd(cost),
        ..Usage::default()
    };
    // Deltas are exact. Each message counts once although it comes as several rows.
    let tokens = Tokens { input: 3000, output: 177, cache_read: 9000, cache_write: 600 };
    check("success-partial-messages", completed(3, tokens, 20_340));
    // A truncated stream: the first message's input is billed, and about 9 tokens of its output.
    check(
        "stream-cut-recovered",
        Usage {
            truncated_tokens: Tokens { output: 9, ..message },
            truncated_messages: 1,
            ..completed(1, message, 12_460)
        },
    );
    // Killed: no cost is reported, so it is priced. The second message was truncated.
    check(
        "killed-sigkill-mid-stream",
        Usage {
            truncated_tokens: Tokens { output: 5, ..message },
            truncated_messages: 1,
            estimated_cost: Usd(6_600 + 5_700),
            ..completed(1, message, 0)
        },
    );
    // Requests that the stream does not show (compaction) are in the result's sum.
    let tokens = Tokens { input: 4000, output: 200, cache_read: 12_000, cache_write: 800 };
    check("success-auto-compacted", completed(2, tokens, 26_400));
    // A resumed session's total is cumulative; this process cost less.
    check("success-resume", completed(1, message, 6_600));
}
