//! Limits over all runs of a workflow: its budget with parallel runs, also across a crash, and the memory reserve.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::own_script::billed;
use crate::server::Server;
use crate::tidy;
use crate::workflows::{envelope, only_workflow, run_loop};
use longhaul_drill::price;
use serde_json::Value;
use std::fs;

const PARALLEL: u32 = 4;

/// More work than the budget pays for, in runs that work at the same time.
const COSTLY: &str = r#"
max_parallel = 4
budget = 0.06
[[phase]]
name = "work"
fan_out = { command = "seq 12" }
prompt = "Take some steps for {{ item }}."
"#;

/// Runs of eight steps.
fn costly_script() -> String {
    let step = "The next step.\n$ echo step >> steps; sleep 0.1\n";
    format!("I save my work, and stop.\n? Take some steps\n{}All steps are taken.\n", step.repeat(8))
}

/// Asserts that the cost is at most the budget and a response of each run, and that all reports agree on it. The
/// usage of `lost` responses reached no file, because their agents were killed. They were billed, but no limit can
/// count them.
fn assert_within_budget(stage: &Stage, server: &Server, output: &Output, lost: u32, title: &str) {
    let envelope = envelope(output, 21);
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
    let log = server.api.request_log();
    let prices = log.billed().filter_map(|message| price(&message.model, &message.tokens));
    let largest = prices.map(|price| price.dollars()).fold(0.0, f64::max);
    let most = 0.06 + f64::from(PARALLEL) * largest;
    let unknown = f64::from(lost) * largest;
    let billed = billed(server);
    assert!(billed <= most + unknown, "{title}: billed {billed}, at most {most} and {unknown}: {envelope}");
    assert!(cost <= most, "{title}: {cost}, at most {most}: {envelope}");
    assert_eq!(envelope["workflow"]["phases"][0]["status"], "stopped", "{title}: {envelope}");
    let errors = envelope["errors"].to_string();
    assert!(errors.contains("used up its share of the budget"), "{title}: {errors}");
    // The budget is used, not just kept.
    assert!(cost >= 0.03, "{title}: {envelope}");
    let statuses = stage.runs().into_iter().map(|run| run.status().expect("a status"));
    let sum: f64 = statuses.map(|status| status.total_cost_usd.0.as_dollars()).sum();
    // The API bills fractions of a micro-dollar.
    let is_same = |one: f64, other: f64| (one - other).abs() < 1e-4;
    assert!(is_same(cost, sum), "{title}: {cost}, the runs cost {sum}: {envelope}");
    assert!((cost - billed).abs() < unknown + 1e-4, "{title}: {cost}, billed {billed}: {envelope}");
    let by_workflow = stage.longhaul(["cost", "--by", "workflow"]).output();
    let by_workflow: Value = serde_json::from_str(&by_workflow.stdout).expect("an object is printed");
    let group = &by_workflow["rows"][0];
    assert_eq!(group["key"], envelope["workflow"]["id"], "{title}: {by_workflow}");
    assert!(group["total_cost_usd"].as_f64().is_some_and(|all| is_same(cost, all)), "{title}: {by_workflow}");
}

#[test]
fn budget_of_parallel_runs_is_exceeded_by_at_most_the_responses_in_flight() {
    let (stage, server) = (Stage::new(), Server::start(&costly_script()));
    let output = run_loop(&stage, &server, COSTLY, &[]).output();
    assert_within_budget(&stage, &server, &output, 0, "without a kill");
}

