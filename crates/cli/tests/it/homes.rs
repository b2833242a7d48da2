//! Moved and copied homes: every command answers from the current path of the home.

use crate::call::Call;
use crate::harness::Stage;
use crate::recovering::{STEPS, assert_done, held_steps, kill_agent, release, run_to_mid_tool_with};
use crate::research;
use crate::server::Server;
use longhaul_store::{Argv, Home, RunDir};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A call with another home than the stage's home.
fn call(stage: &Stage, home: &Path, args: &[&str]) -> Call {
    stage.longhaul(args).env("LONGHAUL_HOME", home)
}

fn json(call: Call) -> Value {
    let output = call.output();
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("one object")
}

fn run_in(home: &Path, id: &str) -> RunDir {
    let home = Home::locate(Some(home.to_owned()), |_| None).expect("an absolute path is a home");
    home.find(id).expect("the file exists")
}

/// Performs a run to the end and removes its files from the workspace.
fn complete_run(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) {
    run_to_mid_tool_with(stage, agent, server, args).output().envelope(0);
    for file in ["started", "steps"] {
        fs::remove_file(stage.work().join(file)).expect("the agent wrote it");
    }
}

/// Asserts that every run is listed with its directory, that each command finds it there, and that the ledger
/// can be rebuilt.
fn assert_answers_from(stage: &Stage, home: &Path, runs: &[(&str, PathBuf)]) {
    for args in [&["runs"][..], &["ledger", "rebuild"], &["runs"]] {
        let listed = json(call(stage, home, args));
        let Some(listed) = listed["runs"].as_array() else { continue };
        for (id, dir) in runs {
            let run =
                listed.iter().find(|run| run["id"] == *id).unwrap_or_else(|| panic!("no {id} in {listed:?}"));
            assert_eq!(run["dir"], dir.display().to_string(), "{run}");
            assert_ne!(run["state"], "unreadable", "{run}");
        }
        assert_eq!(listed.len(), runs.len(), "{listed:?}");
        let verified = json(call(stage, home, &["ledger", "verify"]));
        assert_eq!(verified["differences"], Value::Array(Vec::new()));
    }
    for (id, dir) in runs {
        assert_eq!(json(call(stage, home, &["show", id]))["dir"], dir.display().to_string());
        assert_eq!(call(stage, home, &["logs", id]).output().code, 0);
    }
}

#[test]
fn moved_home_keeps_its_runs() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let agent = stage.agent();
    complete_run(&stage, &agent, &server, &["--run-id", "finished"]);
    complete_run(&stage, &agent, &server, &["--run-id", "elsewhere", "--runs-dir", "results"]);
    run_to_mid_tool_with(&stage, &agent, &server, &["--run-id", "orphan"]).kill();
    let run = run_in(&stage.home(), "orphan");
    kill_agent(&run);
    assert_eq!(json(stage.longhaul(["status"]))["orphaned"], 1);

    let home = stage.folder().join("moved");
    fs::rename(stage.home(), &home).expect("a home can be moved");
    let elsewhere = run_in(&home, "elsewhere").path().to_owned();
    assert!(elsewhere.starts_with(stage.folder().join("results")), "{}", elsewhere.display());
    let day = run_in(&home, "orphan").path().parent().expect("a day").to_owned();
    assert!(day.starts_with(&home), "{}", day.display());
    let runs = [("finished", day.join("finished")), ("elsewhere", elsewhere), ("orphan", day.join("orphan"))];
    assert_answers_from(&stage, &home, &runs);
    assert_eq!(json(call(&stage, &home, &["status"]))["runs"][0]["id"], "orphan");
    let recovered = call(&stage, &home, &["recover"]).against(&server).output().envelope(0);
    assert_eq!((&recovered["run"]["id"], &recovered["run"]["attempts"]), (&"orphan".into(), &2.into()));
    let resumed = call(&stage, &home, &["resume", "finished", "--repeat-task"]).against(&server).output();
    assert_eq!(resumed.envelope(0)["run"]["attempts"], 2);
    assert_answers_from(&stage, &home, &runs);
    assert!(!stage.home().exists(), "something was written to the old path");
    fs::rename(home, stage.home()).expect("a home can be moved");
}

