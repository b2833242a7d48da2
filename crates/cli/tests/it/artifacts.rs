//! The files in a run's directory for people and scripts have the documented content, even if the supervisor
//! died.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{
    STEPS, assert_done, kill_agent, orphaned_run, play_with_each_agent, recover, run_to_mid_tool,
    run_to_mid_tool_with, wait_for_agent_exit, with_each_agent,
};
use crate::server::{Server, WORK};
use crate::tidy;
use expect_test::{Expect, expect};
use longhaul_agent::{DoneSignals, Guards, dialect_named};
use longhaul_core::Exit;
use longhaul_store::RunDir;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Returns the transcript of `run`.
fn transcript(run: &RunDir) -> Vec<Value> {
    let lines = fs::read_to_string(run.transcript_path()).expect("there is a transcript");
    assert!(lines.ends_with('\n'), "torn: {lines}");
    lines.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Formats each message as one line: attempt, kind, origin and the start of its text.
fn format_messages(messages: &[Value]) -> String {
    let mut out = String::new();
    for message in messages {
        let field = |name: &str| message[name].as_str().unwrap_or_default();
        let content = message.get("content").or(message.get("input")).or(message.get("result"));
        let text = content.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let excerpt: String =
            text.unwrap_or_default().lines().next().unwrap_or_default().chars().take(50).collect();
        let (attempt, kind, origin) = (&message["attempt"], field("kind"), field("origin"));
        writeln!(out, "{attempt} {kind} by {origin}: {} {excerpt}", field("tool"))
            .expect("writing to a string cannot fail");
    }
    out
}

/// Asserts that the transcript holds every message of the run's streams exactly once, and the first prompt of
/// each attempt.
pub fn assert_transcript_complete(run: &RunDir) {
    let messages = transcript(run);
    for attempt in run.attempts().expect("there are attempts") {
        let number = attempt.number();
        let stream = fs::read(attempt.stream_path()).unwrap_or_default();
        let agent = run.plan().expect("the plan can be read").spec.agent.name;
        let dialect = dialect_named(&agent).expect("the dialect exists");
        let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
        decoder.collect_messages(number);
        decoder.feed(&stream, &mut Vec::new());
        decoder.evidence(Exit::Unobserved, "");
        let streamed: Vec<Value> = decoder
            .take_messages()
            .iter()
            .map(|message| serde_json::to_value(message).expect("JSON"))
            .collect();
        let is_of_attempt = |message: &&Value| message["attempt"] == number;
        let (prompts, written): (Vec<_>, Vec<_>) =
            messages.iter().filter(is_of_attempt).cloned().partition(|message| message["kind"] == "prompt");
        assert_eq!(written, streamed, "attempt {number} of {}", run.path().display());
        // An agent that was killed before its first output may or may not have received a prompt.
        assert!(
            prompts.len() == 1 || stream.is_empty() && prompts.is_empty(),
            "attempt {number}: {prompts:?}"
        );
        // A full disk has no space for the stored prompt. The user's prompt is in the plan.
        if let (Some(stored), [prompt]) = (attempt.prompt().expect("reading succeeds"), &prompts[..]) {
            assert_eq!(prompt["content"], stored, "attempt {number}");
        }
    }
    let attempts: Vec<_> = messages.iter().map(|message| message["attempt"].as_u64()).collect();
    assert!(attempts.is_sorted(), "{attempts:?}");
}

fn check(run: &RunDir, expected: &Expect) {
    assert_transcript_complete(run);
    expected.assert_eq(&format_messages(&transcript(run)));
}

#[test]
fn transcript_records_the_conversation() {
    with_each_agent("a transcript", |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        // The transcript is written while the run is in progress: the call appears before it ends.
        wait_until("the call is in the transcript", || {
            format_messages(&transcript(&stage.only_run())).contains("test -e started && exit 0")
        });
        assert_done(stage, &run.output().envelope(0), 1);
        check(
            &stage.only_run(),
            &expect![[r#"
                1 prompt by person:  p
                1 text by model:  I take the first step.
                1 tool_call by model: Bash {"command":"grep -qs one steps || echo one >> step
                1 tool_result by tool:  (Bash completed with no output)
                1 text by model:  The second one takes a while.
                1 tool_call by model: Bash {"command":"test -e started && exit 0; touch start
                1 tool_result by tool:  (Bash completed with no output)
                1 text by model:  Now the third.
                1 tool_call by model: Bash {"command":"grep -qs three steps || echo three >> 
                1 tool_result by tool:  (Bash completed with no output)
                1 text by model:  All three steps are taken.
                1 result by agent:  All three steps are taken.
            "#]],
        );
        let messages = transcript(&stage.only_run());
        let tokens = messages.iter().filter_map(|message| message["usage"]["output_tokens"].as_u64());
        assert_eq!(tokens.sum::<u64>(), server.api.request_log().tokens().output);
    });
}

#[test]
fn adopted_attempt_is_recorded_once() {
    with_each_agent("the transcript of an adopted attempt", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 1);
        assert_transcript_complete(&stage.only_run());
    });
}

#[test]
fn takeover_records_unread_output() {
    with_each_agent("the transcript of unread output", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        wait_for_agent_exit(&stage.only_run());
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 1);
        assert_transcript_complete(&stage.only_run());
    });
}

#[test]
fn interrupted_conversation_continues_in_its_transcript() {
    with_each_agent("the transcript of an interrupted conversation", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        let run = stage.only_run();
        kill_agent(&run);
        // Simulates a supervisor that was killed in the middle of a write: the end of the transcript is
        // missing.
        let transcript = fs::read(run.transcript_path()).expect("there is a transcript");
        let torn = transcript.len() - transcript.len() / 4;
        fs::write(run.transcript_path(), &transcript[..torn]).expect("the test owns the file");
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 2);
        check(
            &run,
            &expect![[r#"
                1 prompt by person:  p
                1 text by model:  I take the first step.
                1 tool_call by model: Bash {"command":"grep -qs one steps || echo one >> step
                1 tool_result by tool:  (Bash completed with no output)
                1 text by model:  The second one takes a while.
                1 tool_call by model: Bash {"command":"test -e started && exit 0; touch start
                2 prompt by longhaul:  The work was interrupted: the process you ran in d
                2 text by model:  The second one takes a while.
                2 tool_call by model: Bash {"command":"test -e started && exit 0; touch start
                2 tool_result by tool:  (Bash completed with no output)
                2 text by model:  Now the third.
                2 tool_call by model: Bash {"command":"grep -qs three steps || echo three >> 
                2 tool_result by tool:  (Bash completed with no output)
                2 text by model:  All three steps are taken.
                2 result by agent:  All three steps are taken.
            "#]],
        );
    });
}

/// Returns a finished run of the scripted agent.
fn finished_run() -> (Stage, Server, RunDir) {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    assert_eq!(stage.run(&stage.agent(), &args).against(&server).output().code, 0);
    let run = stage.only_run();
    (stage, server, run)
}

#[test]
fn missing_transcript_is_rebuilt() {
    let (stage, server, run) = finished_run();
    let whole = fs::read_to_string(run.transcript_path()).expect("there is a transcript");
    fs::remove_file(run.transcript_path()).expect("the test owns the file");
    fs::remove_file(run.attempt(1).path().join("prompt.txt")).expect("the test owns the file");
    let resumed = stage.longhaul(["resume", "@", "--repeat-task"]).against(&server).output();
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let started = fs::read_to_string(run.transcript_path()).expect("there is a transcript");
    let (first, rest) = started.split_once('\n').expect("there are lines");
    assert!(first.contains(r#""content":"p""#), "the user's prompt is in the plan: {first}");
    let streamed = whole.split_once('\n').expect("there are lines").1;
    assert!(rest.starts_with(streamed), "{rest}");
}

/// Returns the output of `longhaul logs` for the only run.
fn logs(stage: &Stage, args: &[&str]) -> String {
    let output = stage.longhaul(["logs", "@"]).args(args).output();
    assert_eq!(output.code, 0, "{output:?}");
    output.stdout
}

#[test]
fn logs_prints_the_conversation() {
    with_each_agent("the output of logs", |stage, agent, server| {
        assert_done(stage, &run_to_mid_tool(stage, agent, server).output().envelope(0), 1);
        let text = logs(stage, &[]);
        let (first, rest) = text.split_once('\n').expect("there are lines");
        assert!(first.starts_with("attempt 1, 20"), "{first}");
        let (rest, ending) = rest.split_once("\nattempt 1: ").expect("there is a closing line");
        assert!(
            ending.starts_with("4 turns in ") && ending.ends_with("; the agent reports that it is done\n"),
            "{ending}"
        );
        let (rest, _) = rest.rsplit_once(", $").expect("the closing line has a cost");
        expect![[r#"
            attempt 1, …
              you: p
              agent: I take the first step.
              Bash: grep -qs one steps || echo one >> steps
                  (Bash completed with no output)
              agent: The second one takes a while.
              Bash: test -e started && exit 0; touch started; sleep 2; echo two >> steps
                  (Bash completed with no output)
              agent: Now the third.
              Bash: grep -qs three steps || echo three >> steps
                  (Bash completed with no output)
              agent: All three steps are taken.
              exchange ended: completed, $…
        "#]]
        .assert_eq(&format!("attempt 1, …\n{rest}, $…\n"));

        let messages = transcript(&stage.only_run());
        for json in [&["--json-array"][..], &["--output-format", "json"]] {
            let array: Vec<Value> = serde_json::from_str(&logs(stage, json)).expect("an array");
            assert_eq!(array, messages);
        }
        let lines = fs::read_to_string(stage.only_run().transcript_path()).expect("there is a transcript");
        assert_eq!(logs(stage, &["--output-format", "stream-json"]), lines);
    });
}

#[test]
fn logs_stops_when_its_reader_exits() {
    let (stage, _server, run) = finished_run();
    let line = fs::read_to_string(run.transcript_path()).expect("there is a transcript");
    // Larger than any pipe buffer.
    fs::write(run.transcript_path(), line.repeat(2_000)).expect("the test owns the file");
    for format in ["", "--json-array", "--output-format=stream-json"] {
        let script = format!(
            "{} logs @ {format} | head -c 1 > first; echo ${{PIPESTATUS[0]}}",
            crate::harness::LONGHAUL
        );
        let output = stage.program("bash").args(["-c", &script]).output();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("0\n", ""), "{format}");
    }
    fs::write(run.transcript_path(), "").expect("the test owns the file");
    assert_eq!(logs(&stage, &["--json-array"]), "[]\n");
    let silent = stage.longhaul(["logs", "@"]).output();
    assert_eq!((silent.code, silent.stdout.as_str()), (0, ""));
    assert!(silent.stderr.contains("has no messages yet"), "{silent:?}");
}

/// Parses a JSON file in the run's directory.
fn parsed(run: &RunDir, name: &str) -> Value {
    parsed_text(&fs::read_to_string(run.path().join(name)).expect("the file exists"))
}

fn parsed_text(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

#[test]
fn cost_summary_lists_each_message() {
    with_each_agent("the cost summary", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).output().envelope(0);
        let run = stage.only_run();
        let first = parsed(&run, "logs/cost_summary.json");
        let resumed = stage.longhaul(["resume", "@", "More, please."]).against(server).output().envelope(0);
        let costs = parsed(&run, "logs/cost_summary.json");
        let sum = |name: &str| {
            let turns = costs["turns"].as_array().expect("a list");
            turns.iter().map(|turn| turn[name].as_u64().expect("a number")).sum::<u64>()
        };
        for (turn_key, total_key) in [
            ("input_tokens", "input"),
            ("output_tokens", "output"),
            ("cache_read_tokens", "cache_read"),
            ("cache_write_tokens", "cache_write"),
        ] {
            assert_eq!(
                sum(turn_key),
                costs["total_tokens"][total_key].as_u64().expect("a number"),
                "{turn_key}"
            );
        }
        assert_eq!(
            costs["turns"].as_array().map(Vec::len),
            costs["total_turns"].as_u64().map(|count| count as usize)
        );
        let dollars = |summary: &Value, name: &str| summary[name].as_f64().expect("a number");
        assert_eq!(dollars(&first, "inherited_cost_usd"), 0.0);
        assert_eq!(dollars(&costs, "inherited_cost_usd"), dollars(&first, "total_cost_usd"));
        let parts = dollars(&costs, "inherited_cost_usd") + dollars(&costs, "session_cost_usd");
        assert!((parts - dollars(&costs, "total_cost_usd")).abs() < 1e-9, "{costs}");
        assert_eq!(resumed["usage"]["total_cost_usd"], costs["total_cost_usd"]);
        assert_eq!(costs["main_agent_cost_usd"], costs["total_cost_usd"]);
        let last = costs["turns"].as_array().and_then(|turns| turns.last()).expect("there are turns");
        let difference = dollars(last, "cumulative_cost_usd") - dollars(&costs, "total_cost_usd");
        assert!(difference.abs() < 1e-5, "the table matches the agent's cost: {costs}");

        let (status, session) = (parsed(&run, "status.json"), parsed(&run, "logs/session.json"));
        assert_eq!((&status["status"], &status["returncode"]), (&"done".into(), &0.into()));
        assert_eq!(status["resume_generation"], 1, "{status}");
        assert_eq!((&session["session_id"], &session["status"]), (&resumed["session_id"], &"done".into()));
    });
}

#[test]
fn run_is_created_and_found_in_the_requested_directory() {
    with_each_agent("a run in another directory", |stage, agent, server| {
        let results = stage.folder().join("results");
        let location = ["--runs-dir", "results", "--run-id", "exp-2.1"];
        run_to_mid_tool_with(stage, agent, server, &location).kill();
        let run = stage.only_run();
        assert!(
            run.path().starts_with(&results) && run.path().ends_with("exp-2.1"),
            "{}",
            run.path().display()
        );
        let path = run.path().to_str().expect("the stage has a plain name");
        let show = stage.longhaul(["show", path, "--output-format", "json"]).output();
        assert_eq!((show.code, parsed_text(&show.stdout)["id"].as_str()), (0, Some("exp-2.1")), "{show:?}");

        // `recover` finds the run by its directory alone, from a home that does not list it.
        let home = stage.folder().join("another-home");
        let recovered =
            stage.longhaul(["recover", path]).env("LONGHAUL_HOME", &home).against(server).output();
        assert_eq!(recovered.envelope(0)["run"]["id"], "exp-2.1");
        // The home that started the run finds it by its id.
        for args in [&["show", "exp-2.1"][..], &["logs", "exp"], &["show", "@"]] {
            assert_eq!(stage.longhaul(args).output().code, 0, "{args:?}");
        }
        let resumed = stage.longhaul(["resume", "exp-2.1", "--repeat-task"]).against(server).output();
        assert_eq!(resumed.envelope(0)["run"]["attempts"], 2);
        let cancel = stage.longhaul(["cancel", path]).output();
        cancel.envelope(25);
        cancel.assert_error(&["has already finished: done"]);
        assert_transcript_complete(&run);

        let duplicate = stage.run(agent, &["p"]).args(location).against(server).output();
        duplicate.envelope(25);
        duplicate.assert_error(&["run id exp-2.1 is already used", "is already used in", path, "--run-id"]);
    });
}

#[test]
fn invalid_run_location_is_rejected_before_anything_starts() {
    let stage = Stage::new();
    let file = stage.file("file", "").display().to_string();
    let long = "x".repeat(65);
    for id in ["", "..", ".hidden", "-x", "a/b", "a b", "a:b", "é", &long] {
        let output = stage.longhaul(["run", "p", &format!("--run-id={id}")]).output();
        assert_eq!(output.code, 2, "{id}: {output:?}");
        output.assert_error(&["--run-id"]);
    }
    let output = stage.run(&stage.agent(), &["p", "--runs-dir", &file]).output();
    assert_eq!((output.code, stage.home().exists()), (2, false), "{output:?}");
    output.assert_error(&["it is not a directory", "hint:", "--runs-dir"]);
    let missing = stage.longhaul(["show", "nowhere/exp"]).output();
    assert_eq!(missing.code, 2, "{missing:?}");
    missing.assert_error(&["find run `nowhere/exp`", "plan.json", "hint:"]);
}

/// A scenario that records the variables it sees.
const VARIABLES: &str = "
I look around.
$ env | grep -E '^(WORKSPACE_BASE|CODE_DIR|RG_[A-Z_]*)=' | sort > seen; touch started; sleep 2
All done.
";

/// Covers every file that a reader of ResearchGym's runs expects, including after the supervisor was killed.
#[test]
fn harness_finds_its_files_and_agent_finds_its_variables() {
    play_with_each_agent(VARIABLES, "a run for a harness", |stage, agent, server| {
        fs::create_dir(stage.work().join("input")).expect("the stage is writable");
        let args = ["p", "--permission-mode", "bypassPermissions", "--model", "claude-sonnet-4-5"];
        let run = stage.run(agent, &args).args([
            "--preset",
            "researchgym",
            "--runs-dir",
            "runs",
            "--run-id",
            "exp",
            "--budget",
            "2.50",
            "--time-limit",
            "90m",
        ]);
        let run = run.env("RG_RUN_DIR", "/elsewhere").against(server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        wait_until("the transcript has the running call", || {
            let text = fs::read_to_string(stage.only_run().transcript_array_path()).unwrap_or_default();
            let array: Value = serde_json::from_str(&text).unwrap_or_default();
            array.as_array().is_some_and(|messages| messages.len() >= 2)
        });
        run.kill();
        let run = stage.only_run();
        let recovered = recover(stage, server, &["exp"]).output().envelope(0);
        let seen = fs::read_to_string(stage.work().join("seen")).expect("the agent wrote its variables");
        let day = run.path().parent().expect("the run is in a directory of its day").display().to_string();
        expect![[r#"
            CODE_DIR=<stage>/work/input
            RG_BUDGET_LIMIT=2.5
            RG_LOG_DIR=<day>/exp/logs
            RG_MODEL=claude-sonnet-4-5
            RG_RUN_DIR=<day>/exp
            RG_TIME_HOURS=1.5
            WORKSPACE_BASE=<stage>/work
        "#]]
        .assert_eq(&seen.replace(&day, "<day>").replace(&stage.folder().display().to_string(), "<stage>"));
        let plan = fs::read_to_string(run.plan_path()).expect("there is a plan");
        assert_eq!(parsed(&run, "plan.json")["harness"], "researchgym");
        assert!(plan.contains("\"RG_RUN_DIR\"") && !plan.contains(&day), "by name only: {plan}");

        let array = parsed(&run, "logs/transcript.json");
        assert_eq!(array, Value::from(transcript(&run)));
        let last = array.as_array().and_then(|messages| messages.last()).expect("there are messages");
        assert_eq!((&last["type"], &last["subtype"]), (&"ResultMessage".into(), &"success".into()));
        let metadata = parsed(&run, "metadata.json");
        assert_eq!((&metadata["run_id"], &metadata["resume_generation"]), (&"exp".into(), &0.into()));
        assert_eq!(metadata["resume_session_id"], recovered["session_id"]);

        let resumed = stage.longhaul(["resume", "exp", "--repeat-task"]).against(server).output();
        assert_eq!(resumed.envelope(0)["run"]["attempts"], 2);
        assert_eq!(parsed(&run, "metadata.json")["resume_generation"], 1);
        assert_eq!(parsed(&run, "logs/transcript.json"), Value::from(transcript(&run)));
        for (name, fragment) in [("stdout", "\"type\":\"result\""), ("stderr", "")] {
            let path = run.logs_path().join(format!("exec.{name}.log"));
            let log = fs::read_to_string(path).expect("there is a log");
            let banners: Vec<&str> = log.lines().filter(|line| line.starts_with("===")).collect();
            assert_eq!(
                banners,
                [
                    "=== attempt 1 of run exp ===",
                    "=== end of attempt 1 ===",
                    "=== attempt 2 of run exp ===",
                    "=== end of attempt 2 ===",
                ]
            );
            assert!(log.contains(fragment) && !log.contains("\"content_block_delta\""), "{name}: {log}");
        }
    });
}

#[test]
fn plain_run_has_no_harness_files() {
    let (_stage, _server, run) = finished_run();
    for name in [
        "metadata.json",
        "logs/blocked_urls.json",
        "logs/transcript.json",
        "logs/exec.stdout.log",
        "logs/exec.stderr.log",
    ] {
        assert!(!run.path().join(name).exists(), "{name}");
    }
    assert!(parsed(&run, "plan.json").get("harness").is_none());
}

/// The documentation of the run directory.
const DOCUMENTED: &str = include_str!("../../../../docs/run-directory.md");

/// Returns the first column of the tables under a heading.
fn rows(heading: &str) -> BTreeSet<String> {
    let part =
        DOCUMENTED.split("\n## ").find(|part| part.starts_with(heading)).expect("the page has this section");
    let rows = part.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

/// The run uses nearly every feature: it is denied a tool, killed, recovered and resumed, for a harness.
#[test]
fn every_file_and_every_key_is_documented() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let args = ["--preset", "researchgym", "--deny-tools", "WebFetch", "--check", "true", "--budget", "100"];
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    let run = stage.run(&stage.agent(), &base_args).args(args).against(&server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.kill();
    assert_eq!(recover(&stage, &server, &[]).output().code, 0);
    assert_eq!(stage.longhaul(["resume", "@", "--repeat-task"]).against(&server).output().code, 0);
    let run = stage.only_run();
    let name = |path: &Path| {
        let name =
            path.strip_prefix(run.path()).expect("the path is below the directory").display().to_string();
        ["attempts", "checks"].iter().fold(name, |name, folder| {
            let numbered =
                |name: String, number| name.replace(&format!("{folder}/{number}"), &format!("{folder}/NNN"));
            ["001", "002"].into_iter().fold(name, numbered)
        })
    };
    let files = tidy::all_paths(run.path());
    let files: BTreeSet<String> = files.iter().filter(|path| path.is_file()).map(|path| name(path)).collect();
    let documented = rows("Files");
    assert!(files.is_subset(&documented), "{:?}", files.difference(&documented));
    // These files exist only after events that this run did not have, or while a run is active.
    let absent = documented.difference(&files).map(String::as_str).collect::<Vec<_>>();
    let rare = [
        "answers.json",
        "background.json",
        "disk-full",
        "input",
        "requests.txt",
        "summary/",
        "watchdog.json",
    ]
    .map(|name| format!("attempts/NNN/{name}"));
    let others = [
        "changes/",
        "diagnostic/",
        "logs/blocked_urls.json",
        "logs/notify-*.log",
        "notified/",
        // Only on macOS.
        "processes/TOKEN-BOOT/PID-START",
        "requests/",
        "reviews/NNN/",
        "sessions/",
        "trace.json",
        "workspace/",
    ];
    let rare = rare.iter().map(String::as_str).chain(others);
    assert_eq!(absent, rare.collect::<Vec<_>>());

    let used: BTreeSet<String> = transcript(&run).iter().flat_map(keys).collect();
    let documented = rows("logs/transcript.jsonl");
    assert!(used.is_subset(&documented), "{:?}", used.difference(&documented));
    let absent = documented.difference(&used).map(String::as_str).collect::<Vec<_>>();
    // Other tests cover these keys.
    assert_eq!(
        absent,
        [
            "background",
            "denied",
            "errors",
            "interrupted",
            "parent_tool_use_id",
            "subagent",
            "truncated_bytes",
            "wrap_up"
        ]
    );

    let plan = parsed(&run, "plan.json");
    let documented = rows("plan.json");
    assert!(keys(&plan).is_subset(&documented), "{:?}", keys(&plan).difference(&documented));
    let absent = documented.difference(&keys(&plan)).cloned().collect::<Vec<_>>();
    // Keys of options that this run does not set.
    let unset = ["diagnostic", "effects", "imported", "learn", "name", "network", "notify", "prices"];
    assert_eq!(absent, unset);
    let policy = &plan["policy"];
    let parts = [&policy["limits"], &policy["checks"], &plan["guards"], &plan["agent"], &plan["binary"]];
    for key in parts.map(keys).iter().flatten() {
        assert!(DOCUMENTED.contains(&format!("`{key}`")), "{key} is not documented");
    }

    let costs = parsed(&run, "logs/cost_summary.json");
    assert_eq!(keys(&costs), rows("logs/cost_summary.json"));
    let dollars = |key: &str| costs[key].as_f64().expect("dollars");
    assert_eq!(dollars("budget_limit_usd"), 100.0);
    let parts = dollars("remaining_budget_usd") + dollars("total_cost_usd");
    assert!((parts - 100.0).abs() < 1e-6, "{costs}");
    assert_eq!(keys(&parsed(&run, "status.json")), rows("status.json"));
    assert_eq!(keys(&parsed(&run, "changes.json")), rows("changes.json"));
    let inner =
        [&parsed(&run, "changes.json")["start"], &costs["time"], &costs["total_tokens"], &costs["turns"][0]]
            .map(keys);
    let others = [keys(&parsed(&run, "metadata.json")), keys(&parsed(&run, "logs/session.json"))];
    for key in inner.iter().chain(&others).flatten() {
        assert!(DOCUMENTED.contains(&format!("`{key}`")), "{key} is not documented");
    }
}

/// The transcript marks calls that Longhaul's guards deny, and names the guard as the source.
#[test]
fn denied_call_is_marked() {
    with_each_agent("denied calls in the transcript", |stage, agent, server| {
        let args =
            ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--deny-tools", "Bash"];
        let output = stage.run(agent, &args).against(server).output();
        output.envelope(0);
        let messages = transcript(&stage.only_run());
        let results: Vec<_> = messages.iter().filter(|message| message["kind"] == "tool_result").collect();
        assert_eq!(results.len(), 3, "{messages:?}");
        assert!(results.iter().all(|result| result["denied"] == true), "{results:?}");
        assert!(logs(stage, &[]).contains("denied: "));
        assert_transcript_complete(&stage.only_run());
    });
}

/// The transcript is written later, once its path is writable.
#[test]
fn unwritable_transcript_does_not_fail_the_run() {
    let (stage, server, run) = orphaned_run();
    wait_for_agent_exit(&run);
    let path = run.transcript_path();
    fs::remove_file(&path).expect("the file exists");
    DirBuilder::new().mode(0o700).create(&path).expect("creation succeeds");
    assert_done(&stage, &recover(&stage, &server, &[]).output().envelope(0), 1);
    assert!(path.is_dir() && parsed(&run, "logs/cost_summary.json")["turns"] == Value::Array(Vec::new()));
    fs::remove_dir(&path).expect("the directory is empty");
    assert_eq!(stage.longhaul(["resume", "@", "--repeat-task"]).against(&server).output().code, 0);
    assert_transcript_complete(&run);
}
