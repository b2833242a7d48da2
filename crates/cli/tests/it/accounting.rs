//! A run reports its outcome, usage and time correctly and without delay. Tests with an agent run with the
//! scripted agent and with the real Claude Code.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::own_script::billed;
use crate::recovering::{kill_agent, play_with_each_agent, recover, wait_for_takeover};
use crate::server::{Server, WORK};
use longhaul_core::{Moment, Record, Span};
use longhaul_store::Journal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Returns the standard scenario with an API that always fails with `fault`.
fn with_fault(fault: &str) -> String {
    format!("{WORK}\n[[fault]]\ntimes = \"always\"\n{fault}\n")
}

/// A command that outlasts every test.
const LONG: &str = "
I start the long build.
$ touch started; sleep 300
The build is finished.
";

const BASE_ARGS: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str], code: i32) -> Value {
    stage.run(agent, &BASE_ARGS).args(args).against(server).output().envelope(code)
}

fn first_error(envelope: &Value) -> &str {
    envelope["errors"][0].as_str().expect("an unsuccessful run has an error")
}

#[test]
fn rejected_credentials_are_an_error() {
    play_with_each_agent(
        &with_fault("status = { code = 401 }"),
        "rejected credentials",
        |stage, agent, server| {
            let envelope = run(stage, agent, server, &[], 23);
            assert_eq!(first_error(&envelope), "the credentials were rejected");
        },
    );
}

#[test]
fn attempt_timeout_is_an_error() {
    play_with_each_agent(LONG, "an attempt timeout", |stage, agent, server| {
        let args = ["--preset", "openclawpack", "--attempt-timeout", "3s"];
        let envelope = stage
            .run(agent, &["p", "--permission-mode", "bypassPermissions"])
            .args(args)
            .against(server)
            .output()
            .envelope(22);
        assert_eq!(first_error(&envelope), "the attempt timed out");
    });
}

#[test]
fn crash_is_an_error_without_internal_diagnostics() {
    let stage = Stage::new();
    let agent = stage.script(
        "agent",
        "echo 'Bun v1.4.4 (6634fc3b5) Linux x64' >&2; echo 'panic(main thread): Segmentation fault' >&2; kill -SEGV $$",
    );
    let envelope = stage.run(&agent, &BASE_ARGS).args(["--max-retries", "0"]).output().envelope(20);
    assert_eq!(envelope["errors"], serde_json::json!(["the agent crashed"]));
}

#[test]
fn idle_agent_is_not_reported_as_silent() {
    let idle = "I have thought about it.\n? You stopped\nI think more.\n";
    play_with_each_agent(idle, "an agent that changes nothing", |stage, agent, server| {
        let envelope =
            run(stage, agent, server, &["--keep-going", "--budget", "none", "--max-idle-stops", "2"], 20);
        assert_eq!(first_error(&envelope), "the agent stopped 2 times in a row without changing anything");
    });
}

#[test]
fn limit_is_not_reported_as_interruption() {
    let work = "A step.\n$ sleep 0.3\n".repeat(60) + "Done.\n";
    play_with_each_agent(&work, "a limit without a wrap-up", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--time-limit", "4s", "--no-wrap-up"], 22);
        assert_eq!(first_error(&envelope), "the time limit stopped the run");
        assert_eq!(envelope["run"]["fault"], Value::Null, "{envelope}");
    });
}

#[test]
fn failed_check_is_quoted_with_the_absolute_path_of_its_log() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let check = "seq 1 50; echo part two is missing; false";
    let args = ["--check", check, "--max-failed-checks", "1"];
    // A relative directory, as a script may have it.
    let call = stage.run(&stage.agent(), &BASE_ARGS).args(args).args(["--runs-dir", "out"]);
    let envelope = call.against(&server).output().envelope(24);
    let log = stage.only_run().check_output_path(1);
    assert_eq!(first_error(&envelope), format!("check 1 failed; its output is in {}", log.display()));
    let tail = envelope["errors"][1].as_str().expect("the end of the output");
    assert!(tail.starts_with("32\n") && tail.ends_with("50\npart two is missing"), "{tail}");
    assert!(fs::read_to_string(log).is_ok_and(|text| text.contains(tail)));
    let text = stage
        .run(&stage.agent(), &BASE_ARGS)
        .args(args)
        .args(["--output-format", "text"])
        .against(&server)
        .output();
    assert!(text.stdout.contains("part two is missing\n"), "{}", text.stdout);
}

#[test]
fn envelope_names_the_proof_of_done() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let envelope = run(&stage, &stage.agent(), &server, &[], 0);
    assert_eq!(envelope["run"]["verified"], "none");
    let envelope = run(&stage, &stage.agent(), &server, &["--check", "test -e hello.txt"], 0);
    assert_eq!(envelope["run"]["verified"], "checks");
    let text = |args: &[&str]| {
        stage
            .run(&stage.agent(), &BASE_ARGS)
            .args(["--output-format", "text"])
            .args(args)
            .against(&server)
            .output()
            .stdout
    };
    assert!(text(&[]).contains("done (not verified: no check was set)"));
    assert!(!text(&["--check", "true"]).contains("not verified"));
}

/// A scenario with a command that runs until the file `go` exists, followed by another step.
const WAITING: &str = "
I wait.
$ touch started; until test -e go; do sleep 0.05; done
It is done.
";

/// Returns the cost of the only run, as printed by a command.
fn cost_in(stage: &Stage, args: &[&str], pointer: &str) -> f64 {
    let output = stage.longhaul(args).output();
    assert_eq!(output.code, 0, "{output:?}");
    let printed: Value = serde_json::from_str(&output.stdout).expect("JSON");
    printed.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {printed}"))
}

