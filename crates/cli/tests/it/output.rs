//! Output: the envelope, text, streams and messages on stderr.
//!
//! Snapshots cover what people read. `UPDATE_EXPECT=1 cargo test` rewrites them, and each difference belongs
//! in the changelog.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{STEPS, run_to_mid_tool_with};
use crate::server::{Server, WORK};
use expect_test::expect;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

const SESSION: &str = "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11";

/// Performs a run of the standard scenario.
fn run_work(stage: &Stage, args: &[&str]) -> Output {
    let server = Server::start(WORK);
    let options = ["p", "--session-id", SESSION, "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &options).args(args).against(&server).output()
}

/// Returns the text without the parts that vary between runs: the stage's directory, and the rest of each
/// line that begins with one of `varying`.
pub fn redacted(stage: &Stage, text: &str, varying: &[&str]) -> String {
    let text = text.replace(&stage.folder().display().to_string(), "<stage>");
    let line = |line: &str| {
        let key = varying.iter().find(|key| line.trim_start().starts_with(*key));
        key.map_or_else(
            || line.to_owned(),
            |key| {
                let (before, _) = line.split_once(key).expect("the line starts with the key");
                let comma = if line.ends_with(',') { "," } else { "" };
                format!("{before}{key} …{comma}")
            },
        )
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn stream_json_prints_one_object_per_line() {
    let stage = Stage::new();
    for command in [&["status"][..], &["runs"], &["cost"], &["config", "show"], &["simulate", "--runs", "10"]]
    {
        let output = stage.longhaul(command).args(["--output-format", "stream-json"]).output();
        let is_object = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
        assert!(!output.stdout.is_empty() && output.stdout.lines().all(is_object), "{command:?}: {output:?}");
    }
}

#[test]
fn reader_that_does_not_read_does_not_stop_the_supervisor() {
    let stage = Stage::new();
    // More than a pipe holds. The turn limit ends the run after it.
    let text = format!("\n{}\n$ true\nNever.\n", "word ".repeat(60_000));
    let server = Server::start(&text);
    let home = stage.home().display().to_string();
    let reader = format!(
        "\"$@\" | {{ i=0; until grep -qs run_finished '{home}'/runs/*/*/journal.jsonl || [ $i = 300 ]; \
         do i=$((i+1)); sleep 0.1; done; [ $i = 300 ] || cat; }}"
    );
    let run =
        stage.program("/bin/sh").args(["-c", &reader, "sh", LONGHAUL, "run", "--cwd"]).args([stage.work()]);
    let run = run.args(["--agent-path"]).args([stage.agent()]);
    let options = [
        "p",
        "--permission-mode",
        "bypassPermissions",
        "--max-turns",
        "1",
        "--no-wrap-up",
        "--output-format",
        "stream-json",
    ];
    let output = run.args(options).against(&server).output();
    let last = output.stdout.lines().last().unwrap_or_default();
    let result: Value = serde_json::from_str(last).expect("the last line is the result");
    assert_eq!(result["run"]["outcome"], "out_of_time", "{last}");
    assert!(output.stdout.matches("word ").count() >= 60_000, "nothing is lost");
}

#[test]
fn signal_ends_a_command_whose_reader_does_not_read() {
    let stage = Stage::new();
    // More than a pipe holds.
    let text = format!("\n{}\n$ touch started; sleep 60\nNever.\n", "word ".repeat(60_000));
    let server = Server::start(&text);
    // The program itself holds the end of the reader.
    let script = "mkfifo pipe && exec 3<>pipe && exec \"$@\" >pipe";
    let run =
        stage.program("/bin/sh").args(["-c", script, "sh", LONGHAUL, "run", "--cwd"]).args([stage.work()]);
    let run = run.args(["--agent-path"]).args([stage.agent()]);
    let options = ["p", "--permission-mode", "bypassPermissions", "--output-format", "stream-json"];
    let run = run.args(options).against(&server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.signal(Signal::TERM);
    assert_eq!(run.output().code, 143);
    let status = stage.only_run().status().expect("a status");
    assert_eq!(status.status, "suspended", "{status:?}");
}

#[test]
fn envelope_is_printed_without_a_terminal() {
    let stage = Stage::new();
    let output = run_work(&stage, &[]);
    output.envelope(0);
    let varying = [
        "\"input_tokens\":",
        "\"cache_read_input_tokens\":",
        "\"cache_creation_input_tokens\":",
        "\"total_cost_usd\":",
        "\"duration_ms\":",
        "\"id\":",
        "\"active_ms\":",
        "\"dir\":",
    ];
    expect![[r#"
        {
          "success": true,
          "result": "All done: hello.txt says hello.",
          "errors": [],
          "session_id": "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11",
          "usage": {
            "input_tokens": …,
            "output_tokens": 30,
            "cache_read_input_tokens": …,
            "cache_creation_input_tokens": …,
            "total_cost_usd": …,
            "estimated_cost_usd": 0.0,
            "truncated_tokens": 0,
            "unpriced": false
          },
          "duration_ms": …,
          "run": {
            "id": …,
            "outcome": "done",
            "exit_code": 0,
            "verified": "none",
            "fault": null,
            "limit": null,
            "attempts": 1,
            "denied_calls": 0,
            "questions": {
              "answered": 0,
              "by_default": 0
            },
            "background_stopped": [],
            "retry_at": null,
            "active_ms": …,
            "waiting_ms": 0,
            "downtime_ms": 0,
            "model": "claude-sonnet-4-5",
            "dir": …,
            "resume": null,
            "next": []
          }
        }
    "#]]
    .assert_eq(&redacted(&stage, &output.stdout, &varying));
    assert_eq!(output.stderr, "", "a run without faults prints nothing on stderr");
}

/// The keys and types that the page shows are present with any outcome.
#[test]
fn every_envelope_has_the_documented_keys() {
    let page = include_str!("../../../../docs/output.md");
    let example = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("there is an example");
    let example: Value = serde_json::from_str(example).expect("the example is JSON");
    let (stage, empty) = (Stage::new(), Stage::new());
    let done = run_work(&stage, &[]).envelope(0);
    let rejected = empty.longhaul(["run", "p", "--agent-path", "/nowhere"]).output().envelope(25);
    for envelope in [&done, &rejected] {
        assert_same_shape("envelope", &example, envelope);
    }
    assert!(!done["result"].is_null() && !done["run"]["id"].is_null() && !done["session_id"].is_null());
}

/// Asserts that both have the same keys and types at every depth. Values that may be missing are null.
fn assert_same_shape(path: &str, documented: &Value, actual: &Value) {
    match (documented, actual) {
        (Value::Object(documented), Value::Object(actual)) => {
            assert!(documented.keys().eq(actual.keys()), "{path}: {documented:?} and {actual:?}");
            documented
                .iter()
                .for_each(|(key, value)| assert_same_shape(&format!("{path}.{key}"), value, &actual[key]));
        }
        (Value::Null, _) | (_, Value::Null) => {}
        _ => assert_eq!(kind(documented), kind(actual), "{path}: {actual}"),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn commands_for_people_print_text_to_a_pipe_and_json_on_request() {
    let stage = Stage::new();
    run_work(&stage, &["--run-id", "one"]).envelope(0);
    for command in ["runs", "status", "show", "why", "cost", "doctor", "schema"] {
        let text = stage.longhaul([command]).with_text_output().output();
        assert!(!text.stdout.starts_with(['{', '[']), "{command}: {text:?}");
        for flags in [&["--json"][..], &["--output-format", "json"], &["--output-format=json"]] {
            let json = stage.longhaul([command]).args(flags).output();
            assert!(json.stdout.starts_with(['{', '[']), "{command} {flags:?}: {json:?}");
        }
    }
    let both = stage.longhaul(["runs", "--json", "--output-format", "text"]).output();
    assert_eq!(both.code, 2, "{both:?}");
    let unknown = stage.longhaul(["show", "nowhere", "--json"]).output();
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn configured_format_applies_to_every_command() {
    let stage = Stage::new();
    let shown = stage.longhaul(["status"]).with_text_output().env("LONGHAUL_OUTPUT_FORMAT", "json").output();
    assert!(shown.stdout.starts_with('{'), "{shown:?}");
    let json = stage.longhaul(["status", "--json"]).env("LONGHAUL_OUTPUT_FORMAT", "text").output();
    assert!(json.stdout.starts_with('{'), "the flag wins: {json:?}");
}

#[test]
fn unknown_run_is_wrong_usage_for_every_command() {
    let stage = Stage::new();
    run_work(&stage, &["--run-id", "one"]).envelope(0);
    for command in [
        "show", "why", "logs", "diff", "report", "handoff", "cancel", "attach", "resume", "rerun", "recover",
        "export",
    ] {
        let output = stage.longhaul([command, "nowhere"]).output();
        assert_eq!(output.code, 2, "{command}: {output:?}");
        output.assert_error(&["nowhere"]);
        assert!(output.stdout.is_empty(), "{command}: {output:?}");
    }
}

#[test]
fn text_format_summarizes_the_run() {
    let stage = Stage::new();
    let output = run_work(&stage, &["--output-format", "text"]);
    assert_eq!(output.code, 0, "{output:?}");
    expect![[r#"
        All done: hello.txt says hello.

        RUN
          outcome     done (not verified: no check was set)
          session     6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
          time …
          cost …
          tokens …
          next        nothing to do
    "#]]
    .assert_eq(&redacted_summary(&stage, &output));
}

/// Returns a summary without the run's id, durations and amounts.
fn redacted_summary(stage: &Stage, output: &Output) -> String {
    let text = redacted(stage, &output.stdout, &["time", "cost", "tokens"]);
    text.replace(stage.only_run().id().as_str(), "RUN")
}

#[test]
fn text_of_a_failed_run_names_the_next_command() {
    let stage = Stage::new();
    let server =
        Server::start(&format!("{WORK}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 403 }}\n"));
    let args = ["p", "--session-id", SESSION, "--output-format", "text"];
    let output = stage.run(&stage.agent(), &args).against(&server).output();
    assert_eq!(output.code, 23, "{output:?}");
    expect![[r#"
        RUN
          outcome     needs_person (the credentials were rejected)
          error       Failed to authenticate. API Error: 403 Your API key does not have permission to use
                      the specified resource.
          session     6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
          time …
          cost …
          tokens …
          next        check the key or log in with `claude`, then resume the run
                      longhaul resume RUN
    "#]]
    .assert_eq(&redacted_summary(&stage, &output));
}

#[test]
fn stream_json_has_all_events_and_ends_with_the_result() {
    let stage = Stage::new();
    let output = run_work(&stage, &["--output-format", "stream-json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let (last, events) = lines.split_last().expect("there are lines");
    assert_eq!((&last["type"], &last["subtype"]), (&"result".into(), &"success".into()), "{last}");
    assert_eq!((&last["run"]["outcome"], &last["is_error"]), (&"done".into(), &false.into()), "{last}");
    // The order of simultaneous events of the two sources is random. The order within one source is fixed.
    let (longhaul_events, agent_events): (Vec<&Value>, Vec<&Value>) =
        events.iter().partition(|event| event["type"] == "longhaul");
    assert!(longhaul_events.iter().all(|event| event["run"] == last["run"]["id"]), "{longhaul_events:?}");
    let numbers: Vec<u64> = longhaul_events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, Vec::from_iter(1..=longhaul_events.len() as u64));
    // A duplicate key has one value for some readers and the other for the rest.
    let duplicate =
        output.stdout.lines().find(|line| line.contains("longhaul") && line.matches(r#""at":"#).count() > 1);
    assert_eq!(duplicate, None);
    let records: Vec<&str> = longhaul_events.iter().filter_map(|event| event["record"].as_str()).collect();
    expect![[r#"
        run_started
        attempt_started
        attempt_spawned
        session_opened
        progress_made
        input_closed
        attempt_ended
        swept
        run_finished"#]]
    .assert_eq(&records.join("\n"));
    let name = |event: &&Value| {
        let names = [event["type"].as_str(), event["subtype"].as_str()];
        names.into_iter().flatten().collect::<Vec<_>>().join("/")
    };
    let mut names: Vec<String> =
        agent_events.iter().map(name).filter(|name| name != "stream_event").collect();
    names.dedup();
    expect![[r#"
        system/session_state_changed
        system/init
        system/status
        assistant
        user
        system/status
        assistant
        attempt_result/success
        system/session_state_changed"#]]
    .assert_eq(&names.join("\n"));
    // No line of the agent is lost: stdout has every line of the stored file, which omits partial messages.
    let stored = fs::read_to_string(stage.only_run().attempt(1).stream_path()).expect("the stream is stored");
    for line in stored.lines() {
        let mut event: Value = serde_json::from_str(line).expect("every line is JSON");
        let is_printed = if event["type"] == "result" {
            event["type"] = "attempt_result".into();
            lines.contains(&event)
        } else {
            output.stdout.lines().any(|printed| printed == line)
        };
        assert!(is_printed, "{line}");
    }
}

/// Returns the last line of a stream with exactly one result.
fn only_result(output: &Output) -> Value {
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let results = lines.iter().filter(|line| line["type"] == "result").count();
    assert_eq!(results, 1, "{output:?}");
    lines.last().expect("there are lines").clone()
}

#[test]
fn stream_of_a_run_without_success_ends_with_an_error_result() {
    let check = |output: &Output, code: i32, subtype: &str, outcome: &str| {
        assert_eq!(output.code, code, "{output:?}");
        let result = only_result(output);
        assert_eq!((&result["type"], &result["subtype"]), (&"result".into(), &subtype.into()), "{result}");
        assert_eq!(result["is_error"], true, "{result}");
        let run = &result["run"];
        assert_eq!((&run["outcome"], &run["exit_code"]), (&outcome.into(), &code.into()), "{result}");
        assert!(result["errors"].as_array().is_some_and(|errors| !errors.is_empty()), "{result}");
        result
    };
    let stream = ["--output-format", "stream-json"];
    let stage = Stage::new();
    let output = stage.longhaul(["run", "p", "--agent-path", "/nowhere"]).args(stream).output();
    let result = check(&output, 25, "error_during_execution", "not_started");
    assert_eq!((&result["total_cost_usd"], &result["num_turns"]), (&0.0.into(), &0.into()));

    let output = run_work(&stage, &["--max-turns", "1", "--no-wrap-up", "--output-format", "stream-json"]);
    check(&output, 22, "error_max_turns", "out_of_time");

    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let running = run_to_mid_tool_with(&stage, &stage.agent(), &server, &stream);
    running.signal(Signal::INT);
    let result = check(&running.output(), 130, "error_during_execution", "cancelled");
    assert!(result["total_cost_usd"].as_f64() > Some(0.0), "{result}");
    assert_eq!(result["num_turns"], 2, "{result}");
}

/// The next attempt starts a line of its own.
#[test]
fn incomplete_line_of_a_killed_agent_is_not_streamed() {
    let stage = Stage::new();
    let agent = stage.script(
        "agent",
        r#"echo '{"type":"system","subtype":"status"}'; printf '{"type":"assist'; kill -KILL $$"#,
    );
    let policy = ["p", "--max-retries", "1", "--retry-base", "1ms", "--output-format", "stream-json"];
    let output = stage.run(&agent, &policy).output();
    let result = only_result(&output);
    assert_eq!((&result["run"]["fault"], &result["run"]["attempts"]), (&"crashed".into(), &2.into()));
    assert_eq!(output.stdout.matches(r#""subtype":"status""#).count(), 2, "{output:?}");
}

/// The keys and types that the page shows are printed.
#[test]
fn result_event_has_the_documented_keys() {
    let page = include_str!("../../../../docs/output.md");
    let example = page.split("```json\n").nth(2).and_then(|rest| rest.split("```").next());
    let mut example: Value = serde_json::from_str(example.expect("there is an example")).expect("it is JSON");
    let stage = Stage::new();
    let mut result = only_result(&run_work(&stage, &["--output-format", "stream-json"]));
    // The page shows only some keys of the run, and another model.
    let run = result["run"].as_object_mut().expect("an object");
    run.retain(|key, _| example["run"].get(key).is_some());
    for event in [&mut example, &mut result] {
        let models = event["modelUsage"].as_object_mut().expect("an object");
        assert_eq!(models.len(), 1, "{models:?}");
        *models = models.values().map(|usage| ("model".to_owned(), usage.clone())).collect();
    }
    assert_same_shape("result", &example, &result);
}

#[test]
fn quiet_prints_nothing_and_verbose_prints_every_decision() {
    let (quiet, verbose) = (Stage::new(), Stage::new());
    let output = run_work(&quiet, &["--quiet"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let output = run_work(&verbose, &["--verbose"]);
    assert_eq!(output.code, 0);
    expect![[r#"
        run …
        attempt 1: new session 6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11
        the agent runs as process …
        session 6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11 is open
        progress made; the retry count is reset
        the agent is idle; closing its input
        the agent finished its work
        the run finished: done
    "#]]
    .assert_eq(&redacted(&verbose, &output.stderr, &["run", "the agent runs as process"]));
}

/// A headless run cannot answer the permission requests of this mode.
#[test]
fn interactive_permission_mode_causes_a_warning() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let run = |args: &[&str]| stage.run(&stage.agent(), &["p"]).args(args).against(&server).output();
    let warned = run(&[]);
    assert!(warned.stderr.contains("warning: the agent's permission mode is `default`"), "{warned:?}");
    assert!(
        warned.stderr.contains("edits with --permission-mode acceptEdits, commands with `-- --allowedTools"),
        "{warned:?}"
    );
    assert_eq!(warned.envelope(23)["run"]["fault"], "permission");
    let accepted = run(&["--allow-denials"]);
    accepted.envelope(0);
    assert!(!run(&["--permission-mode", "default"]).stderr.contains("permission mode is"));
}

/// Lifecycle events on stderr, as openclawpack's clients expect them: names, keys and order are from
/// openclawpack.
#[test]
fn openclawpack_preset_prints_lifecycle_events() {
    let run_work = |prompt: &str, scenario: &str, args: &[&str]| {
        let stage = Stage::new();
        let server = Server::start(scenario);
        let base_args = [prompt, "--preset", "openclawpack", "--permission-mode", "bypassPermissions"];
        let output = stage.run(&stage.agent(), &base_args).args(args).against(&server).output();
        let printed = output.stderr.lines().filter(|line| line.starts_with("event: "));
        format!("{prompt} {}\n{}\n", output.code, printed.collect::<Vec<_>>().join("\n"))
    };
    let rejected = format!("{WORK}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 401 }}\n");
    let printed = [
        run_work("/gsd:new-project --auto\n\na todo app", WORK, &[]),
        run_work("/gsd:plan-phase 3", WORK, &[]),
        run_work("/gsd:execute-phase 2.1", WORK, &["--answer", "approve=approved"]),
        run_work("/gsd:execute-phase 4", &rejected, &[]),
        run_work("tidy up", WORK, &[]),
        run_work("tidy up", WORK, &["--quiet"]),
    ];
    let stage = Stage::new();
    let without_agent = ["run", "tidy up", "--preset", "openclawpack", "--agent-path", "/nowhere"];
    let without_agent = stage.longhaul(without_agent).output();
    let printed = printed.concat() + &without_agent.stderr;

    // A supervisor that recovers or resumes the run reports its end.
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let base_args = ["-", "--preset", "openclawpack", "--permission-mode", "bypassPermissions", "--quiet"];
    stage.run(&stage.agent(), &base_args).stdin("/gsd:plan-phase 3").against(&server).output().envelope(0);
    fs::remove_file(stage.only_run().status_path()).expect("the file exists");
    let recovered = stage.longhaul(["recover"]).against(&server).output().stderr;
    let resumed = stage.longhaul(["resume", "@", "--repeat-task"]).against(&server).output().stderr;
    let printed = format!("{printed}recovered\n{recovered}resumed\n{resumed}");
    expect![[r#"
        /gsd:new-project --auto

        a todo app 0
        event: {"type":"decision_needed","data":{"command":"create_project","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"progress_update","data":{"command":"create_project","status":"complete"}}
        /gsd:plan-phase 3 0
        event: {"type":"decision_needed","data":{"command":"plan_phase","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"plan_complete","data":{"command":"plan_phase","phase":3}}
        /gsd:execute-phase 2.1 0
        event: {"type":"phase_complete","data":{"command":"execute_phase","phase":"2.1"}}
        /gsd:execute-phase 4 23
        event: {"type":"decision_needed","data":{"command":"execute_phase","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"error","data":{"command":"execute_phase","phase":4,"errors":["the credentials were rejected"]}}
        tidy up 0
        event: {"type":"decision_needed","data":{"command":"run","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"progress_update","data":{"command":"run","status":"complete"}}
        tidy up 0

        event: {"type":"decision_needed","data":{"command":"run","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"error","data":{"command":"run","errors":["cannot find the agent /nowhere: there is no such file"]}}
        error: cannot find the agent /nowhere: there is no such file
          hint: check --agent-path, or with --agent acp the command after `--`
        recovered
        the run had no supervisor; a new supervisor found it finished and reported its outcome
        event: {"type":"plan_complete","data":{"command":"plan_phase","phase":3}}
        resumed
        event: {"type":"decision_needed","data":{"command":"plan_phase","reason":"using_default_answers","message":"no answers were given; defaults decide"}}
        event: {"type":"plan_complete","data":{"command":"plan_phase","phase":3}}
    "#]].assert_eq(&printed);
}
