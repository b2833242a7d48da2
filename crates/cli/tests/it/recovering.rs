//! Supervisors that die, and what takes their place: nothing is done twice, nothing is lost, and the run stays the same
//! run. Every story is told with each agent that there is.

use crate::call::{Started, until};
use crate::harness::{Stage, claude_code};
use crate::server::Server;
use crate::sweep;
use crate::tidy;
use longhaul_core::OutcomeKind;
use longhaul_store::RunDir;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Three steps, each of which leaves a line; the second takes long enough to be interrupted in. Each looks first, as the
/// prompt of a resumed session asks for: the real agent's own record may lack its last step when it is killed.
pub const STEPS: &str = r#"
name = "steps"
summary = "three steps, each of which leaves a line"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I take the first step."
[[turn.tools]]
bash = { command = "grep -qs one steps || echo one >> steps" }
[[turn]]
text = "The second one takes a while."
[[turn.tools]]
bash = { command = "test -e begun && exit 0; touch begun; sleep 2; echo two >> steps" }
[[turn]]
text = "Now the third."
[[turn.tools]]
bash = { command = "grep -qs three steps || echo three >> steps" }
[[turn]]
text = "All three steps are taken."
"#;

/// A step that takes a while, then another turn and an answer.
pub fn late(then: &str) -> String {
    format!(
        r#"
name = "late"
summary = "a long step, then another turn"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "This takes a while."
[[turn.tools]]
bash = {{ command = "touch begun; sleep 1; echo two >> steps" }}
[[turn]]
text = "I go on."
[[turn.tools]]
{then}
[[turn]]
text = "That is all that I could do."
"#
    )
}

/// A story told with both agents: a stage, an agent, an API that plays the steps.
pub fn with_each_agent(story: &str, tell: fn(&Stage, &Path, &Server)) {
    with_each_agent_at(STEPS, story, tell);
}

/// The same with another piece of work.
pub fn with_each_agent_at(work: &str, story: &str, tell: fn(&Stage, &Path, &Server)) {
    let stage = Stage::new();
    tell(&stage, &stage.agent(), &Server::plays(work));
    if let Some(claude) = claude_code(story) {
        tell(&Stage::new(), &claude, &Server::plays(work));
    }
}

/// A run in the middle of its second step.
pub fn in_mid_tool(stage: &Stage, agent: &Path, server: &Server) -> Started {
    in_mid_tool_with(stage, agent, server, &[])
}

/// The same, with further arguments.
pub fn in_mid_tool_with(stage: &Stage, agent: &Path, server: &Server, further: &[&str]) -> Started {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(agent, &args).args(further).against(server).start();
    until("the tool runs", || stage.work().join("begun").exists());
    run
}

pub fn recover(stage: &Stage, server: &Server, args: &[&str]) -> Started {
    stage.longhaul(["recover"]).args(args).against(server).start()
}

pub fn steps(stage: &Stage) -> String {
    fs::read_to_string(stage.work().join("steps")).unwrap_or_default()
}

pub fn agent_of(run: &RunDir) -> Pid {
    let pid = run.status().expect("the status can be read").pid.expect("there is an agent");
    Pid::from_raw(pid.cast_signed()).expect("a process has a number")
}

/// Asserts that the one run is done after so many attempts, with every step taken once, and that the API served no model
/// request more than the work needs.
pub fn done_in(stage: &Stage, envelope: &Value, attempts: u32) {
    let run = stage.only_run();
    assert_eq!(envelope["result"], "All three steps are taken.", "{envelope}");
    assert_eq!(envelope["run"]["id"], run.id().as_str());
    assert_eq!(envelope["run"]["attempts"], attempts, "{envelope}");
    assert_eq!(tidy::replayed(&run).kind, OutcomeKind::Done);
    tidy::check(stage);
}

