//! Usage by model adds up to the total in any stream.

use super::fixtures::{all, decoder, find_fixture};
use expect_test::expect;
use longhaul_core::{Exit, Usage, Usd};
use proptest::prelude::*;
use serde_json::{Value, json};

fn check_sum(parts: &[(String, Usage)], usage: Usage, label: &str) {
    let sum = parts.iter().fold(Usage::default(), |sum, (_, part)| sum.plus(*part));
    assert_eq!(sum, usage, "{label}: {parts:#?}");
    assert!(parts.is_sorted_by(|one, other| one.0 < other.0), "{label}: {parts:#?}");
    assert!(parts.iter().all(|(_, part)| *part != Usage::default()), "{label}: {parts:#?}");
    // 64 models are listed separately; the rest has no name.
    assert!(parts.len() <= 65, "{label}");
}

#[test]
fn parts_add_up_in_recorded_streams() {
    for fixture in all() {
        let mut decoder = decoder();
        for line in fixture.bytes.split_inclusive(|byte| *byte == b'\n') {
            decoder.feed(line, &mut Vec::new());
            check_sum(&decoder.usage_by_model(), decoder.snapshot().usage, &fixture.name);
        }
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        check_sum(&decoder.usage_by_model(), evidence.usage, &fixture.name);
        // Every model has a name, except in the plain format.
        assert!(decoder.usage_by_model().iter().all(|(name, _)| !name.is_empty()), "{}", fixture.name);
    }
}

#[test]
fn reports_models_of_recorded_streams() {
    let streams = [
        "success-partial-messages",
        "success-model-fallback",
        // A sub-agent on another model, which answers by a name with a date.
        "success-two-models",
        // The same behind a gateway to another vendor's models.
        "success-two-models-by-other-names",
        "success-auto-compacted",
        "success-json-format",
        "killed-sigkill-mid-stream",
        "auth-401-oauth",
        "model-not-found",
    ];
    let mut text = String::new();
    for name in streams {
        text.push_str(&format!("{name}\n"));
        let fixture = find_fixture(name);
        for (model, usage) in &fixture.read([&fixture.bytes[..]]).by_model {
            let tokens = (usage.tokens + usage.truncated_tokens).total();
            let (reported, estimated) = (usage.reported_cost, usage.estimated_cost);
            text.push_str(&format!("  {model}: {tokens} tokens, {reported} + {estimated}\n"));
        }
    }
    expect![[r#"
        success-partial-messages
          claude-opus-5-5: 12777 tokens, $0.0203 + $0
        success-model-fallback
          claude-sonnet-4-5: 4250 tokens, $0.0054 + $0
        success-two-models
          claude-haiku-5-5: 8511 tokens, $0.0004 + $0
          claude-opus-5-5: 8527 tokens, $0.0137 + $0
        success-two-models-by-other-names
          claude-haiku-5-5: 8511 tokens, $0.0004 + $0
          claude-opus-5-5: 8527 tokens, $0.0137 + $0
        success-auto-compacted
          claude-opus-5-5: 17000 tokens, $0.0264 + $0
        success-json-format
          claude-opus-5-5: 12777 tokens, $0.0203 + $0
        killed-sigkill-mid-stream
          claude-opus-5-5: 8455 tokens, $0 + $0.0123
        auth-401-oauth
        model-not-found
    "#]]
    .assert_eq(&text);
}

#[test]
fn cost_by_model_matches_results() {
    for fixture in all() {
        let lines = fixture.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let events = lines.map(|line| serde_json::from_slice::<Value>(line).expect("it is JSON"));
        let results: Vec<Value> = events.filter(|event| event["type"] == "result").collect();
        for (name, usage) in fixture.read([&fixture.bytes[..]]).by_model {
            // The plain format reports no differences.
            if fixture.name != "success-json-format" {
                let cost =
                    |result: &Value| result["model_usage_since_last_result"][&name]["costUSD"].as_f64();
                let reported: f64 = results.iter().filter_map(cost).sum();
                // Rounded parts add up to the rounded total, so a part may be off by a millionth of a dollar.
                let reported = Usd::from_dollars(reported).expect("it is money");
                assert!(
                    usage.reported_cost.0.abs_diff(reported.0) <= 1,
                    "{}: {}, not {reported}",
                    fixture.name,
                    usage.reported_cost
                );
            }
        }
    }
}

// Few ids, so that most later events match a message that has started.
const MESSAGES: u32 = 12;

/// Model names as in streams: the same with and without a date or a variant, unpriced ones, and none.
fn model() -> impl Strategy<Value = String> {
    let names = [
        "claude-opus-5-5",
        "claude-opus-5-5[1m]",
        "claude-opus-5",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-haiku-5-5",
        "glm-4.6",
        "house-7b",
        "",
    ];
    prop_oneof![9 => prop::sample::select(names.to_vec()).prop_map(str::to_owned), 1 => "[a-z]{1,2}"]
}

fn usage() -> impl Strategy<Value = Value> {
    // Small numbers are as likely as large ones, because they round differently.
    let count = || prop_oneof![Just(0), 0..10u64, 0..100_000u64, 0..1_000_000_000_000u64];
    (count(), count(), count(), count()).prop_map(|(input, output, read, write)| {
        json!({ "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read,
                "cache_creation_input_tokens": write })
    })
}

fn dollars() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.0..0.001f64).prop_map(Value::from),
        (0.0..100.0f64).prop_map(Value::from),
        Just(json!(-1)),
        Just(json!("?"))
    ]
}

