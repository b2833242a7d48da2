//! Recovery after the supervisor died: no step is repeated, nothing is lost, and the run keeps its id.
//!
//! Each scenario runs with every available agent.

use crate::call::{Running, wait_until};
use crate::harness::{self, LONGHAUL, Stage};
use crate::server::Server;
use crate::skipped::skip_test;
use crate::sweep;
use crate::tidy;
use longhaul::RUN_VARIABLE;
use longhaul_core::{OutcomeKind, Run};
use longhaul_store::{Journal, RunDir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Three steps, each of which writes a line. The second takes long enough to be interrupted. Each step first
/// checks whether it was taken, as the prompt of a resumed session requests. The real agent's session may
/// lack its last step after a kill.
pub const STEPS: &str = "
I take the first step.
$ grep -qs one steps || echo one >> steps
The second one takes a while.
$ test -e started && exit 0; touch started; sleep 2; echo two >> steps
Now the third.
$ grep -qs three steps || echo three >> steps
All three steps are taken.
";

/// Returns the steps with a second one that does not end on its own, for runs whose agent is stopped.
pub fn endless_steps() -> String {
    STEPS.replace("sleep 2", "tail -f /dev/null")
}

/// Returns the steps with a second one that ends after [`release`].
pub fn held_steps() -> String {
    STEPS.replace("sleep 2", "until test -e go; do sleep 0.1; done")
}

/// Lets a step that waits for the file `go` end.
pub fn release(stage: &Stage) {
    fs::write(stage.work().join("go"), "").expect("the stage is writable");
}

/// A slow step, then another turn and an answer.
pub fn slow_step_then(next: &str) -> String {
    format!(
        "
This takes a while.
$ touch started; sleep 1; echo two >> steps
I continue.
! {next}
That is all that I could do.
"
    )
}

/// Runs a test with every available agent: a stage, an agent, and an API that plays the steps.
pub fn with_each_agent(description: &str, test: impl Fn(&Stage, &Path, &Server)) {
    play_with_each_agent(STEPS, description, test);
}

/// Like [`with_each_agent`], with another scenario.
pub fn play_with_each_agent(scenario: &str, description: &str, test: impl Fn(&Stage, &Path, &Server)) {
    let test = |stage: &Stage, agent: &Path| test(stage, agent, &Server::start(scenario));
    harness::with_each_agent(description, Stage::new, test);
}

/// Starts a run and returns in the middle of its second step.
pub fn run_to_mid_tool(stage: &Stage, agent: &Path, server: &Server) -> Running {
    run_to_mid_tool_with(stage, agent, server, &[])
}

/// Returns a run whose supervisor was killed in the middle of its second step.
pub fn orphaned_run() -> (Stage, Server, RunDir) {
    orphaned_run_of(STEPS)
}

/// Like [`orphaned_run`], with another scenario.
pub fn orphaned_run_of(scenario: &str) -> (Stage, Server, RunDir) {
    let (stage, server) = (Stage::new(), Server::start(scenario));
    run_to_mid_tool(&stage, &stage.agent(), &server).kill();
    let run = stage.only_run();
    (stage, server, run)
}

/// Like [`run_to_mid_tool`], with more arguments.
pub fn run_to_mid_tool_with(stage: &Stage, agent: &Path, server: &Server, extra_args: &[&str]) -> Running {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(agent, &args).args(extra_args).against(server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run
}

pub fn recover(stage: &Stage, server: &Server, args: &[&str]) -> Running {
    stage.longhaul(["recover"]).args(args).against(server).start()
}

pub fn steps(stage: &Stage) -> String {
    fs::read_to_string(stage.work().join("steps")).unwrap_or_default()
}

/// Returns the agent's process as the journal has it. The status may lag behind while the disk is slow.
pub fn agent_pid(run: &RunDir) -> Pid {
    let history = Journal::load(&run.journal_path()).expect("the journal can be read");
    let process = Run::replay(history.records()).state().process.expect("there is an agent");
    Pid::from_raw(process.pid.cast_signed()).expect("a process has a PID")
}

/// Waits until the agent of an orphaned run has exited on its own.
pub fn wait_for_agent_exit(run: &RunDir) {
    let agent = agent_pid(run);
    wait_until("the agent has exited", || has_exited(agent));
}

/// Waits until a supervisor has taken over the only run.
pub fn wait_for_takeover(stage: &Stage) {
    let journal = stage.only_run().journal_path();
    wait_until("the run is taken over", || {
        fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"recovered\""))
    });
}