#[test]
fn a_live_agent_is_adopted() {
    with_each_agent("adopting an agent", |stage, agent, server| {
        in_mid_tool(stage, agent, server).kill();
        let ended = recover(stage, server, &[]).end();
        done_in(stage, &ended.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
        assert_eq!(server.api.account().model_requests(), 4, "a turn was asked for again");
        let told = stage.longhaul(["why", "@", "--output-format", "json"]).end().stdout;
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let entries = told["entries"].as_array().expect("entries");
        let recovered = entries.iter().find(|entry| entry["kind"] == "recovered").expect("it is on record");
        assert_eq!((&recovered["attempt"], &recovered["finding"]), (&1.into(), &"alive".into()));
        let text = recovered["text"].as_str().expect("a sentence");
        assert!(text.ends_with("; a new one found the agent running and took it over"), "{text}");
    });
}

#[test]
fn an_agent_that_finished_alone_is_believed() {
    with_each_agent("finishing alone", |stage, agent, server| {
        in_mid_tool(stage, agent, server).kill();
        let agent = agent_of(&stage.only_run());
        until("the agent is gone", || is_gone(agent));
        assert_eq!(steps(stage), "one\ntwo\nthree\n", "it goes on without a supervisor");
        let ended = recover(stage, server, &["@"]).end();
        done_in(stage, &ended.envelope(0), 1);
        assert_eq!(server.api.account().model_requests(), 4, "something was started");
        let cost = ended.envelope(0)["usage"]["total_cost_usd"].as_f64();
        assert!(cost.is_some_and(|cost| cost > 0.0), "the money is known: {cost:?}");
    });
}

#[test]
fn when_both_die_the_session_goes_on() {
    with_each_agent("losing both", |stage, agent, server| {
        in_mid_tool(stage, agent, server).kill();
        let agent = agent_of(&stage.only_run());
        kill_process(agent, Signal::KILL).expect("it was started by this test");
        until("the agent is gone", || is_gone(agent));
        let ended = recover(stage, server, &[]).end();
        done_in(stage, &ended.envelope(0), 2);
        // The second step was cut, its orphan ended before it could write, and it is not done twice.
        assert_eq!(steps(stage), "one\nthree\n");
    });
}

/// A power cut leaves files empty that were not flushed: all but the plan and the journal.
#[test]
fn what_a_power_cut_emptied_is_passed_over() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    in_mid_tool(&stage, &stage.agent(), &server).kill();
    let run = stage.only_run();
    let agent = agent_of(&run);
    kill_process(agent, Signal::KILL).expect("it was started by this test");
    until("the agent is gone", || is_gone(agent));
    for name in
        ["attempts/001/exit.json", "attempts/001/session.json", "attempts/001/argv.json", "status.json"]
    {
        let path = run.path().join(name);
        fs::write(&path, "").expect("it is ours");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
    }
    done_in(&stage, &recover(&stage, &server, &[]).end().envelope(0), 2);
    assert_eq!(steps(&stage), "one\nthree\n");
}

/// The session file is gone with everything that the agent knew: a new session is told what is on record.
#[test]
fn a_lost_session_is_seeded_from_the_record() {
    with_each_agent("seeding", |stage, agent, _| {
        let server = Server::plays(sweep::WORK);
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(agent, &args).against(&server).start();
        until("the first step is taken", || steps(stage).contains("one"));
        run.kill();
        let agent = agent_of(&stage.only_run());
        // It may have ended by itself by now.
        let _ = kill_process(agent, Signal::KILL);
        until("the agent is gone", || is_gone(agent));
        fs::remove_dir_all(stage.user_home().join(".claude/projects")).expect("there are sessions");
        let seed = stage.longhaul(["seed", "@"]).end();
        assert_eq!(seed.code, 0, "{seed:?}");
        assert!(seed.stdout.starts_with("p\n") && seed.stdout.contains("echo one >> steps"), "{seed:?}");

        let ended = recover(stage, &server, &["--verbose"]).end();
        let envelope = ended.envelope(0);
        assert_eq!((&envelope["result"], &envelope["run"]["attempts"]), (&sweep::DONE.into(), &3.into()));
        assert!(ended.stderr.contains("the session was not found"), "{ended:?}");
        assert_eq!(steps(stage), "one\ntwo\nthree\nfour\n");
        let sessions = tidy::everything(&stage.user_home().join(".claude/projects"));
        let told = sessions.iter().filter(|path| path.is_file()).any(|path| {
            let session = fs::read_to_string(path).expect("a session is text");
            session.contains("This goes on with earlier work") && session.contains("echo one >> steps")
        });
        assert!(told, "no seed in {sessions:?}");
        tidy::check(stage);
    });
}

