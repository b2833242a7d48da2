//! The watchdog: it stops the silent agent of an orphaned run.
//!
//! It never touches an agent that still writes, and never outlives the agent.

use crate::call::{Started, until};
use crate::harness::Stage;
use crate::recovering::{agent_of, done_in, in_mid_tool, is_gone, recover, steps};
use crate::server::Server;
use crate::stopping::WALL;
use crate::tidy;
use longhaul::{MARKER_VARIABLE, RUN_VARIABLE};
use longhaul_store::{RunDir, StatusPhase, WatchdogStop};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Three steps. The second one hangs when it first runs.
const HANG: &str = r#"
name = "hang"
summary = "three steps, the second of which hangs once"
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
bash = { command = "test -e started && exit 0; touch started; sleep 240; echo two >> steps" }
[[turn]]
text = "Now the third."
[[turn.tools]]
bash = { command = "grep -qs three steps || echo three >> steps" }
[[turn]]
text = "All three steps are taken."
"#;

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
    until("a watchdog is there", || !watchdogs(stage).is_empty());
    let watchdogs = watchdogs(stage);
    assert_eq!(watchdogs.len(), 1, "one supervisor has one watchdog");
    watchdogs[0]
}

fn watchdog_stop(run: &RunDir) -> Option<WatchdogStop> {
    run.attempt(1).watchdog_stop().expect("it is there as a whole or not at all")
}

/// Starts a run that hangs in its second step, with these arguments for its orphan timeout.
fn hanging(stage: &Stage, server: &Server, timeout: &[&str]) -> Started {
    let args = [&["p", "--permission-mode", "bypassPermissions", "--preset", "drill"], timeout].concat();
    let run = stage.run(&stage.agent(), &args).against(server).start();
    until("the tool runs", || stage.work().join("started").exists());
    run
}

#[test]
fn hanging_orphan_is_stopped_and_its_run_recovers() {
    let ((_ends, stage), server) = (stage(), Server::plays(HANG));
    let supervisor = hanging(&stage, &server, &["--orphan-timeout", "2s"]);
    let (run, _) = (stage.only_run(), watchdog(&stage));
    let agent = agent_of(&run);
    supervisor.kill();
    let killed = Instant::now();
    until("no limit has anything left", || tidy::processes(stage.folder()).is_empty());
    assert!(killed.elapsed() >= Duration::from_secs(2), "the timeout passed");
    assert!(killed.elapsed() < SOON * 3, "{:?}", killed.elapsed());
    assert!(is_gone(agent));
    let watchdog_stop = watchdog_stop(&run).expect("it is sent");
    assert!((2_000..4_000).contains(&watchdog_stop.silent_ms.millis()), "{watchdog_stop:?}");
    // The agent, the tool's shell, and the process it started.
    assert!(watchdog_stop.processes_stopped.is_some_and(|count| count >= 2), "{watchdog_stop:?}");

    let show = |format: &str| stage.longhaul(["show", "@", "--output-format", format]).end().stdout;
    assert!(show("text").contains("attempt 1: its supervisor had died"), "{}", show("text"));
    let shown: Value = serde_json::from_str(&show("json")).expect("it is JSON");
    assert_eq!(shown["attempts"][0]["watchdog"]["silent_ms"], watchdog_stop.silent_ms.millis());

    done_in(&stage, &recover(&stage, &server, &["@"]).end().envelope(0), 2);
    assert_eq!(steps(&stage), "one\nthree\n", "the second step was cut, and looked for");
    assert!(show("text").contains("attempt 1: its supervisor had died"), "{}", show("text"));
}

#[test]
fn writing_orphan_keeps_running() {
    let (_ends, stage) = stage();
    let lines = || fs::read_to_string(stage.work().join("lines")).map_or(0, |lines| lines.lines().count());
    let agent = stage.script("chatty", CHATTY);
    let run = stage.run(&agent, &["p", "--preset", "drill", "--orphan-timeout", "4s"]).start();
    until("it writes", || lines() > 0);
    let watchdog = watchdog(&stage);
    run.kill();
    // Five lines take a second, so this is twice the time that a silent agent has.
    let enough = lines() + 40;
    until("it has written on", || lines() >= enough);
    assert!(!is_gone(watchdog) && watchdog_stop(&stage.only_run()).is_none());
    fs::write(stage.work().join("silent"), "").expect("the stage can be written");
    until("no limit has anything left", || tidy::processes(stage.folder()).is_empty());
    assert!(
        watchdog_stop(&stage.only_run())
            .is_some_and(|watchdog_stop| watchdog_stop.silent_ms.millis() >= 4_000)
    );
    assert_eq!(stage.longhaul(["cancel", "@"]).end().code, 0);
}

