//! Summaries: a model summarizes the older work of a handoff prompt. If the model fails, the prompt has the
//! plain record.
//!
//! Each scenario runs with every available agent.

use crate::call::{Output, Running, wait_until};
use crate::harness::{self, Stage};
use crate::recovering::{recover, steps};
use crate::server::Server;
use crate::tidy;
use longhaul_core::DeadlineKind;
use longhaul_drill::api::RequestKind;
use longhaul_store::Argv;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of steps, each with a long text. Before the last answer, the conversation exceeds the model's
/// context.
const STEPS: u32 = 9;

const SUMMARY: &str = "- The first steps printed the numbers from 100 on.";
const MODEL: &str = "claude-haiku-4-5";
const HANDOFF_TOKENS: &str = "900";
const TITLE: &str = "Earlier work, as the model `claude-haiku-4-5` summarized it";

/// Starts an API with the steps. Requests without tools ask for a summary and get this reply.
fn start_server(side: &str) -> Server {
    let step = |step: u32| {
        format!(
            "I take step {step}.\n$ grep -qs ^{step} steps || echo {step} >> steps; seq {step}00 {step}99\n"
        )
    };
    let steps: String = (1..=STEPS).map(step).collect();
    Server::start(&format!(
        "{steps}All steps are taken.\n[env]\nDISABLE_COMPACT = \"1\"\n\
         [[fault]]\nturn = {full}\n\
         status = {{ code = 400, message = \"prompt is too long: 1200000 tokens > 1000000 maximum\" }}\n\
         [side]\ntext = \"{SUMMARY}\"\n{side}\n",
        full = STEPS + 1
    ))
}

fn with_each_agent(description: &str, side: &str, test: fn(&Stage, &Path, &Server)) {
    let test = |stage: &Stage, agent: &Path| test(stage, agent, &start_server(side));
    harness::with_each_agent(description, Stage::new, test);
}

const ARGS: [&str; 10] = [
    "p",
    "--permission-mode",
    "bypassPermissions",
    "--preset",
    "drill",
    "--verbose",
    "--handoff-tokens",
    HANDOFF_TOKENS,
    "--handoff-summary",
    MODEL,
];

/// Returns whether a session contains these words.
fn session_contains(stage: &Stage, words: &str) -> bool {
    let sessions = tidy::all_paths(&stage.user_home().join(".claude/projects"));
    let mut texts =
        sessions.iter().filter(|path| path.is_file()).filter_map(|path| fs::read_to_string(path).ok());
    texts.any(|text| text.contains(words))
}

/// Returns what `show` reports of the summary of the second attempt.
fn shown_summary(stage: &Stage) -> Value {
    let shown = stage.longhaul(["show", "@"]).output();
    let shown: Value = serde_json::from_str(&shown.stdout).expect("a run is shown");
    shown["attempts"][1]["summary"].clone()
}

/// Asserts that the run is done with every step taken once, and that the envelope matches the API's account.
/// Estimated cost may differ by this fraction.
fn assert_done(stage: &Stage, output: &Output, server: &Server, tolerance: f64) {
    let envelope = output.envelope(0);
    assert_eq!(envelope["result"], "All steps are taken.", "{envelope}");
    let expected_steps: String = (1..=STEPS).map(|step| format!("{step}\n")).collect();
    assert_eq!(steps(stage), expected_steps);
    let billed = server.api.request_log().cost().dollars();
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
    // Each of the three processes rounds to a millionth.
    assert!((cost - billed).abs() < 3e-6 + billed * tolerance, "{cost}, not {billed}");
    tidy::check(stage);
}

/// Returns how many summaries were requested.
fn summary_requests(server: &Server) -> usize {
    server.api.request_log().requests.iter().filter(|request| request.kind == RequestKind::Side).count()
}

/// Starts a run and returns once its summary is requested.
fn run_to_mid_summary(stage: &Stage, agent: &Path, server: &Server) -> Running {
    let run = stage.run(agent, &ARGS).against(server).start();
    wait_until("a summary is requested", || summary_requests(server) == 1);
    run
}

