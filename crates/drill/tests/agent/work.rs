//! Tests the work itself: tools, background commands, permissions, and token counts on which both sides
//! agree.

use longhaul_core::Tokens;
use longhaul_drill::scenario::find;
use longhaul_drill::{Scenario, workspace};
use serde_json::Value;

use crate::host::{Drill, TestResult, hash};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn storm_without_kill_completes_with_equal_counts() -> TestResult {
    let mut storm = find("storm")?;
    storm.faults.retain(|fault| !matches!(fault.kind.name().as_str(), "kill" | "cut"));
    let drill = Drill::new(storm)?;
    let ended = drill.end(drill.prompt(SESSION)?)?;
    let result = ended.last()?;
    assert_eq!((ended.status.code(), &result["terminal_reason"]), (Some(0), &Value::from("completed")));
    let expected = workspace::hash(&drill.scenario.expected_files().unwrap_or_default());
    assert_eq!(hash(&drill.work())?, expected);
    let log = drill.api.request_log();
    let usage = &result["modelUsage"]["claude-sonnet-4-5"];
    let count = |field: &str| usage[field].as_u64().unwrap_or(0);
    let reported = Tokens {
        input: count("inputTokens"),
        cache_write: count("cacheCreationInputTokens"),
        cache_read: count("cacheReadInputTokens"),
        output: count("outputTokens"),
    };
    assert_eq!(reported, log.tokens());
    assert_eq!(result["total_cost_usd"].as_f64(), Some(log.cost().dollars()));
    Ok(())
}

fn script(tool: &str) -> Result<Drill, Box<dyn std::error::Error>> {
    let toml = format!(
        "name = \"x\"\nsummary = \"s\"\nprompt = \"p\"\n[expect]\noutcome = \"done\"\nexit = 0\n\
         [[turn]]\ntext = \"I do it now.\"\n[[turn.tools]]\n{tool}\n[[turn]]\ntext = \"Done with it.\"\n"
    );
    Drill::new(Scenario::parse("x", &toml)?)
}

#[test]
fn background_command_causes_second_exchange_after_idle() -> TestResult {
    let drill = script("bash = { command = \"sleep 0.3; echo late > late.txt\", run_in_background = true }")?;
    let ended = drill.end(drill.prompt(SESSION)?)?;
    let results = ended.results();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["origin"]["kind"], "task-notification");
    let position = |matches: &dyn Fn(&Value) -> bool| ended.events.iter().position(matches);
    let idle = position(&|event| event["state"] == "idle");
    let notified = position(&|event| event["subtype"] == "task_notification");
    assert!(idle.is_some() && idle < notified);
    let tasks: Vec<_> =
        ended.events.iter().filter_map(|event| Some(event["tasks"].as_array()?.len())).collect();
    assert_eq!(tasks, [1, 0]);
    Ok(())
}

#[test]
fn denied_write_changes_nothing_and_is_reported() -> TestResult {
    let drill = script("write = { path = \"a.txt\", content = \"x\" }")?;
    let mut agent = drill.start(&["--permission-mode", "default"], &[])?;
    agent.send_prompt("go")?;
    let ended = drill.end(agent)?;
    let result = ended.last()?;
    assert_eq!(result["terminal_reason"], "completed");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    assert!(ended.events.iter().any(|event| event["subtype"] == "permission_denied"));
    assert!(!drill.work().join("a.txt").exists());
    Ok(())
}

#[test]
fn line_sent_during_a_tool_shares_its_result() -> TestResult {
    let drill = script("bash = { command = \"echo 1 > started; sleep 2\" }")?;
    let mut agent = drill.prompt(SESSION)?;
    agent.wait_for_tool("Bash", &drill.work().join("started"))?;
    agent.send_prompt("and another thing")?;
    let ended = drill.end(agent)?;
    assert_eq!(ended.results().len(), 1);
    assert_eq!(drill.api.request_log().model_requests(), 2);
    Ok(())
}

#[test]
fn limits_end_the_exchange() -> TestResult {
    for (flag, value, subtype) in
        [("--max-turns", "1", "error_max_turns"), ("--max-budget-usd", "0.0000001", "error_max_budget_usd")]
    {
        let drill = script("bash = { command = \"true\" }")?;
        let mut agent = drill.start(&[flag, value, "--permission-mode", "bypassPermissions"], &[])?;
        agent.send_prompt("go")?;
        let ended = drill.end(agent)?;
        assert_eq!((ended.status.code(), &ended.last()?["subtype"]), (Some(1), &Value::from(subtype)));
    }
    Ok(())
}
