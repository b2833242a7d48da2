//! `longhaul resume` and `longhaul rerun`: the same run in the same session, a fork, or a new run of the
//! task.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::{
    STEPS, agent_pid, endless_steps, has_exited, held_steps, play_with_each_agent, release, run_to_mid_tool,
    run_to_mid_tool_with, steps, with_each_agent,
};
use crate::server::{Server, WORK};
use crate::tidy;
use longhaul_core::CancelSource;
use longhaul_store::Plan;
use serde_json::Value;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

// A busy machine can start an agent so slowly that the preset takes it for stalled. No test waits this long.
const NO_STALLS: [&str; 4] = ["--stall-timeout", "5m", "--progress-timeout", "5m"];

fn resume(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    stage.longhaul(["resume"]).args(args).against(server).output()
}

/// Returns the session files.
fn sessions(stage: &Stage) -> Vec<PathBuf> {
    let mut files = tidy::all_paths(&stage.user_home().join(".claude/projects"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files
}

fn sessions_containing(stage: &Stage, words: &str) -> usize {
    sessions(stage)
        .iter()
        .filter(|file| fs::read_to_string(file).is_ok_and(|text| text.contains(words)))
        .count()
}

/// The supervisor may be notifying the user, after it recorded the outcome.
#[test]
fn cancel_that_arrives_too_late_does_not_cancel_a_later_resume() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    stage.only_run().requests().send(CancelSource::Person).expect("the request is written");
    let resumed = resume(&stage, &server, &["@", "now the docs"]).envelope(0);
    assert_eq!(resumed["run"]["attempts"], 2, "{resumed}");
}

/// A process that could not be stopped, such as one that waits for a dead file server, outlives its run.
// On macOS, no process of the run started this one.
#[cfg(not(feature = "portable-processes"))]
#[test]
fn leftover_process_is_stopped_before_the_run_resumes() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    let marker = longhaul::RunMarker::load(&stage.only_run()).expect("a plan");
    let leftover = stage.program("tail").args(["-f", "/dev/null"]);
    let leftover = marker.variables().iter().fold(leftover, |call, (name, value)| call.env(name, value));
    let _leftover = leftover.start();
    wait_until("the process runs", || !marker.processes().is_empty());
    resume(&stage, &server, &["@", "now the docs"]).envelope(0);
    assert!(marker.processes().is_empty(), "the agent ran next to the process");
}

#[test]
fn no_agent_works_while_the_files_show_an_earlier_outcome() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let agent = stage.agent();
    stage.run(&agent, &["p", "--permission-mode", "bypassPermissions"]).against(&server).output().envelope(0);
    let status = stage.only_run().path().join("status.json");
    let script = fs::read_to_string(&agent).expect("the agent is a script");
    let copies = format!("#!/bin/sh\ncp '{}' seen\n", status.display());
    fs::write(&agent, script.replacen("#!/bin/sh\n", &copies, 1)).expect("the test owns the file");
    resume(&stage, &server, &["@", "now the docs"]).envelope(0);
    let seen = fs::read_to_string(stage.work().join("seen")).expect("the agent copied the status");
    let seen: Value = serde_json::from_str(&seen).expect("the status is JSON");
    assert!(seen["returncode"].is_null(), "{seen}");
}

#[test]
fn cancelled_run_resumes_as_the_same_run() {
    play_with_each_agent(&endless_steps(), "resuming a cancelled run", |stage, agent, server| {
        let run = run_to_mid_tool_with(stage, agent, server, &NO_STALLS);
        assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
        let cancelled = run.output().envelope(130);
        let resumed = resume(stage, server, &["@"]).envelope(0);
        assert_eq!(resumed["result"], "All three steps are taken.", "{resumed}");
        assert_eq!(steps(stage), "one\nthree\n");
        for key in ["session_id", "/run/id"] {
            let field = |envelope: &Value| envelope.pointer(key).or(envelope.get(key)).cloned();
            assert_eq!(field(&resumed), field(&cancelled), "{key}");
        }
        assert_eq!(resumed["run"]["attempts"], 2);
        // Earlier usage counts.
        let request_log = server.api.request_log();
        let usage = |name: &str| resumed["usage"][name].as_u64().unwrap_or_default();
        let token_fields =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let reported = token_fields.map(usage).iter().sum::<u64>() + usage("truncated_tokens");
        assert_eq!(reported, request_log.tokens().total(), "{resumed}");
        assert!(stage.longhaul(["recover", "--list"]).output().stdout.is_empty());
        tidy::check(stage);
    });
}