/// Kills the supervisor after this many steps, and recovers the workflow.
#[test]
fn budget_holds_across_crashes() {
    for kills in [&[2][..], &[20], &[10, 25]] {
        let (stage, server) = (Stage::new(), Server::start(&costly_script()));
        let mut running = run_loop(&stage, &server, COSTLY, &[]).start();
        for steps in kills {
            let taken = || {
                let text = fs::read_to_string(stage.work().join("steps")).unwrap_or_default();
                text.lines().count() >= *steps
            };
            wait_until("steps are taken", taken);
            running.kill();
            // A run of a workflow means the workflow.
            let run = stage.runs()[0].id().to_string();
            running = stage.longhaul(["recover", &run]).against(&server).start();
        }
        assert_within_budget(&stage, &server, &running.output(), 0, &format!("killed after {kills:?} steps"));
    }
}

/// No limit of the workflow helps if a phase limits its runs.
#[test]
fn exhausted_limit_of_run_is_raised_in_run() {
    let workflow = "[[phase]]\nname = \"work\"\nprompt = \"Take some steps.\"\n[phase.run]\nmax_tokens = 1\n";
    let server = Server::start(&costly_script());
    let run_with = |stage: &Stage, args: &[&str]| {
        let envelope = envelope(&run_loop(stage, &server, workflow, args).output(), 21);
        let id = envelope["workflow"]["id"].as_str().expect("an id").to_owned();
        let (run, next) = (stage.runs()[0].id().clone(), &envelope["workflow"]["next"]);
        let raise = next[0].as_str().expect("a command");
        assert!(raise.starts_with(&format!("longhaul resume {run} --max-tokens ")), "{envelope}");
        assert_eq!(next[1], format!("longhaul resume {id}"), "{envelope}");
        let reason = format!("the token limit of run {run} stopped the workflow");
        assert_eq!(envelope["errors"][0], reason, "{envelope}");
        id
    };
    run_with(&Stage::new(), &["--budget", "90", "--time-limit", "90h"]);
    let stage = Stage::new();
    let id = run_with(&stage, &[]);
    for (flag, limit) in [("--add-budget=1", "budget"), ("--add-time=1h", "time limit")] {
        let rejected = stage.longhaul(["resume", &id, flag]).output();
        let hint = format!("hint: leave {} out", flag.split('=').next().unwrap_or_default());
        rejected.assert_error(&[&format!("the workflow has no {limit} to add to"), &hint]);
    }
    let run = stage.runs()[0].id().to_string();
    let raised = stage.longhaul(["resume", &run, "--max-tokens", "10M"]).against(&server).output();
    assert_eq!(raised.code, 0, "{raised:?}");
    envelope(&stage.longhaul(["resume", &id]).against(&server).output(), 0);
}

/// The workflow continues without the run that used up its budget, so the outcome does not name the limit.
#[test]
fn partial_workflow_is_resumed_with_a_larger_budget() {
    let file = "budget = 0.005\n[[phase]]\nname = \"work\"\nprompt = \"Take some steps.{% for hint in hints %} {{ hint }}{% endfor %}\"\non = { over_budget = \"continue\" }\n";
    let (stage, server) = (Stage::new(), Server::start(&costly_script()));
    let ended = envelope(&run_loop(&stage, &server, file, &[]).output(), 27);
    let id = ended["workflow"]["id"].as_str().expect("an id");
    let next = ended["workflow"]["next"][0].as_str().expect("a command");
    assert!(next.starts_with(&format!("longhaul resume {id} --add-budget 0.0")), "{ended}");
    let rejected = stage.longhaul(["resume", id]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["cannot resume workflow", &format!("`{next}`")]);
    let hinted = stage.longhaul(["hint", id, "Be brief."]).output();
    assert!(hinted.stderr.contains(&format!("`{next}` continues it")), "{hinted:?}");
    let (_, flag) = next.split_once(" --").expect("a flag");
    let (flag, amount) = flag.split_once(' ').expect("an amount");
    let resumed = stage.longhaul(["resume", id, &format!("--{flag}={amount}")]).against(&server).output();
    envelope(&resumed, 0);
}