#[test]
fn handoff_contains_the_summary() {
    with_each_agent("a summary", "", |stage, agent, server| {
        let hook = stage.folder().join("hook-calls").display().to_string();
        let settings = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [
            { "type": "command", "command": format!("echo prompted >> {hook}") }
        ] }] } });
        fs::create_dir(stage.user_home().join(".claude")).expect("the stage is writable");
        fs::write(stage.user_home().join(".claude/settings.json"), settings.to_string())
            .expect("the stage is writable");
        let output = stage.run(agent, &ARGS).against(server).output();
        assert_done(stage, &output, server, 0.0);
        assert!(session_contains(stage, TITLE) && session_contains(stage, SUMMARY));
        let (account, shown) = (server.api.request_log(), shown_summary(stage));
        assert_eq!((account.side.len(), account.side[0].model.as_str()), (1, MODEL));
        assert_eq!(shown["outcome"], "written");
        let cost = account.side[0].cost().expect("a known price").dollars();
        assert!(
            (shown["total_cost_usd"].as_f64().expect("a cost") - cost).abs() < 1e-6,
            "{shown}, not {cost}"
        );
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).output();
        assert!(text.stdout.contains("older work was summarized"), "{text:?}");

        // The user's hooks run at most for the two attempts. The scripted agent has no hooks.
        let hook_calls = fs::read_to_string(&hook).unwrap_or_default();
        assert!(matches!(hook_calls.lines().count(), 0 | 2), "{hook_calls}");
        // The summary has no session. Its output is in the run directory, and its arguments do not contain
        // the prompt.
        let sessions = tidy::all_paths(&stage.user_home().join(".claude/projects"));
        let is_session = |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        assert_eq!(sessions.iter().filter(is_session).count(), 2, "{sessions:?}");
        let summary = stage.only_run().attempt(2).summary();
        assert!(fs::read_to_string(summary.stream_path()).is_ok_and(|stream| stream.contains(SUMMARY)));
        let argv = fs::read_to_string(summary.path_of::<Argv>()).expect("the arguments are stored");
        assert!(argv.contains(MODEL) && !argv.contains("take step"), "{argv}");
    });
}

#[test]
fn failed_summary_leaves_the_plain_record() {
    with_each_agent("a failed summary", "fault = { status = { code = 400 } }", |stage, agent, server| {
        let output = stage.run(agent, &ARGS).against(server).output();
        assert_done(stage, &output, server, 0.0);
        assert!(
            output.stderr.contains("no summary of older work: the API rejected the request"),
            "{output:?}"
        );
        assert!(
            !session_contains(stage, "summarized it")
                && session_contains(stage, "Earlier work, one line per step")
        );
        assert_eq!(shown_summary(stage)["outcome"], json!({ "failed": "bad_request" }));
        assert!(server.api.request_log().side.is_empty());
    });
}

#[test]
fn hanging_summary_is_stopped() {
    let hangs = "fault = { silence = { after = \"mid-text\" } }";
    with_each_agent("a hanging summary", hangs, |stage, agent, server| {
        let output = stage.run(agent, &ARGS).against(server).output();
        // The cost of its earlier output is estimated.
        assert_done(stage, &output, server, 0.02);
        assert!(output.stderr.contains("no summary of older work: it took too long"), "{output:?}");
        assert!(
            !session_contains(stage, "summarized it")
                && session_contains(stage, "Earlier work, one line per step")
        );
        assert_eq!((summary_requests(server), server.api.request_log().side.len()), (1, 1));
        let estimated = output.envelope(0)["usage"]["estimated_cost_usd"].as_f64();
        assert!(estimated.is_some_and(|estimated| estimated > 0.0), "{output:?}");
    });
}

#[test]
fn cancel_stops_a_summary_at_once() {
    with_each_agent("a cancelled summary", "fault = { silence = {} }", |stage, agent, server| {
        let run = run_to_mid_summary(stage, agent, server);
        wait_until("the status names the summary", || {
            let status = stage.only_run().status();
            status.is_ok_and(|status| status.deadline == Some(DeadlineKind::SummaryTimeout))
        });
        run.signal(Signal::INT);
        let output = run.output();
        output.envelope(130);
        assert_eq!(shown_summary(stage)["outcome"], json!({ "failed": "interrupted" }));
        tidy::check(stage);
        // After a resume the summary is requested again, with its full timeout.
        let resumed = stage.longhaul(["resume", "@"]).against(server).output();
        resumed.envelope(0);
        assert_eq!(summary_requests(server), 2);
    });
}

#[test]
fn recovery_does_not_request_the_summary_again() {
    let hangs = "fault = { silence = { after = \"mid-text\" } }";
    with_each_agent("the death of a supervisor during a summary", hangs, |stage, agent, server| {
        let run = run_to_mid_summary(stage, agent, server);
        wait_until("the model has started to answer", || server.api.request_log().side.len() == 1);
        run.kill();
        let output = recover(stage, server, &["@"]).output();
        assert_done(stage, &output, server, 0.02);
        assert_eq!(
            (summary_requests(server), shown_summary(stage)["outcome"].clone()),
            (1, json!({ "failed": "crashed" }))
        );
        assert!(
            !session_contains(stage, "summarized it")
                && session_contains(stage, "Earlier work, one line per step")
        );
    });
}

#[test]
fn summary_finished_without_supervisor_is_used() {
    with_each_agent(
        "a summary without a supervisor",
        "fault = { hold = { for_s = 0.5 } }",
        |stage, agent, server| {
            run_to_mid_summary(stage, agent, server).kill();
            wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
            let output = recover(stage, server, &["@"]).output();
            assert_done(stage, &output, server, 0.0);
            assert_eq!(
                (summary_requests(server), shown_summary(stage)["outcome"].clone()),
                (1, json!("written"))
            );
            assert!(session_contains(stage, TITLE) && session_contains(stage, SUMMARY));
        },
    );
}

