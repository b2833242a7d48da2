//! Two homes of one user with a run of the same id each, because harnesses use fixed ids. Neither home sees
//! the other's run or touches its processes.

use crate::call::{Call, until};
use crate::harness::Stage;
use crate::recovering::{agent_of, is_gone, recover, steps, with_each_agent_at};
use crate::server::Server;
use longhaul::{RunMarker, processes_with};
use longhaul_store::Plan;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A scenario of two steps. The first lasts until the file `go` exists.
const HELD: &str = r#"
name = "held"
summary = "two steps, the first of which takes until it is let go"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "The first step takes a while."
[[turn.tools]]
bash = { command = "touch started; until test -e go; do sleep 0.1; done; echo one >> steps" }
[[turn]]
text = "Now the second."
[[turn.tools]]
bash = { command = "echo two >> steps" }
[[turn]]
text = "Both steps are taken."
"#;

const ID: &str = "exp-1";

fn run(stage: &Stage, agent: &Path, server: &Server) -> Call {
    let args = ["p", "--run-id", ID, "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).against(server)
}

/// Returns a script that crashes on its first start and runs this agent afterwards.
fn crashing(stage: &Stage, agent: &Path) -> PathBuf {
    let crash = "test -e crashed || { touch crashed; echo 'Segmentation fault' >&2; exit 1; }";
    stage.script("crashing", &format!("{crash}\nexec '{}' \"$@\"", agent.display()))
}

/// Lets the agent of this stage finish its first step.
fn release_agent(stage: &Stage) {
    fs::write(stage.work().join("go"), "").expect("the work can be written");
}

/// Asserts that the other home did not affect the run of this stage.
fn assert_done_undisturbed(stage: &Stage, envelope: &Value) {
    assert_eq!(envelope["run"]["id"], ID);
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(steps(stage), "one\ntwo\n");
}

#[test]
fn sweep_spares_a_run_of_the_same_id() {
    with_each_agent_at(HELD, "two runs of one id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        until("the tool runs", || stage.work().join("started").exists());

        let (neighbor, work) = (Stage::new(), Server::plays(crate::server::WORK));
        let ended = run(&neighbor, &crashing(&neighbor, agent), &work).end();
        assert_eq!(ended.envelope(0)["run"]["attempts"], 2, "there is an end of an attempt to sweep after");

        release_agent(stage);
        assert_done_undisturbed(stage, &held.end().envelope(0));
    });
}

#[test]
fn orphaned_run_is_found_only_by_its_home() {
    with_each_agent_at(HELD, "an orphan of the same id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        until("the tool runs", || stage.work().join("started").exists());
        held.kill();
        let orphan = agent_of(&stage.only_run());

        let (neighbor, work) = (Stage::new(), Server::plays(crate::server::WORK));
        run(&neighbor, agent, &work).end().envelope(0);
        let process_count =
            |stage: &Stage| processes_with(&RunMarker::load(&stage.only_run()).expect("a plan")).len();
        assert_eq!(process_count(&neighbor), 0);
        assert!(process_count(stage) > 0 && !is_gone(orphan));

        let recovered = recover(stage, server, &[]);
        release_agent(stage);
        assert_done_undisturbed(stage, &recovered.end().envelope(0));
    });
}

/// Moves the directory of the only run to another name on another day.
fn move_run(stage: &Stage) {
    let run = stage.only_run();
    let day = run.path().ancestors().nth(2).expect("runs are filed by days").join("2001-01-01");
    fs::create_dir(&day).expect("the home can be written");
    fs::set_permissions(&day, Permissions::from_mode(0o700)).expect("it is ours");
    fs::rename(run.path(), day.join("elsewhere")).expect("no one has it");
}

#[test]
fn moved_run_finds_its_agent() {
    let (stage, server) = (Stage::new(), Server::plays(HELD));
    let held = run(&stage, &stage.agent(), &server).start();
    until("the tool runs", || stage.work().join("started").exists());
    held.kill();
    move_run(&stage);
    let recovered = recover(&stage, &server, &[]);
    release_agent(&stage);
    let envelope = recovered.end().envelope(0);
    assert_eq!((&envelope["run"]["id"], &envelope["run"]["attempts"]), (&"elsewhere".into(), &1.into()));
    assert_eq!(steps(&stage), "one\ntwo\n");
}

/// Older versions write no run marker to the plan, and their processes carry the run's id alone.
#[test]
fn run_of_an_older_version_is_found_by_its_id() {
    let (stage, server) = (Stage::new(), Server::plays(HELD));
    let older = stage
        .script("older", &format!("unset LONGHAUL_RUN_MARKER; exec '{}' \"$@\"", stage.agent().display()));
    let held = run(&stage, &older, &server).start();
    until("the tool runs", || stage.work().join("started").exists());
    held.kill();
    let older = stage.only_run();
    older.replace_plan(&Plan { marker: None, ..older.plan().expect("a plan") }).expect("it is ours");

    // The recovery must not affect a run of the current version with the same id.
    let (neighbor, other_server) = (Stage::new(), Server::plays(HELD));
    let other = run(&neighbor, &neighbor.agent(), &other_server).start();
    until("the tool runs", || neighbor.work().join("started").exists());
    let recovered = recover(&stage, &server, &[]);
    release_agent(&stage);
    assert_done_undisturbed(&stage, &recovered.end().envelope(0));
    release_agent(&neighbor);
    assert_done_undisturbed(&neighbor, &other.end().envelope(0));
}

/// Copies of the run's directory can then run at the same time.
#[test]
fn resuming_a_finished_run_replaces_its_marker() {
    let (stage, server) = (Stage::new(), Server::plays(crate::server::WORK));
    run(&stage, &stage.agent(), &server).end().envelope(0);
    let marker = || RunMarker::load(&stage.only_run()).expect("a plan");
    let first = marker();
    stage.longhaul(["resume", "@", "once more"]).against(&server).end().envelope(0);
    assert_ne!(marker(), first);
    assert_eq!(marker().run().as_str(), ID);
}
