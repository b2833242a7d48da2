//! Tests how the agent reacts to each fault without a supervisor, as measured with Claude Code 2.1.330.

use serde_json::{Value, json};

use crate::host::{Drill, TestResult};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Plays a scenario with `retries` inner retries. Checks terminal reason, status, kind of error, requests and
/// retries.
fn check(
    name: &str,
    retries: &str,
    expected: (&str, Value, Value),
    requests: usize,
    announced: usize,
) -> TestResult {
    let drill = Drill::find(name)?;
    let mut agent = drill.start(
        &["--session-id", SESSION, "--permission-mode", "bypassPermissions"],
        &[("CLAUDE_CODE_MAX_RETRIES", retries)],
    )?;
    agent.send_prompt("go")?;
    let ended = drill.end(agent)?;
    let result = ended.last()?;
    let (reason, status, kind) = expected;
    let actual = (&result["terminal_reason"], &result["api_error_status"], &result["api_error"]);
    assert_eq!(actual, (&json!(reason), &status, &kind), "{name}");
    assert_eq!(ended.status.code(), Some(i32::from(result["is_error"] == true)), "{name}");
    assert_eq!(drill.api.request_log().model_requests(), requests, "{name}");
    let retried = ended.events.iter().filter(|event| event["subtype"] == "api_retry").count();
    assert_eq!(retried, announced, "{name}");
    Ok(())
}

#[test]
fn faults_end_the_agent_as_measured() -> TestResult {
    let null = || Value::Null;
    check("overload", "1", ("api_error", json!(529), null()), 3, 1)?;
    check("overload", "5", ("completed", null(), null()), 8, 5)?;
    check("rate-limit-3", "1", ("completed", null(), null()), 4, 1)?;
    check("rate-limit-60", "1", ("completed", null(), null()), 4, 1)?;
    check("rate-limit-61", "4", ("api_error", json!(429), null()), 2, 0)?;
    check("usage-limit", "4", ("api_error", json!(429), json!("usage_limit_reached")), 2, 0)?;
    check("server-error", "1", ("api_error", json!(500), null()), 3, 1)?;
    check("auth-401", "3", ("api_error", json!(401), null()), 4, 3)?;
    check("credit", "4", ("api_error", json!(400), null()), 1, 0)?;
    check("model-missing", "4", ("api_error", json!(404), null()), 2, 0)?;
    check("prompt-too-long", "4", ("prompt_too_long", json!(400), null()), 1, 0)?;
    check("refusal", "4", ("api_error", null(), null()), 2, 0)?;
    check("empty-result", "4", ("completed", null(), null()), 4, 0)?;
    check("hook-stopped", "4", ("hook_stopped", null(), null()), 1, 0)?;
    check("connection-refused", "1", ("api_error", null(), json!("connection_failed")), 2, 1)
}

#[test]
fn stream_cut_after_tool_call_runs_tool_and_reports_loss() -> TestResult {
    let drill = Drill::find("stream-cut")?;
    let ended = drill.end(drill.prompt(SESSION)?)?;
    assert_eq!((ended.status.code(), &ended.last()?["terminal_reason"]), (Some(0), &json!("completed")));
    let errors = ended.events.iter().filter(|event| event["api_error"] == "connection_failed").count();
    assert_eq!(errors, 1);
    let continuations = ended.events.iter().filter(|event| {
        event["message"]["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("cut off mid-stream"))
    });
    assert_eq!(continuations.count(), 1, "the reset inside a tool's input kept its text");
    Ok(())
}

#[test]
fn usage_limit_reports_its_reset() -> TestResult {
    let drill = Drill::find("usage-limit")?;
    let ended = drill.end(drill.prompt(SESSION)?)?;
    let limits: Vec<_> = ended
        .events
        .iter()
        .filter(|event| event["type"] == "rate_limit_event")
        .map(|event| &event["rate_limit_info"])
        .collect();
    let statuses: Vec<_> = limits.iter().map(|info| &info["status"]).collect();
    assert_eq!(statuses, [&json!("allowed"), &json!("rejected")]);
    assert!(limits[1]["resetsAt"].is_u64());
    Ok(())
}