#[test]
fn short_record_needs_no_summary() {
    let (stage, server) = (Stage::new(), start_server(""));
    let args: Vec<&str> = ARGS.iter().map(|arg| if *arg == HANDOFF_TOKENS { "12000" } else { arg }).collect();
    assert_done(&stage, &stage.run(&stage.agent(), &args).against(&server).output(), &server, 0.0);
    assert_eq!(
        (summary_requests(&server), shown_summary(&stage)["outcome"].clone()),
        (0, json!("not_needed"))
    );
    // Its row ends where the others end: with the cost.
    let shown = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
    let width = |end: &str| shown.lines().find(|line| line.ends_with(end)).map(|line| line.chars().count());
    let summary = shown.lines().find(|line| line.contains("no summary needed: ")).expect("a row");
    assert_eq!(Some(summary.chars().count()), width("  cost"), "{shown}");
}

/// Returns every file of the run with its content.
fn files(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = tidy::all_paths(stage.only_run().path());
    files.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

fn handoff(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Running {
    let call = stage.longhaul([
        "handoff",
        "--handoff-tokens",
        HANDOFF_TOKENS,
        "--handoff-summary",
        MODEL,
        "--agent-path",
    ]);
    call.args([agent]).args(args).against(server).start()
}

/// Prints the handoff prompt of this work with and without a summary.
fn check_handoffs(stage: &Stage, agent: &Path, server: &Server) {
    let run = stage.run(agent, &ARGS).against(server).output();
    run.envelope(0);
    let before = files(stage);
    // Without a flag, the prompt has the size that the run requested.
    let printed = stage.longhaul(["handoff", "@"]).output();
    let sized = stage.longhaul(["handoff", "@", "--handoff-tokens", HANDOFF_TOKENS]).output();
    let longer = stage.longhaul(["handoff", "@", "--handoff-tokens", "12000"]).output();
    assert_eq!((printed.code, &printed.stdout), (0, &sized.stdout), "{printed:?}");
    assert!(printed.stdout.len() < longer.stdout.len(), "{longer:?}");
    let stream = stage.only_run().attempt(1).stream_path().display().to_string();
    for source in [&["@"][..], &["--from-transcript", &stream]] {
        let plain = stage.longhaul(["handoff", "--handoff-tokens", HANDOFF_TOKENS]).args(source).output();
        let printed = handoff(stage, agent, server, source).output();
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{printed:?}");
        assert!(printed.stdout.contains(TITLE) && printed.stdout.contains(SUMMARY), "{printed:?}");
        let broken = start_server("fault = { status = { code = 400 } }");
        let missing = stage.folder().join("no-agent");
        for (agent, server, reason) in
            [(agent, &broken, "rejected the request"), (&missing, server, "no such file")]
        {
            let printed = handoff(stage, agent, server, source).output();
            assert_eq!((printed.code, &printed.stdout), (0, &plain.stdout), "{printed:?}");
            assert!(printed.stderr.lines().count() == 1 && printed.stderr.contains(reason), "{printed:?}");
        }
        let hanging = start_server("fault = { silence = {} }");
        let call = handoff(stage, agent, &hanging, source);
        wait_until("a summary is requested", || summary_requests(&hanging) == 1);
        call.signal(Signal::INT);
        let output = call.output();
        assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{output:?}");
        assert!(output.duration < Duration::from_secs(30), "{output:?}");
    }
    assert_eq!(files(stage), before, "the run is unchanged");
    tidy::check(stage);
    let entries = fs::read_dir(stage.folder()).expect("the stage is readable").flatten();
    let entries: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
    assert!(!entries.iter().any(|name| name.starts_with("longhaul-summary-")), "{entries:?}");
}

#[test]
fn handoff_is_printed_with_and_without_a_summary() {
    with_each_agent("a printed handoff prompt", "", check_handoffs);
}

#[test]
fn summary_model_is_required_and_shown_by_dry_run() {
    let stage = Stage::new();
    let agent = stage.agent();
    for model in ["", "  "] {
        let run = stage.run(&agent, &["p", "--handoff-summary", model]).output();
        let handoff = stage.longhaul(["handoff", "@", "--handoff-summary", model]).output();
        for output in [run, handoff] {
            assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
            assert!(output.stderr.contains("expected the name of a model"), "{output:?}");
        }
    }
    let planned = stage.run(&agent, &["p", "--handoff-summary", MODEL, "--dry-run"]).output();
    let planned: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    assert_eq!(planned["handoff_summary"]["model"], MODEL);
    assert_eq!(planned["handoff_summary"]["timeout_ms"], 60_000);
    assert!(
        planned["handoff_summary"]["command"]
            .as_str()
            .is_some_and(|words| words.contains("--no-session-persistence"))
    );
    let text = stage
        .run(&agent, &["p", "--handoff-summary", MODEL, "--dry-run", "--output-format", "text"])
        .output();
    assert!(text.stdout.contains("within 1m") && text.stdout.contains(MODEL), "{text:?}");
    assert!(!stage.home().exists());
}
