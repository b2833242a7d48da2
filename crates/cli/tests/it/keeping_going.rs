//! `--keep-going`: an agent that stops on its own continues in its session until the work is finished. Tests
//! run with every available agent.

use crate::call::wait_until;
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::{play_with_each_agent, recover, release, wait_for_takeover};
use crate::server::Server;
use longhaul_core::{PromptKind, Record};
use longhaul_store::Journal;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const BASE_ARGS: [&str; 8] = [
    "p",
    "--permission-mode",
    "bypassPermissions",
    "--preset",
    "drill",
    "--keep-going",
    "--max-tokens",
    "none",
];

/// Start of a keep-going prompt.
const KEEP_GOING: &str = "You stopped";
/// Start of the question that asks an agent to confirm its done claim.
const CONFIRM: &str = "You reported that the work is done";

/// Returns a script of a model that stops after each of `stops` steps, then claims that it is done and
/// confirms it.
fn stopping_scenario(stops: u32) -> String {
    let step = |number: u32| {
        format!("Step {number}.\n$ echo {number} >> steps\nStep {number} is done. Shall I continue?\n")
    };
    let finish = r#"All is done.
! call = { name = "mcp__longhaul-run__finish", input = { summary = "All steps are done." } }
All steps are done."#;
    let mut scenario = step(1);
    for number in 2..=stops {
        let _ = writeln!(scenario, "? {KEEP_GOING}\n{}", step(number));
    }
    let _ = writeln!(scenario, "? {KEEP_GOING}\n{finish}\n? {CONFIRM}\n{finish}");
    scenario
}

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str], code: i32) -> Value {
    stage.run(agent, &BASE_ARGS).args(args).against(server).output().envelope(code)
}

fn steps(stage: &Stage) -> usize {
    fs::read_to_string(stage.work().join("steps")).unwrap_or_default().lines().count()
}

/// Returns the prompts that the agent received after its task.
fn sent_prompts(stage: &Stage) -> Vec<PromptKind> {
    let history = Journal::load(&stage.only_run().journal_path()).expect("a journal");
    let prompt = |(_, record): (_, &Record)| match record {
        Record::PromptSent { prompt, .. } => Some(*prompt),
        Record::AttemptStarted { plan } => Some(plan.prompt).filter(|prompt| *prompt != PromptKind::Task),
        _ => None,
    };
    history.records().filter_map(prompt).collect()
}

#[test]
fn model_finishes_after_seven_stops() {
    play_with_each_agent(&stopping_scenario(7), "stopping seven times", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--status-every", "3", "--budget", "100"], 0);
        assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
        assert_eq!(envelope["result"], "All steps are done.", "{envelope}");
        assert_eq!(steps(stage), 7);
        // All in one process and one session.
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        let prompts = sent_prompts(stage);
        let keep_going: Vec<_> = prompts
            .iter()
            .filter_map(|kind| if let PromptKind::KeepGoing(prompt) = kind { Some(prompt) } else { None })
            .collect();
        assert_eq!(keep_going.len(), 7, "{prompts:?}");
        let with_status = keep_going.iter().filter(|prompt| prompt.active_time.is_some());
        let with_status: Vec<_> = with_status.map(|prompt| prompt.stop_number).collect();
        assert_eq!(with_status, [3, 6], "every third prompt states the usage");
        assert_eq!(prompts.last(), Some(&PromptKind::ConfirmDone));
    });
}

