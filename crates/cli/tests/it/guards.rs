//! Guards: a tool that a guard denies is never used, whatever else permits it, also after a takeover. A
//! guarded agent without a supervisor waits. Tests run with every available agent.

use crate::call::wait_until;
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::{
    agent_pid, assert_done, endless_steps, has_exited, kill_agent, play_with_each_agent, recover,
    run_to_mid_tool_with, slow_step_then, steps, wait_for_agent_exit, with_each_agent,
};
use crate::server::Server;
use longhaul_store::WatchdogStop;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// A guard that matches no step of the scenario.
const GUARDED: [&str; 2] = ["--deny-tools", "WebFetch"];

/// A scenario of two steps with different tools.
const TOOLS: &str = r#"
I run a command.
$ touch run
I write a file.
! write = { path = "written", content = "yes" }
That is all that I could do.
"#;

/// A step with another tool.
const WRITES: &str = r#"write = { path = "written", content = "yes" }"#;

/// A scenario with a background command that ends after the answer. The model then answers its notification.
const BACKGROUND: &str = "
I start it.
& sleep 1; touch late
It runs.
";

/// Runs the work to its end, with these guards.
pub fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Value {
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    let output = stage.run(agent, &base_args).args(args).against(server).output();
    let envelope = output.envelope(0);
    assert_eq!(envelope["run"]["outcome"], "done", "{output:?}");
    envelope
}

/// Takes over a run in its first step. Checks that the second step is denied.
pub fn check_denied_after_takeover(stage: &Stage, agent: &Path, server: &Server, guard: &[&str]) {
    run_to_mid_tool_with(stage, agent, server, guard).kill();
    wait_until("the agent asks about the denied step", || guard_requests(stage) == 2);
    let envelope = recover(stage, server, &[]).output().envelope(0);
    assert_eq!(envelope["run"]["denied_calls"], 1, "{envelope}");
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(steps(stage), "two\n");
}

/// Returns the number of calls that the agent has submitted to the guards so far.
fn guard_requests(stage: &Stage) -> usize {
    let stream = stage.only_run().attempt(1).stream_path();
    fs::read_to_string(stream).unwrap_or_default().matches(r#""hook_callback""#).count()
}

#[test]
fn denied_tool_is_not_used() {
    play_with_each_agent(TOOLS, "denying a tool", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--deny-tools", "Bash,Web*"]);
        assert_eq!(envelope["run"]["denied_calls"], 1, "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert!(!stage.work().join("run").exists() && stage.work().join("written").exists());
        let run = stage.only_run();
        assert!(!run.attempt(1).input_path().exists(), "the input has no reader");
        let plan = run.plan().expect("the plan can be read");
        assert_eq!(plan.spec.guards.deny_tools, ["Bash", "Web*"]);
        let show = stage.longhaul(["show", "@", "--output-format", "json"]).output();
        let show: Value = serde_json::from_str(&show.stdout).expect("a run is shown");
        assert_eq!(show["attempts"][0]["denied_calls"], 1, "{show}");
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
        assert!(text.contains("attempt 1: 1 tool call was denied"), "{text}");
    });
}

#[test]
fn only_allowed_tools_are_used() {
    play_with_each_agent(TOOLS, "allowing a tool", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--allow-tools", "Read", "--allow-tools", "Bash"]);
        assert_eq!(envelope["run"]["denied_calls"], 1, "{envelope}");
        assert!(stage.work().join("run").exists() && !stage.work().join("written").exists());
    });
}

#[test]
fn guarded_agent_waits_for_the_next_supervisor() {
    with_each_agent("waiting at a guard", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
        let run = stage.only_run();
        let input = fs::symlink_metadata(run.attempt(1).input_path()).expect("the attempt has its own input");
        assert!(input.file_type().is_fifo() && input.permissions().mode() & 0o777 == 0o600);
        wait_until("the agent asks about its third step", || guard_requests(stage) == 3);
        // If its input had closed, the agent would deny itself every tool and report success.
        assert_eq!(steps(stage), "one\ntwo\n");
        assert!(!has_exited(agent_pid(&run)));
        let stream = || fs::read_to_string(run.attempt(1).stream_path()).expect("a stream");
        assert!(!stream().contains(r#""type":"result""#), "the agent continued without a supervisor");
        let output = recover(stage, server, &[]).output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
        // The supervisor answered the open request. The agent neither repeated nor cancelled it.
        assert_eq!(guard_requests(stage), 3);
        assert!(!stream().contains("control_cancel_request") && !stream().contains("non_execution_kind"));
        assert_eq!(server.api.request_log().model_requests(), 4, "a turn was requested again");
    });
}

#[test]
fn takeover_keeps_the_denied_tools() {
    play_with_each_agent(&slow_step_then(WRITES), "denying after a recovery", |stage, agent, server| {
        check_denied_after_takeover(stage, agent, server, &["--deny-tools", "Write"]);
        assert!(!stage.work().join("written").exists());
    });
}

#[test]
fn guarded_agent_is_adopted_during_a_tool_call() {
    with_each_agent("adopting a guarded agent", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
        let output = recover(stage, server, &[]).output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
        assert_eq!(server.api.request_log().model_requests(), 4, "a turn was requested again");
    });
}