fn message() -> impl Strategy<Value = Value> {
    (0..MESSAGES, model(), usage(), any::<bool>()).prop_map(|(id, model, usage, ends)| {
        let reason = if ends { json!("end_turn") } else { Value::Null };
        let content = json!([{ "type": "text", "text": "Some words of an answer." }]);
        json!({ "id": format!("m{id}"), "model": model, "usage": usage, "stop_reason": reason, "content": content })
    })
}

/// Returns the start of a message, or a row with a block of it.
fn message_start() -> impl Strategy<Value = Value> {
    let thread = prop::sample::select(vec![Value::Null, json!("t")]);
    (message(), thread, any::<bool>()).prop_map(|(message, thread, is_row)| {
        if is_row {
            return json!({ "type": "assistant", "message": message, "parent_tool_use_id": thread });
        }
        let id = message["id"].clone();
        let event = json!({ "type": "message_start", "message": message });
        json!({ "type": "stream_event", "event": event, "parent_tool_use_id": thread, "api_message_id": id })
    })
}

/// Returns a later event of a message.
fn message_event() -> impl Strategy<Value = Value> {
    (0..MESSAGES, usage(), 0..4u32).prop_map(|(id, usage, kind)| {
        let event = match kind {
            0 => json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage }),
            1 => json!({ "type": "message_delta", "delta": { "stop_reason": null }, "usage": usage }),
            2 => json!({ "type": "message_stop" }),
            _ => json!({ "type": "content_block_delta", "delta": { "text": "Some more words." } }),
        };
        json!({ "type": "stream_event", "event": event, "api_message_id": format!("m{id}") })
    })
}

/// Returns a result with usage by model.
fn by_model() -> impl Strategy<Value = Value> {
    let reported = (usage(), dollars()).prop_map(|(usage, cost)| {
        json!({ "inputTokens": usage["input_tokens"], "outputTokens": usage["output_tokens"],
            "cacheReadInputTokens": usage["cache_read_input_tokens"],
            "cacheCreationInputTokens": usage["cache_creation_input_tokens"], "costUSD": cost })
    });
    prop::collection::btree_map(model(), reported, 0..4)
        .prop_map(|models| json!({ "type": "result", "model_usage_since_last_result": models }))
}

/// Returns a result with sums.
fn by_sum() -> impl Strategy<Value = Value> {
    (prop::option::of(dollars()), prop::option::of(usage()), model()).prop_map(|(cost, usage, model)| {
        json!({ "type": "result", "total_cost_usd": cost, "usage": usage, "modelUsage": { model: {} } })
    })
}

fn event() -> impl Strategy<Value = Value> {
    prop_oneof![8 => message_start(), 8 => message_event(), 2 => by_model(), 1 => by_sum()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_in_any_stream(events in prop::collection::vec(event(), 0..40), piece in 1..2000usize) {
        let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
        let (mut decoder, mut whole) = (decoder(), decoder());
        for piece in lines.as_bytes().chunks(piece) {
            decoder.feed(piece, &mut Vec::new());
            check_sum(&decoder.usage_by_model(), decoder.snapshot().usage, &lines);
        }
        let evidence = decoder.evidence(Exit::Code(0), "");
        check_sum(&decoder.usage_by_model(), evidence.usage, &lines);
        whole.feed(lines.as_bytes(), &mut Vec::new());
        whole.evidence(Exit::Code(0), "");
        prop_assert_eq!(whole.usage_by_model(), decoder.usage_by_model());
    }
}
