//! Tests the API over a real connection.

use axum::http::{HeaderValue, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::{Api, DUMMY_KEY, RequestLog};
use crate::scenario::Scenario;
use crate::scenario::tests::SMALL;
use crate::scripted::http::exchange;

/// Sends `requests` one after the other to an API that plays the script with `faults`. Returns their statuses
/// and bodies, and the request log.
fn check(
    faults: &str,
    requests: Vec<(&'static str, Option<&'static str>, Value)>,
) -> (Vec<(u16, String)>, RequestLog) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    let scenario = Scenario::parse("small", &format!("{SMALL}{faults}")).expect("the script is valid");
    let api = runtime.block_on(Api::start(&scenario, 5)).expect("loopback can be bound");
    let mut answers = Vec::new();
    for (path, key, body) in requests {
        let request = Request::post(format!("{}{path}", api.url())).body(body.to_string());
        let mut request = request.expect("the address is valid");
        if let Some(key) = key {
            request.headers_mut().insert("x-api-key", HeaderValue::from_static(key));
        }
        answers.push(runtime.block_on(async {
            let Ok(response) = exchange(request).await else { return (0, String::new()) };
            let (status, mut body) = (response.status().as_u16(), response.into_body());
            let mut bytes = Vec::new();
            // A truncated body yields the part that was read.
            while let Some(Ok(frame)) = body.frame().await {
                bytes.extend(frame.into_data().unwrap_or_default());
            }
            (status, String::from_utf8_lossy(&bytes).into_owned())
        }));
    }
    (answers, api.request_log())
}

fn request(stream: bool) -> Value {
    json!({"model": "claude-sonnet-4-5", "stream": stream, "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": "go"}]})
}

const KEY: Option<&str> = Some(DUMMY_KEY);

#[test]
fn streamed_and_whole_messages_are_equal() {
    let (answers, log) = check(
        "",
        vec![("/v1/messages?beta=true", KEY, request(false)), ("/v1/messages", KEY, request(true))],
    );
    let whole: Value = serde_json::from_str(&answers[0].1).unwrap_or_default();
    assert_eq!(whole["content"][1]["id"], "toolu_drill_1_0");
    assert_eq!(whole["stop_reason"], "tool_use");
    let streamed = &answers[1].1;
    assert!(
        streamed.starts_with("event: message_start\ndata: {") && streamed.ends_with("}\n\n"),
        "{streamed}"
    );
    assert!(streamed.contains("event: message_stop"), "{streamed}");
    let [first, second] = log.messages.as_slice() else { unreachable!("two messages") };
    assert_eq!(first.tokens.output, second.tokens.output);
    assert!(first.complete && second.complete && first.id != second.id);
    // The second request repeats the first, so the cache holds all of it but the last tokens.
    let input = first.tokens.input + first.tokens.cache_write;
    assert!((input - 4..=input).contains(&second.tokens.cache_read), "{first:?} {second:?}");
}

#[test]
fn rejected_count_and_side_requests_are_not_turns() {
    let side = json!({"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "a title"}]});
    let (answers, log) = check(
        "",
        vec![
            ("/v1/messages", None, request(true)),
            ("/v1/messages", Some("sk-ant-another"), request(true)),
            ("/v1/messages/count_tokens", KEY, request(false)),
            ("/v1/messages", KEY, side),
        ],
    );
    let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [401, 401, 200, 200]);
    assert!(answers[2].1.starts_with("{\"input_tokens\":"));
    assert_eq!((log.messages.len(), log.side.len(), log.model_requests()), (0, 1, 2));
    assert_eq!(log.cost(), log.side[0].cost().unwrap_or_default());
}

#[test]
fn truncated_message_bills_sent_output() {
    let (answers, log) =
        check("[[fault]]\ncut = { after = \"mid-text\" }\n", vec![("/v1/messages", KEY, request(true))]);
    assert!(answers[0].1.contains("text_delta") && !answers[0].1.contains("message_delta"));
    let [truncated] = log.messages.as_slice() else { unreachable!("one message") };
    assert!(
        !truncated.complete
            && truncated.tokens.output < truncated.output_whole
            && truncated.tokens.output >= 1,
        "{truncated:?}"
    );
    assert_eq!(log.injected[0].fault, "cut");
}

#[test]
fn refused_connection_is_dropped_and_port_reopens() {
    let (answers, log) = check(
        "[[fault]]\nrefuse = { for_s = 0.2 }\n",
        vec![("/v1/messages", KEY, request(true)), ("/v1/messages", KEY, request(true))],
    );
    assert_eq!((answers[0].0, answers[1].0), (0, 0), "dropped, then refused");
    assert_eq!(log.requests.len(), 1);
    assert_eq!(log.requests[0].status, 0);
}