#[test]
fn done_run_resumes_with_a_new_prompt() {
    with_each_agent("resuming a done run", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).output().envelope(0);
        let id = stage.only_run().id().to_string();
        let rejected = resume(stage, server, &["@"]);
        rejected.envelope(25);
        rejected.assert_error(&[
            &format!("cannot resume run {id}: it has finished as done"),
            "PROMPT",
            "--repeat-task",
        ]);

        let more = resume(stage, server, &["@", "Now the docs, please."]).envelope(0);
        assert_eq!((&more["run"]["id"], &more["run"]["attempts"]), (&id.as_str().into(), &2.into()));
        assert_eq!(sessions_containing(stage, "Now the docs, please."), 1);
        let again = resume(stage, server, &["@", "--repeat-task"]).envelope(0);
        assert_eq!(again["run"]["attempts"], 3);
        assert_eq!(again["session_id"], more["session_id"]);
        assert_eq!(sessions(stage).len(), 1);
        let handoff = stage.longhaul(["handoff", "@"]).output();
        assert!(
            handoff.stdout.contains("Now the docs, please."),
            "the handoff prompt has the later prompt: {handoff:?}"
        );
        tidy::check(stage);
    });
}

#[test]
fn fork_is_a_separate_run() {
    with_each_agent("a fork", |stage, agent, server| {
        let done = run_to_mid_tool(stage, agent, server).output().envelope(0);
        let original = sessions(stage).remove(0);
        let before = fs::read(&original).expect("a session");
        let forked = resume(stage, server, &["@", "--fork", "Try another way."]).envelope(0);
        assert_ne!(forked["session_id"], done["session_id"]);
        assert_ne!(forked["run"]["id"], done["run"]["id"]);
        assert_eq!(stage.runs().len(), 2);
        assert_eq!(fs::read(&original).expect("a session"), before, "the session is unchanged");
        assert_eq!(sessions_containing(stage, "Try another way."), 1);
        assert_eq!(sessions_containing(stage, "echo one >> steps"), 2, "the fork has the history");
        let shown = stage.longhaul(["show", "@", "--output-format", "text"]).output();
        assert!(shown.stdout.contains("forked"), "{shown:?}");
        tidy::check(stage);
    });
}

#[test]
fn unfinished_run_is_recovered_without_a_new_prompt() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let rejected = resume(&stage, &server, &["@"]);
    rejected.envelope(25);
    rejected.assert_error(&[" already has a supervisor", "longhaul attach"]);
    run.kill();
    let agent = agent_pid(&stage.only_run());
    for args in [&["@", "more"][..], &["@", "--repeat-task"]] {
        let rejected = resume(&stage, &server, args);
        rejected.envelope(25);
        rejected.assert_error(&["it has not finished", "longhaul recover"]);
    }
    release(&stage);
    let output = resume(&stage, &server, &["@"]).envelope(0);
    assert_eq!(output["run"]["attempts"], 1);
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
    wait_until("the agent has exited", || has_exited(agent));
}

#[test]
fn resume_in_a_moved_workspace_needs_cwd() {
    play_with_each_agent(&endless_steps(), "a moved workspace", |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
        run.output().envelope(130);
        let moved = stage.folder().join("moved");
        fs::rename(stage.work(), &moved).expect("a folder can be moved");
        let rejected = resume(stage, server, &["@"]);
        rejected.envelope(25);
        rejected.assert_error(&["work", "--cwd"]);
        let resumed = resume(stage, server, &["@", "--cwd", &moved.to_string_lossy()]).envelope(0);
        assert_eq!(resumed["result"], "All three steps are taken.", "{resumed}");
        assert_eq!(fs::read_to_string(moved.join("steps")).expect("steps"), "one\nthree\n");
        let shown = stage.longhaul(["show", "@"]).output();
        assert!(shown.stdout.contains("\"relocate\""), "{shown:?}");
        tidy::check(stage);
    });
}