/// Asserts that every command shows the same cost of the only run, and returns it.
fn costs(stage: &Stage) -> f64 {
    let status = stage.only_run().status().expect("a status").total_cost_usd.0.as_dollars();
    for (args, pointer) in [
        (&["status", "--output-format", "json"][..], "/runs/0/total_cost_usd"),
        (&["runs", "--output-format", "json"][..], "/runs/0/total_cost_usd"),
        (&["show", "@", "--output-format", "json"][..], "/total_cost_usd"),
        (&["show", "@", "--output-format", "json"][..], "/attempts/0/total_cost_usd"),
        (&["cost", "--output-format", "json", "--by", "model"][..], "/total/total_cost_usd"),
        (&["cost", "--output-format", "json", "--by", "run"][..], "/rows/0/total_cost_usd"),
    ] {
        let printed = cost_in(stage, args, pointer);
        assert!((printed - status).abs() < 1e-9, "{args:?} {pointer}: {printed}, not {status}");
    }
    status
}

#[test]
fn usage_of_a_running_attempt_is_shown_at_once_and_counted_once() {
    play_with_each_agent(WAITING, "usage of a running attempt", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "researchgym"];
        let started = stage.run(agent, &args).against(server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        let summary = || {
            let text = fs::read_to_string(stage.only_run().logs_path().join("cost_summary.json")).ok()?;
            serde_json::from_str::<Value>(&text).ok()?["total_cost_usd"].as_f64()
        };
        // While the tool waits.
        wait_until("the harness sees the usage of the first message", || {
            summary().is_some_and(|cost| cost > 0.0 && (cost - billed(server)).abs() < 2e-6)
        });
        let live = costs(stage);
        assert!((live - summary().expect("a summary")).abs() < 1e-9);
        let usage = stage.only_run().status().expect("a status").usage;
        assert!(usage.messages >= 1 && usage.tokens.output > 0, "{usage:?}");
        // The usage outlives the supervisor that published it.
        started.kill();
        let show = cost_in(stage, &["show", "@", "--output-format", "json"], "/total_cost_usd");
        assert!((show - live).abs() < 1e-9, "{show}, not {live}");
        fs::write(stage.work().join("go"), "").expect("the stage is writable");
        let envelope = recover(stage, server, &[]).output().envelope(0);
        let total = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
        assert!(
            total > live
                && (cost_in(stage, &["cost", "--output-format", "json"], "/total/total_cost_usd") - total)
                    .abs()
                    < 1e-9
        );
    });
}

#[test]
fn time_of_a_living_agent_without_supervisor_is_active() {
    play_with_each_agent(WAITING, "working without a supervisor", |stage, agent, server| {
        let started = stage.run(agent, &BASE_ARGS).against(server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        started.kill();
        let (killed_at, unsupervised) = (Instant::now(), Duration::from_millis(1_500));
        wait_until("the agent has worked alone", || killed_at.elapsed() >= unsupervised);
        let recovering = recover(stage, server, &[]);
        wait_for_takeover(stage);
        fs::write(stage.work().join("go"), "").expect("the stage is writable");
        let output = recovering.output();
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["downtime_ms"], 0, "{envelope}");
        assert!(envelope["run"]["active_ms"].as_u64() >= Some(1_500), "{envelope}");
        assert!(!output.stderr.contains("nothing ran"), "{}", output.stderr);
    });
}

#[test]
fn time_of_a_silent_agent_that_was_killed_with_its_supervisor_is_active() {
    play_with_each_agent(WAITING, "the death of a supervisor and a silent agent", |stage, agent, server| {
        let started = stage.run(agent, &BASE_ARGS).against(server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        let run = stage.only_run();
        let last_output = || {
            let modified = fs::metadata(run.attempt(1).stream_path()).and_then(|file| file.modified());
            let since = modified.expect("there is a stream").duration_since(UNIX_EPOCH).expect("after 1970");
            Moment(since.as_millis() as u64)
        };
        wait_until("the agent has been silent", || {
            run.heartbeat().is_some_and(|heartbeat| heartbeat.since(last_output()) >= Span::from_secs(4))
        });
        started.kill();
        kill_agent(&run);
        let heartbeat = run.heartbeat().expect("there was one");
        fs::write(stage.work().join("go"), "").expect("the stage is writable");
        recover(stage, server, &[]).output().envelope(0);
        let (mut downtime, mut recovered) = (Span::ZERO, None);
        for (at, record) in Journal::load(&run.journal_path()).expect("there is a journal").records() {
            match record {
                Record::Downtime { duration } => downtime = downtime + *duration,
                Record::Recovered { last_record_at, .. } => recovered = Some((at, *last_record_at)),
                _ => {}
            }
        }
        let (at, alive_at) = recovered.expect("the run was taken over");
        assert!(downtime <= at.since(heartbeat), "{downtime} since {heartbeat:?}, until {at:?}");
        assert!(alive_at >= Some(heartbeat), "{alive_at:?} is before {heartbeat:?}");
    });
}

#[test]
fn resume_prompt_names_raised_limits() {
    let work =
        "A step.\n$ true\n".repeat(30) + "Done.\n? Added to the limits: $5.00 and 10 turns.\nThank you.\n";
    play_with_each_agent(&work, "raised limits", |stage, agent, server| {
        run(stage, agent, server, &["--max-turns", "5", "--budget", "5", "--no-wrap-up"], 22);
        let args = ["resume", "@", "--max-turns", "15", "--add-budget", "5"];
        let envelope = stage.longhaul(args).against(server).output().envelope(0);
        assert_eq!(envelope["result"], "Thank you.", "{envelope}");
    });
}