/// Returns the prompt of an attempt.
pub fn prompt_of(run: &RunDir, attempt: u32) -> String {
    run.attempt(attempt).prompt().expect("reading succeeds").expect("the attempt has a prompt")
}

/// Makes files this old.
pub fn set_age(files: &[PathBuf], hours: u64) {
    let modified = SystemTime::now() - Duration::from_secs(hours * 3600);
    for path in files {
        let file = File::options().write(true).open(path).expect("the file exists");
        file.set_modified(modified).expect("the test owns the file");
    }
}

pub fn kill_agent(run: &RunDir) {
    kill_process(agent_pid(run), Signal::KILL).expect("the test started this process");
    wait_for_agent_exit(run);
}

/// Asserts that the only run is done after this many attempts, with every step taken once.
pub fn assert_done(stage: &Stage, envelope: &Value, attempts: u32) {
    let run = stage.only_run();
    assert_eq!(envelope["result"], "All three steps are taken.", "{envelope}");
    assert_eq!(envelope["run"]["id"], run.id().as_str());
    assert_eq!(envelope["run"]["attempts"], attempts, "{envelope}");
    assert_eq!(tidy::replayed_outcome(&run).kind, OutcomeKind::Done);
    tidy::check(stage);
}

#[test]
fn live_agent_is_adopted() {
    play_with_each_agent(&held_steps(), "adopting an agent", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        let recovery = recover(stage, server, &[]);
        wait_for_takeover(stage);
        release(stage);
        let output = recovery.output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
        assert_eq!(server.api.request_log().model_requests(), 4, "a turn was requested again");
        let history = stage.longhaul(["why", "@", "--output-format", "json"]).output().stdout;
        let history: Value = serde_json::from_str(&history).expect("JSON");
        let entries = history["entries"].as_array().expect("entries");
        let recovered =
            entries.iter().find(|entry| entry["kind"] == "recovered").expect("there is a recovery entry");
        assert_eq!((&recovered["attempt"], &recovered["finding"]), (&1.into(), &"agent_running".into()));
        let text = recovered["text"].as_str().expect("a sentence");
        assert!(text.ends_with("; a new supervisor found the agent running and took it over"), "{text}");
    });
}

#[test]
fn result_of_an_orphaned_agent_is_accepted() {
    with_each_agent("an agent that finished without a supervisor", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        wait_for_agent_exit(&stage.only_run());
        assert_eq!(steps(stage), "one\ntwo\nthree\n", "the agent continued without a supervisor");
        let output = recover(stage, server, &["@"]).output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(server.api.request_log().model_requests(), 4, "no agent was started");
        let cost = output.envelope(0)["usage"]["total_cost_usd"].as_f64();
        assert!(cost.is_some_and(|cost| cost > 0.0), "the cost is recorded: {cost:?}");
    });
}

#[test]
fn session_continues_after_supervisor_and_agent_died() {
    let description = "the death of the agent and its supervisor";
    play_with_each_agent(&endless_steps(), description, |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        kill_agent(&stage.only_run());
        let output = recover(stage, server, &[]).output();
        assert_done(stage, &output.envelope(0), 2);
        // The second step was interrupted, its process killed before it could write, and it is not repeated.
        assert_eq!(steps(stage), "one\nthree\n");
    });
}

/// Runs the work until the supervisor is killed, and recovers it. With a limit, the agent survives its supervisor.
const KILLED_AND_RECOVERED: &str = r#"
"$1" run p --budget 5 --permission-mode bypassPermissions --preset drill --cwd work --agent-path "$2" > killed 2>&1
unset LONGHAUL_FAILPOINT
"$1" recover
"#;

