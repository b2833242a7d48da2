//! Stalls: agents that fall silent or never make progress are stopped, with a reason.
//!
//! Silent work is not stopped.

use crate::call::Output;
use crate::harness::{Stage, claude_code};
use crate::recovering::play_with_each_agent;
use crate::server::Server;
use crate::tidy;
use serde_json::json;
use std::fs;
use std::path::Path;

/// The API falls silent in the middle of the first answer, and serves the next request.
const HANGS: &str = r#"
It is done, and there is more to say about it than fits in one line of text.
[[fault]]
turn = 1
silence = { after = "mid-text" }
"#;

/// A tool that is silent for longer than the stall timeout.
const QUIET: &str = "
I build it.
$ sleep 10
It is built.
";

/// A tool leaves a busy process running, and then the API falls silent.
#[cfg(not(feature = "portable-processes"))]
const BUSY_CHILD: &str = r#"
I start it.
$ timeout 100 sh -c 'while :; do :; done' > /dev/null 2>&1 < /dev/null & echo started
It is done, and there is more to say about it than fits in one line of text.
[[fault]]
turn = 2
silence = { after = "mid-text" }
"#;

const PROMPT: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
const SESSION: &str = "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11";
/// Prints the agent's first message.
const OPENS: &str =
    r#"echo '{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'"#;

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Output {
    let output = stage.run(agent, &PROMPT).args(args).against(server).start().output();
    tidy::check(stage);
    output
}

fn show(stage: &Stage) -> String {
    let shown = stage.longhaul(["show", "@", "--output-format", "text"]).output();
    assert_eq!(shown.code, 0, "{shown:?}");
    // A sentence may be wrapped.
    shown.stdout.replace("\n    ", " ")
}

/// Asserts that a text contains all of these words.
fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
}

#[test]
fn hang_is_reported_with_its_observations() {
    play_with_each_agent(HANGS, "a hang in mid-stream", |stage, agent, server| {
        let output = run(stage, agent, server, &["--stall-timeout", "8s"]);
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        assert_contains(
            &output.stderr,
            &["no output for ", "no tool running", "connection open", "; stopping the agent\n"],
        );
        assert_contains(
            &show(stage),
            &["attempt 1: no output for ", "no tool running", "connection open", "; it was stopped\n"],
        );
    });
}

#[test]
fn quiet_tool_is_not_a_stall() {
    play_with_each_agent(QUIET, "a quiet tool", |stage, agent, server| {
        let output = run(stage, agent, server, &["--stall-timeout", "8s", "--progress-timeout", "8s"]);
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["attempts"], 1, "{output:?}");
        assert!(!output.stderr.contains("no output for"), "{output:?}");
    });
}

// A shell starts this child and exits at once, and the child leads its own group: macOS cannot find it.
#[cfg(not(feature = "portable-processes"))]
#[test]
fn busy_child_defers_a_stall_for_limited_time() {
    play_with_each_agent(BUSY_CHILD, "a hang next to a busy process", |stage, agent, server| {
        // The deferral takes nine times the timeout, so this one is short. A slow start may be a stall of its own.
        let output = run(stage, agent, server, &["--stall-timeout", "2s"]);
        output.envelope(0);
        assert_contains(&output.stderr, &["busy; waiting until "]);
        assert_eq!(output.stderr.matches("busy; stopping the agent\n").count(), 1, "{output:?}");
        assert_contains(&show(stage), &["busy; stall deferred ", " and then stopped\n"]);
    });
}

/// The user's hook works for longer than the stall timeout. The stream does not mention it.
#[test]
fn busy_hook_is_not_a_stall() {
    let Some(claude) = claude_code("a busy hook") else { return };
    let (stage, server) = (Stage::new(), Server::start("It is done.\n"));
    let command = "timeout 11 sh -c 'while :; do :; done'; exit 0";
    let settings = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    fs::create_dir_all(stage.user_home().join(".claude")).expect("the stage is writable");
    fs::write(stage.user_home().join(".claude/settings.json"), settings.to_string())
        .expect("the stage is writable");
    let output = run(&stage, &claude, &server, &["--stall-timeout", "8s"]);
    let envelope = output.envelope(0);
    assert_eq!(envelope["run"]["attempts"], 1, "{output:?}");
    assert_contains(&output.stderr, &["busy; waiting until "]);
    assert_contains(&show(&stage), &["attempt 1: silent, but its processes were busy: stall deferred "]);
}

#[test]
fn agent_without_progress_is_stopped() {
    let stage = Stage::new();
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta"}}"#;
    let endless = stage.script("endless", &format!("{OPENS}; while :; do echo '{delta}'; sleep 0.2; done"));
    let args = ["p", "--session-id", SESSION, "--preset", "drill", "--max-retries", "0"];
    let output = stage.run(&endless, &args).args(["--progress-timeout", "3s"]).output();
    let envelope = output.envelope(20);
    assert_eq!(envelope["run"]["fault"], "stalled", "{envelope}");
    assert_contains(
        &output.stderr,
        &["no message and no tool call finished for ", "last output ", "; stopping the agent\n"],
    );
    assert_contains(
        &show(&stage),
        &["attempt 1: no message and no tool call finished for ", "; it was stopped\n"],
    );
    tidy::check(&stage);
}

/// The line is written by another process, as if the supervisor had read it late.
#[test]
fn frozen_agent_is_stopped_although_a_line_follows() {
    let stage = Stage::new();
    let tool = r#"{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}"#;
    let late = r#"(sleep 5; echo '{"type":"keep_alive"}') &"#;
    let freezes =
        stage.script("freezes", &format!("{OPENS}; echo '{tool}'; {late} kill -STOP $$; sleep 100"));
    let args = ["p", "--session-id", SESSION, "--preset", "drill", "--max-retries", "0"];
    let output = stage.run(&freezes, &args).args(["--stall-timeout", "8s"]).output();
    let envelope = output.envelope(20);
    assert_eq!(envelope["run"]["fault"], "stalled", "{envelope}");
    assert_contains(&output.stderr, &["a tool running", "frozen (SIGSTOP)"]);
    tidy::check(&stage);
}
