//! Tests sessions: failed starts, resuming, forking, and control requests.

use serde_json::json;

use crate::host::{Drill, TestResult};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const OTHER: &str = "99999999-2222-4333-8444-555555555555";

#[test]
fn failed_starts_match_the_real_agent() -> TestResult {
    let drill = Drill::find("rate-limit-3")?;
    drill.end(drill.prompt(SESSION)?)?;
    let check =
        |arguments: &[&str], environment: &[(&str, &str)], stderr: &str, events: usize| -> TestResult {
            let ended = drill.end(drill.start(arguments, environment)?)?;
            assert_eq!(ended.status.code(), Some(1), "{arguments:?}");
            assert!(ended.stderr.contains(stderr), "{arguments:?}: {}", ended.stderr);
            assert_eq!(ended.events.len(), events, "{arguments:?}");
            Ok(())
        };
    check(&["--session-id", SESSION], &[], "is already in use.", 0)?;
    check(&["--session-id", "x"], &[], "Must be a valid UUID", 0)?;
    check(&["--resume", OTHER], &[], &format!("No conversation found with session ID: {OTHER}"), 1)?;
    check(&["--resume", "nope"], &[], "is not a UUID", 1)?;
    let message = format!("No message found with message.uuid of: {OTHER}");
    check(&["--resume", SESSION, "--resume-session-at", OTHER], &[], &message, 1)?;
    check(&["--nope"], &[], "error: unknown option '--nope'", 0)?;
    check(&["--settings", "/no/such"], &[], "Settings file not found", 0)?;
    if rustix::process::geteuid().is_root() {
        let root: [(&str, &str); 2] = [("IS_SANDBOX", ""), ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1")];
        check(&["--dangerously-skip-permissions"], &root, "cannot be used with root", 1)?;
    }
    Ok(())
}

#[test]
fn resumed_session_and_fork_continue_the_cost() -> TestResult {
    let drill = Drill::find("rate-limit-3")?;
    let cost = |ended: &crate::host::ExitedAgent| -> Result<f64, Box<dyn std::error::Error>> {
        ended.last()?["total_cost_usd"].as_f64().ok_or_else(|| "a result has a cost".into())
    };
    let first = cost(&drill.end(drill.prompt(SESSION)?)?)?;
    let second = cost(&drill.end(drill.resume(SESSION)?)?)?;
    assert!(second > first);
    let mut fork = drill.start(&["--resume", SESSION, "--fork-session", "--session-id", OTHER], &[])?;
    fork.send_prompt("continue")?;
    let ended = drill.end(fork)?;
    assert_eq!(ended.last()?["session_id"], OTHER);
    assert!(cost(&ended)? > second);
    assert!((cost(&ended)? - drill.api.request_log().cost().dollars()).abs() < 1e-9);
    Ok(())
}

#[test]
fn answers_control_requests() -> TestResult {
    let drill = Drill::find("rate-limit-3")?;
    let mut agent = drill.start(&["--permission-mode", "plan"], &[])?;
    agent.control("i1", json!({"subtype": "initialize"}))?;
    agent.control("x1", json!({"subtype": "no_such_thing"}))?;
    agent.control("int", json!({"subtype": "interrupt"}))?;
    agent.send_prompt("go")?;
    agent.result()?;
    agent.control("e1", json!({"subtype": "end_session"}))?;
    let ended = drill.end(agent)?;
    assert_eq!(ended.status.code(), Some(0));
    let answer = |id: &str| {
        ended
            .events
            .iter()
            .map(|event| &event["response"])
            .find(|response| response["request_id"] == id)
            .cloned()
    };
    assert_eq!(answer("i1").unwrap_or_default()["response"]["current_permission_mode"], "plan");
    assert_eq!(answer("x1").unwrap_or_default()["error_code"], "unsupported_request");
    assert!(answer("e1").is_some() && answer("int").is_some());
    Ok(())
}

#[test]
fn invalid_json_line_ends_the_agent() -> TestResult {
    let drill = Drill::find("rate-limit-3")?;
    let mut agent = drill.start(&[], &[])?;
    agent.write("\n{\"type\":\"nothing known\"}\n{half a line\n")?;
    let ended = drill.end(agent)?;
    assert_eq!((ended.status.code(), ended.events.len()), (Some(1), 0));
    assert!(ended.stderr.contains("Error parsing streaming input line"));
    Ok(())
}