/// In a container, the leader of the process session can be outside. The session then has the number 0.
#[test]
fn unrecorded_agent_is_adopted_in_a_session_from_outside() {
    let isolated = ["-rpf", "--mount-proc"];
    let spawned = {
        let (stage, server) = (Stage::new(), Server::start(STEPS));
        if stage.program("unshare").args(isolated).args(["true"]).output().code != 0 {
            let remedy =
                "allow this user to create namespaces: `unshare -rpf --mount-proc true` must succeed";
            skip_test("a session from outside", "this user may not create a PID namespace", remedy);
            return;
        }
        let log = stage.folder().join("points");
        let args = ["p", "--budget", "5", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(&stage.agent(), &args).against(&server).env("LONGHAUL_FAILPOINT_LOG", &log);
        run.output().envelope(0);
        let log = fs::read_to_string(log).expect("points are logged");
        1 + log.lines().position(|line| line.ends_with("Spawned")).expect("the agent was started")
    };
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let call =
        stage.program("unshare").args(isolated).args(["sh", "-c", KILLED_AND_RECOVERED, "sh", LONGHAUL]);
    let call = call.args([stage.agent()]).against(&server);
    let output = call.env("LONGHAUL_FAILPOINT", format!("supervisor@{spawned}")).output();
    assert_done(&stage, &output.envelope(0), 1);
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
}

/// A power cut empties files that were not flushed: all except the plan and the journal.
#[test]
fn files_emptied_by_a_power_cut_are_skipped() {
    let (stage, server, run) = orphaned_run_of(&endless_steps());
    kill_agent(&run);
    for name in
        ["attempts/001/exit.json", "attempts/001/session.json", "attempts/001/argv.json", "status.json"]
    {
        let path = run.path().join(name);
        fs::write(&path, "").expect("the test owns the file");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("the test owns the file");
    }
    assert_done(&stage, &recover(&stage, &server, &[]).output().envelope(0), 2);
    assert_eq!(steps(&stage), "one\nthree\n");
}

/// Without the session file, the agent's knowledge is lost. A new session receives the record of the work.
#[test]
fn lost_session_is_replaced_by_a_handoff() {
    with_each_agent("a handoff after a lost session", |stage, agent, _| {
        let server = Server::start(sweep::WORK);
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(agent, &args).against(&server).start();
        wait_until("the first step is taken", || steps(stage).contains("one"));
        run.kill();
        let agent = agent_pid(&stage.only_run());
        // The agent may have exited on its own by now.
        let _ = kill_process(agent, Signal::KILL);
        wait_until("the agent has exited", || has_exited(agent));
        fs::remove_dir_all(stage.user_home().join(".claude/projects")).expect("there are sessions");
        let handoff = stage.longhaul(["handoff", "@"]).output();
        assert_eq!(handoff.code, 0, "{handoff:?}");
        assert!(
            handoff.stdout.starts_with("p\n") && handoff.stdout.contains("echo one >> steps"),
            "{handoff:?}"
        );

        let output = recover(stage, &server, &["--verbose"]).output();
        let envelope = output.envelope(0);
        assert_eq!((&envelope["result"], &envelope["run"]["attempts"]), (&sweep::DONE.into(), &3.into()));
        assert!(output.stderr.contains("the session was not found"), "{output:?}");
        assert_eq!(steps(stage), "one\ntwo\nthree\nfour\n");
        let sessions = tidy::all_paths(&stage.user_home().join(".claude/projects"));
        let has_handoff = sessions.iter().filter(|path| path.is_file()).any(|path| {
            let session = fs::read_to_string(path).expect("a session is text");
            session.contains("This continues earlier work") && session.contains("echo one >> steps")
        });
        assert!(has_handoff, "no handoff prompt in {sessions:?}");
        tidy::check(stage);
    });
}

#[test]
fn supervised_run_is_not_recovered() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let id = stage.only_run().id().to_string();
    let rejected = recover(&stage, &server, &[&id]).output();
    rejected.envelope(25);
    rejected.assert_error(&[" already has a supervisor", "longhaul attach"]);
    let idle = recover(&stage, &server, &[]).output();
    assert_eq!((idle.code, idle.stdout.as_str()), (0, ""));
    assert!(idle.stderr.contains("nothing to recover"), "{idle:?}");
    release(&stage);
    assert_done(&stage, &run.output().envelope(0), 1);
}

