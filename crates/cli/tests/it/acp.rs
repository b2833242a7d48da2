//! Agents that speak the Agent Client Protocol: supervised, guarded, recovered and classified like Claude
//! Code. The scripted agent speaks the protocol.

use crate::call::{Call, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{
    STEPS, agent_pid, assert_done, endless_steps, kill_agent, prompt_of, recover, steps,
};
use crate::server::{Server, WORK};
use longhaul_store::ModelUsage;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::fs;

/// Selects the shape in which the scripted agent reports failures. An agent with the shape `status` loads
/// sessions, the others resume them.
const SHAPE: &str = "LONGHAUL_SCRIPTED_ACP_FAILURES";
pub const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// The API fails twice in the second turn.
const FAILING: &str = "
I take the only step.
$ echo one >> steps
The step is taken.
[[fault]]
turn = 2
times = 2
status = { code = 529 }
";

/// A command that takes half a minute.
const LONG: &str = "
I start the long build.
$ touch started; sleep 30
The build is finished.
";

/// The API falls silent in the middle of the first answer, and serves the next request.
const HANGS: &str = r#"
It is done, and there is more to say about it than fits in one line of text.
[[fault]]
turn = 1
silence = { after = "mid-text" }
"#;

/// Returns a call of `longhaul run` with the scripted agent.
pub fn run(stage: &Stage, server: &Server, args: &[&str]) -> Call {
    let agent = ["--", LONGHAUL, "drill-agent", "--acp"];
    let call = stage.longhaul(["run", "--agent", "acp", "p", "--cwd"]).args([stage.work()]);
    call.args(["--preset", "drill"])
        .args(args)
        .args(agent)
        .against(server)
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
}

/// Returns the stream of an attempt.
fn stream(stage: &Stage, attempt: u32) -> String {
    fs::read_to_string(stage.only_run().attempt(attempt).stream_path()).unwrap_or_default()
}

fn journal(stage: &Stage) -> String {
    fs::read_to_string(stage.only_run().journal_path()).expect("there is a journal")
}

#[test]
fn run_is_done_in_the_session_that_the_agent_chose() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let envelope = run(&stage, &server, &BYPASS).output().envelope(0);
    assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(envelope["result"], "All done: hello.txt says hello.");
    assert!(envelope["usage"]["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{envelope}");
    assert!(stage.work().join("hello.txt").exists());
    let stream = stream(&stage, 1);
    let answers = stream.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let session =
        answers.filter_map(|answer| Some(answer["result"]["sessionId"].as_str()?.to_owned())).next();
    assert_eq!(envelope["session_id"].as_str(), session.as_deref());
    assert_eq!(stage.only_run().plan().expect("the plan can be read").spec.agent.name, "acp");
    let logs = stage.longhaul(["logs", "@", "--output-format", "text"]).output().stdout;
    for text in ["I write the file.", "echo hello > hello.txt", "All done: hello.txt says hello."] {
        assert!(logs.contains(text), "{text} is missing: {logs}");
    }
}

#[test]
fn stream_gives_a_handoff_prompt() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run(&stage, &server, &BYPASS).output().envelope(0);
    let stream = stage.only_run().attempt(1).stream_path();
    let output = stage.longhaul(["handoff", "--from-transcript"]).args([stream]).output();
    assert_eq!(output.code, 0, "{output:?}");
    for text in ["I write the file.", "echo hello > hello.txt"] {
        assert!(output.stdout.contains(text), "{text} is missing: {output:?}");
    }
    let other = stage.file("other.jsonl", "{}\n");
    stage
        .longhaul(["handoff", "--task", "t", "--from-transcript"])
        .args([other])
        .output()
        .assert_error(&["other.jsonl"]);
}

#[test]
fn finished_run_is_resumed_in_its_session() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let first = run(&stage, &server, &BYPASS).output().envelope(0);
    let resumed = stage.longhaul(["resume", "@", "Say it again."]).against(&server).output().envelope(0);
    assert_eq!(resumed["run"]["attempts"], 2, "{resumed}");
    assert_eq!(resumed["session_id"], first["session_id"]);
}