#[test]
fn copied_home_answers_from_itself() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    complete_run(&stage, &stage.agent(), &server, &["--run-id", "one"]);
    assert_eq!(json(stage.longhaul(["runs"]))["runs"][0]["attempts"], 1);
    let copy = stage.folder().join("copy");
    let copied = Command::new("cp").arg("-a").args([&stage.home(), &copy]).status().expect("there is cp");
    assert!(copied.success());
    let day = run_in(&stage.home(), "one").path().parent().expect("a day").to_owned();
    let copied_run = copy.join(day.strip_prefix(stage.home()).expect("the run is in the home")).join("one");
    assert_answers_from(&stage, &copy, &[("one", copied_run.clone())]);

    let resumed = call(&stage, &copy, &["resume", "one", "--repeat-task"]).against(&server).output();
    assert_eq!(resumed.envelope(0)["run"]["attempts"], 2);
    assert_answers_from(&stage, &copy, &[("one", copied_run)]);
    assert_answers_from(&stage, &stage.home(), &[("one", day.join("one"))]);
    let attempts = |home: &Path| json(call(&stage, home, &["runs"]))["runs"][0]["attempts"].clone();
    assert_eq!((attempts(&copy), attempts(&stage.home())), (2.into(), 1.into()));
    fs::remove_dir_all(copy).expect("the test owns the file");
}

#[test]
fn copy_of_a_live_run_does_not_affect_its_agent() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let live = run_to_mid_tool_with(&stage, &stage.agent(), &server, &[]);
    let copy = stage.folder().join("copy");
    let copied = Command::new("cp").arg("-a").args([&stage.home(), &copy]).status().expect("there is cp");
    assert!(copied.success());
    let original = stage.only_run().path().display().to_string();
    for args in [&["recover"][..], &["resume", "@"], &["cancel", "@"]] {
        let rejected = call(&stage, &copy, args).against(&server).output();
        rejected.envelope(25);
        rejected.assert_error(&[
            "is running in another copy of its directory",
            &format!("longhaul attach {original}"),
        ]);
    }
    release(&stage);
    assert_done(&stage, &live.output().envelope(0), 1);
    fs::remove_dir_all(copy).expect("the test owns the file");
}

/// The agent works in the run's directory, which moves with the home.
#[test]
fn agent_works_in_the_moved_workspace() {
    let (stage, server) = (Stage::new(), Server::start(&research::scenario(0)));
    let task = research::task(&stage);
    let call_research = stage.longhaul(["research"]).args([task]).args(["claude-code", "--agent-path"]);
    call_research.args([stage.agent()]).args(["--claude_hours", "0.5"]).against(&server).output().envelope(0);
    let before = json(stage.longhaul(["runs"]));
    let id = before["runs"][0]["id"].as_str().expect("an id").to_owned();
    assert!(
        Path::new(before["runs"][0]["cwd"].as_str().expect("a path")).starts_with(stage.home()),
        "{before}"
    );

    let home = stage.folder().join("moved");
    fs::rename(stage.home(), &home).expect("a home can be moved");
    let run = run_in(&home, &id);
    let input = run.workspace_path().join("input");
    let runs_dir = home.join("runs").display().to_string();
    let listed = json(call(&stage, &home, &["runs", "--project", &runs_dir]));
    assert_eq!(listed["runs"][0]["cwd"], input.display().to_string(), "{listed}");
    let resumed = call(&stage, &home, &["resume", &id, "Now there is more"]).against(&server).output();
    assert_eq!(resumed.envelope(0)["run"]["id"], id.as_str());
    let last = run.attempts().expect("attempts").pop().expect("at least two attempts");
    assert!(last.number() > 1);
    assert_eq!(
        last.read::<Argv>().expect("it can be read").expect("the attempt was started").cwd.as_path(),
        input
    );
    assert_answers_from(&stage, &home, &[(&id, run.path().to_owned())]);
    assert!(!stage.home().exists(), "something was written to the old path");
    fs::rename(home, stage.home()).expect("a home can be moved");
}