#[test]
fn recovering_several_times_at_once_is_no_error() {
    let (stage, server, _) = orphaned_run();
    let outputs = [(); 3].map(|()| recover(&stage, &server, &[])).map(Running::output);
    assert_eq!(outputs.each_ref().map(|output| output.code), [0; 3], "{outputs:?}");
    tidy::check(&stage);
}

#[test]
fn recover_list_changes_nothing_and_recover_skips_old_runs() {
    let (stage, server, run) = orphaned_run();
    wait_for_agent_exit(&run);
    let listed = recover(&stage, &server, &["--list"]).output();
    assert_eq!((listed.code, listed.stdout.trim()), (0, run.id().as_str()));
    assert_eq!(run.status().expect("a status").returncode, None, "the run was not recovered");

    let stream = run.attempt(1).stream_path();
    set_age(&[run.journal_path(), run.status_path(), stream.clone()], 8 * 24);
    let skipped = recover(&stage, &server, &[]).output();
    assert_eq!((skipped.code, skipped.stdout.as_str()), (0, ""));
    assert!(skipped.stderr.contains(&format!("skipped {}: ", run.id())), "{skipped:?}");
    // The agent worked until lately, in an exchange that takes days.
    set_age(&[stream], 6 * 24);
    assert_done(&stage, &recover(&stage, &server, &[]).output().envelope(0), 1);
}

/// No process reads the answer of such a run, so it would cost money for nothing.
#[test]
fn orphaned_run_of_the_judge_is_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let judge_dir = stage.home().join("playbook/judge");
    DirBuilder::new().recursive(true).mode(0o700).create(&judge_dir).expect("the stage is writable");
    let run = stage.longhaul(["run", "p", "--name", "playbook-judge", "--preset", "drill", "--agent-path"]);
    let run = run.args([stage.agent()]).args(["--permission-mode", "bypassPermissions", "--cwd"]);
    let judge_run = run.args([&judge_dir]).against(&server).start();
    wait_until("the tool runs", || judge_dir.join("started").exists());
    judge_run.kill();
    let run = stage.only_run();
    set_age(&[run.journal_path()], 1000);
    let status = stage.longhaul(["status", "--output-format", "text"]).output();
    assert!(status.stdout.starts_with("no unfinished runs"), "{status:?}");
    assert_eq!(recover(&stage, &server, &["--list"]).output().stdout, "");
    let recovered = recover(&stage, &server, &[]).output();
    assert_eq!((recovered.code, recovered.stdout.as_str()), (0, ""), "{recovered:?}");
    assert!(recovered.stderr.contains(&format!("cancelled {}", run.id())), "{}", recovered.stderr);
    assert_eq!(tidy::replayed_outcome(&run).kind, OutcomeKind::Cancelled);
    // The watchdog exits a moment after the run.
    wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
    // Only this test's agent writes there.
    for name in ["started", "steps"] {
        fs::remove_file(judge_dir.join(name)).expect("the file exists");
    }
}

#[test]
fn finished_run_stays_finished() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    assert_done(&stage, &run_to_mid_tool(&stage, &stage.agent(), &server).output().envelope(0), 1);
    let before = fs::read(stage.only_run().journal_path()).expect("a journal");
    for command in ["recover", "cancel"] {
        let rejected = stage.longhaul([command, "@"]).output();
        rejected.envelope(25);
        rejected.assert_error(&["has already finished: done"]);
    }
    let listed = recover(&stage, &server, &["@", "--list"]).output();
    assert_eq!((listed.code, listed.stdout.as_str()), (0, ""), "{listed:?}");
    assert_eq!(fs::read(stage.only_run().journal_path()).expect("a journal"), before);
}

