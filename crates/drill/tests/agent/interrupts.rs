//! Tests interrupts and signals in the middle of an exchange.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::host::{Drill, ExitedAgent, TestResult};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Plays the scenario with the slow command, without its kill. Calls `act` while the command runs.
fn run_to_tool(
    act: impl FnOnce(&mut crate::host::Agent) -> TestResult,
) -> Result<(Drill, ExitedAgent), Box<dyn std::error::Error>> {
    let drill = Drill::find("agent-killed-mid-tool")?;
    let mut agent = drill.prompt(SESSION)?;
    agent.wait_for_tool("Bash", &drill.work().join("count.txt"))?;
    act(&mut agent)?;
    let ended = drill.end(agent)?;
    Ok((drill, ended))
}

fn result_texts(ended: &ExitedAgent) -> Vec<String> {
    let blocks = ended.events.iter().filter_map(|event| event["message"]["content"].as_array()).flatten();
    blocks
        .filter(|block| block["type"] == "tool_result")
        .filter_map(|block| Some(block["content"].as_str()?.chars().take(30).collect()))
        .collect()
}

#[test]
fn interrupted_tool_is_rejected_and_session_continues() -> TestResult {
    let (_, ended) = run_to_tool(|agent| {
        agent.control("int1", json!({"subtype": "interrupt"}))?;
        let result = agent.result()?;
        assert_eq!((&result["terminal_reason"], &result["num_turns"]), (&json!("aborted_tools"), &json!(4)));
        agent.send_prompt("Save and stop.")
    })?;
    assert_eq!(ended.status.code(), Some(0));
    let reasons: Vec<&Value> = ended.results().iter().map(|result| &result["terminal_reason"]).collect();
    assert_eq!(reasons, [&json!("aborted_tools"), &json!("completed")]);
    assert!(result_texts(&ended)[1].starts_with("The user doesn't want to"));
    let answer = ended.events.iter().position(|event| event["response"]["request_id"] == "int1");
    let first = ended.events.iter().position(|event| event["type"] == "result");
    assert!(answer.is_some() && answer < first);
    Ok(())
}

#[test]
fn signals_end_the_agent_as_measured() -> TestResult {
    let (drill, ended) = run_to_tool(|agent| agent.signal(Signal::TERM))?;
    assert_eq!((ended.status.code(), ended.results().len()), (Some(143), 0));
    assert_eq!(result_texts(&ended)[1], "Exit code 137");
    drop(drill);
    let (_, ended) = run_to_tool(|agent| agent.signal(Signal::HUP))?;
    assert_eq!((ended.status.code(), ended.results().len()), (Some(129), 0));
    let (_, ended) = run_to_tool(|agent| agent.signal(Signal::INT))?;
    assert_eq!((ended.status.code(), &ended.last()?["terminal_reason"]), (Some(0), &json!("aborted_tools")));
    Ok(())
}

#[test]
fn interrupted_stream_keeps_text_and_estimates_cost() -> TestResult {
    let drill = Drill::find("agent-killed-mid-stream")?;
    let mut agent = drill.prompt(SESSION)?;
    let second =
        |event: &Value| event["event"]["type"] == "content_block_delta" && event["event"]["index"] == 0;
    agent.read_until(|event| event["type"] == "user")?;
    agent.read_until(second)?;
    std::thread::sleep(std::time::Duration::from_millis(100));
    agent.control("int1", json!({"subtype": "interrupt"}))?;
    let ended = drill.end(agent)?;
    let result = ended.last()?;
    assert_eq!(
        (&result["terminal_reason"], &result["subtype"]),
        (&json!("aborted_streaming"), &json!("error_during_execution"))
    );
    let completed = drill
        .api
        .request_log()
        .messages
        .first()
        .and_then(longhaul_drill::api::Billed::cost)
        .unwrap_or_default();
    assert!(result["total_cost_usd"].as_f64() > Some(completed.dollars()), "{result}");
    Ok(())
}

#[test]
fn killed_agent_leaves_tool_running_and_session_resumable() -> TestResult {
    let drill = Drill::find("agent-killed-mid-tool")?;
    let mut agent = drill.prompt(SESSION)?;
    agent.wait_for_tool("Bash", &drill.work().join("count.txt"))?;
    agent.signal(Signal::KILL)?;
    let killed = drill.end(agent)?;
    assert_eq!((killed.status.code(), killed.results().len()), (None, 0));
    let before = drill.api.request_log();
    let resumed = drill.end(drill.resume(SESSION)?)?;
    let result = resumed.last()?;
    assert_eq!(result["terminal_reason"], "completed");
    // The cost of the killed process is missing from the agent's total, but not from the API's log.
    let after = drill.api.request_log();
    let expected: f64 = after.cost().dollars() - before.cost().dollars();
    assert!((result["total_cost_usd"].as_f64().unwrap_or(0.0) - expected).abs() < 1e-9);
    assert_eq!(after.messages.iter().map(|billed| billed.turn).collect::<Vec<_>>(), [1, 2, 2, 3]);
    Ok(())
}
