//! Stopping a run: it stops soon, keeps its session and cost, leaves no process, and can be resumed.

use crate::call::{Output, Running, wait_until};
use crate::harness::{Stage, with_each_agent};
use crate::server::Server;
use crate::{tidy, workflows};
use longhaul_core::{CancelSource, OutcomeKind, PhaseKind};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A command that takes half a minute. If it was started before, it exits at once.
const LONG: &str = "
I start the long build.
$ test -e started && exit 0; touch started; sleep 30
The build is finished.
";

/// An API that stays overloaded.
pub const OUTAGE: &str = r#"
Unused.
[[fault]]
times = "always"
status = { code = 529 }
"#;

pub const SESSION: &str = "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11";
/// An agent that opens its session and ignores its input. It exits on SIGTERM unless that is trapped.
pub const UNRESPONSIVE: &str = r#"echo '{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'; exec tail -f /dev/null"#;

// The time that a person accepts as immediate, on a machine busy with other tests.
const SOON: Duration = Duration::from_secs(8);

fn start(stage: &Stage, agent: &Path, args: &[&str], server: &Server) -> Running {
    stage.run(agent, &["p", "--permission-mode", "bypassPermissions"]).args(args).against(server).start()
}

/// Returns whether the journal of the only run contains this text.
fn journal_contains(stage: &Stage, word: &str) -> bool {
    let journal = stage.runs().first().and_then(|run| fs::read_to_string(run.journal_path()).ok());
    journal.is_some_and(|journal| journal.contains(word))
}

/// Asserts that a run was cancelled with this exit code and can be resumed, and that its files agree. Returns
/// the envelope.
fn assert_cancelled(stage: &Stage, output: &Output, code: i32, source: CancelSource) -> Value {
    let envelope = output.envelope(code);
    assert_eq!(envelope["run"]["outcome"], "cancelled", "{envelope}");
    assert!(envelope["session_id"].is_string(), "the session is kept");
    let resume = format!("longhaul resume {}", stage.only_run().id());
    assert_eq!(envelope["run"]["resume"], resume.as_str());
    // A stopped run has not failed.
    assert!(
        output.stderr.contains(&format!("hint: `{resume}`")) && !output.stderr.contains("error:"),
        "{output:?}"
    );
    let outcome = tidy::replayed_outcome(&stage.only_run());
    assert_eq!((outcome.kind, outcome.cancelled_by), (OutcomeKind::Cancelled, Some(source)));
    envelope
}

/// Stops a run in mid-tool with one signal and resumes it, with every available agent.
fn stop_and_resume(signal: Signal, code: i32, source: CancelSource) {
    let check = |stage: &Stage, agent: &Path| stop_and_resume_with(stage, agent, signal, code, source);
    with_each_agent(&format!("stopping with exit code {code}"), Stage::new, check);
}

