//! Suspended runs: SIGTERM or SIGHUP, from a reboot, a service manager or a closed terminal, stops all
//! processes of a run.
//!
//! `recover` finishes the work in the same session and repeats no side effect.

use crate::call::{Call, Output, Running, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{
    self, assert_done, recover, run_to_mid_tool, run_to_mid_tool_with, steps, with_each_agent,
};
use crate::server::{Server, WORK};
use crate::stopping::{OUTAGE, SESSION, UNRESPONSIVE};
use crate::tidy;
use longhaul_core::{PhaseKind, Record};
use longhaul_store::Journal;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

// At shutdown, a system waits at least ten seconds before it kills a process.
const STOPPED_WITHIN: Duration = Duration::from_secs(8);

/// Returns every suspension in the journal of the only run, by signal.
fn suspensions(stage: &Stage) -> Vec<&'static str> {
    let history = Journal::load(&stage.only_run().journal_path()).expect("the journal can be read");
    let signal = |(_, record): (_, &Record)| match record {
        Record::Suspended { source } => Some(source.signal()),
        _ => None,
    };
    history.records().filter_map(signal).collect()
}

/// Asserts that the only run is suspended: its envelope and files agree, and no process remains.
fn assert_suspended(stage: &Stage, output: &Output, code: i32) -> Value {
    let envelope = output.envelope(code);
    assert_eq!(envelope["run"]["outcome"], "suspended", "{envelope}");
    assert_eq!(envelope["run"]["resume"], format!("longhaul recover {}", stage.only_run().id()).as_str());
    assert_eq!(tidy::processes(stage.folder()), [], "processes remain");
    let status = stage.only_run().status().expect("the status can be read");
    assert_eq!((status.status.as_str(), status.returncode), ("suspended", None));
    assert_eq!(status_of_all_runs(stage)["suspended"], 1);
    envelope
}

fn status_of_all_runs(stage: &Stage) -> Value {
    let statuses = stage.longhaul(["--output-format", "json", "status"]).output();
    serde_json::from_str(&statuses.stdout).expect("the list is JSON")
}

/// Suspends a run in its second step with one signal and recovers it.
fn suspend_and_recover(stage: &Stage, server: &Server, run: Running, signal: Signal, code: i32) {
    let signalled = Instant::now();
    run.signal(signal);
    let output = run.output();
    assert!(signalled.elapsed() < STOPPED_WITHIN, "{:?}", signalled.elapsed());
    let envelope = assert_suspended(stage, &output, code);
    assert!(!output.stderr.contains("resuming"), "nothing resumes: {}", output.stderr);
    // The interrupted exchange has a result, which reports its cost.
    assert!(envelope["usage"]["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{envelope}");
    let session = envelope["session_id"].clone();

    let recovered = recover(stage, server, &[]).output().envelope(0);
    assert_done(stage, &recovered, 2);
    assert_eq!(recovered["session_id"], session);
    assert_eq!(suspensions(stage).len(), 1);
}

fn suspend_with_each_agent(name: &str, signal: Signal, code: i32) {
    with_each_agent(&format!("suspending by {name}"), |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        suspend_and_recover(stage, server, run, signal, code);
        assert_eq!(suspensions(stage), [name]);
    });
}

#[test]
fn sigterm_suspends_and_recover_finishes() {
    suspend_with_each_agent("SIGTERM", Signal::TERM, 143);
}

#[test]
fn sighup_suspends_and_recover_finishes() {
    suspend_with_each_agent("SIGHUP", Signal::HUP, 129);
}

