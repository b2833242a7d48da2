//! Reviews: a model reads the work when the agent reports that it is done. Tests with an agent run with every
//! available agent.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{play_with_each_agent, recover};
use crate::server::Server;
use crate::tidy;
use crate::workflows::run_loop;
use longhaul_store::Argv;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A worker that claims too early that it is done, and a reviewer that notices. The reviewer's prompt contains
/// the worker's last message, and the worker's prompt contains the reviewer's findings.
const EARLY: &str = "
I write the first part.
$ echo one >> parts
Part one is written, so all is done.
? Part one is written, so all is done.
I write to the file, as a reviewer must not.
! write = { path = 'parts', content = 'by the reviewer' }
I give my verdict.
! call = { name = 'StructuredOutput', input = { complete = false, missing = ['part two is missing in `parts`', 'so is its title'] } }
Reviewed.
? part two is missing
Indeed.
$ echo two >> parts
Both parts are written.
? Both parts are written.
I give my verdict.
! call = { name = 'StructuredOutput', input = { complete = true, missing = [] } }
Reviewed.
";

/// A worker whose work passes its first review. `tables` are those of a scenario file.
fn honest(tables: &str) -> String {
    format!(
        "
I write the file.
$ echo one >> parts
The file is written.
? The file is written.
I give my verdict.
! call = {{ name = 'StructuredOutput', input = {{ complete = true, missing = [] }} }}
Reviewed.
{tables}"
    )
}

const ARGS: [&str; 6] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--review"];

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str], code: i32) -> Value {
    let envelope = stage.run(agent, &ARGS).args(args).against(server).output().envelope(code);
    assert_billed(server, &envelope, 0.0);
    tidy::check(stage);
    envelope
}

/// Asserts that the envelope has the cost that the API billed, with that of the reviewers. Estimated cost may
/// differ by this fraction.
fn assert_billed(server: &Server, envelope: &Value, tolerance: f64) {
    let billed = server.api.request_log().cost().dollars();
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
    // Each process rounds to a millionth.
    assert!((cost - billed).abs() < 6e-6 + billed * tolerance, "{cost}, not {billed}");
}

/// Makes the working directory a repository, so that the reviewer receives the changes.
fn start_repository(stage: &Stage) {
    let commands =
        "git init -q; git -c user.name=me -c user.email=me@example.com commit -qm first --allow-empty";
    let status = Command::new("sh").args(["-c", commands]).current_dir(stage.work()).status();
    assert!(status.expect("there is a shell").success());
}

fn shown(stage: &Stage) -> Value {
    serde_json::from_str(&stage.longhaul(["show", "@"]).output().stdout).expect("a run is shown")
}

fn check_log(stage: &Stage, check: u32) -> String {
    fs::read_to_string(stage.only_run().check_output_path(check)).expect("the log is stored")
}

