//! Interrupts and signals in the middle of things.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::host::{Checked, Ended, Stage};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Plays the killing scenario up to its slow command, without its kill.
fn in_tool(
    act: impl FnOnce(&mut crate::host::Agent) -> Checked,
) -> Result<(Stage, Ended), Box<dyn std::error::Error>> {
    let stage = Stage::of("agent-killed-mid-tool")?;
    let mut agent = stage.prompt(SESSION)?;
    agent.until_tool("Bash")?;
    act(&mut agent)?;
    let ended = stage.end(agent)?;
    Ok((stage, ended))
}

fn result_texts(ended: &Ended) -> Vec<String> {
    let blocks = ended.events.iter().filter_map(|event| event["message"]["content"].as_array()).flatten();
    blocks
        .filter(|block| block["type"] == "tool_result")
        .filter_map(|block| Some(block["content"].as_str()?.chars().take(30).collect()))
        .collect()
}

#[test]
fn an_interrupted_tool_is_rejected_and_the_session_goes_on() -> Checked {
    let (_, ended) = in_tool(|agent| {
        agent.control("int1", json!({"subtype": "interrupt"}))?;
        let result = agent.result()?;
        assert_eq!((&result["terminal_reason"], &result["num_turns"]), (&json!("aborted_tools"), &json!(4)));
        agent.say("Save and stop.")
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
fn signals_end_it_as_measured() -> Checked {
    let (stage, ended) = in_tool(|agent| agent.signal(Signal::TERM))?;
    assert_eq!((ended.status.code(), ended.results().len()), (Some(143), 0));
    assert_eq!(result_texts(&ended)[1], "Exit code 137");
    drop(stage);
    let (_, ended) = in_tool(|agent| agent.signal(Signal::HUP))?;
    assert_eq!((ended.status.code(), ended.results().len()), (Some(129), 0));
    let (_, ended) = in_tool(|agent| agent.signal(Signal::INT))?;
    assert_eq!((ended.status.code(), &ended.last()?["terminal_reason"]), (Some(0), &json!("aborted_tools")));
    Ok(())
}

#[test]
fn an_interrupted_stream_keeps_its_text_and_estimates_its_cost() -> Checked {
    let stage = Stage::of("agent-killed-mid-stream")?;
    let mut agent = stage.prompt(SESSION)?;
    let second =
        |event: &Value| event["event"]["type"] == "content_block_delta" && event["event"]["index"] == 0;
    agent.until(|event| event["type"] == "user")?;
    agent.until(second)?;
    std::thread::sleep(std::time::Duration::from_millis(100));
    agent.control("int1", json!({"subtype": "interrupt"}))?;
    let ended = stage.end(agent)?;
    let result = ended.last()?;
    assert_eq!(
        (&result["terminal_reason"], &result["subtype"]),
        (&json!("aborted_streaming"), &json!("error_during_execution"))
    );
    let completed =
        stage.api.account().messages.first().and_then(longhaul_drill::api::Billed::cost).unwrap_or_default();
    assert!(result["total_cost_usd"].as_f64() > Some(completed.dollars()), "{result}");
    Ok(())
}

#[test]
fn a_killed_agent_leaves_its_tool_running_and_its_session_resumable() -> Checked {
    let stage = Stage::of("agent-killed-mid-tool")?;
    let mut agent = stage.prompt(SESSION)?;
    agent.until_tool("Bash")?;
    agent.signal(Signal::KILL)?;
    let killed = stage.end(agent)?;
    assert_eq!((killed.status.code(), killed.results().len()), (None, 0));
    let before = stage.api.account();
    let resumed = stage.end(stage.resume(SESSION)?)?;
    let result = resumed.last()?;
    assert_eq!(result["terminal_reason"], "completed");
    // What the killed process spent is missing from the agent's total, not from the API's account.
    let after = stage.api.account();
    let own: f64 = after.cost().dollars() - before.cost().dollars();
    assert!((result["total_cost_usd"].as_f64().unwrap_or(0.0) - own).abs() < 1e-9);
    assert_eq!(after.messages.iter().map(|billed| billed.turn).collect::<Vec<_>>(), [1, 2, 2, 3]);
    Ok(())
}
