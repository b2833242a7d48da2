//! Learning from whole sessions: a session's lessons are learned when it ends, and the next session receives
//! them.
//!
//! Runs are tested with every available agent, interactive sessions with the real agent.

use crate::call::wait_until;
use crate::harness::{Stage, claude_code};
use crate::recovering::play_with_each_agent;
use crate::server::Server;
use crate::workflows::{envelope, run_loop};
use crate::worktrees::{git, repository};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A scenario with one command, and a judge that finds one lesson.
const WORK: &str = r#"
I write the file.
$ echo hello > hello.txt
All done: hello.txt says hello.
? You are the reflector
{"analysis": "- The file is greeted in English.", "bullet_tags": []}
? You are the curator
{"reasoning": "", "operations": [{"type": "ADD", "section": "PROJECT CONTEXT", "text": "greetings are in English"}]}
"#;

const SESSION: &str = "6f6f0d2b-6c0d-4b7e-9d3c-0d2f6a1c5b11";
const POINT: &str = "greetings are in English";

fn run(stage: &Stage, agent: &Path, server: &Server, extra_args: &[&str]) -> Value {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).args(extra_args).against(server).output().envelope(0)
}

/// Returns the playbook as `show` prints it.
fn playbook(stage: &Stage) -> Value {
    let shown = stage.longhaul(["playbook", "show", "--project"]).args([stage.work()]).output();
    serde_json::from_str(&shown.stdout).expect("the playbook is shown")
}

fn texts(playbook: &Value) -> Vec<String> {
    let points = playbook["points"].as_array().into_iter().flatten();
    points.filter_map(|point| point["text"].as_str().map(str::to_owned)).collect()
}

/// Returns how many requests to the model contain these words.
fn requests_containing(server: &Server, words: &str) -> usize {
    server.api.request_log().requests.iter().filter(|request| request.prompt.contains(words)).count()
}

/// Waits until the queue of sessions to learn from is empty.
fn wait_until_learned(stage: &Stage) {
    wait_until("the queue is empty", || {
        let status = stage.longhaul(["playbook", "status"]).output();
        let status: Value = serde_json::from_str(&status.stdout).expect("the status is JSON");
        status["waiting"].as_array().is_some_and(Vec::is_empty) && status["worker"] == false
    });
}

#[test]
fn next_run_receives_lessons_of_a_run() {
    play_with_each_agent(WORK, "lessons of a run", |stage, agent, server| {
        run(stage, agent, server, &["--learn"]);
        wait_until_learned(stage);
        assert_eq!(texts(&playbook(stage)), [POINT]);
        assert_eq!(
            (
                requests_containing(server, "You are the reflector"),
                requests_containing(server, "You are the curator")
            ),
            (1, 1)
        );
        let before = server.api.request_log().requests.len();
        run(stage, agent, server, &["--learn"]);
        let requests = server.api.request_log().requests;
        let first = requests.get(before).expect("the second run sent a request");
        let received = format!("{} {}", first.prompt, first.notes);
        assert!(received.contains(&format!("[ctx-001] helpful=0 harmful=0 :: {POINT}")), "{received}");
        wait_until_learned(stage);
        assert_eq!(texts(&playbook(stage)), [POINT], "a known lesson is not added");
    });
}

/// Each failed check ends a process of the agent, but not the session.
#[test]
fn session_is_judged_once_despite_failed_checks() {
    let work = WORK.replace(
        "? You are the reflector",
        "? world is missing\nI see.\n$ echo world >> hello.txt\nDone.\n? You are the reflector",
    );
    play_with_each_agent(&work, "learning with failed checks", |stage, agent, server| {
        let check = ["--check", "grep world hello.txt || { echo world is missing; exit 1; }"];
        let envelope = run(stage, agent, server, &[&["--learn"][..], &check].concat());
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        wait_until_learned(stage);
        assert_eq!(requests_containing(server, "You are the reflector"), 1);
        let status = stage.longhaul(["playbook", "status"]).output();
        let status: Value = serde_json::from_str(&status.stdout).expect("the status is JSON");
        assert_eq!(status["done"], 1, "{status}");
    });
}