/// Kills all processes: the supervisor, the agents and their tools.
#[test]
fn budget_holds_across_power_failures() {
    for point in [40, 90, 150] {
        let (stage, server) = (Stage::new(), Server::start(&costly_script()));
        let call = run_loop(&stage, &server, COSTLY, &[]).env("LONGHAUL_FAILPOINT", format!("all@{point}"));
        assert!(call.start().output_unless_killed().is_none(), "point {point} is never passed");
        let output = stage.longhaul(["recover", "@"]).against(&server).output();
        assert_within_budget(&stage, &server, &output, PARALLEL, &format!("all killed at point {point}"));
    }
}

/// Tests that run at the same time may have the same setting.
#[test]
fn power_failure_kills_no_process_of_another_test() {
    const SETTING: (&str, &str) = ("LONGHAUL_FAILPOINT", "all@1");
    let (stage, other, server) = (Stage::new(), Stage::new(), Server::start(&costly_script()));
    let idle = other.program("tail").args(["-f", "/dev/null"]).env(SETTING.0, SETTING.1).start();
    let call = run_loop(&stage, &server, COSTLY, &[]).env(SETTING.0, SETTING.1);
    assert!(call.start().output_unless_killed().is_none(), "the failpoint kills it");
    assert_eq!(tidy::processes(other.folder()).len(), 1, "the other process was killed");
    drop(idle);
}

#[test]
fn workflow_with_a_budget_warns_once_of_unpriced_usage() {
    // Each agent dies before it reports its cost.
    let server = Server::start(
        "I work.\n$ test -e $LONGHAUL_RUN && exit 0; touch $LONGHAUL_RUN; kill -KILL $PPID\nDone.\n",
    );
    let phase = "[[phase]]\nname = \"work\"\nprompt = \"Work.\"\nfan_out = { list = [\"one\", \"two\"] }\n";
    let check = |limit: &str, expected: usize| {
        let stage = Stage::new();
        let args = ["--model", "claude-unheard-of-9"];
        let output = run_loop(&stage, &server, &format!("{limit}{phase}"), &args).output();
        envelope(&output, 0);
        assert!(stage.runs().iter().all(|run| run.status().is_ok_and(|status| status.usage.unpriced)));
        assert_eq!(output.stderr.matches("has no known price").count(), expected, "{limit}: {output:?}");
        let warnings = only_workflow(&stage).warnings(1).expect("they can be read");
        assert_eq!(warnings.len(), expected, "{limit}: {warnings:?}");
    };
    check("budget = 5.0\n", 1);
    check("", 0);
}

/// Two runs, of which the first works until a file exists.
const TWO: &str = r#"
max_parallel = 2
[[phase]]
name = "work"
fan_out = { list = ["one", "two"] }
prompt = "Work on {{ item }}."
"#;

const TWO_SCRIPT: &str = "
I continue.
? Work on
I work.
$ echo started >> started; for i in $(seq 900); do test -e go && exit 0; sleep 0.1; done
Done.
";

fn starts(stage: &Stage) -> usize {
    fs::read_to_string(stage.work().join("started")).unwrap_or_default().lines().count()
}

#[test]
fn memory_reserve_delays_starts_while_a_run_is_live_and_says_so() {
    let (stage, server) = (Stage::new(), Server::start(TWO_SCRIPT));
    let running = run_loop(&stage, &server, TWO, &["--memory-reserve", "900 TB"]).start();
    wait_until("the first run works", || starts(&stage) == 1);
    let id = only_workflow(&stage).id().to_string();
    let status = || {
        let output = stage.longhaul(["status", &id]).output();
        let status: Value = serde_json::from_str(&output.stdout).expect("an object is printed");
        status["workflows"][0].clone()
    };
    wait_until("the status names the reason", || status()["deadline"] == "memory");
    let shown = status();
    let items = &shown["phases"][0]["items"];
    assert_eq!([&items[0]["status"], &items[1]["status"]], ["running", "pending"], "{shown}");
    assert_eq!(shown["status"], "running", "a run works: {shown}");
    let text = stage.longhaul(["status", &id]).with_text_output().output().stdout;
    assert!(text.contains("running, the next run waits for memory"), "{text}");
    assert_eq!(stage.runs().len(), 1);
    fs::write(stage.work().join("go"), "").expect("the file is written");
    let output = running.output();
    envelope(&output, 0);
    assert_eq!(stage.runs().len(), 2);
    // The first start never waits, because no run could free memory.
    assert_eq!(output.stderr.matches("of memory are available").count(), 1, "{}", output.stderr);
    let line = output.stderr.lines().find(|line| line.contains("of memory")).unwrap_or_default();
    assert!(line.contains("the next run waits: only"), "{line}");
}