/// Only the real agent writes events and rows with the same ids.
#[test]
fn workspace_that_moves_back_continues_from_the_latest_turns() {
    let Some(agent) = claude_code("a workspace that moves back") else { return };
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&agent, &args).against(&server).output().envelope(0);
    let session = sessions(&stage).remove(0);
    let earlier = fs::read(&session).expect("a session");
    let (work, moved) = (stage.work(), stage.folder().join("moved"));
    fs::rename(&work, &moved).expect("a folder can be moved");
    resume(&stage, &server, &["@", "now the docs", "--cwd", &moved.to_string_lossy()]).envelope(0);
    fs::rename(&moved, &work).expect("a folder can be moved");
    let in_work = resume(&stage, &server, &["@", "now the tests", "--cwd", &work.to_string_lossy()]);
    let resumed = in_work.envelope(0);
    assert_eq!(resumed["run"]["attempts"], 3, "{resumed}");
    let continued = fs::read_to_string(&session).expect("a session");
    assert!(["now the docs", "now the tests"].iter().all(|prompt| continued.contains(prompt)), "{continued}");
    assert_eq!(fs::read(session.with_extension("jsonl.stale")).expect("a backup"), earlier);
}

/// Only an update makes a program vanish for a moment, and it has not worked since the user resumed the run.
#[test]
fn missing_program_ends_a_resumed_run_at_once() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let agent = stage.script("agent", &format!("exec '{LONGHAUL}' drill-agent \"$@\""));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&agent, &args).against(&server).output().envelope(0);
    fs::remove_file(&agent).expect("the program exists");
    let envelope = resume(&stage, &server, &["@", "more"]).envelope(20);
    assert_eq!(
        (&envelope["run"]["fault"], &envelope["run"]["attempts"]),
        (&"agent_missing".into(), &2.into())
    );
}

/// A gateway that fails answers 404, too.
#[test]
fn model_that_answered_before_is_retried() {
    // The agent repeats the request once.
    let fault = "[[fault]]\nturn = 2\ntimes = 2\nstatus = { code = 404, message = \"model: gone\" }\n";
    play_with_each_agent(&format!("{WORK}{fault}"), "a 404 in mid-run", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--retry-base", "10ms"];
        let envelope = stage.run(agent, &args).against(server).output().envelope(0);
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        let show = stage.longhaul(["show", "@"]).output().stdout;
        let show: Value = serde_json::from_str(&show).expect("a run is shown");
        assert_eq!(show["attempts"][0]["fault"], "model_unknown", "{show}");
    });
}

#[test]
fn resume_accepts_the_guards_that_run_accepts() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions", "--deny-tools", "WebFetch"];
    let call = stage.run(&stage.agent(), &args).args(["--", "--settings", "{}"]);
    call.against(&server).output().envelope(0);
    resume(&stage, &server, &["@", "more", "--deny-tools", "WebSearch"]).envelope(0);
    let rejected = resume(&stage, &server, &["@", "more", "--deny-tools", "Bash"]);
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["`--settings` cannot be passed to the agent together with guards of commands"]);
}

#[test]
fn unknown_run_is_rejected() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    for args in [&["@"][..], &["bcdfgh", "--fork"]] {
        let rejected = resume(&stage, &server, args);
        assert_eq!((rejected.code, rejected.stdout.as_str()), (2, ""), "{rejected:?}");
        rejected.assert_error(&["no run `", "longhaul run"]);
    }
    assert_eq!(resume(&stage, &server, &["@", "p", "--repeat-task"]).code, 2);
}

#[test]
fn detached_resume_reads_its_prompt_from_a_file() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    run_to_mid_tool(&stage, &stage.agent(), &server).output().envelope(0);
    let prompt_file = stage.file("prompt.md", "Now the docs, please.");
    let detached =
        resume(&stage, &server, &["@", "--detach", "--prompt-file", &prompt_file.to_string_lossy()]);
    assert_eq!(detached.code, 0, "{detached:?}");
    let started: Value = serde_json::from_str(&detached.stdout).expect("the run is named");
    assert_eq!(started["run"]["id"], stage.only_run().id().as_str());
    let attached = stage.longhaul(["attach", "@"]).output().envelope(0);
    assert_eq!(attached["run"]["attempts"], 2);
    assert_eq!(sessions_containing(&stage, "Now the docs, please."), 1);
}

#[test]
fn rerun_starts_the_task_in_a_new_session() {
    play_with_each_agent(WORK, "a rerun", |stage, agent, server| {
        let base_args =
            ["p", "--permission-mode", "bypassPermissions", "--name", "nightly", "--deny-tools", "WebFetch"];
        let first = stage.run(agent, &base_args).args(["--budget", "3"]).against(server).output().envelope(0);
        fs::remove_file(stage.work().join("hello.txt")).expect("the file was written");
        let second = stage.longhaul(["rerun", "nightly"]).against(server).output().envelope(0);
        assert!(stage.work().join("hello.txt").exists());
        assert_ne!(first["run"]["id"], second["run"]["id"]);
        assert_ne!(first["session_id"], second["session_id"]);
        let plans: Vec<_> = stage.runs().iter().map(|run| run.plan().expect("a plan")).collect();
        let request = |plan: &Plan| {
            (
                plan.spec.name.clone(),
                plan.spec.prompt.clone(),
                plan.spec.guards.clone(),
                plan.spec.policy.clone(),
            )
        };
        assert_eq!(request(&plans[0]), request(&plans[1]));
    });
}