#[test]
fn missing_key_is_reported_at_the_start() {
    let (stage, server) = (Stage::new(), Server::start("Done."));
    let call = |args: &[&str]| {
        let call =
            stage.run(&stage.agent(), &["p", "--preset", "drill", "--learn"]).args(args).against(&server);
        call.without_env("ANTHROPIC_API_KEY").output()
    };
    let warning = "warning: --learn cannot judge sessions: no API key is set: set ANTHROPIC_API_KEY";
    assert!(call(&[]).stderr.contains(warning));
    assert!(call(&["--detach"]).stderr.contains(warning));
    assert!(!call(&["--learn-judge", "claude"]).stderr.contains("--learn cannot"));
    let file = "[[phase]]\nname = \"greet\"\nprompt = \"p\"\nrun = { learn = true }\n";
    let call = run_loop(&stage, &server, file, &["--detach"]).without_env("ANTHROPIC_API_KEY").output();
    assert!(call.stderr.contains(warning), "{}", call.stderr);
    envelope(&stage.longhaul(["attach", "@"]).output(), 23);
}

#[test]
fn project_learns_from_runs_in_worktrees() {
    let file =
        "[[phase]]\nname = \"greet\"\nisolation = \"worktree\"\nprompt = \"p\"\nrun = { learn = true }\n";
    let (stage, server) = (Stage::new(), Server::start(WORK));
    repository(&stage);
    for _ in 0..2 {
        // The playbook is no uncommitted work.
        envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
        wait_until_learned(&stage);
        assert_eq!(texts(&playbook(&stage)), [POINT]);
    }
    assert_eq!(git(&stage.work(), &["ls-files", ".claude"]), "", "no run wrote a playbook into its worktree");
}

/// Runs a session of the real agent, as a user would.
fn session(stage: &Stage, claude: &Path, server: &Server, args: &[&str]) {
    let script = ["-c", "cd work && exec \"$0\" -p --permission-mode bypassPermissions \"$@\""];
    let call = stage.program("sh").args(script).args([claude]).args(args).against(server);
    let output = call.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").output();
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn next_session_receives_lessons_of_a_session() {
    let Some(claude) = claude_code("lessons of a session") else { return };
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let installed = stage.longhaul(["playbook", "install"]).output();
    assert_eq!(installed.code, 0, "{installed:?}");
    session(&stage, &claude, &server, &["--session-id", SESSION, "Write the file."]);
    wait_until_learned(&stage);
    assert_eq!(texts(&playbook(&stage)), [POINT]);
    let before = server.api.request_log().requests.len();
    session(&stage, &claude, &server, &["Write it again."]);
    let first = server.api.request_log().requests.remove(before);
    assert!(first.notes.contains(POINT), "{}", first.notes);
    wait_until_learned(&stage);
    let judged_sessions = requests_containing(&server, "You are the reflector");
    assert_eq!(judged_sessions, 2, "each of the two sessions is judged once");

    // Messages before a compaction are judged at the compaction, and not again at the end.
    session(&stage, &claude, &server, &["--resume", SESSION, "Once more."]);
    wait_until_learned(&stage);
    session(&stage, &claude, &server, &["--resume", SESSION, "/compact"]);
    wait_until_learned(&stage);
    let requests = server.api.request_log().requests;
    let judged: Vec<&str> = requests
        .iter()
        .filter(|request| request.prompt.contains("You are the reflector"))
        .map(|request| request.prompt.as_str())
        .collect();
    for message in ["Write the file.", "Write it again.", "Once more."] {
        let transcript = |prompt: &str| prompt.split("<transcript>").nth(1).unwrap_or_default().to_owned();
        let times = judged.iter().filter(|prompt| transcript(prompt).contains(message)).count();
        assert_eq!(times, 1, "{message}");
    }
}

#[test]
fn run_without_learn_learns_nothing() {
    play_with_each_agent(WORK, "a run without --learn", |stage, agent, server| {
        run(stage, agent, server, &[]);
        assert_eq!(requests_containing(server, "You are the reflector"), 0);
        assert!(!stage.home().join("playbook").exists());
        assert!(!fs::exists(stage.work().join(".claude/playbook.json")).expect("the folder can be read"));
    });
}

#[test]
fn arguments_disabling_learning_are_rejected() {
    let stage = Stage::new();
    for args in [&["--settings", "{}"][..], &["--settings={}"], &["--safe-mode"], &["--bare"]] {
        let run = stage.run(&stage.agent(), &["p", "--learn", "--"]).args(args).output();
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("it would undo --learn"), "{}", run.stderr);
    }
    let none = stage.run(&stage.agent(), &["p", "--learn", "--learn-tokens", "0"]).output();
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(stage.runs().is_empty());
}