#[test]
fn a_supervised_run_is_left_alone() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let id = stage.only_run().id().to_string();
    let refused = recover(&stage, &server, &[&id]).end();
    refused.envelope(25);
    refused.says(&["another process drives this run", "longhaul attach"]);
    let nothing = recover(&stage, &server, &[]).end();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.stderr.contains("nothing to recover"), "{nothing:?}");
    done_in(&stage, &run.end().envelope(0), 1);
}

#[test]
fn what_is_listed_is_not_touched_and_what_is_old_is_left_alone() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    in_mid_tool(&stage, &stage.agent(), &server).kill();
    let run = stage.only_run();
    until("the agent is gone", || is_gone(agent_of(&run)));
    let listed = recover(&stage, &server, &["--list"]).end();
    assert_eq!((listed.code, listed.stdout.trim()), (0, run.id().as_str()));
    assert_eq!(run.status().expect("a status").returncode, None, "it was recovered");

    let journal = File::options().write(true).open(run.journal_path()).expect("a journal");
    journal.set_modified(SystemTime::now() - Duration::from_secs(8 * 24 * 3600)).expect("the file is ours");
    let left = recover(&stage, &server, &[]).end();
    assert_eq!((left.code, left.stdout.as_str()), (0, ""));
    assert!(left.stderr.contains(&format!("left alone: {}", run.id())), "{left:?}");
    done_in(&stage, &recover(&stage, &server, &["--active-within", "0"]).end().envelope(0), 1);
}

#[test]
fn an_ended_run_stays_ended() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    done_in(&stage, &in_mid_tool(&stage, &stage.agent(), &server).end().envelope(0), 1);
    let before = fs::read(stage.only_run().journal_path()).expect("a journal");
    for command in ["recover", "cancel"] {
        let refused = stage.longhaul([command, "@"]).end();
        refused.envelope(25);
        refused.says(&["it has ended as done"]);
    }
    assert_eq!(fs::read(stage.only_run().journal_path()).expect("a journal"), before);
}

#[test]
fn nobody_else_gets_the_session_of_an_orphan() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let agent = stage.agent();
    in_mid_tool(&stage, &agent, &server).kill();
    let run = stage.only_run();
    let session = run.status().expect("a status").session_id.expect("a session").to_string();
    let args = ["p", "--permission-mode", "bypassPermissions", "--resume", &session];
    let refused = stage.run(&agent, &args).against(&server).end();
    assert_eq!(refused.envelope(25)["run"]["fault"], "session_busy");
    assert!(refused.stdout.contains(&format!("longhaul recover {}", run.id())), "{refused:?}");
    let ended = recover(&stage, &server, &[run.id().as_str()]).end();
    assert_eq!(ended.envelope(0)["run"]["attempts"], 1);
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
}

#[test]
fn a_run_that_died_before_its_first_step_begins() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    in_mid_tool(&stage, &stage.agent(), &server).kill();
    let run = stage.only_run();
    let agent = agent_of(&run);
    until("the agent is gone", || is_gone(agent));
    // As it would have been, had it died a moment after its run was made.
    fs::write(run.journal_path(), "").expect("the journal can be emptied");
    for left in ["steps", "begun"] {
        fs::remove_file(stage.work().join(left)).expect("the work can be undone");
    }
    fs::remove_dir_all(run.attempts_path().join("001")).expect("the attempt can be undone");
    fs::remove_dir_all(stage.user_home().join(".claude")).expect("the session can be undone");
    let ended = recover(&stage, &Server::plays(STEPS), &[]).end();
    done_in(&stage, &ended.envelope(0), 1);
}

#[test]
fn cancel_ends_a_run_of_another_process() {
    with_each_agent("cancelling", |stage, agent, server| {
        let run = in_mid_tool(stage, agent, server);
        let cancelled = stage.longhaul(["cancel", "@"]).end();
        assert_eq!(cancelled.code, 0, "{cancelled:?}");
        let told: Value = serde_json::from_str(&cancelled.stdout).expect("an envelope is printed");
        let envelope = run.end().envelope(130);
        for told in [&told, &envelope] {
            assert_eq!(told["run"]["outcome"], "cancelled");
            assert_eq!(told["session_id"], envelope["session_id"]);
            assert_eq!(told["usage"], envelope["usage"]);
        }
        assert_eq!(steps(stage), "one\n");
        tidy::check(stage);
    });
}