#[test]
fn session_of_an_orphaned_run_stays_reserved() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let agent = stage.agent();
    let supervisor = run_to_mid_tool(&stage, &agent, &server);
    let run = stage.only_run();
    let session_of = |run: &RunDir| run.status().ok().and_then(|status| status.session_id);
    wait_until("the session is known", || session_of(&run).is_some());
    let session = session_of(&run).expect("a session").to_string();
    supervisor.kill();
    let args = ["p", "--permission-mode", "bypassPermissions", "--resume", &session];
    let rejected = stage.run(&agent, &args).against(&server).output();
    assert_eq!(rejected.envelope(25)["run"]["fault"], "session_busy");
    assert!(rejected.stdout.contains(&format!("longhaul recover {}", run.id())), "{rejected:?}");
    let output = recover(&stage, &server, &[run.id().as_str()]).output();
    assert_eq!(output.envelope(0)["run"]["attempts"], 1);
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
}

#[test]
fn run_without_a_first_step_starts() {
    let (stage, _server, run) = orphaned_run();
    wait_for_agent_exit(&run);
    // As if the supervisor had died right after it created the run.
    fs::write(run.journal_path(), "").expect("the journal can be emptied");
    for name in ["steps", "started"] {
        fs::remove_file(stage.work().join(name)).expect("the file exists");
    }
    fs::remove_dir_all(run.attempts_path().join("001")).expect("the attempt exists");
    fs::remove_dir_all(stage.user_home().join(".claude")).expect("the session exists");
    let output = recover(&stage, &Server::start(STEPS), &[]).output();
    assert_done(&stage, &output.envelope(0), 1);
}

#[test]
fn cancel_stops_a_run_of_another_process() {
    play_with_each_agent(&endless_steps(), "cancelling a run", |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        let cancelled = stage.longhaul(["cancel", "@"]).output();
        assert_eq!(cancelled.code, 0, "{cancelled:?}");
        let printed: Value = serde_json::from_str(&cancelled.stdout).expect("an envelope is printed");
        let envelope = run.output().envelope(130);
        for printed in [&printed, &envelope] {
            assert_eq!(printed["run"]["outcome"], "cancelled");
            assert_eq!(printed["session_id"], envelope["session_id"]);
            assert_eq!(printed["usage"], envelope["usage"]);
        }
        assert_eq!(steps(stage), "one\n");
        tidy::check(stage);
    });
}

#[test]
fn cancel_stops_leftover_processes_of_an_orphaned_run() {
    play_with_each_agent(&endless_steps(), "cancelling an orphaned run", |stage, agent, server| {
        for args in [&["cancel", "@"][..], &["cancel", "--now", "@"]] {
            let _ = fs::remove_file(stage.work().join("started"));
            run_to_mid_tool(stage, agent, server).kill();
            let cancelled = stage.longhaul(args).output();
            assert_eq!(cancelled.code, 0, "{cancelled:?}");
            let envelope: Value = serde_json::from_str(&cancelled.stdout).expect("an envelope is printed");
            assert_eq!(envelope["run"]["outcome"], "cancelled", "{envelope}");
            tidy::check(stage);
        }
    });
}

#[test]
fn attach_prints_the_output_of_the_supervisor() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let attached = stage.longhaul(["attach", "@", "--verbose"]).output();
    let (mut printed, envelope) = (attached.envelope(0), run.output().envelope(0));
    // Each process measures its own durations.
    for key in ["duration_ms", "run"] {
        printed[key] = envelope[key].clone();
    }
    assert_eq!(printed, envelope);
    assert!(attached.stderr.contains("attempt 1: new session"), "{attached:?}");
    // A finished run is reported too.
    assert_eq!(stage.longhaul(["attach", "@"]).output().envelope(0)["result"], envelope["result"]);
}

#[test]
fn attach_reports_an_orphaned_run() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let attached = stage.longhaul(["attach", "@"]).start();
    run.kill();
    let rejected = attached.output();
    rejected.envelope(25);
    rejected.assert_error(&["it has no supervisor", "longhaul recover"]);
    assert_eq!(recover(&stage, &server, &[]).output().code, 0);
}

#[test]
fn detached_run_outlives_the_command() {
    with_each_agent("a detached run", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--detach"];
        let started = stage.run(agent, &args).against(server).output();
        assert_eq!(started.code, 0, "{started:?}");
        let printed: Value = serde_json::from_str(&started.stdout).expect("the run is named");
        assert_eq!(printed["run"]["id"], stage.only_run().id().as_str());
        assert!(started.stderr.contains("longhaul attach"), "{started:?}");
        assert!(!started.stderr.contains("warning: "), "{started:?}");
        let attached = stage.longhaul(["attach", "@"]).output();
        assert_done(stage, &attached.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
    });
}