#[test]
fn call_needs_a_tool_that_guards_allow() {
    let check = |args: &[&str], fault: Option<&str>, denied: u64, is_written: bool| {
        let (stage, server) = (Stage::new(), Server::start(WORK));
        let output = run(&stage, &server, args).output();
        let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
        assert_eq!(envelope["run"]["fault"].as_str(), fault, "{args:?} {envelope}");
        assert_eq!(envelope["run"]["denied_calls"].as_u64().unwrap_or(0), denied, "{args:?} {envelope}");
        assert_eq!(stage.work().join("hello.txt").exists(), is_written, "{args:?}");
        let always = stream(&stage, 1).contains(r#""optionId":"always""#);
        assert!(always || !args.contains(&"Bash"), "the agent offers to allow all later calls");
    };
    check(&["--allow-tools", "Bash"], None, 0, true);
    // No one is available to allow it.
    check(&[], Some("permission"), 0, false);
    check(&["--deny-tools", "WebFetch"], Some("permission"), 0, false);
    check(&["--allow-tools", "*", "--deny-tools", "Bash"], None, 1, false);
    check(&["--allow-tools", "*", "--block-path", "hello.txt"], None, 1, false);
}

/// Returns the advice for the only run, and the commands that continue it.
fn next_step(stage: &Stage) -> (String, Vec<String>) {
    let run = stage.only_run();
    let why = stage.longhaul(["why", run.id().as_str(), "--output-format", "json"]).output().stdout;
    let why: Value = serde_json::from_str(&why).expect("JSON");
    let commands = why["next"]["commands"].as_array().expect("commands").iter();
    let commands = commands.filter_map(|command| Some(command.as_str()?.to_owned())).collect();
    (why["next"]["text"].as_str().expect("a text").to_owned(), commands)
}

#[test]
fn advice_and_commands_are_for_this_agent() {
    let check = |args: &[&str], scenario: &str, advice: &str, flags: &[&str]| {
        let (stage, server) = (Stage::new(), Server::start(scenario));
        let output = run(&stage, &server, args).output();
        assert!(output.code != 0 && !output.stderr.contains("laude"), "{args:?}: {output:?}");
        let (text, commands) = next_step(&stage);
        let run = stage.only_run();
        assert!(text.contains(advice), "{args:?}: {text}");
        let resume = |flags: &&str| format!("longhaul resume {}{flags}", run.id());
        assert_eq!(commands, flags.iter().map(resume).collect::<Vec<_>>(), "{args:?}");
    };
    let rejected = FAILING.replace("529", "401");
    check(&BYPASS, &rejected, "check the key or the agent's own login", &[""]);
    let flags = [" --allow-tools '*'", " --allow-denials"];
    check(&[], WORK, "allow these tools, or count", &flags);
    check(&["--permission-mode", "no-such-mode"], WORK, "a permission mode that the agent knows", &[]);
    check(&[BYPASS[0], BYPASS[1], "--deny-tools", "Bash"], WORK, "in which the agent asks", &[""]);
}

#[test]
fn call_without_a_question_that_guards_deny_is_a_lapse() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    // In this mode the agent does not ask.
    let output = run(&stage, &server, &[BYPASS[0], BYPASS[1], "--deny-tools", "Bash"]).output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
    assert_eq!(envelope["run"]["fault"], "guard_lapsed", "{envelope}");
}

