//! The watchdog: it stops the silent agent of an orphaned run.
//!
//! It never touches an agent that still writes, and never outlives the agent.

use crate::call::{Running, wait_until};
use crate::harness::Stage;
use crate::recovering::{
    agent_pid, assert_done, has_exited, recover, run_to_mid_tool, steps, wait_for_takeover,
};
use crate::server::Server;
use crate::stopping::OUTAGE;
use crate::tidy;
use longhaul::{MARKER_VARIABLE, RUN_VARIABLE};
use longhaul_core::PhaseKind;
use longhaul_store::{RunDir, WatchdogStop};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Three steps. The second one hangs when it first runs.
const HANG: &str = "
I take the first step.
$ grep -qs one steps || echo one >> steps
The second one takes a while.
$ test -e started && exit 0; touch started; sleep 240; echo two >> steps
Now the third.
$ grep -qs three steps || echo three >> steps
All three steps are taken.
";

/// An agent that writes a line five times a second, alternating between its stream and stderr, until the file
/// `silent` exists.
const CHATTY: &str = r#"
echo '{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'
until test -e silent; do
    echo '{"type":"keep_alive"}'; echo line >> lines; sleep 0.2
    echo complaint >&2; echo line >> lines; sleep 0.2
done
exec sleep 240"#;

// The time that a person accepts as immediate, on a machine busy with other tests. A watchdog that missed its
// file event would probe less often.
const SOON: Duration = Duration::from_secs(8);

/// Kills the processes that a failed test left on its stage.
struct KillLeftovers(PathBuf);