#[test]
fn small_memory_reserve_delays_nothing() {
    let (stage, server) = (Stage::new(), Server::start(TWO_SCRIPT));
    let running = run_loop(&stage, &server, TWO, &["--memory-reserve", "1 MB"]).start();
    wait_until("both runs work", || starts(&stage) == 2);
    fs::write(stage.work().join("go"), "").expect("the file is written");
    let output = running.output();
    envelope(&output, 0);
    assert!(!output.stderr.contains("memory"), "{}", output.stderr);
}

#[test]
fn time_limit_stops_the_live_runs_and_the_printed_command_continues() {
    let (stage, server) = (Stage::new(), Server::start(TWO_SCRIPT));
    let output = run_loop(&stage, &server, TWO, &["--time-limit", "15s"]).output();
    let ended = envelope(&output, 22);
    assert_eq!(ended["workflow"]["outcome"], "out_of_time", "{ended}");
    let items = &ended["workflow"]["phases"][0]["items"];
    assert_eq!([&items[0]["status"], &items[1]["status"]], ["out_of_time", "out_of_time"], "{ended}");
    assert_eq!((starts(&stage), tidy::processes(stage.folder()).len()), (2, 0), "the runs are stopped");
    fs::write(stage.work().join("go"), "").expect("the file is written");
    let next = ended["workflow"]["next"][0].as_str().expect("a command");
    let exhausted = stage.longhaul(["resume", "@"]).against(&server).output();
    assert_eq!(exhausted.code, 2, "{exhausted:?}");
    exhausted.assert_error(&["the time limit is ", "of 15s)", next]);
    let words: Vec<&str> = next.split(' ').skip(1).collect();
    envelope(&stage.longhaul(words).against(&server).output(), 0);
    assert_eq!(stage.runs().len(), 2, "the same runs continue");
}

/// Each is of a workflow: `longhaul resume` rejects only flags of a run.
#[test]
fn resumed_workflow_takes_new_limits() {
    let (stage, server) = (Stage::new(), Server::start("Done.\n"));
    let file = "[[phase]]\nname = \"work\"\nprompt = \"Work.\"\nrun = { check = [\"test -e go\"], max_failed_checks = 1 }\n";
    envelope(&run_loop(&stage, &server, file, &["--budget", "1", "--time-limit", "1h"]).output(), 24);
    let id = only_workflow(&stage).id().to_string();
    let resume = |args: &[&str]| stage.longhaul(["resume", &id]).args(args).against(&server).output();
    for (args, budget, time) in [
        (&["--add-budget", "2", "--add-time", "1h"][..], 3.0, 2),
        (&["--budget", "5"], 5.0, 2),
        (&["--time-limit", "3h"], 5.0, 3),
    ] {
        envelope(&resume(args), 24);
        let status = stage.longhaul(["status", &id]).output();
        let status: Value = serde_json::from_str(&status.stdout).expect("an object is printed");
        let workflow = &status["workflows"][0];
        let limits = (&workflow["budget_usd"], &workflow["time_limit_ms"]);
        assert_eq!(limits, (&budget.into(), &(time * 3_600_000).into()), "{args:?}: {status}");
    }
}
