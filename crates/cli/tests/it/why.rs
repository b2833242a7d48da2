//! `longhaul why`: the history of a run, from its records.
//!
//! Each scenario runs with every available agent, or compares the whole text.

use crate::harness::Stage;
use crate::recovering::{
    STEPS, endless_steps, held_steps, kill_agent, play_with_each_agent, recover, release, run_to_mid_tool,
};
use crate::server::{Server, WORK};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::fs;

const PROMPT: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--retry-base", "50ms"];

/// Returns the text for the last run, without its id, times, spans, amounts and PIDs.
fn why(stage: &Stage) -> String {
    let printed = stage.longhaul(["why", "@", "--output-format", "text"]).output();
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{printed:?}");
    for line in printed.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let id = stage.runs().first().expect("there is a run").id().to_string();
    // One line per entry, because the wrapping depends on the omitted values.
    let text = printed.stdout.replace(&id, "RUN").replace(&format!("\n{}", " ".repeat(18)), " ");
    // A wait may be zero.
    let text = text.replace("at once", "after 0s");
    let redacted: String = text.lines().map(|line| redacted(line) + "\n").collect();
    // There may be no time without a supervisor, or none with nothing running.
    let redacted = redacted.replace(", … of it with nothing running", "");
    redacted.replace(", and the run had no supervisor for up to …", "").replace(" (… of it waiting)", "")
}

/// Returns a line without its times, spans and amounts.
fn redacted(line: &str) -> String {
    let is_number = |text: &str| text.chars().any(|c| c.is_ascii_digit());
    let is_quantity = |word: &str| {
        let word = word.trim_matches(|c: char| "(),;".contains(c));
        let is_clock =
            word.matches(':').count() == 2 || word.starts_with('+') || word.matches('-').count() == 2;
        let is_span = word.ends_with(['s', 'm', 'h'])
            && word.trim_end_matches(|c: char| "smh.".contains(c) || c.is_ascii_digit()).is_empty();
        is_number(word) && (is_clock || is_span || word.starts_with('$'))
    };
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        if is_quantity(word) {
            let quantity = word.trim_matches(|c: char| "(),;".contains(c));
            let shown = word.replace(quantity, if quantity.starts_with('$') { "$…" } else { "…" });
            // `1m 20s` is one span.
            if words.last().is_some_and(|last| last == "…") && shown.starts_with('…') {
                words.pop();
            }
            words.push(shown);
        } else {
            words.push(word.to_owned());
        }
    }
    words.retain(|word| !word.is_empty());
    let indent = &line[..line.len() - line.trim_start().len()];
    format!("{indent}{}", words.join(" "))
}

fn check(stage: &Stage, expected: Expect) {
    expected.assert_eq(&why(stage));
}

fn json(stage: &Stage) -> Value {
    let printed = stage.longhaul(["why", "@"]).output();
    assert_eq!(printed.code, 0, "{printed:?}");
    serde_json::from_str(&printed.stdout).expect("an object is printed")
}

/// Returns the kinds of the entries, in order.
fn kinds(history: &Value) -> Vec<&str> {
    let entries = history["entries"].as_array().expect("there are entries");
    entries.iter().map(|entry| entry["kind"].as_str().expect("a kind")).collect()
}

