//! Two homes of one user, each with a run of the same id: harnesses give fixed ones. Neither knows of the other, and neither
//! touches a process of the other's.

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

/// Two steps, the first of which takes until it is let go.
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
bash = { command = "touch begun; until test -e go; do sleep 0.1; done; echo one >> steps" }
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

/// The same agent, which crashes when it is started for the first time.
fn crashing(stage: &Stage, agent: &Path) -> PathBuf {
    let crash = "test -e crashed || { touch crashed; echo 'Segmentation fault' >&2; exit 1; }";
    stage.script("crashing", &format!("{crash}\nexec '{}' \"$@\"", agent.display()))
}

/// Lets the agent of this stage go on.
fn let_go(stage: &Stage) {
    fs::write(stage.work().join("go"), "").expect("the work can be written");
}

/// Asserts that the run of this stage was done as if it had been alone.
fn done_alone(stage: &Stage, envelope: &Value) {
    assert_eq!(envelope["run"]["id"], ID);
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(steps(stage), "one\ntwo\n");
}

#[test]
fn a_sweep_spares_a_run_of_the_same_id() {
    with_each_agent_at(HELD, "two runs of one id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        until("the tool runs", || stage.work().join("begun").exists());

        let (neighbour, work) = (Stage::new(), Server::plays(crate::server::WORK));
        let ended = run(&neighbour, &crashing(&neighbour, agent), &work).end();
        assert_eq!(ended.envelope(0)["run"]["attempts"], 2, "there is an end of an attempt to sweep after");

        let_go(stage);
        done_alone(stage, &held.end().envelope(0));
    });
}

#[test]
fn an_orphan_is_found_by_its_own_home_alone() {
    with_each_agent_at(HELD, "an orphan of the same id", |stage, agent, server| {
        let held = run(stage, agent, server).start();
        until("the tool runs", || stage.work().join("begun").exists());
        held.kill();
        let orphan = agent_of(&stage.only_run());

        let (neighbour, work) = (Stage::new(), Server::plays(crate::server::WORK));
        run(&neighbour, agent, &work).end().envelope(0);
        let of = |stage: &Stage| processes_with(&RunMarker::load(&stage.only_run()).expect("a plan")).len();
        assert_eq!(of(&neighbour), 0);
        assert!(of(stage) > 0 && !is_gone(orphan));

        let recovered = recover(stage, server, &[]);
        let_go(stage);
        done_alone(stage, &recovered.end().envelope(0));
    });
}

/// The directory of the one run, under another name on another day.
fn moved(stage: &Stage) {
    let run = stage.only_run();
    let day = run.path().ancestors().nth(2).expect("runs are filed by days").join("2001-01-01");
    fs::create_dir(&day).expect("the home can be written");
    fs::set_permissions(&day, Permissions::from_mode(0o700)).expect("it is ours");
    fs::rename(run.path(), day.join("elsewhere")).expect("nobody has it");
}

#[test]
fn a_moved_run_finds_its_agent() {
    let (stage, server) = (Stage::new(), Server::plays(HELD));
    let held = run(&stage, &stage.agent(), &server).start();
    until("the tool runs", || stage.work().join("begun").exists());
    held.kill();
    moved(&stage);
    let recovered = recover(&stage, &server, &[]);
    let_go(&stage);
    let envelope = recovered.end().envelope(0);
    assert_eq!((&envelope["run"]["id"], &envelope["run"]["attempts"]), (&"elsewhere".into(), &1.into()));
    assert_eq!(steps(&stage), "one\ntwo\n");
}

/// As an older version began it: its plan has no mark, and its processes carry the id alone.
#[test]
fn a_run_of_an_older_version_is_found_by_its_id() {
    let (stage, server) = (Stage::new(), Server::plays(HELD));
    let older =
        stage.script("older", &format!("unset LONGHAUL_RUN_MARKER; exec '{}' \"$@\"", stage.agent().display()));
    let held = run(&stage, &older, &server).start();
    until("the tool runs", || stage.work().join("begun").exists());
    held.kill();
    let older = stage.only_run();
    older.replace_plan(&Plan { marker: None, ..older.plan().expect("a plan") }).expect("it is ours");

    // A run of this version, and of its id, is none of its own.
    let (neighbour, others) = (Stage::new(), Server::plays(HELD));
    let other = run(&neighbour, &neighbour.agent(), &others).start();
    until("the tool runs", || neighbour.work().join("begun").exists());
    let recovered = recover(&stage, &server, &[]);
    let_go(&stage);
    done_alone(&stage, &recovered.end().envelope(0));
    let_go(&neighbour);
    done_alone(&neighbour, &other.end().envelope(0));
}

/// So that copies of its directory can go on at the same time.
#[test]
fn a_run_that_is_over_gets_a_new_mark_when_it_is_resumed() {
    let (stage, server) = (Stage::new(), Server::plays(crate::server::WORK));
    run(&stage, &stage.agent(), &server).end().envelope(0);
    let mark = || RunMarker::load(&stage.only_run()).expect("a plan");
    let first = mark();
    stage.longhaul(["resume", "@", "once more"]).against(&server).end().envelope(0);
    assert_ne!(mark(), first);
    assert_eq!(mark().run().as_str(), ID);
}