#[test]
fn rerun_failed_includes_unstarted_runs_and_leaves_out_those_with_an_own_workspace() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    for task in ["first", "second"] {
        let rejected = [task, "--permission-mode", "no-such-mode"];
        stage.run(&stage.agent(), &rejected).against(&server).output().envelope(25);
    }
    let planned = || {
        let output = stage.longhaul(["rerun", "--failed", "--dry-run"]).output();
        let planned: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let runs = planned["runs"].as_array().expect("a list").iter();
        (runs.map(|run| run["task"].clone()).collect::<Vec<_>>(), output.stderr)
    };
    assert_eq!(planned().0, ["first", "second"]);
    let runs = stage.runs();
    let second = runs.iter().find(|run| run.plan().is_ok_and(|plan| plan.spec.prompt == "second"));
    let second = second.expect("it has a directory");
    DirBuilder::new().mode(0o700).create(second.workspace_path()).expect("the stage is writable");
    let (tasks, printed) = planned();
    assert_eq!(tasks, ["first"]);
    assert!(printed.contains(&format!("cannot rerun {}", second.id())), "{printed}");
}

#[test]
fn rerun_without_the_working_directory_starts_nothing() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    fs::rename(stage.work(), stage.folder().join("moved")).expect("the stage is writable");
    let output = stage.longhaul(["rerun", "@"]).against(&server).in_dir(stage.folder()).output();
    assert_eq!(output.code, 25, "{output:?}");
    output.assert_error(&["cannot work in", "move it back"]);
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn rerun_failed_starts_tasks_with_a_failed_last_run() {
    let stage = Stage::new();
    let agent = stage.agent();
    let rejected = format!("{WORK}[[fault]]\ntimes = \"always\"\nstatus = {{ code = 401 }}\n");
    let (failing, working) = (Server::start(&rejected), Server::start(WORK));
    let run = |task: &str, server: &Server| {
        let base_args = [task, "--permission-mode", "bypassPermissions", "--preset", "drill"];
        stage.run(&agent, &base_args).against(server).output().code
    };
    // The last run of `fixed` and of `done` succeeded. The last run of `first` and of `second` failed.
    let codes = [
        run("fixed", &failing),
        run("done", &working),
        run("first", &failing),
        run("second", &failing),
        run("fixed", &working),
    ];
    assert!(codes[0] != 0 && codes[1] == 0 && codes[2] != 0 && codes[3] != 0 && codes[4] == 0, "{codes:?}");
    // A task elsewhere does not belong to this directory.
    let elsewhere = stage.folder().join("elsewhere");
    fs::create_dir(&elsewhere).expect("the stage is writable");
    let planned = stage.longhaul(["rerun", "--failed", "--dry-run"]).in_dir(&elsewhere).output();
    assert_eq!(planned.stdout.trim(), "{\n  \"runs\": []\n}");
    let planned = stage.longhaul(["rerun", "--failed", "--dry-run"]).output();
    let planned: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    let tasks: Vec<_> =
        planned["runs"].as_array().expect("a list").iter().map(|run| run["task"].clone()).collect();
    assert_eq!(tasks, ["first", "second"]);
    assert_eq!(stage.runs().len(), 5, "nothing was started");

    let output = stage.longhaul(["rerun", "--failed"]).against(&failing).output();
    assert_eq!(output.code, 26, "some runs failed: {output:?}");
    assert_eq!(stage.runs().len(), 7);
    let output = stage.longhaul(["rerun", "--failed"]).against(&working).output();
    assert_eq!(output.code, 0, "{output:?}");
    let output = stage.longhaul(["rerun", "--failed"]).against(&working).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("no failed tasks"), "{output:?}");
    assert_eq!(stage.runs().len(), 9);
    for args in [&["rerun"][..], &["rerun", "@", "--failed"], &["rerun", "@", "--since", "1h"]] {
        assert_eq!(stage.longhaul(args).output().code, 2, "{args:?}");
    }
}