impl Drop for KillLeftovers {
    fn drop(&mut self) {
        for (pid, _) in tidy::processes(&self.0) {
            // The process may have exited on its own.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn stage() -> (KillLeftovers, Stage) {
    let stage = Stage::new();
    (KillLeftovers(stage.folder().to_owned()), stage)
}

/// Returns the watchdogs of the only run, found by their command lines.
fn watchdogs(stage: &Stage) -> Vec<Pid> {
    let dir = stage.only_run().path().display().to_string();
    let is_watchdog = |command: &str| command.contains(" watchdog ") && command.contains(&dir);
    let processes = tidy::processes(stage.folder()).into_iter();
    processes.filter(|(_, command)| is_watchdog(command)).map(|(pid, _)| pid).collect()
}

/// Waits for the only watchdog of the only run and returns it.
fn watchdog(stage: &Stage) -> Pid {
    wait_until("a watchdog runs", || !watchdogs(stage).is_empty());
    let watchdogs = watchdogs(stage);
    assert_eq!(watchdogs.len(), 1, "one supervisor has one watchdog");
    watchdogs[0]
}

fn watchdog_stop(run: &RunDir) -> Option<WatchdogStop> {
    run.attempt(1).read().expect("the file is complete or absent")
}

/// Starts a run that hangs in its second step, with these arguments for its orphan timeout.
fn start_hanging_run(stage: &Stage, server: &Server, timeout: &[&str]) -> Running {
    let args = [&["p", "--permission-mode", "bypassPermissions", "--preset", "drill"], timeout].concat();
    let run = stage.run(&stage.agent(), &args).against(server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run
}

#[test]
fn hanging_orphan_is_stopped_and_its_run_recovers() {
    let ((_leftovers, stage), server) = (stage(), Server::start(HANG));
    let supervisor = start_hanging_run(&stage, &server, &["--orphan-timeout", "2s"]);
    let (run, _) = (stage.only_run(), watchdog(&stage));
    let agent = agent_pid(&run);
    supervisor.kill();
    let killed = Instant::now();
    wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
    assert!(killed.elapsed() >= Duration::from_secs(2), "the timeout passed");
    assert!(killed.elapsed() < SOON * 3, "{:?}", killed.elapsed());
    assert!(has_exited(agent));
    let watchdog_stop = watchdog_stop(&run).expect("the watchdog recorded its stop");
    assert!((2_000..4_000).contains(&watchdog_stop.silent_ms.millis()), "{watchdog_stop:?}");
    // The agent, the tool's shell, and the process it started.
    assert!(watchdog_stop.processes_stopped.is_some_and(|count| count >= 2), "{watchdog_stop:?}");

    let show = |format: &str| stage.longhaul(["show", "@", "--output-format", format]).output().stdout;
    assert!(show("text").contains("attempt 1: the agent had no supervisor"), "{}", show("text"));
    let shown: Value = serde_json::from_str(&show("json")).expect("valid JSON");
    assert_eq!(shown["attempts"][0]["watchdog"]["silent_ms"], watchdog_stop.silent_ms.millis());

    assert_done(&stage, &recover(&stage, &server, &["@"]).output().envelope(0), 2);
    assert_eq!(
        steps(&stage),
        "one\nthree\n",
        "the second step was interrupted, and checked after the recovery"
    );
    assert!(show("text").contains("attempt 1: the agent had no supervisor"), "{}", show("text"));
}

#[test]
fn writing_orphan_keeps_running() {
    let (_leftovers, stage) = stage();
    let lines = || fs::read_to_string(stage.work().join("lines")).map_or(0, |lines| lines.lines().count());
    let agent = stage.script("chatty", CHATTY);
    let run = stage.run(&agent, &["p", "--preset", "drill", "--orphan-timeout", "10s"]).start();
    wait_until("the agent writes", || lines() > 0);
    let watchdog = watchdog(&stage);
    run.kill();
    // Five lines take a second, so 60 lines take longer than the timeout of a silent agent.
    let later = lines() + 60;
    wait_until("the agent has continued to write", || lines() >= later);
    assert!(!has_exited(watchdog) && watchdog_stop(&stage.only_run()).is_none());
    fs::write(stage.work().join("silent"), "").expect("the stage is writable");
    wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
    assert!(
        watchdog_stop(&stage.only_run())
            .is_some_and(|watchdog_stop| watchdog_stop.silent_ms.millis() >= 10_000)
    );
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
}

#[test]
fn recovering_supervisor_has_its_own_watchdog() {
    let ((_leftovers, stage), server) = (stage(), Server::start(HANG));
    let supervisor = start_hanging_run(&stage, &server, &["--orphan-timeout", "10m"]);
    let first = watchdog(&stage);
    supervisor.kill();
    let agent = agent_pid(&stage.only_run());
    let recovered = recover(&stage, &server, &["@"]);
    wait_for_takeover(&stage);
    let started = Instant::now();
    wait_until("the first watchdog has exited", || has_exited(first));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    let second = watchdog(&stage);
    assert_ne!(second, first);
    assert!(!has_exited(agent), "the agent was adopted");
    recovered.signal(Signal::TERM);
    recovered.output().envelope(143);
    assert!(has_exited(second) && watchdog_stop(&stage.only_run()).is_none());
}

#[test]
fn watchdog_exits_with_its_run() {
    let (stage, server) = (Stage::new(), Server::start(crate::recovering::STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let watchdog = watchdog(&stage);
    assert_done(&stage, &run.output().envelope(0), 1);
    assert!(has_exited(watchdog));
}

/// A program that reads the output of Longhaul waits for the end of the pipe. A watchdog must not keep the
/// pipe open.
#[test]
fn watchdog_inherits_nothing_from_its_supervisor() {
    let ((_leftovers, stage), server) = (stage(), Server::start(HANG));
    let supervisor = start_hanging_run(&stage, &server, &[]);
    let watchdog = watchdog(&stage);
    let proc_path = |name: &str| PathBuf::from(format!("/proc/{}/{name}", watchdog.as_raw_nonzero()));
    assert_eq!(fs::read_link(proc_path("cwd")).expect("the watchdog runs"), PathBuf::from("/"));
    for stream in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(fs::read_link(proc_path(stream)).expect("the watchdog runs"), PathBuf::from("/dev/null"));
    }
    wait_until("the watchdog has its own process session", || {
        rustix::process::getsid(Some(watchdog)).is_ok_and(|session| session == watchdog)
    });
    let environment = fs::read_to_string(proc_path("environ")).expect("the watchdog runs");
    for name in [RUN_VARIABLE, MARKER_VARIABLE] {
        assert!(!environment.contains(name), "the watchdog carries the run marker");
    }
    let (stdout, stderr) = supervisor.kill_and_read();
    assert_eq!(stdout, "", "{stderr}");
    assert!(!has_exited(watchdog), "the pipes are closed and the watchdog still runs");
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
}

#[test]
fn no_watchdog_starts_without_a_timeout() {
    let ((_leftovers, stage), server) = (stage(), Server::start(HANG));
    let run = start_hanging_run(&stage, &server, &["--orphan-timeout", "none"]);
    // `session_opened` is written long after a watchdog would have been started.
    let journal = || fs::read_to_string(stage.only_run().journal_path()).expect("a journal");
    wait_until("the session is open", || journal().contains("session_opened"));
    assert_eq!(watchdogs(&stage), []);
    run.signal(Signal::TERM);
    run.output().envelope(143);
}

#[test]
fn watchdog_exits_with_its_agent() {
    let (stage, server) = (Stage::new(), Server::start(crate::recovering::STEPS));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let watchdog = watchdog(&stage);
    let agent = agent_pid(&stage.only_run());
    run.kill();
    wait_until("the agent has exited", || has_exited(agent));
    let started = Instant::now();
    wait_until("the watchdog has exited", || has_exited(watchdog));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_done(&stage, &recover(&stage, &server, &[]).output().envelope(0), 1);
}

#[test]
fn watchdog_exits_while_the_run_waits() {
    let (stage, server) = (Stage::new(), Server::start(OUTAGE));
    let slow = ["--inner-retries", "0", "--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none"];
    let args = [&["p", "--permission-mode", "bypassPermissions"], &slow[..]].concat();
    let run = stage.run(&stage.agent(), &args).against(&server).start();
    let waits = || stage.runs().first()?.status().ok().map(|status| status.phase == PhaseKind::Waiting);
    wait_until("the run waits", || waits() == Some(true));
    let watchdog = watchdog(&stage);
    run.kill();
    wait_until("the watchdog has exited", || has_exited(watchdog));
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
}