/// The agent's input is still open, so the agent does not exit on its own.
#[test]
fn result_of_an_orphaned_guarded_agent_is_accepted() {
    // Its last answer arrives after the death of the second supervisor.
    let late = "[[fault]]\nturn = 3\nhold = { for_s = 3 }\n";
    play_with_each_agent(
        &(slow_step_then(WRITES) + late),
        "a guarded agent that finished alone",
        |stage, agent, server| {
            run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
            // A supervisor must run to answer the request.
            wait_until("the agent asks about its second step", || guard_requests(stage) == 2);
            let recovery = recover(stage, server, &[]);
            wait_until("the second step is taken", || stage.work().join("written").exists());
            recovery.kill();
            let stream = stage.only_run().attempt(1).stream_path();
            let has_result =
                || fs::read_to_string(&stream).unwrap_or_default().contains(r#""type":"result""#);
            wait_until("the exchange has ended", has_result);
            let output = recover(stage, server, &[]).output();
            let envelope = output.envelope(0);
            assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
            assert_eq!(envelope["result"], "That is all that I could do.", "{envelope}");
            assert_eq!(server.api.request_log().model_requests(), 3, "a turn was requested again");
        },
    );
}

#[test]
fn session_continues_after_a_guarded_agent_and_its_supervisor_died() {
    let description = "the death of a guarded agent and its supervisor";
    play_with_each_agent(&endless_steps(), description, |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
        kill_agent(&stage.only_run());
        let output = recover(stage, server, &[]).output();
        assert_done(stage, &output.envelope(0), 2);
        assert_eq!(steps(stage), "one\nthree\n");
    });
}

#[test]
fn guarded_run_can_be_cancelled() {
    play_with_each_agent(&endless_steps(), "cancelling a guarded run", |stage, agent, server| {
        let run = run_to_mid_tool_with(stage, agent, server, &GUARDED);
        assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
        let envelope = run.output().envelope(130);
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert!(envelope["usage"]["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{envelope}");
    });
}

#[test]
fn orphaned_run_waiting_at_a_guard_can_be_cancelled() {
    with_each_agent("cancelling a waiting orphan", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
        wait_until("the agent asks about its third step", || guard_requests(stage) == 3);
        let agent = agent_pid(&stage.only_run());
        assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
        assert!(has_exited(agent));
        assert_eq!(steps(stage), "one\ntwo\n");
    });
}

#[test]
fn watchdog_stops_an_agent_waiting_at_a_guard_and_the_run_recovers() {
    with_each_agent("an orphaned agent at a guard", |stage, agent, server| {
        let args = [GUARDED, ["--orphan-timeout", "7s"]].concat();
        run_to_mid_tool_with(stage, agent, server, &args).kill();
        let run = stage.only_run();
        let agent = agent_pid(&run);
        wait_until("the watchdog has stopped the agent", || has_exited(agent));
        assert_eq!(guard_requests(stage), 3, "the agent was stopped before it waited");
        wait_until("the watchdog has recorded its stop", || {
            run.attempt(1).read::<WatchdogStop>().is_ok_and(|stop| stop.is_some())
        });
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 2);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
    });
}

/// The agent withdraws its request, but makes no call.
#[test]
fn signal_to_an_agent_waiting_at_a_guard_interrupts_it() {
    with_each_agent("a signal to an agent at a guard", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &GUARDED).kill();
        wait_until("the agent asks about its third step", || guard_requests(stage) == 3);
        let run = stage.only_run();
        kill_process(agent_pid(&run), Signal::INT).expect("the test started this process");
        wait_for_agent_exit(&run);
        let stream = fs::read_to_string(run.attempt(1).stream_path()).expect("a stream");
        assert!(stream.contains("control_cancel_request"), "{stream}");
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 2);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
        let show = stage.longhaul(["show", "@", "--output-format", "json"]).output().stdout;
        let show: Value = serde_json::from_str(&show).expect("a run is shown");
        assert_eq!(show["attempts"][0]["fault"], "interrupted", "{show}");
    });
}