#[test]
fn detached_run_inside_a_run_warns_that_it_ends_with_it() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let args = ["p", "--permission-mode", "bypassPermissions", "--detach"];
    let started =
        stage.run(&stage.agent(), &args).env(RUN_VARIABLE, "outmost:outer").against(&server).output();
    assert_eq!(started.code, 0, "{started:?}");
    let warning = format!("warning: {} ends with run outer, in which it was started", stage.only_run().id());
    assert!(started.stderr.contains(&warning), "{started:?}");
    stage.longhaul(["attach", "@"]).output().envelope(0);
}

#[test]
fn detached_run_reports_its_start_error() {
    let stage = Stage::new();
    let missing = stage.folder().join("missing");
    let rejected = stage.run(&missing, &["p", "--detach"]).output();
    assert_eq!(rejected.envelope(25)["run"]["fault"], "agent_missing");
    rejected.assert_error(&["there is no such file"]);
}

#[test]
fn unknown_run_is_rejected_with_suggestions() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let none = stage.longhaul(["recover", "bcdfgh"]).output();
    assert_eq!(none.code, 2, "{none:?}");
    none.assert_error(&["no run `", "there are no runs yet"]);
    assert_done(&stage, &run_to_mid_tool(&stage, &stage.agent(), &server).output().envelope(0), 1);
    let id = stage.only_run().id().to_string();
    let mistyped = format!("{}y", &id[..5]);
    for command in ["recover", "attach", "cancel"] {
        stage
            .longhaul([command, &mistyped])
            .output()
            .assert_error(&["no run `", &format!("did you mean {id}?")]);
    }
}

/// Each remedy of the hint continues the run.
#[test]
fn run_without_workspace_is_rejected_and_kept() {
    for is_moved_back in [true, false] {
        let (stage, server, _) = orphaned_run();
        wait_for_agent_exit(&stage.only_run());
        let elsewhere: PathBuf = stage.folder().join("elsewhere");
        fs::rename(stage.work(), &elsewhere).expect("the directory can be moved");
        let rejected = recover(&stage, &server, &[]).output();
        rejected.envelope(25);
        rejected.assert_error(&["work in", "move it back"]);
        let continued = if is_moved_back {
            fs::rename(elsewhere, stage.work()).expect("the directory can be moved back");
            recover(&stage, &server, &[])
        } else {
            rejected.assert_error(&["with `--cwd` to `longhaul run` or `longhaul resume`"]);
            let args = ["resume", "@", "--cwd", elsewhere.to_str().expect("a plain path")];
            stage.longhaul(args).against(&server).start()
        };
        assert_done(&stage, &continued.output().envelope(0), 1);
    }
}

/// The system reports a missing directory as it reports a missing program.
#[test]
fn workspace_that_disappears_is_named_and_the_hint_continues_the_run() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let elsewhere = stage.folder().join("elsewhere");
    fs::rename(stage.work(), &elsewhere).expect("the directory can be moved");
    kill_agent(&stage.only_run());
    let failed = run.output();
    let envelope = failed.envelope(20);
    let reason = format!("the working directory {} does not exist", stage.work().display());
    assert!(envelope["errors"].to_string().contains(&reason), "{envelope}");
    assert!(!failed.stderr.contains("not installed"), "{failed:?}");

    let why = stage.longhaul(["why", "@"]).output().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(why.contains(&format!("the agent could not be started ({reason})")), "{why}");
    assert!(why.contains("does not exist: move it back, or pass its new path with `--cwd`"), "{why}");
    let resumed = stage.longhaul(["resume", "@"]).against(&server).output();
    resumed.assert_error(&["move it back", "`--cwd`"]);
    fs::rename(elsewhere, stage.work()).expect("the directory can be moved back");
    stage.longhaul(["resume", "@"]).against(&server).output().envelope(0);
}

/// Returns whether a process has exited. It may be a zombie that its parent has not reaped.
pub fn has_exited(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.map_or(true, |stat| {
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    })
}
