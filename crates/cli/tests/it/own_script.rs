//! A user's own loop script, with the command of `docs/workflows.md`: provers run side by side, one of them is
//! killed, and the logs tell the truth about costs.

use crate::call::wait_until;
use crate::harness::{LONGHAUL, Stage, with_each_agent};
use crate::recovering::kill_agent;
use crate::server::Server;
use longhaul_drill::{Nanodollars, price};
use longhaul_store::RunDir;
use serde_json::Value;
use std::path::Path;
use std::{env, fs};

const PAGE: &str = include_str!("../../../../docs/workflows.md");
const LOOP: &str = include_str!("own_script/loop.sh");

/// A proof whose first step takes long, unless it was interrupted before.
const PROOF_A: &str = "
I look at the goal.
$ echo 'the goal' > A.goal
I try a long tactic.
$ test -e started && exit 0; touch started; sleep 30; echo sorry >> A.lean
It works.
$ echo theorem_a >> A.lean
A is proved.
";
const PROOF_B: &str = "
I prove it.
$ echo theorem_b >> B.lean
B is proved.
";

/// Returns the first shell function of the page.
fn documented_function() -> &'static str {
    let function = PAGE.split("```bash\n").nth(1).and_then(|rest| rest.split("```").next());
    function.expect("the page has a function")
}

/// Returns what the API billed, in dollars.
pub fn billed(server: &Server) -> f64 {
    let log = server.api.request_log();
    let prices = log.billed().map(|message| price(&message.model, &message.tokens).expect("a known model"));
    prices.fold(Nanodollars::default(), |sum, price| sum + price).dollars()
}

fn run_of<'a>(runs: &'a [RunDir], prompt: &str) -> Option<&'a RunDir> {
    runs.iter().find(|run| run.plan().is_ok_and(|plan| plan.spec.prompt == prompt))
}

/// Asserts that a log ends with its only result, and that this result has all that the API billed.
fn check_log(stage: &Stage, name: &str, server: &Server, attempts: u64) {
    let log =
        fs::read_to_string(stage.work().join(format!("logs/{name}.raw.jsonl"))).expect("there is a log");
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let of_type = |name: &str| lines.iter().filter(|line| line["type"] == name).count();
    let last = lines.last().expect("the log has lines");
    assert_eq!((of_type("result"), &last["type"]), (1, &"result".into()), "{log}");
    assert!(of_type("attempt_result") > 0, "{log}");
    assert_eq!((&last["subtype"], &last["is_error"]), (&"success".into(), &false.into()), "{last}");
    assert_eq!(last["result"], format!("{name} is proved."));
    assert_eq!((&last["run"]["outcome"], &last["run"]["attempts"]), (&"done".into(), &attempts.into()));
    let (cost, billed) = (last["total_cost_usd"].as_f64().expect("a number"), billed(server));
    // Costs are rounded to millionths of a dollar in each attempt.
    assert!(billed > 0.0 && (cost - billed).abs() < 0.000_003, "{cost} of {billed}: {last}");
    let models = last["modelUsage"].as_object().expect("an object").values();
    let by_model: f64 = models.filter_map(|usage| usage["costUSD"].as_f64()).sum();
    assert!((by_model - cost).abs() < 0.000_001, "{last}");
    let turns = server.api.request_log().messages.len();
    assert_eq!(last["num_turns"], turns, "{last}");
}

#[test]
fn killed_prover_of_a_script_is_resumed_and_counted_once() {
    with_each_agent("a script with two provers", Stage::new, check_script);
}

/// Runs the script with this agent, and kills the agent of one prover.
fn check_script(stage: &Stage, agent: &Path) {
    let (server_a, server_b) = (Server::start(PROOF_A), Server::start(PROOF_B));
    let (functions, script) =
        (stage.file("functions.sh", documented_function()), stage.file("loop.sh", LOOP));
    let program_dir = Path::new(LONGHAUL).parent().expect("the program has a directory");
    let path = format!("{}:{}", program_dir.display(), env::var("PATH").expect("there is a path"));
    let running = stage
        .program("bash")
        .args(["-c", "cd work && exec bash \"$@\"", "bash"])
        .args([script, functions])
        .args([server_a.api.url(), server_b.api.url()])
        .args(["--retry-backoff", "1", "--agent-path"])
        .args([agent])
        .against(&server_a)
        .env("PATH", path)
        .start();
    wait_until("the slow tactic runs", || stage.work().join("started").exists());
    kill_agent(run_of(&stage.runs(), "Prove A.").expect("the run is stored"));
    let output = running.output();
    assert_eq!((output.code, output.stdout.as_str()), (0, "A done\nB done\n"), "{output:?}");
    assert_eq!(output.stderr, "", "the runs are quiet");
    let proof = |name: &str| fs::read_to_string(stage.work().join(name)).expect("there is a proof");
    assert_eq!((proof("A.lean"), proof("B.lean")), ("theorem_a\n".to_owned(), "theorem_b\n".to_owned()));
    check_log(stage, "A", &server_a, 2);
    check_log(stage, "B", &server_b, 1);
}

#[test]
fn retry_backoff_is_the_first_wait() {
    let stage = Stage::new();
    let plan = |args: &[&str]| {
        let preset = ["p", "--preset", "archon", "--dry-run", "--output-format", "json"];
        let output = stage.run(&stage.agent(), &preset).args(args).output();
        assert_eq!(output.code, 0, "{output:?}");
        serde_json::from_str::<Value>(&output.stdout).expect("JSON is printed")
    };
    let (unchanged, changed) = (plan(&[]), plan(&["--max-retries", "2", "--retry-backoff", "45"]));
    assert_eq!(unchanged["policy"]["backoff"]["base"], 30_000, "{unchanged}");
    assert_eq!(changed["policy"]["backoff"]["base"], 45_000, "{changed}");
    assert_eq!(plan(&["--retry-base", "45s"])["policy"], changed["policy"], "both names set the same value");
}