#[test]
fn background_work_of_a_guarded_agent_ends_first() {
    play_with_each_agent(BACKGROUND, "background work of a guarded agent", |stage, agent, server| {
        run(stage, agent, server, &GUARDED);
        assert!(stage.work().join("late").exists(), "the background work was stopped with the agent");
        let stream = fs::read_to_string(stage.only_run().attempt(1).stream_path()).expect("a stream");
        assert_eq!(stream.matches(r#""type":"result""#).count(), 2, "the model was notified of the end");
    });
}

/// An agent that never consulted the guards ran without them.
#[test]
fn agent_bypassing_guards_fails_the_run() {
    let (stage, server) = (Stage::new(), Server::start(TOOLS));
    let careless = stage.script(
        "careless",
        &format!("grep --line-buffered -v longhaul-initialize | '{LONGHAUL}' drill-agent \"$@\""),
    );
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--deny-tools", "WebFetch", "--preset", "drill"];
    let envelope = stage.run(&careless, &args).against(&server).output().envelope(23);
    assert_eq!(envelope["run"]["fault"], "guard_lapsed", "{envelope}");
}

/// If the answers of a guard do not reach the agent, no call passes.
#[test]
fn tool_with_a_failing_guard_is_not_used() {
    play_with_each_agent(TOOLS, "a guard that fails", |stage, agent, server| {
        let garbled = r#"s/"subtype":"success"/"subtype":"error","error":"garbled"/"#;
        let garbling =
            stage.script("garbling", &format!("sed -u '{garbled}' | '{}' \"$@\"", agent.display()));
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let output = stage.run(&garbling, &args).args(GUARDED).against(server).output();
        let envelope = output.envelope(23);
        assert_eq!(envelope["run"]["fault"], "guard_lapsed", "{envelope}");
        assert!(!stage.work().join("run").exists() && !stage.work().join("written").exists());
    });
}

/// A project hook that replaces the input of each command.
const REWRITES: &str = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":
    "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{\"command\":\"touch REPLACEMENT\"}}}'"}]}]}}"#;

#[test]
fn rewritten_call_needs_the_same_verdict() {
    play_with_each_agent(TOOLS, "a hook that rewrites calls", |stage, agent, server| {
        let check = |replacement: &str, blocked: &str, code: i32| {
            let settings = stage.work().join(".claude/settings.json");
            fs::create_dir_all(settings.parent().expect("the path has a parent")).expect("a directory");
            fs::write(settings, REWRITES.replace("REPLACEMENT", replacement)).expect("a file");
            let args = [
                "p",
                "--permission-mode",
                "bypassPermissions",
                "--preset",
                "drill",
                "--block-path",
                "secret",
                "--block-path",
                blocked,
            ];
            stage.run(agent, &args).against(server).output().envelope(code)
        };
        assert_eq!(check("./secret", "other", 23)["run"]["fault"], "guard_lapsed");
        check("harmless", "other", 0);
        // The agent makes neither the call that was denied nor its replacement.
        assert_eq!(check("./secret", "run", 0)["run"]["denied_calls"], 1);
    });
}

/// The agent runs the commands in a skill without asking the guards.
#[test]
fn commands_in_skills_do_not_run_under_guards() {
    let Some(claude) = claude_code("commands in skills") else { return };
    let skill = r#"
I use it.
! call = { name = "Skill", input = { skill = "x" } }
Done.
"#;
    let check = |args: &[&str], is_run: bool| {
        let (stage, server) = (Stage::new(), Server::start(skill));
        let file = stage.work().join(".claude/commands/x.md");
        fs::create_dir_all(file.parent().expect("the path has a parent")).expect("a directory");
        fs::write(file, "Do: !`touch ran`\n").expect("a file");
        let base_args = ["p", "--permission-mode", "bypassPermissions"];
        stage.run(&claude, &base_args).args(args).against(&server).output().envelope(0);
        assert_eq!(stage.work().join("ran").exists(), is_run, "{args:?}");
    };
    check(&[], true);
    check(&["--deny-tools", "Bash"], false);
    check(&["--allow-tools", "Skill,Read"], false);
    check(&["--block-url", "blocked.example"], false);
    check(&["--deny-tools", "WebFetch"], true);
}

#[test]
fn tool_is_denied_by_each_of_its_names() {
    let task = r#"
I delegate.
! call = { name = "Agent", input = { description = "d", prompt = "say hi", subagent_type = "general-purpose" } }
Done.
"#;
    play_with_each_agent(task, "denying a tool by another name", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--deny-tools", "Task,Wbe*"];
        let output = stage.run(agent, &args).against(server).output();
        assert_eq!(output.envelope(0)["run"]["denied_calls"], 1, "{output:?}");
        assert!(output.stderr.contains("warning: `Wbe*` matches no tool of the agent"), "{output:?}");
        assert!(!output.stderr.contains("`Task`"), "{output:?}");
    });
}

#[test]
fn invalid_tool_pattern_is_a_usage_error() {
    let stage = Stage::new();
    for (tools, message) in
        [("", "matches no tool"), ("Bash(git push:*)", "names arguments"), ("Bash||", "matches no tool")]
    {
        let output = stage.longhaul(["run", "p", "--deny-tools", tools]).output();
        assert_eq!(output.code, 2, "{output:?}");
        output.assert_error(&[message]);
    }
    assert!(stage.runs().is_empty());
}
