//! Two homes of one user with a run of the same id each, because harnesses use fixed ids. Neither home sees
//! the other's run or touches its processes.

use crate::call::{Call, wait_until};
use crate::harness::Stage;
use crate::recovering::{agent_pid, has_exited, play_with_each_agent, recover, steps};
use crate::server::Server;
use longhaul::RunMarker;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A scenario of two steps. The first lasts until the file `go` exists.
const HELD: &str = "
The first step takes a while.
$ touch started; until test -e go; do sleep 0.1; done; echo one >> steps
Now the second.
$ echo two >> steps
Both steps are taken.
";

const ID: &str = "exp-1";

fn run(stage: &Stage, agent: &Path, server: &Server) -> Call {
    let args = ["p", "--run-id", ID, "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).against(server)
}

/// Returns a script that crashes on its first start and runs this agent afterwards.
fn crashing_agent(stage: &Stage, agent: &Path) -> PathBuf {
    let crash = "test -e crashed || { touch crashed; echo 'Segmentation fault' >&2; exit 1; }";
    stage.script("crashing", &format!("{crash}\nexec '{}' \"$@\"", agent.display()))
}

/// Lets the agent of this stage finish its first step.
fn release_agent(stage: &Stage) {
    fs::write(stage.work().join("go"), "").expect("the stage is writable");
}

/// Asserts that the other home did not affect the run of this stage.
fn assert_done_undisturbed(stage: &Stage, envelope: &Value) {
    assert_eq!(envelope["run"]["id"], ID);
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(steps(stage), "one\ntwo\n");
}

#[test]
fn sweep_spares_a_run_with_the_same_id() {
    play_with_each_agent(HELD, "two runs with one id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());

        let (neighbor, work) = (Stage::new(), Server::start(crate::server::WORK));
        let output = run(&neighbor, &crashing_agent(&neighbor, agent), &work).output();
        assert_eq!(output.envelope(0)["run"]["attempts"], 2, "a sweep followed the first attempt");

        release_agent(stage);
        assert_done_undisturbed(stage, &held.output().envelope(0));
    });
}

#[test]
fn orphaned_run_is_found_only_by_its_home() {
    play_with_each_agent(HELD, "an orphaned run with the same id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        held.kill();
        let orphan = agent_pid(&stage.only_run());

        let (neighbor, work) = (Stage::new(), Server::start(crate::server::WORK));
        run(&neighbor, agent, &work).output().envelope(0);
        let process_count =
            |stage: &Stage| RunMarker::load(&stage.only_run()).expect("a plan").processes().len();
        assert_eq!(process_count(&neighbor), 0);
        assert!(process_count(stage) > 0 && !has_exited(orphan));

        let recovered = recover(stage, server, &[]);
        release_agent(stage);
        assert_done_undisturbed(stage, &recovered.output().envelope(0));
    });
}

/// Moves the directory of the only run to another name on another day.
fn move_run(stage: &Stage) {
    let run = stage.only_run();
    let day = run.path().ancestors().nth(2).expect("runs are in directories by day").join("2001-01-01");
    fs::create_dir(&day).expect("the home is writable");
    fs::set_permissions(&day, Permissions::from_mode(0o700)).expect("the test owns the file");
    fs::rename(run.path(), day.join("elsewhere")).expect("no process uses the directory");
}

#[test]
fn moved_run_finds_its_agent() {
    let (stage, server) = (Stage::new(), Server::start(HELD));
    let held = run(&stage, &stage.agent(), &server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    held.kill();
    move_run(&stage);
    let recovered = recover(&stage, &server, &[]);
    release_agent(&stage);
    let envelope = recovered.output().envelope(0);
    assert_eq!((&envelope["run"]["id"], &envelope["run"]["attempts"]), (&"elsewhere".into(), &1.into()));
    assert_eq!(steps(&stage), "one\ntwo\n");
}

/// Copies of the run's directory can then run at the same time.
#[test]
fn resuming_a_finished_run_replaces_its_marker() {
    let (stage, server) = (Stage::new(), Server::start(crate::server::WORK));
    run(&stage, &stage.agent(), &server).output().envelope(0);
    let marker = || RunMarker::load(&stage.only_run()).expect("a plan");
    let first = marker();
    stage.longhaul(["resume", "@", "once more"]).against(&server).output().envelope(0);
    assert_ne!(marker(), first);
    assert_eq!(marker().run().as_str(), ID);
}
