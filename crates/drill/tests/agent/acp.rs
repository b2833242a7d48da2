//! The agent speaks the Agent Client Protocol: sessions, updates, permissions, cancellation and failures.

use crate::host::{Agent, Drill, TestResult, hash};
use serde_json::{Value, json};
use std::error::Error;

/// Sends a request and returns its answer.
fn request(agent: &mut Agent, id: u64, method: &str, params: &Value) -> Result<Value, Box<dyn Error>> {
    agent.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
    agent.read_until(|message| message["id"] == id && message["method"].is_null())
}

/// Starts an agent and opens a session by this method.
fn open(
    drill: &Drill,
    method: &str,
    session: Option<&str>,
    mode: &str,
    environment: &[(&str, &str)],
) -> Result<(Agent, String), Box<dyn Error>> {
    let mut agent = drill.start(&["--acp", "--permission-mode", mode], environment)?;
    let initialized = request(&mut agent, 1, "initialize", &json!({"protocolVersion": 1}))?;
    assert_eq!(initialized["result"]["agentCapabilities"]["loadSession"], true);
    let params = json!({"cwd": drill.work(), "mcpServers": [], "sessionId": session});
    let opened = request(&mut agent, 2, method, &params)?;
    let id = opened["result"]["sessionId"].as_str().or(session).unwrap_or_default().to_owned();
    Ok((agent, id))
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn updates<'a>(agent: &'a Agent, kind: &str) -> Vec<&'a Value> {
    let updates = agent.events.iter().map(|message| &message["params"]["update"]);
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

#[test]
fn turn_reports_tools_usage_and_stop_reason() -> TestResult {
    let drill = Drill::find("storm")?;
    let (mut agent, session) = open(&drill, "session/new", None, "bypassPermissions", &[])?;
    let answer = request(&mut agent, 3, "session/prompt", &prompt(&session, &drill.scenario.prompt))?;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let total = answer["result"]["usage"]["totalTokens"].as_u64().ok_or("usage")?;
    let per_request = updates(&agent, "agent_message_chunk").into_iter();
    let counted: u64 = per_request.filter_map(|chunk| chunk["_meta"]["usage"]["totalTokens"].as_u64()).sum();
    let request_log = drill.api.request_log();
    let complete = request_log.messages.iter().filter(|message| message.complete);
    assert_eq!(counted, complete.map(|message| message.tokens.total()).sum::<u64>());
    // The turn contains the message that was cut.
    assert!(counted < total && total <= request_log.tokens().total(), "{counted} {total}");
    let calls = updates(&agent, "tool_call").len();
    let ended = updates(&agent, "tool_call_update");
    assert!(calls > 0 && ended.len() == calls, "{calls} {ended:?}");
    assert!(updates(&agent, "usage_update").last().is_some_and(|update| update["cost"]["amount"].is_f64()));
    assert_eq!(
        drill.scenario.expected_files().map(|files| longhaul_drill::workspace::hash(&files)),
        Some(hash(&drill.work())?)
    );
    Ok(())
}

#[test]
fn load_repeats_history_and_resume_does_not() -> TestResult {
    let drill = Drill::find("storm")?;
    let (mut agent, session) = open(&drill, "session/new", None, "bypassPermissions", &[])?;
    agent.send(
        &json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(&session, "Go.")}),
    )?;
    agent.read_until(|message| message["params"]["update"]["sessionUpdate"] == "tool_call_update")?;
    // The agent states a result before it stores it; the next call proves that the result is stored.
    agent.read_until(|message| message["params"]["update"]["sessionUpdate"] == "tool_call")?;
    agent.signal(rustix::process::Signal::KILL)?;
    let (loaded, _) = open(&drill, "session/load", Some(&session), "bypassPermissions", &[])?;
    assert_eq!(updates(&loaded, "user_message_chunk")[0]["content"]["text"], "Go.");
    assert!(!updates(&loaded, "tool_call").is_empty());
    assert!(!updates(&loaded, "tool_call_update").is_empty());
    let (mut resumed, _) = open(&drill, "session/resume", Some(&session), "bypassPermissions", &[])?;
    assert!(resumed.events.iter().all(|message| message["method"].is_null()));
    let answer = request(&mut resumed, 3, "session/prompt", &prompt(&session, "Continue."))?;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    let (unknown, _) = open(&drill, "session/load", Some("unknown"), "default", &[])?;
    assert_eq!(unknown.events.last().map(|message| message["error"]["code"].clone()), Some(json!(-32_002)));
    Ok(())
}

#[test]
fn asks_before_tools_that_the_mode_does_not_allow() -> TestResult {
    let check = |option: &str, status: &str| -> TestResult {
        let drill = Drill::find("agent-killed-mid-tool")?;
        let (mut agent, session) = open(&drill, "session/new", None, "default", &[])?;
        agent.send(
            &json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(&session, "Go.")}),
        )?;
        let asked = agent.read_until(|message| message["method"] == "session/request_permission")?;
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        agent.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}))?;
        let ended =
            agent.read_until(|message| message["params"]["update"]["sessionUpdate"] == "tool_call_update")?;
        assert_eq!(ended["params"]["update"]["status"], status, "{option}");
        assert_eq!(ended["params"]["update"]["toolCallId"], asked["params"]["toolCall"]["toolCallId"]);
        Ok(())
    };
    check("reject", "failed")?;
    check("allow", "completed")
}

#[test]
fn cancel_ends_turn_as_cancelled() -> TestResult {
    let drill = Drill::find("agent-interrupted")?;
    let (mut agent, session) = open(&drill, "session/new", None, "bypassPermissions", &[])?;
    agent.send(
        &json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(&session, "Go.")}),
    )?;
    agent.read_until(|message| message["method"] == "session/update")?;
    agent.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))?;
    let answer = agent.read_until(|message| message["id"] == 3)?;
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    Ok(())
}

#[test]
fn failures_have_measured_shapes() -> TestResult {
    let check = |scenario: &str, shape: &str, expected: Value| -> TestResult {
        let drill = Drill::find(scenario)?;
        let environment = [("LONGHAUL_SCRIPTED_ACP_FAILURES", shape), ("CLAUDE_CODE_MAX_RETRIES", "0")];
        let (mut agent, session) = open(&drill, "session/new", None, "bypassPermissions", &environment)?;
        let mut answer = request(&mut agent, 3, "session/prompt", &prompt(&session, "Go."))?;
        // Texts are the vendor's.
        if let Some(error) = answer["error"].as_object_mut() {
            error.remove("message");
        }
        let answer = if answer["error"].is_null() { &answer["result"] } else { &answer["error"] };
        assert_eq!(*answer, expected, "{scenario} {shape}");
        Ok(())
    };
    check("overload", "kind", json!({"code": -32_603, "data": {"errorKind": "server_error"}}))?;
    check("overload", "status", json!({"code": 529}))?;
    check("auth-401", "kind", json!({"code": -32_000}))?;
    check("overload", "mark", json!({"stopReason": "end_turn"}))?;
    check("overload", "text", json!({"stopReason": "end_turn"}))
}