/// The `finish` tool is added to the user's MCP servers, also to that of `longhaul mcp install`.
#[test]
fn users_mcp_servers_stay_available() {
    let Some(claude) = claude_code("the user's MCP servers") else { return };
    let stage = Stage::new();
    let user_settings =
        json!({ "mcpServers": { "longhaul": { "command": LONGHAUL, "args": ["finish-tool"] } } });
    fs::create_dir_all(stage.user_home()).expect("the stage is writable");
    fs::write(stage.user_home().join(".claude.json"), user_settings.to_string())
        .expect("the stage is writable");
    run(&stage, &claude, &Server::start(&stopping_scenario(1)), &[], 0);
    let stream = fs::read_to_string(stage.only_run().attempt(1).stream_path()).expect("there is a stream");
    let init =
        stream.lines().find(|line| line.contains(r#""subtype":"init""#)).expect("there is an init event");
    let init: Value = serde_json::from_str(init).expect("an event");
    let connected = |name: &str| {
        let servers = init["mcp_servers"].as_array().expect("a list of servers");
        servers.iter().any(|server| server["name"] == name && server["status"] == "connected")
    };
    assert!(connected("longhaul") && connected("longhaul-run"), "{init}");
}

#[test]
fn done_line_finishes_the_run_after_two_claims() {
    let last = r"Nothing is left.\n\nALL DONE";
    let scenario = format!("ALL DONE, or nearly.\n? {KEEP_GOING}\n{last}\n? {CONFIRM}\n{last}\n");
    play_with_each_agent(&scenario, "a done line", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--done-when", "ALL DONE", "--max-idle-stops", "9"], 0);
        assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
        // The line does not count inside a message, only as its last line, twice in a row.
        assert!(
            matches!(sent_prompts(stage)[..], [PromptKind::KeepGoing(_), PromptKind::ConfirmDone]),
            "{:?}",
            sent_prompts(stage)
        );
    });
}

#[test]
fn idle_model_fails_the_run() {
    let idle = "I have thought about it.\n? You stopped\nI think more.\n";
    play_with_each_agent(idle, "a model that changes nothing", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-idle-stops", "2"], 20);
        assert_eq!(envelope["run"]["outcome"], "failed", "{envelope}");
        assert_eq!(envelope["run"]["fault"], "unfinished", "{envelope}");
        assert_eq!(sent_prompts(stage).len(), 2, "the first stop is not compared with an earlier one");
    });
}

#[test]
fn keep_going_continues_after_a_takeover() {
    let stage = Stage::new();
    let scenario =
        stopping_scenario(5).replace("$ echo 3 ", "$ until test -e go; do sleep 0.1; done; echo 3 ");
    let server = Server::start(&scenario);
    let started = stage.run(&stage.agent(), &BASE_ARGS).against(&server).start();
    wait_until("the model has stopped twice", || steps(&stage) >= 2);
    started.kill();
    let recovery = recover(&stage, &server, &[]);
    wait_for_takeover(&stage);
    release(&stage);
    let envelope = recovery.output().envelope(0);
    assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
    assert_eq!(steps(&stage), 5);
}

#[test]
fn limit_ends_the_run_with_a_wrap_up() {
    let scenario = stopping_scenario(1) + "? This run is about to end\nSaved.\n";
    play_with_each_agent(&scenario, "a limit with keep-going", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-turns", "4"], 22);
        assert_eq!(envelope["run"]["outcome"], "out_of_time", "{envelope}");
        assert_eq!(envelope["run"]["limit"], "turns", "{envelope}");
        assert!(sent_prompts(stage).iter().any(|prompt| matches!(prompt, PromptKind::WrapUp(_))));
    });
}

/// docs/limits.md and the help document these defaults.
#[test]
fn defaults_match_the_documentation() {
    let stage = Stage::new();
    let planned = |args: &[&str]| {
        let output = stage
            .run(
                &stage.agent(),
                &["p", "--dry-run", "--output-format", "json", "--keep-going", "--max-tokens", "none"],
            )
            .args(args)
            .output();
        let plan: Value = serde_json::from_str(&output.stdout).expect("valid JSON");
        plan["policy"]["keep_going"].clone()
    };
    let expected = |extended: bool| json!({ "keep_improving": extended, "status_every": 5, "idle_stops_max": 3, "finish_tool": true });
    assert_eq!(planned(&[]), expected(false));
    assert_eq!(planned(&["--keep-improving"]), expected(true));
    assert_eq!(planned(&["--time-limit", "23h"]), expected(false));
    assert_eq!(planned(&["--time-limit", "24h"]), expected(true));
    assert_eq!(planned(&["--wall-limit", "48h"]), expected(true));
}

#[test]
fn invalid_combinations_are_rejected() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    check(&["--keep-improving"], &["--keep-going"]);
    check(&["--done-when", "DONE"], &["--keep-going"]);
    check(&["--keep-going", "--done-when", " "], &["needs one line of text"]);
    check(&["--keep-going", "--max-idle-stops", "0"], &["--max-idle-stops"]);
    check(&["--keep-going", "--check", "true"], &["drop --keep-going"]);
    assert!(stage.runs().is_empty());
}