#[test]
fn failed_request_is_no_success() {
    let check = |shape: &str, fault: &str| {
        let (stage, server) = (Stage::new(), Server::start(FAILING));
        let envelope = run(&stage, &server, &BYPASS).env(SHAPE, shape).output().envelope(0);
        assert_eq!(envelope["result"], "The step is taken.", "{shape}: {envelope}");
        assert_eq!(envelope["run"]["attempts"], 3, "{shape}: {envelope}");
        assert!(journal(&stage).contains(&format!(r#""fault":"{fault}""#)), "{shape}: {}", journal(&stage));
        assert_eq!(steps(&stage), "one\n", "{shape}");
    };
    check("kind", "server_error");
    check("status", "overloaded");
    check("details", "overloaded");
    // These agents answer `end_turn`.
    check("mark", "server_error");
}

#[test]
fn end_turn_after_error_text_is_retried_once() {
    let (stage, server) = (Stage::new(), Server::start(FAILING));
    let output = run(&stage, &server, &BYPASS).env(SHAPE, "text").output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
    assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
    assert_eq!(envelope["run"]["fault"], "unknown", "{envelope}");
}

#[test]
fn rejected_login_ends_the_run() {
    let (stage, server) = (Stage::new(), Server::start(&FAILING.replace("529", "401")));
    let output = run(&stage, &server, &BYPASS).output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
    assert_eq!(envelope["run"]["fault"], "auth", "{envelope}");
}

#[test]
fn killed_agent_is_resumed_without_repeating_or_recounting() {
    for shape in ["kind", "status"] {
        let (stage, server) = (Stage::new(), Server::start(STEPS));
        let running = run(&stage, &server, &BYPASS).env(SHAPE, shape).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        kill_process(agent_pid(&stage.only_run()), Signal::KILL).expect("the test started this process");
        let envelope = running.output().envelope(0);
        assert_done(&stage, &envelope, 2);
        assert_eq!(steps(&stage), "one\nthree\n", "{shape}");
        let method = if shape == "status" { "session/load" } else { "session/resume" };
        let repeats = stream(&stage, 2).contains("user_message_chunk");
        assert_eq!(repeats, method == "session/load", "{shape}");
        // Each request is counted once: the history that a loaded session repeats is not.
        let billed = server.api.request_log().model_requests();
        let messages = |attempt: u32| {
            let usage: Vec<ModelUsage> = stage.only_run().attempt(attempt).read_or_default();
            usage.iter().map(|usage| usage.messages as usize).sum::<usize>()
        };
        assert_eq!(messages(1) + messages(2), billed, "{shape}");
    }
}

/// Starts a run and kills its supervisor in the middle of the second step.
fn orphaned_run(scenario: &str, args: &[&str]) -> (Stage, Server) {
    let (stage, server) = (Stage::new(), Server::start(scenario));
    let running = run(&stage, &server, args).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    running.kill();
    (stage, server)
}

/// Asserts that `recover` finishes the run, after this many attempts and with these steps.
fn assert_recovered(stage: &Stage, server: &Server, attempts: u32, expected: &str) {
    let output = recover(stage, server, &[]).output();
    assert_done(stage, &output.envelope(0), attempts);
    assert_eq!(steps(stage), expected);
}

#[test]
fn live_agent_is_adopted() {
    let (stage, server) = orphaned_run(STEPS, &BYPASS);
    assert_recovered(&stage, &server, 1, "one\ntwo\nthree\n");
    assert_eq!(server.api.request_log().model_requests(), 4, "the prompt was sent again");
}

#[test]
fn next_supervisor_answers_an_open_question() {
    let (stage, server) = orphaned_run(STEPS, &["--allow-tools", "Bash"]);
    wait_until("the agent asks about its third step", || {
        stream(&stage, 1).matches("session/request_permission").count() == 3
    });
    assert_eq!(steps(&stage), "one\ntwo\n");
    assert_recovered(&stage, &server, 1, "one\ntwo\nthree\n");
}

#[test]
fn session_continues_after_supervisor_and_agent_died() {
    let (stage, server) = orphaned_run(&endless_steps(), &BYPASS);
    kill_agent(&stage.only_run());
    assert_recovered(&stage, &server, 2, "one\nthree\n");
}

/// A session that the journal does not know, because its supervisor died first, is not foreign.
#[test]
fn session_is_known_from_the_stream_of_a_dead_agent() {
    let (stage, server) = orphaned_run(&endless_steps(), &BYPASS);
    let run = stage.only_run();
    kill_agent(&run);
    let lines = journal(&stage);
    let known: Vec<&str> = lines.lines().take_while(|line| !line.contains("session_opened")).collect();
    fs::write(run.journal_path(), known.join("\n") + "\n").expect("the test owns the file");
    assert_recovered(&stage, &server, 2, "one\nthree\n");
}

#[test]
fn lost_session_is_replaced_by_a_handoff() {
    let (stage, server) = orphaned_run(STEPS, &BYPASS);
    kill_agent(&stage.only_run());
    fs::remove_dir_all(stage.user_home().join(".claude/acp")).expect("there are sessions");
    let output = recover(&stage, &server, &[]).output();
    assert_done(&stage, &output.envelope(0), 3);
    let prompt = prompt_of(&stage.only_run(), 3);
    assert!(prompt.contains("I take the first step."), "{prompt}");
}

#[test]
fn stalled_agent_is_stopped_and_resumed() {
    let (stage, server) = (Stage::new(), Server::start(HANGS));
    let args = [BYPASS[0], BYPASS[1], "--stall-timeout", "8s"];
    let envelope = run(&stage, &server, &args).output().envelope(0);
    assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
    assert!(journal(&stage).contains(r#""fault":"stalled""#));
}

#[test]
fn cancel_ends_the_turn() {
    let (stage, server) = (Stage::new(), Server::start(LONG));
    let running = run(&stage, &server, &BYPASS).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    stage.longhaul(["cancel", "@"]).output();
    let output = running.output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
    assert_eq!(envelope["run"]["outcome"], "cancelled", "{envelope}");
    assert!(stream(&stage, 1).contains(r#""stopReason":"cancelled""#), "{}", stream(&stage, 1));
}

/// Two answers in one session: the first is no claim that the work is done.
const TALKS: &str = "
A part of it is done.
? You stopped
ALL DONE
? You reported that the work is done
ALL DONE
";

#[test]
fn agent_that_stops_is_prompted_in_its_open_session() {
    let (stage, server) = (Stage::new(), Server::start(TALKS));
    let args = [BYPASS[0], BYPASS[1], "--keep-going", "--done-when", "ALL DONE", "--max-tokens", "none"];
    let envelope = run(&stage, &server, &args).output().envelope(0);
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(envelope["result"], "ALL DONE", "{envelope}");
    assert_eq!(stream(&stage, 1).matches(r#""stopReason":"end_turn""#).count(), 3);
    let sent = stage.only_run().attempt(1).sent_requests().expect("the file can be read");
    assert!(sent.ends_with(&[1, 2, 3].map(|number| format!("longhaul-prompt-{number}"))), "{sent:?}");
}

#[test]
fn idle_agent_without_a_supervisor_is_ended_by_the_next_one() {
    let (stage, server) = orphaned_run(STEPS, &BYPASS);
    wait_until("the turn ends", || stream(&stage, 1).contains(r#""stopReason":"end_turn""#));
    let output = recover(&stage, &server, &[]).output();
    assert_done(&stage, &output.envelope(0), 1);
}

#[test]
fn wrong_calls_say_what_to_type() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| {
        let call = stage.longhaul(["run", "--agent", "acp", "p", "--cwd"]).args([stage.work()]).args(args);
        call.output().assert_error(fragments);
    };
    check(&[], &["needs the command of an agent", "longhaul run --agent acp PROMPT -- opencode acp"]);
    check(&["--", "no-such-agent"], &["cannot find the agent `no-such-agent`", "after `--`"]);
    check(&["--network", "none", "--", "cat"], &["--network cannot be used with `--agent acp`"]);
    stage.file("work/longhaul.toml", "handoff_summary = \"haiku\"\n");
    let fragments = ["--handoff-summary cannot be used with `--agent acp`", "is set by", "longhaul.toml"];
    check(&["--", "cat"], &fragments);
    check(&["--no-config", "--"], &["needs the command of an agent"]);
}

#[test]
fn other_programs_are_no_agents() {
    let stage = Stage::new();
    let agent = stage.script("broken", "echo usage; exit 3");
    let call = stage
        .longhaul(["run", "--agent", "acp", "p", "--cwd"])
        .args([stage.work()])
        .args(["--"])
        .args([agent]);
    let output = call.output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope");
    assert_eq!(envelope["run"]["fault"], "agent_unusable", "{envelope}");
    let errors = envelope["errors"].to_string();
    assert!(errors.contains("broken is no agent of the Agent Client Protocol"), "{errors}");
    // Claude Code, which this machine may have, cannot continue it.
    let claude = stage.script("claude", "exit 1");
    let bin = claude.parent().expect("a directory");
    let shown = stage.longhaul(["show", "@", "--output-format", "json"]).env("PATH", bin).output();
    assert!(!shown.stdout.contains("--agent-path"), "{}", shown.stdout);
}
