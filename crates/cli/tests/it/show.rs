//! `longhaul show`: the figures of one run, as text and as a JSON object.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{STEPS, orphaned_run, recover, wait_for_agent_exit, with_each_agent};
use crate::server::{Server, WORK};
use expect_test::{Expect, expect};
use rustix::process::Signal;
use serde_json::Value;

const SESSION: &str = "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11";
const PROMPT: [&str; 7] =
    ["p", "--session-id", SESSION, "--permission-mode", "bypassPermissions", "--retry-base", "50ms"];

/// Compares the text for the last run, without its id, directory, times, sizes and amounts.
fn check(stage: &Stage, expected: Expect) {
    let shown = stage.longhaul(["show", "@", "--output-format", "text"]).output();
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{shown:?}");
    let run = stage.only_run();
    let text = shown.stdout.replace(&run.path().display().to_string(), "<run>");
    let text =
        text.replace(&stage.folder().display().to_string(), "<stage>").replace(run.id().as_str(), "RUN");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    // A wait may be zero.
    let text = text.replace("at once", "after 0s");
    let is_number = |c: char| c.is_ascii_digit();
    let line = |line: &str| {
        let mut words: Vec<String> = Vec::new();
        for (index, word) in line.split(' ').filter(|word| !word.is_empty()).enumerate() {
            let is_unchanged = !word.contains(is_number) || index == 0 || word.contains(SESSION);
            let redacted = if is_unchanged { word.to_owned() } else { "…".to_owned() };
            if redacted != "…" || words.last().is_none_or(|last| last != "…") {
                words.push(redacted);
            }
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        format!("{indent}{}\n", words.join(" "))
    };
    // The wrapping of file names depends on the sizes, and a wait may be zero.
    let lines = text.lines().filter(|line| !line.contains(".jsonl")).map(line);
    let text = lines.collect::<String>().replace(" active, … waiting", " active");
    expected.assert_eq(&text);
}

fn json(stage: &Stage) -> Value {
    let shown = stage.longhaul(["show", "@"]).output();
    assert_eq!(shown.code, 0, "{shown:?}");
    serde_json::from_str(&shown.stdout).expect("an object is printed")
}

#[test]
fn shows_run_with_a_wait() {
    let stage = Stage::new();
    let server =
        Server::start(&format!("{WORK}\n[[fault]]\nturn = 2\ntimes = 1\nstatus = {{ code = 529 }}\n"));
    let args = ["--inner-retries", "0", "--budget", "5", "--diagnostic"];
    stage.run(&stage.agent(), &PROMPT).args(args).against(&server).output().envelope(0);
    check(
        &stage,
        expect![[r#"
            RUN
              outcome done (not verified: no check was set)
              task p
              directory <stage>/work
              session 6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
              agent claude …
              started …
              finished …
              time … active
              cost …
              tokens … input, … output, … read from the cache, … written to it
              limits budget … used, … left

               # started resume took ended by then cost
               1 … new … overloaded (status … resumed after …
               2 … as_is … itself …

              files <run>
              next nothing to do
        "#]],
    );
}

#[test]
fn a_failed_run_says_why() {
    let stage = Stage::new();
    let message = "tools.3.name: invalid characters";
    let fault =
        format!("{WORK}[[fault]]\ntimes = \"always\"\nstatus = {{ code = 400, message = \"{message}\" }}\n");
    let server = Server::start(&fault);
    let envelope = stage.run(&stage.agent(), &PROMPT).against(&server).output().envelope(20);
    for command in ["show", "why"] {
        let output = stage.longhaul([command, "@"]).output();
        let printed: Value = serde_json::from_str(&output.stdout).expect("an object is printed");
        assert_eq!(printed["errors"], envelope["errors"], "{command}");
        let text = stage.longhaul([command, "@", "--output-format", "text"]).output().stdout;
        assert!(text.contains(message), "{text}");
    }
    let report = stage.longhaul(["report", "@", "--format", "text"]).output().stdout;
    assert!(report.contains(message), "{report}");
    // A resumed run has no error until it fails again.
    let working = Server::start(WORK);
    stage.longhaul(["resume", "@", "--repeat-task"]).against(&working).output().envelope(0);
    assert_eq!(json(&stage)["errors"], serde_json::json!([]));
}

#[test]
fn check_of_a_suspended_run_is_not_running() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let check = ["--check", "touch checking; sleep 60"];
    let run = stage.run(&stage.agent(), &PROMPT).args(check).against(&server).start();
    wait_until("the check runs", || stage.work().join("checking").exists());
    let text = || stage.longhaul(["show", "@"]).with_text_output().output().stdout;
    assert!(text().contains("1 is running"), "{}", text());
    run.signal(Signal::TERM);
    run.output().envelope(143);
    assert!(text().contains("1 runs again when the run is recovered"), "{}", text());
}

#[test]
fn shows_run_at_its_limit() {
    let stage = Stage::new();
    let server = Server::start(STEPS);
    let args = ["--budget", "0.002", "--no-wrap-up"];
    stage.run(&stage.agent(), &PROMPT).args(args).against(&server).output().envelope(21);
    check(
        &stage,
        expect![[r#"
            RUN
              outcome over_budget (the budget stopped the run)
              error Reached maximum budget …
              task p
              directory <stage>/work
              session 6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
              agent claude …
              started …
              finished …
              time … active
              cost …
              tokens … input, … output, … read from the cache, … written to it
              limits budget … used, nothing left

               # started resume took ended by then cost
               1 … new … stopped at the limit …

              files <run>
              next the budget stopped the run; raise it to continue
                          longhaul resume RUN --add-budget …
        "#]],
    );
}

#[test]
fn shows_failed_run() {
    let stage = Stage::new();
    let server =
        Server::start(&format!("{WORK}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 403 }}\n"));
    let args = ["--check", "true"];
    stage.run(&stage.agent(), &PROMPT).args(args).against(&server).output().envelope(23);
    check(
        &stage,
        expect![[r#"
            RUN
              outcome needs_person (the credentials were rejected)
              error Failed to authenticate. API Error: … Your API key does not have permission to use
                          the specified resource.
              task p
              directory <stage>/work
              session 6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
              agent claude …
              started …
              finished …
              time … active
              cost …
              tokens … input, … output, … read from the cache, … written to it

               # started resume took ended by then cost
               1 … new … auth (status …

              files <run>
              next check the key or log in with `claude`, then resume the run
                          longhaul resume RUN
        "#]],
    );
}

#[test]
fn shows_orphaned_run() {
    let (stage, server, _) = orphaned_run();
    wait_for_agent_exit(&stage.only_run());
    let shown = json(&stage);
    assert_eq!((&shown["supervised"], &shown["outcome"]), (&false.into(), &Value::Null), "{shown}");
    assert!(
        shown["next"]["commands"][0].as_str().is_some_and(|command| command.starts_with("longhaul recover "))
    );
    recover(&stage, &server, &["@"]).output().envelope(0);
    let shown = json(&stage);
    assert_eq!((&shown["next"]["commands"], &shown["recoveries"]), (&Value::Array(Vec::new()), &1.into()));
    let text = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
    assert!(text.contains("  recovered   once; without a supervisor for up to "), "{text}");
}

#[test]
fn shows_every_key() {
    with_each_agent("the keys of show", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--check", "true", "--time-limit", "1h"];
        let output = stage.run(agent, &args).against(server).output();
        let (envelope, shown) = (output.envelope(0), json(stage));
        let keys: Vec<&str> = shown.as_object().expect("an object").keys().map(String::as_str).collect();
        expect![[r#"
            active_ms agent attempts changed checks cwd dir downtime_ms ended_at errors estimated_cost_usd fault files id limit limits name next outcome recoveries reported_cost_usd retry_at session_id started_at supervised task tokens total_cost_usd truncated_tokens turns unpriced unsupervised_ms verified waiting_ms wall_ms
        "#]].assert_eq(&(keys.join(" ") + "\n"));
        let first = shown["attempts"][0].as_object().expect("an attempt");
        let keys: Vec<&str> = first.keys().map(String::as_str).collect();
        expect![[r#"
            answers background_stopped continuity denied_calls duration_ms ended_at estimated_cost_usd evidence exit fault leftover_processes number planned_wait_ms questions reason remedy session stall stalls_deferred started_at stop_cause strategy summary total_cost_usd turns waited_ms watchdog
        "#]].assert_eq(&(keys.join(" ") + "\n"));

        // The figures equal those of the envelope.
        assert_eq!(shown["total_cost_usd"], envelope["usage"]["total_cost_usd"]);
        assert_eq!(shown["tokens"]["input"], envelope["usage"]["input_tokens"]);
        // The envelope is written once the run's files are complete, a moment after the end.
        let is_part = |shown: &Value, reported: &Value| {
            let (shown, reported) = (shown.as_u64().expect("a span"), reported.as_u64().expect("a span"));
            0 < shown && shown <= reported && u128::from(reported) <= output.duration.as_millis()
        };
        assert!(is_part(&shown["active_ms"], &envelope["run"]["active_ms"]), "{shown} {envelope}");
        assert!(is_part(&shown["wall_ms"], &envelope["duration_ms"]), "{shown} {envelope}");
        assert_eq!(shown["agent"]["version"], "2.1.330");
        assert!(shown["agent"]["model"].is_string() && shown["agent"]["subscription"].is_null(), "{shown}");
        let limit = &shown["limits"][0];
        assert_eq!(
            (&limit["limit"], &limit["limit_value"]),
            (&"time".into(), &3_600_000.0.into()),
            "{limit}"
        );
        assert_eq!(limit["used"].as_f64(), shown["active_ms"].as_f64());
        assert_eq!(
            (&shown["checks"][0]["number"], &shown["checks"][0]["result"]),
            (&1.into(), &"passed".into())
        );
        assert!(shown["files"]["streams"][0]["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    });
}