#[test]
fn recovering_supervisor_has_its_own_watchdog() {
    let ((_ends, stage), server) = (stage(), Server::plays(HANG));
    let supervisor = hanging(&stage, &server, &["--orphan-timeout", "10m"]);
    let first = watchdog(&stage);
    supervisor.kill();
    let agent = agent_of(&stage.only_run());
    let (recovered, started) = (recover(&stage, &server, &["@"]), Instant::now());
    until("the first one is gone", || is_gone(first));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    let second = watchdog(&stage);
    assert_ne!(second, first);
    assert!(!is_gone(agent), "it was adopted");
    recovered.signal(Signal::TERM);
    recovered.end().envelope(143);
    assert!(is_gone(second) && watchdog_stop(&stage.only_run()).is_none());
}

#[test]
fn watchdog_exits_with_its_run() {
    let (stage, server) = (Stage::new(), Server::plays(crate::recovering::STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let watchdog = watchdog(&stage);
    done_in(&stage, &run.end().envelope(0), 1);
    assert!(is_gone(watchdog));
}

/// A program that reads the output of Longhaul waits for the end of the pipe. A watchdog must not keep the
/// pipe open.
#[test]
fn watchdog_inherits_nothing_from_its_supervisor() {
    let ((_ends, stage), server) = (stage(), Server::plays(HANG));
    let supervisor = hanging(&stage, &server, &[]);
    let watchdog = watchdog(&stage);
    let proc_path = |name: &str| PathBuf::from(format!("/proc/{}/{name}", watchdog.as_raw_nonzero()));
    assert_eq!(fs::read_link(proc_path("cwd")).expect("it lives"), PathBuf::from("/"));
    for stream in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(fs::read_link(proc_path(stream)).expect("it lives"), PathBuf::from("/dev/null"));
    }
    until("it has left our session", || {
        rustix::process::getsid(Some(watchdog)).is_ok_and(|session| session == watchdog)
    });
    let environment = fs::read_to_string(proc_path("environ")).expect("it lives");
    for name in [RUN_VARIABLE, MARKER_VARIABLE] {
        assert!(!environment.contains(name), "it carries the mark of its run");
    }
    let (stdout, stderr) = supervisor.killed();
    assert_eq!(stdout, "", "{stderr}");
    assert!(!is_gone(watchdog), "both pipes have ended, and it watches");
    assert_eq!(stage.longhaul(["cancel", "@"]).end().code, 0);
}

#[test]
fn no_watchdog_starts_without_a_timeout() {
    let ((_ends, stage), server) = (stage(), Server::plays(HANG));
    let run = hanging(&stage, &server, &["--orphan-timeout", "none"]);
    // `session_opened` is written long after a watchdog would have been started.
    let journal = || fs::read_to_string(stage.only_run().journal_path()).expect("a journal");
    until("the session is open", || journal().contains("session_opened"));
    assert_eq!(watchdogs(&stage), []);
    run.signal(Signal::TERM);
    run.end().envelope(143);
}

#[test]
fn watchdog_exits_with_its_agent() {
    let (stage, server) = (Stage::new(), Server::plays(crate::recovering::STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let watchdog = watchdog(&stage);
    let agent = agent_of(&stage.only_run());
    run.kill();
    until("the agent is gone", || is_gone(agent));
    let started = Instant::now();
    until("the watchdog is gone", || is_gone(watchdog));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    done_in(&stage, &recover(&stage, &server, &[]).end().envelope(0), 1);
}

#[test]
fn watchdog_exits_while_the_run_waits() {
    let (stage, server) = (Stage::new(), Server::plays(WALL));
    let slow = ["--inner-retries", "0", "--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none"];
    let args = [&["p", "--permission-mode", "bypassPermissions"], &slow[..]].concat();
    let run = stage.run(&stage.agent(), &args).against(&server).start();
    let waits = || stage.runs().first()?.status().ok().map(|status| status.phase == StatusPhase::Waiting);
    until("it waits", || waits() == Some(true));
    let watchdog = watchdog(&stage);
    run.kill();
    until("the watchdog is gone", || is_gone(watchdog));
    assert_eq!(stage.longhaul(["cancel", "@"]).end().code, 0);
}