#[test]
fn closed_terminal_changes_nothing_under_nohup() {
    let (stage, server) = (Stage::new(), Server::start(recovering::STEPS));
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.program("nohup").args([LONGHAUL, "run", "--cwd"]).args([stage.work()]);
    let run = run.args(["--agent-path"]).args([stage.agent()]).args(args).against(&server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.signal(Signal::HUP);
    assert_done(&stage, &run.output().envelope(0), 1);
    assert!(suspensions(&stage).is_empty());
}

#[test]
fn sigterm_to_all_processes_is_not_a_crash() {
    with_each_agent("suspending by SIGTERM to all processes", |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        // As on macOS, a supervisor finds an orphan only if it has seen its shell. It searches every 50 ms.
        let sleeps = |(_, command): &(Pid, String)| command.contains(": sleep 2");
        wait_until("the command sleeps", || tidy::processes(stage.folder()).iter().any(sleeps));
        thread::sleep(Duration::from_millis(200));
        let signalled = Instant::now();
        // The agent and its tools first: the supervisor sees them die before its own signal arrives.
        for (pid, _) in tidy::processes(stage.folder()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let output = run.output();
        assert!(signalled.elapsed() < STOPPED_WITHIN, "{:?}", signalled.elapsed());
        assert_suspended(stage, &output, 143);
        assert!(!output.stderr.contains("died"), "the signal counts as a crash: {}", output.stderr);
        let recovered = recover(stage, server, &[]).output().envelope(0);
        assert_done(stage, &recovered, 2);
    });
}

#[test]
fn second_sigterm_changes_nothing() {
    let (stage, server) = (Stage::new(), Server::start(recovering::STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    run.signal(Signal::TERM);
    run.signal(Signal::TERM);
    assert_suspended(&stage, &run.output(), 143);
    assert_eq!(suspensions(&stage), ["SIGTERM"]);
    let recovered = recover(&stage, &server, &[]).output().envelope(0);
    assert_done(&stage, &recovered, 2);
}

#[test]
fn detached_run_is_suspended() {
    let (stage, server) = (Stage::new(), Server::start(recovering::STEPS));
    let detached = run_to_mid_tool_with(&stage, &stage.agent(), &server, &["--detach"]).output();
    assert_eq!(detached.code, 0, "{detached:?}");
    let supervisor = stage.only_run().status().expect("the status can be read").supervisor_pid;
    let supervisor = Pid::from_raw(supervisor.cast_signed()).expect("a process has a PID");
    // The test started this process, and the run's lock shows that it is alive.
    kill_process(supervisor, Signal::TERM).expect("the supervisor runs");
    let attached = stage.longhaul(["attach", "@"]).output();
    assert_suspended(&stage, &attached, 143);
    let detached = recover(&stage, &server, &["@", "--detach"]).output();
    assert_eq!(detached.code, 0, "{detached:?}");
    assert_done(&stage, &stage.longhaul(["attach"]).output().envelope(0), 2);
    let again = recover(&stage, &server, &["@", "--detach"]).output();
    assert_eq!(again.code, 25, "{again:?}");
    again.assert_error(&["has already finished"]);
}

#[test]
fn unresponsive_agent_is_killed_in_time() {
    let stage = Stage::new();
    let agent = stage.script("unresponsive", &format!("trap '' TERM HUP INT; {UNRESPONSIVE}"));
    let run = stage.run(&agent, &["p", "--session-id", SESSION]).start();
    wait_until("the session is open", || {
        let journal = stage.runs().first().and_then(|run| fs::read_to_string(run.journal_path()).ok());
        journal.is_some_and(|journal| journal.contains("session_opened"))
    });
    let signalled = Instant::now();
    run.signal(Signal::TERM);
    let output = run.output();
    assert!(signalled.elapsed() < STOPPED_WITHIN, "{:?}", signalled.elapsed());
    assert_suspended(&stage, &output, 143);
}

/// Starts a run and returns while it waits for an hour.
fn start_waiting_run(stage: &Stage, server: &Server) -> Running {
    let slow = ["--inner-retries", "0", "--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none"];
    let call: Call = stage.run(&stage.agent(), &["p", "--permission-mode", "bypassPermissions"]);
    let run = call.args(slow).against(server).start();
    wait_until("the run waits", || {
        let status = stage.runs().first().and_then(|run| run.status().ok());
        status.is_some_and(|status| status.phase == PhaseKind::Waiting)
    });
    run
}

#[test]
fn waiting_run_is_suspended_at_once_and_continues_to_wait() {
    let (stage, server) = (Stage::new(), Server::start(OUTAGE));
    let run = start_waiting_run(&stage, &server);
    let deadline_before = stage.only_run().status().expect("the status can be read").deadline_at;
    run.signal(Signal::TERM);
    let output = run.output();
    assert_suspended(&stage, &output, 143);

    let again = recover(&stage, &server, &[]);
    wait_until("the run waits again", || {
        stage.only_run().status().is_ok_and(|status| status.phase == PhaseKind::Waiting)
    });
    let status = stage.only_run().status().expect("the status can be read");
    assert_eq!(status.deadline_at, deadline_before, "the wait keeps its end");
    again.signal(Signal::HUP);
    assert_suspended(&stage, &again.output(), 129);
    assert_eq!(suspensions(&stage), ["SIGTERM", "SIGHUP"]);
}

/// Adds ten hours to every moment of a journal, as if the clock had been set back since.
fn postpone(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(moment) = number.as_u64().filter(|ms| *ms > 1_000_000_000_000) {
                *value = (moment + 36_000_000).into();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(postpone),
        Value::Object(values) => values.values_mut().for_each(postpone),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Recovers a run of which the supervisor died in a wait, after the clock was set back.
fn recover_after_clock_was_set_back(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    let base_args = ["p", "--inner-retries", "0", "--retry-base", "3s", "--retry-jitter", "none"];
    let run = stage.run(&stage.agent(), &base_args).args(args).against(server).start();
    wait_until("the run waits", || {
        let status = stage.runs().first().and_then(|run| run.status().ok());
        status.is_some_and(|status| status.phase == PhaseKind::Waiting)
    });
    run.kill();
    let path = stage.only_run().journal_path();
    let journal = fs::read_to_string(&path).expect("the journal can be read");
    let lines = journal.lines().map(|line| {
        let mut entry = serde_json::from_str(line).expect("a journal line is JSON");
        postpone(&mut entry);
        format!("{entry}\n")
    });
    fs::write(&path, lines.collect::<String>()).expect("the journal can be written");
    recover(stage, server, &[]).output()
}

#[test]
fn wait_does_not_become_longer_if_the_clock_is_set_back() {
    let (stage, server) = (Stage::new(), Server::start(&OUTAGE.replace("\"always\"", "1")));
    let envelope = recover_after_clock_was_set_back(&stage, &server, &[]).envelope(0);
    assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
}

/// The run's clock is ahead, so the time of the reset has passed on it.
#[test]
fn reset_is_awaited_if_the_clock_is_set_back() {
    let faults =
        "[[fault]]\nstatus = { code = 529 }\n[[fault]]\nturn = 2\nusage_limit = { reset_s = 3600 }\n";
    let (stage, server) = (Stage::new(), Server::start(&format!("auth = 'oauth'\n{WORK}\n{faults}")));
    let args = ["--permission-mode", "bypassPermissions", "--max-reset-wait", "10m"];
    let envelope = recover_after_clock_was_set_back(&stage, &server, &args).envelope(75);
    assert_eq!(envelope["run"]["fault"], "usage_limit", "{envelope}");
    let reason = envelope["errors"][0].as_str().unwrap_or_default();
    assert!(reason.ends_with("would exceed the longest wait for a reset (10m)"), "{envelope}");
}

#[test]
fn suspended_run_can_be_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(OUTAGE));
    let run = start_waiting_run(&stage, &server);
    run.signal(Signal::TERM);
    assert_suspended(&stage, &run.output(), 143);
    let cancelled = stage.longhaul(["cancel", "@"]).against(&server).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert_eq!(tidy::replayed_outcome(&stage.only_run()).kind.as_str(), "cancelled");
    let idle = recover(&stage, &server, &[]).output();
    assert!(idle.stderr.contains("nothing to recover"), "{idle:?}");
}

/// Cancelling starts no agent, so it needs no variables of the agent.
#[test]
fn long_suspended_run_can_be_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(recovering::STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    run.signal(Signal::TERM);
    assert_suspended(&stage, &run.output(), 143);
    // The time of a shorter suspension is not recorded.
    thread::sleep(Duration::from_millis(1_100));
    let cancelled = stage.longhaul(["cancel", "@"]).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let run = stage.only_run();
    assert_eq!(tidy::replayed_outcome(&run).kind.as_str(), "cancelled");
    assert!(!run.attempt(2).path().exists(), "cancelling started the agent");
}

#[test]
fn suspended_run_whose_directory_is_gone_can_be_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(OUTAGE));
    let run = start_waiting_run(&stage, &server);
    run.signal(Signal::TERM);
    assert_suspended(&stage, &run.output(), 143);
    fs::rename(stage.work(), stage.folder().join("moved")).expect("the stage is writable");
    let kept = stage.longhaul(["recover"]).against(&server).in_dir(stage.folder()).output();
    assert_eq!(kept.code, 25, "{kept:?}");
    let cancelled = stage.longhaul(["cancel", "@"]).in_dir(stage.folder()).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert_eq!(tidy::replayed_outcome(&stage.only_run()).kind.as_str(), "cancelled");
}

/// Otherwise its work would continue after that of another run, or not at all.
#[test]
fn suspended_run_keeps_its_session() {
    let (stage, server) = (Stage::new(), Server::start(OUTAGE));
    let run = start_waiting_run(&stage, &server);
    run.signal(Signal::TERM);
    let output = run.output();
    let suspended = assert_suspended(&stage, &output, 143);
    let (id, session) = (stage.only_run().id().clone(), suspended["session_id"].as_str().expect("a session"));
    assert!(
        output.stderr.contains(&format!("run {id} is suspended (SIGTERM suspended the run)")),
        "{output:?}"
    );
    let other = stage.run(&stage.agent(), &["p", "--resume", session]).against(&server).output();
    let errors = other.envelope(25)["errors"].to_string();
    assert!(errors.contains(&format!("longhaul recover {id}")), "{errors}");
}

#[test]
fn commands_show_a_suspended_run() {
    let (stage, server) = (Stage::new(), Server::start(recovering::STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    run.signal(Signal::TERM);
    assert_suspended(&stage, &run.output(), 143);
    assert_eq!(steps(&stage), "one\n");
    let text = |args: &[&str]| stage.longhaul(["--output-format", "text"]).args(args).output().stdout;
    let id = stage.only_run().id().to_string();
    for args in [&["status"][..], &["runs"], &["show", "@"], &["why", "@"]] {
        let text = text(args);
        assert!(text.contains("suspended"), "{args:?}: {text}");
    }
    assert!(text(&["why", "@"]).contains(&format!("longhaul recover {id}")));
    assert!(text(&["show", "@"]).contains("outcome     suspended by SIGTERM\n"), "{}", text(&["show", "@"]));
    assert!(text(&["runs", "--state", "suspended"]).contains(&id));
    let recovered = recover(&stage, &server, &[]).output().envelope(0);
    assert_done(&stage, &recovered, 2);
    assert!(text(&["why", "@"]).contains("SIGTERM suspended the run"), "{}", text(&["why", "@"]));
}