fn stop_and_resume_with(stage: &Stage, agent: &Path, signal: Signal, code: i32, source: CancelSource) {
    let server = Server::start(LONG);
    let run = start(stage, agent, &["--preset", "drill", "--on-terminate", "cancel"], &server);
    wait_until("the tool runs", || stage.work().join("started").exists());
    let stopped_at = Instant::now();
    run.signal(signal);
    let output = run.output();
    let took = stopped_at.elapsed();
    assert!(took < Duration::from_secs(25), "the supervisor waited for the tool: {took:?}");
    let envelope = assert_cancelled(stage, &output, code, source);
    assert!(envelope["usage"]["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{envelope}");
    assert!(envelope["usage"]["output_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{envelope}");
    tidy::check(stage);

    let session = envelope["session_id"].as_str().expect("the session is stored");
    let output = start(stage, agent, &["--resume", session], &server).output();
    let resumed = output.envelope(0);
    assert_eq!(
        (&resumed["session_id"], &resumed["result"]),
        (&session.into(), &"The build is finished.".into())
    );
}

#[test]
fn first_ctrl_c_interrupts_and_keeps_the_cost() {
    stop_and_resume(Signal::INT, 130, CancelSource::Person);
}

#[test]
fn sigterm_cancels_with_on_terminate_cancel() {
    stop_and_resume(Signal::TERM, 143, CancelSource::Sigterm);
}

#[test]
fn sighup_cancels_with_on_terminate_cancel() {
    stop_and_resume(Signal::HUP, 129, CancelSource::Sighup);
}

/// A shared file system does not report what another machine writes. Here, the request arrives in a directory that the
/// supervisor does not watch.
#[test]
fn cancel_is_noticed_without_a_file_event() {
    let (stage, server) = (Stage::new(), Server::start(LONG));
    let run = start(&stage, &stage.agent(), &["--preset", "drill"], &server);
    wait_until("the tool runs", || stage.work().join("started").exists());
    let dir = stage.only_run();
    fs::rename(dir.requests_path(), stage.folder().join("watched")).expect("the directory exists");
    dir.requests().send(CancelSource::Person).expect("the stage is writable");
    assert_cancelled(&stage, &run.output(), 130, CancelSource::Person);
}

/// As after Ctrl-Z. The request is kept until the supervisor continues.
#[test]
fn frozen_supervisor_is_named_and_cancels_later() {
    let (stage, server) = (Stage::new(), Server::start(LONG));
    let run = start(&stage, &stage.agent(), &["--preset", "drill"], &server);
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.signal(Signal::STOP);
    let dir = stage.only_run();
    let command = format!("kill -CONT {}", dir.status().expect("a status").supervisor_pid);
    let is_named = || stage.longhaul(["why", "@"]).output().stdout.contains(&command);
    wait_until("the supervisor is frozen", is_named);
    let status = stage.longhaul(["status"]).output();
    assert!(status.stdout.contains(&command), "{status:?}");
    stage.longhaul(["recover", "@"]).output().assert_error(&["frozen", &command]);
    let cancel = stage.longhaul(["cancel", "@"]).start();
    let is_sent = || fs::read_dir(dir.requests_path()).is_ok_and(|requests| requests.count() > 0);
    wait_until("the request is sent", is_sent);
    run.signal(Signal::CONT);
    assert_cancelled(&stage, &run.output(), 130, CancelSource::Person);
    let cancelled = cancel.output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert!(cancelled.stderr.contains(&command), "{cancelled:?}");
}

#[test]
fn second_ctrl_c_stops_an_unresponsive_agent() {
    let stage = Stage::new();
    let run = stage.run(&stage.script("unresponsive", UNRESPONSIVE), &["p", "--session-id", SESSION]).start();
    wait_until("the session is open", || journal_contains(&stage, "session_opened"));
    run.signal(Signal::INT);
    wait_until("the first interrupt is journaled", || journal_contains(&stage, r#""source":"person""#));
    let interrupted_at = Instant::now();
    run.signal(Signal::INT);
    let output = run.output();
    // A single interrupt would have a longer grace period.
    assert!(interrupted_at.elapsed() < SOON, "{output:?}");
    assert_cancelled(&stage, &output, 130, CancelSource::PersonNow);
}

#[test]
fn second_ctrl_c_stops_all_runs_of_a_workflow() {
    let stage = Stage::new();
    let server = Server::start("Unused.\n");
    let file = "start_gap = \"none\"\n[[phase]]\nname = \"work\"\nfan_out = { list = [\"a\", \"b\"] }\nprompt = \"Work.\"\n";
    let agent = stage.script("unresponsive", UNRESPONSIVE);
    let call = stage.longhaul(["loop"]).args([stage.file("workflow.toml", file)]).against(&server);
    let call = call.args(["--memory-reserve", "0", "--agent-path"]).args([agent]).in_dir(&stage.work());
    let running = call.start();
    let contains =
        |path: PathBuf, text: &str| fs::read_to_string(path).is_ok_and(|journal| journal.contains(text));
    let both_contain = |text: &str| {
        let runs = stage.runs();
        runs.len() == 2 && runs.iter().all(|run| contains(run.journal_path(), text))
    };
    wait_until("both sessions are open", || both_contain("session_opened"));
    running.signal(Signal::INT);
    wait_until("both first interrupts are journaled", || both_contain(r#""source":"person""#));
    let interrupted_at = Instant::now();
    running.signal(Signal::INT);
    let output = running.output();
    // A single interrupt would have a longer grace period.
    assert!(interrupted_at.elapsed() < SOON, "{output:?}");
    let envelope = workflows::envelope(&output, 130);
    assert_eq!(envelope["workflow"]["outcome"], "cancelled", "{envelope}");
    let items = envelope["workflow"]["phases"][0]["items"].as_array().expect("items");
    assert!(items.len() == 2 && items.iter().all(|item| item["status"] == "cancelled"), "{envelope}");
    for run in stage.runs() {
        assert_eq!(tidy::replayed_outcome(&run).cancelled_by, Some(CancelSource::PersonNow));
    }
    assert!(output.stderr.contains("stopping all runs at once"), "{output:?}");
    // Dropping the stage checks that no process is left.
}

#[test]
fn agent_ignoring_signals_is_killed() {
    let stage = Stage::new();
    let agent = stage.script("unresponsive", &format!("trap '' TERM HUP INT; {UNRESPONSIVE}"));
    let run = stage.run(&agent, &["p", "--session-id", SESSION, "--preset", "drill"]).start();
    wait_until("the session is open", || journal_contains(&stage, "session_opened"));
    run.signal(Signal::INT);
    let output = run.output();
    assert_cancelled(&stage, &output, 130, CancelSource::Person);
    assert!(output.stderr.contains("the agent did not stop; killing it"), "{output:?}");
}

#[test]
fn waiting_run_stops_at_once_and_can_be_resumed() {
    for (signal, code, source) in
        [(Signal::INT, 130, CancelSource::Person), (Signal::TERM, 143, CancelSource::Sigterm)]
    {
        let (stage, server) = (Stage::new(), Server::start(OUTAGE));
        let slow =
            ["--inner-retries", "0", "--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none"];
        let slow = [&slow[..], &["--on-terminate", "cancel"]].concat();
        let run = start(&stage, &stage.agent(), &slow, &server);
        let waiting = || stage.runs().first()?.status().ok().map(|status| status.phase == PhaseKind::Waiting);
        wait_until("the run waits", || waiting() == Some(true));
        let requests = server.api.request_log().model_requests();
        let stopped_at = Instant::now();
        run.signal(signal);
        let output = run.output();
        assert!(stopped_at.elapsed() < SOON, "{output:?}");
        assert_cancelled(&stage, &output, code, source);
        assert_eq!(server.api.request_log().model_requests(), requests, "the run sent a request");
        assert!(output.stderr.contains("the API is overloaded; waiting until"), "{output:?}");
    }
}