#[test]
fn explains_run_with_waits() {
    let faults = "\n[[fault]]\nturn = 2\ntimes = 2\nstatus = { code = 529 }\n";
    play_with_each_agent(&format!("{WORK}{faults}"), "the timeline of waits", |stage, agent, server| {
        let args = ["--inner-retries", "0"];
        stage.run(agent, &PROMPT).args(args).against(server).output().envelope(0);
        check(
            stage,
            expect![[r#"
            run RUN: done

            …
            … … started in a new session
            … … attempt 1: 1 turn, 1 tool call in …, $…; the API is overloaded (status 529); resumed after …
            … … attempt 2: the API is overloaded (status 529); resumed after …
            … … attempt 3: 1 turn in …, $…; the agent reports that it is done
            … … finished: done after 3 attempts in …, $…

            next: nothing to do
        "#]],
        );
        let history = json(stage);
        assert_eq!(
            kinds(&history),
            ["started", "attempt_ended", "attempt_ended", "attempt_ended", "finished"]
        );
        let overload = &history["entries"][1];
        assert_eq!(
            (&overload["fault"], &overload["remedy"]),
            (&"overloaded".into(), &"wait_out".into()),
            "{overload}"
        );
        assert_eq!(
            (&overload["evidence"], &overload["work"]["tool_calls"]),
            (&"status 529".into(), &1.into()),
            "{overload}"
        );
        assert!(overload["planned_wait_ms"].is_u64() && overload["waited_ms"].is_u64(), "{overload}");
        for entry in history["entries"].as_array().expect("there are entries") {
            assert!(
                entry["at"].is_string() && entry["text"].is_string() && entry["elapsed_ms"].is_u64(),
                "{entry}"
            );
        }
        assert_eq!(
            (&history["outcome"], &history["next"]["commands"]),
            (&"done".into(), &Value::Array(Vec::new()))
        );
    });
}

#[test]
fn explains_recovered_run() {
    play_with_each_agent(&endless_steps(), "the timeline of a recovery", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        kill_agent(&stage.only_run());
        check(
            stage,
            expect![[r#"
            run RUN: unfinished

            …
            … … started in a new session

            next: the run has no supervisor; its last record: the agent is working (attempt 1)
                  longhaul recover RUN
                  longhaul cancel RUN
        "#]],
        );
        recover(stage, server, &[]).output().envelope(0);
        // Only the scripted agent's session lacks its end.
        let text: String = why(stage)
            .lines()
            .filter(|line| !line.contains(" started: "))
            .map(|line| format!("{line}\n"))
            .collect();
        expect![[r#"
            run RUN: done

            …
            … … started in a new session
            … … the supervisor died; a new supervisor found the agent gone
            … … attempt 1: 2 turns, 2 tool calls in …, $… (partly estimated); the agent crashed (its exit was not observed); stopped 2 leftover processes; resumed after …
            … … attempt 2: 3 turns, 2 tool calls in …, $…; the agent reports that it is done
            … … finished: done after 2 attempts in …, $…

            next: nothing to do
        "#]]
        .assert_eq(&text);
    });
}

#[test]
fn explains_failed_run() {
    let stage = Stage::new();
    let server =
        Server::start(&format!("{WORK}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 403 }}\n"));
    stage.run(&stage.agent(), &PROMPT).against(&server).output().envelope(23);
    check(
        &stage,
        expect![[r#"
            run RUN: needs_person (the credentials were rejected)
            error: Failed to authenticate. API Error: 403 Your API key does not have permission to use the
                   specified resource.

            …
            … … started in a new session
            … … attempt 1: the credentials were rejected (status 403)
            … … finished: needs_person (the credentials were rejected) after 1 attempt in …, $…

            next: check the key or log in with `claude`, then resume the run
                  longhaul resume RUN
        "#]],
    );
}

#[test]
fn explains_run_at_its_budget() {
    let stage = Stage::new();
    let server = Server::start(STEPS);
    stage
        .run(&stage.agent(), &PROMPT)
        .args(["--budget", "0.002", "--no-wrap-up"])
        .against(&server)
        .output()
        .envelope(21);
    check(
        &stage,
        expect![[r#"
            run RUN: over_budget (the budget stopped the run)
            error: Reached maximum budget ($…)

            …
            … … started in a new session
            … … the budget is exhausted
            … … attempt 1: 2 turns, 2 tool calls in …, $…; stopped at the limit
            … … finished: over_budget (the budget stopped the run) after 1 attempt in …, $…

            next: the budget stopped the run; raise it to continue
                  longhaul resume RUN --add-budget 0.002
        "#]],
    );
    assert_eq!(kinds(&json(&stage)).last(), Some(&"finished"));
}

#[test]
fn explains_running_run() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    check(
        &stage,
        expect![[r#"
        run RUN: unfinished

        …
        … … started in a new session

        next: the agent is working (attempt 1)
              longhaul logs RUN --follow
    "#]],
    );
    release(&stage);
    run.output().envelope(0);
}

#[test]
fn unknown_run_is_wrong_usage() {
    let stage = Stage::new();
    for command in ["why", "show", "logs", "diff"] {
        for run in ["@", "bcdfgh", "nowhere/run", ""] {
            let output = stage.longhaul([command, run]).output();
            assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{command} {run}: {output:?}");
            assert!(output.stderr.starts_with("error: "), "{output:?}");
        }
        stage.longhaul([command, "@"]).output().assert_error(&["hint: there are no runs yet"]);
    }
    assert!(!stage.home().exists());
}

/// Files that a power cut emptied, or that a newer version wrote, are skipped. The journal is enough.
#[test]
fn unreadable_files_are_skipped() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    stage.run(&stage.agent(), &PROMPT).against(&server).output().envelope(0);
    let run = stage.only_run();
    for name in ["attempts/001/exit.json", "logs/transcript.jsonl", "attempts/001/stream.jsonl"] {
        fs::write(run.path().join(name), "").expect("the test owns the file");
    }
    assert_eq!(kinds(&json(&stage)), ["started", "attempt_ended", "finished"]);
    assert_eq!(json(&stage)["entries"][1]["work"]["tool_calls"], Value::Null);
}