#[test]
fn reviewer_catches_a_false_done() {
    play_with_each_agent(EARLY, "a reviewer that finds something missing", |stage, agent, server| {
        start_repository(stage);
        let envelope = run(stage, agent, server, &[], 0);
        assert_eq!(envelope["result"], "Both parts are written.", "{envelope}");
        assert_eq!(
            (&envelope["run"]["verified"], &envelope["run"]["attempts"]),
            (&json!("review"), &json!(2)),
            "{envelope}"
        );
        // The reviewer could not write.
        let parts = fs::read_to_string(stage.work().join("parts")).expect("the file exists");
        assert_eq!(parts, "one\ntwo\n");
        assert_eq!(
            check_log(stage, 1),
            "the reviewer found 2 things missing:\n- part two is missing in `parts`\n- so is its title\n"
        );
        assert_eq!(check_log(stage, 2), "the reviewer found nothing missing\n");

        // The reviewer received the task, the change and the last message; none is in its arguments.
        let requests = server.api.request_log().requests;
        let prompt = requests.iter().find(|request| request.prompt.contains("You review its work"));
        let prompt = &prompt.expect("a review was requested").prompt;
        assert!(prompt.contains("+one") && prompt.contains("Part one is written"), "{prompt}");
        let review = stage.only_run().review(1);
        let argv = fs::read_to_string(review.path_of::<Argv>()).expect("the arguments are stored");
        assert!(argv.contains("--json-schema") && !argv.contains("Part one"), "{argv}");
        assert!(review.stream_path().exists() && stage.only_run().review(2).stream_path().exists());

        let shown = shown(stage);
        let reviews: Vec<&Value> =
            shown["checks"].as_array().expect("checks").iter().map(|c| &c["review"]).collect();
        assert_eq!(reviews[0]["result"], json!({ "failed": 2 }), "{shown}");
        assert_eq!(reviews[1]["result"], "passed", "{shown}");
        assert!(reviews[0]["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{shown}");
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
        assert!(text.contains("the reviewer found 2 things missing"), "{text}");
        assert!(text.contains("verified by the reviewer"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches("; the review cost $").count(), 2, "{text}");
        let why = stage.longhaul(["why", "@"]).output().stdout;
        assert!(why.contains("the reviewer found 2 things missing"), "{why}");
    });
}

#[test]
fn usage_of_reviewers_counts_for_their_models() {
    let server = Server::start(&honest(""));
    let check = |review: &str, count: usize| {
        let stage = Stage::new();
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", review];
        let call = stage.run(&stage.agent(), &args).args(["--output-format", "stream-json"]);
        let output = call.against(&server).output();
        assert_eq!(output.code, 0, "{output:?}");
        let last = output.stdout.lines().last().expect("lines are printed");
        let result: Value = serde_json::from_str(last).expect("it is JSON");
        let models = result["modelUsage"].as_object().expect("an object");
        let costs = models.values().map(|usage| usage["costUSD"].as_f64().expect("a cost"));
        let total = result["total_cost_usd"].as_f64().expect("a cost");
        assert!((costs.sum::<f64>() - total).abs() < 1e-9, "{result}");
        let printed = stage.longhaul(["cost", "--by", "model"]).output().stdout;
        let printed: Value = serde_json::from_str(&printed).expect("it is JSON");
        let rows = printed["rows"].as_array().expect("rows").iter();
        let mut names: Vec<&str> = rows.map(|row| row["key"].as_str().unwrap_or("unknown")).collect();
        names.sort_unstable();
        assert_eq!(names, models.keys().collect::<Vec<_>>(), "{printed}");
        assert_eq!(names.len(), count, "{printed}");
    };
    check("--review", 1);
    check("--review=claude-haiku-4-5", 2);
}

#[test]
fn work_that_never_passes_its_review_fails() {
    let stage = Stage::new();
    let server = Server::start(EARLY);
    let envelope = run(&stage, &stage.agent(), &server, &["--max-failed-checks", "1"], 24);
    assert_eq!(envelope["run"]["outcome"], "check_failed", "{envelope}");
    assert_eq!(envelope["run"]["verified"], "none", "{envelope}");
    assert!(envelope["errors"].to_string().contains("part two is missing"), "{envelope}");
}

/// Runs work that is done at once, with a fault of its reviewer. Asserts what verified it.
fn verified_run(fault: &str, args: &[&str], verified: &str) -> Stage {
    let stage = Stage::new();
    let server = Server::start(&honest(fault));
    let envelope = run(&stage, &stage.agent(), &server, args, 0);
    assert_eq!(envelope["run"]["verified"], verified, "{envelope}");
    stage
}

#[test]
fn commands_run_before_the_reviewer() {
    let stage = verified_run("", &["--check", "grep -q one parts"], "checks");
    assert_eq!(check_log(&stage, 1), "$ grep -q one parts\nthe reviewer found nothing missing\n");
    // Work that fails a command is not reviewed.
    let stage = Stage::new();
    let server = Server::start(&honest(""));
    let args = ["--check", "false", "--max-failed-checks", "1"];
    run(&stage, &stage.agent(), &server, &args, 24);
    assert!(!stage.only_run().review(1).path().exists());
}

#[test]
fn reviewer_survives_an_outage() {
    let stage = verified_run(
        "[[fault]]\nturn = 0\ntimes = 2\nstatus = { code = 529 }\n",
        &["--inner-retries", "0"],
        "review",
    );
    let shown = shown(&stage);
    assert_eq!(shown["checks"][0]["review"]["processes"], 3, "{shown}");
    assert!(check_log(&stage, 1).starts_with("the reviewer gave no verdict: "), "{}", check_log(&stage, 1));
}

#[test]
fn wait_of_a_reviewer_is_shown_with_its_cause_and_without_an_attempt() {
    let fault = "[[fault]]\nturn = 0\ntimes = \"always\"\nstatus = { code = 529 }\n";
    let (stage, server) = (Stage::new(), Server::start(&honest(fault)));
    let args = ["--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none", "--inner-retries", "0"];
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--review"];
    let waiting = stage.run(&stage.agent(), &base_args).args(args).against(&server).start();
    let status = || -> Value {
        serde_json::from_str(&stage.longhaul(["status"]).output().stdout).expect("an object is printed")
    };
    wait_until("the reviewer waits", || status()["waiting"] == 1);
    let shown = status()["runs"][0]["activity"].as_str().expect("a text").to_owned();
    assert!(shown.starts_with("waiting until ") && shown.ends_with(": the API is overloaded"), "{shown}");
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
    waiting.output();
}

#[test]
fn workflow_names_the_cause_of_a_reviewers_wait() {
    let fault = "[[fault]]\nturn = 0\ntimes = 1\nstatus = { code = 529 }\n";
    let (stage, server) = (Stage::new(), Server::start(&honest(fault)));
    let file = "[[phase]]\nname = \"work\"\nprompt = \"Work.\"\n";
    // A shorter wait may be over before the workflow sees it.
    let wait = ["--retry-base", "3s", "--retry-cap", "3s", "--retry-jitter", "none"];
    let args = [&["--review", "--inner-retries", "0"][..], &wait].concat();
    let output = run_loop(&stage, &server, file, &args).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains(": the API is overloaded; waiting until "), "{output:?}");
}

#[test]
fn hanging_reviewer_is_replaced() {
    let stage = verified_run(
        "[[fault]]\nturn = 0\ntimes = 1\nsilence = {}\n",
        &["--review-timeout", "10s"],
        "review",
    );
    assert_eq!(shown(&stage)["checks"][0]["review"]["processes"], 2);
}

#[test]
fn missing_verdict_is_never_done() {
    // The key is rejected, but only for the reviewer.
    let stage = Stage::new();
    let server = Server::start(&honest("[[fault]]\nturn = 0\ntimes = \"always\"\nstatus = { code = 401 }\n"));
    let envelope = run(&stage, &stage.agent(), &server, &[], 23);
    assert_eq!(envelope["run"]["outcome"], "needs_person", "{envelope}");
    // The API never recovers.
    let stage = Stage::new();
    let server = Server::start(&honest("[[fault]]\nturn = 0\ntimes = \"always\"\nstatus = { code = 529 }\n"));
    let envelope =
        run(&stage, &stage.agent(), &server, &["--inner-retries", "0", "--outage-limit", "2s"], 75);
    assert_eq!(envelope["run"]["outcome"], "retry_later", "{envelope}");
    assert!(envelope["errors"].to_string().contains("the reviewer gave no verdict"), "{envelope}");
}

#[test]
fn review_starts_again_after_its_supervisor_died() {
    play_with_each_agent(
        &honest("[[fault]]\nturn = 0\ntimes = 1\nhold = { for_s = 60 }\n"),
        "the death of a supervisor during a review",
        |stage, agent, server| {
            let running = stage.run(agent, &ARGS).against(server).start();
            let is_reviewed =
                |log: &longhaul_drill::api::LoggedRequest| log.prompt.contains("You review its work");
            wait_until("a review is requested", || server.api.request_log().requests.iter().any(is_reviewed));
            running.kill();
            let envelope = recover(stage, server, &[]).output().envelope(0);
            assert_eq!(envelope["run"]["verified"], "review", "{envelope}");
            assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
            assert_billed(server, &envelope, 0.0);
            assert_eq!(shown(stage)["checks"][0]["review"]["processes"], 2);
            tidy::check(stage);
        },
    );
}

#[test]
fn review_is_shown_by_dry_run_and_can_be_switched_off() {
    let stage = Stage::new();
    let agent = stage.agent();
    let dry_run = |args: &[&str]| -> Value {
        let output = stage.run(&agent, &["p", "--dry-run"]).args(args).output();
        serde_json::from_str(&output.stdout).expect("JSON")
    };
    let planned = dry_run(&["--review=haiku", "--review-timeout", "3m"]);
    assert_eq!(planned["review"]["model"], "haiku", "{planned}");
    assert_eq!(planned["review"]["timeout_ms"], 180_000, "{planned}");
    assert!(planned["review"]["command"].as_str().is_some_and(|words| words.contains("Read,Grep,Glob")));
    assert_eq!(planned["changed"]["review"], "flag", "{planned}");
    assert_eq!(dry_run(&["--review=none"])["review"], Value::Null);
    let user_config = stage.user_home().join(".config/longhaul/config.toml");
    fs::create_dir_all(user_config.parent().expect("a parent")).expect("the stage is writable");
    fs::write(&user_config, "review = \"haiku\"\n").expect("the stage is writable");
    assert_eq!(dry_run(&[])["review"]["model"], "haiku");
    assert_eq!(dry_run(&["--review=none"])["review"], Value::Null);
}

#[test]
fn impossible_review_is_rejected() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    check(&["--review-timeout", "5m"], &["--review-timeout needs a review", "pass --review"]);
    check(&["--review", "--review-timeout", "none"], &["needs a time limit"]);
    check(&["--review="], &["expected the name of a model"]);
    check(&["--review", "--keep-going"], &["cannot be combined"]);
    let acp = stage.longhaul(["run", "--agent", "acp", "--review", "p", "--", "true"]).output();
    assert_eq!(acp.code, 2, "{acp:?}");
    acp.assert_error(&["--review cannot be used with `--agent acp`", "leave --review out"]);
    assert!(stage.runs().is_empty());
}