#[test]
fn cancel_ends_what_an_orphan_left_behind() {
    with_each_agent("cancelling an orphan", |stage, agent, server| {
        for now in [&["cancel", "@"][..], &["cancel", "--now", "@"]] {
            let _ = fs::remove_file(stage.work().join("begun"));
            in_mid_tool(stage, agent, server).kill();
            let cancelled = stage.longhaul(now).end();
            assert_eq!(cancelled.code, 0, "{cancelled:?}");
            let envelope: Value = serde_json::from_str(&cancelled.stdout).expect("an envelope is printed");
            assert_eq!(envelope["run"]["outcome"], "cancelled", "{envelope}");
            tidy::check(stage);
        }
    });
}

#[test]
fn attach_tells_what_the_supervisor_tells() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let attached = stage.longhaul(["attach", "@", "--verbose"]).end();
    let (mut told, envelope) = (attached.envelope(0), run.end().envelope(0));
    // Each says by its own clock how long it was active.
    for key in ["duration_ms", "run"] {
        told[key] = envelope[key].clone();
    }
    assert_eq!(told, envelope);
    assert!(attached.stderr.contains("attempt 1: new session"), "{attached:?}");
    // An ended run is told all the same.
    assert_eq!(stage.longhaul(["attach", "@"]).end().envelope(0)["result"], envelope["result"]);
}

#[test]
fn attach_says_that_nobody_supervises() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let attached = stage.longhaul(["attach", "@"]).start();
    run.kill();
    let refused = attached.end();
    refused.envelope(25);
    refused.says(&["nobody supervises it", "longhaul recover"]);
    assert_eq!(recover(&stage, &server, &[]).end().code, 0);
}

#[test]
fn a_detached_run_outlives_who_started_it() {
    with_each_agent("detaching", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--detach"];
        let started = stage.run(agent, &args).against(server).end();
        assert_eq!(started.code, 0, "{started:?}");
        let told: Value = serde_json::from_str(&started.stdout).expect("the run is named");
        assert_eq!(told["run"]["id"], stage.only_run().id().as_str());
        assert!(started.stderr.contains("longhaul attach"), "{started:?}");
        let attached = stage.longhaul(["attach", "@"]).end();
        done_in(stage, &attached.envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
    });
}

#[test]
fn a_detached_run_that_cannot_begin_says_why() {
    let stage = Stage::new();
    let missing = stage.folder().join("missing");
    let refused = stage.run(&missing, &["p", "--detach"]).end();
    assert_eq!(refused.envelope(25)["run"]["fault"], "agent_missing");
    refused.says(&["there is no such file"]);
}

#[test]
fn unknown_runs_are_refused_with_those_that_are_near() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let none = stage.longhaul(["recover", "bcdfgh"]).end();
    assert_eq!(none.code, 2, "{none:?}");
    none.says(&["there is no such run", "there are no runs yet"]);
    done_in(&stage, &in_mid_tool(&stage, &stage.agent(), &server).end().envelope(0), 1);
    let id = stage.only_run().id().to_string();
    let mistyped = format!("{}y", &id[..5]);
    for command in ["recover", "attach", "cancel"] {
        stage
            .longhaul([command, &mistyped])
            .end()
            .says(&["there is no such run", &format!("did you mean {id}?")]);
    }
}

#[test]
fn a_run_whose_workspace_is_gone_is_refused_and_kept() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    in_mid_tool(&stage, &stage.agent(), &server).kill();
    let agent = agent_of(&stage.only_run());
    until("the agent is gone", || is_gone(agent));
    let elsewhere: PathBuf = stage.folder().join("elsewhere");
    fs::rename(stage.work(), &elsewhere).expect("it can be moved");
    let refused = recover(&stage, &server, &[]).end();
    refused.envelope(25);
    refused.says(&["work in", "put it back"]);
    fs::rename(elsewhere, stage.work()).expect("it can be moved back");
    done_in(&stage, &recover(&stage, &server, &[]).end().envelope(0), 1);
}

/// A process that has ended, and perhaps waits for somebody to notice.
pub fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.map_or(true, |stat| {
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    })
}
