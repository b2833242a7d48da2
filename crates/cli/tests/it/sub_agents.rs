//! Sub-agents of the real Claude Code, which work in the background since 2.1.330: the main conversation continues and
//! may end its turn meanwhile. The scripted agent has none.

use crate::call::{Running, wait_until};
use crate::harness::{Stage, claude_code};
use crate::recovering::{kill_agent, prompt_of};
use crate::server::Server;
use longhaul_core::{Record, StopCause};
use longhaul_store::Journal;
use serde_json::Value;
use std::fs;

/// Returns a scenario in which the main agent delegates to a sub-agent, takes its own steps and ends its turn.
fn delegating(own_steps: &str, sub_agents_steps: &str) -> String {
    let input =
        r#"{ description = "Count files", prompt = "Please count.", subagent_type = "general-purpose" }"#;
    format!(
        "
I delegate it.
! call = {{ name = \"Agent\", input = {input} }}
{own_steps}A sub-agent works.
? Please count
{sub_agents_steps}There are 42 files.
? The work was interrupted
I count them myself: 42.
"
    )
}

/// The size of the Greek text in bytes, from which its tokens are estimated, is not what the API bills.
const COUNTS: &str =
    "I count: μετρώ τα αρχεία, ένα προς ένα.\n$ touch counting; sleep 4\nI look again.\n$ touch counted\n";

/// Runs a test with the real agent, on a stage of its own.
fn play(scenario: &str, test: impl Fn(&Stage, &Server, &dyn Fn(&[&str]) -> Running)) {
    let Some(claude) = claude_code("sub-agents") else { return };
    let (stage, server) = (Stage::new(), Server::start(scenario));
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    test(&stage, &server, &|args| stage.run(&claude, &base_args).args(args).against(&server).start());
}

/// Asserts that a run counts each message of the API once, also for each model.
fn assert_exact(stage: &Stage, server: &Server, envelope: &Value) {
    let (log, usage) = (server.api.request_log(), &envelope["usage"]);
    let used = |key: &str| usage[key].as_u64().unwrap_or_else(|| panic!("no {key} in {envelope}"));
    let tokens = log.tokens();
    assert_eq!(used("output_tokens"), tokens.output, "{envelope} {:?}", log.messages);
    let input = used("input_tokens") + used("cache_read_input_tokens") + used("cache_creation_input_tokens");
    assert_eq!(input, tokens.input + tokens.cache_read + tokens.cache_write, "{envelope} {:?}", log.messages);
    let (cost, billed) = (usage["total_cost_usd"].as_f64().expect("a cost"), log.cost().0 as f64 / 1e9);
    assert!((cost - billed).abs() < 2e-6, "{cost}, not {billed}: {envelope}");
    let by_model = stage.longhaul(["cost", "--output-format", "json", "--by", "model"]).output();
    let by_model: Value = serde_json::from_str(&by_model.stdout).expect("JSON");
    assert_eq!(by_model["total"]["total_cost_usd"], usage["total_cost_usd"], "{by_model}");
}

fn stops(stage: &Stage) -> Vec<StopCause> {
    let history = Journal::load(&stage.only_run().journal_path()).expect("there is a journal");
    let cause = |(_, record): (_, &Record)| match record {
        Record::StopOrdered { cause, .. } => Some(*cause),
        _ => None,
    };
    history.records().filter_map(cause).collect()
}

#[test]
fn run_waits_for_a_sub_agent_and_counts_it() {
    play(&delegating("", COUNTS), |stage, server, run| {
        let envelope = run(&["--background-wait", "1s"]).output().envelope(0);
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert!(stage.work().join("counted").exists(), "{envelope}");
        assert_eq!(stops(stage), [], "{envelope}");
        assert_exact(stage, server, &envelope);
    });
}

#[test]
fn sub_agent_that_died_with_its_agent_is_named_and_counted() {
    // With a result of the main agent, and without one.
    for own_steps in ["", "I work, too.\n$ touch working; sleep 30\n"] {
        play(&delegating(own_steps, COUNTS), |stage, server, run| {
            let run = run(&[]);
            wait_until("the sub-agent works", || stage.work().join("counting").exists());
            let stream = || fs::read_to_string(stage.only_run().attempt(1).stream_path()).unwrap_or_default();
            if own_steps.is_empty() {
                wait_until("the main agent ended its turn", || stream().contains(r#""type":"result""#));
            } else {
                wait_until("the main agent works", || stage.work().join("working").exists());
            }
            kill_agent(&stage.only_run());
            let envelope = run.output().envelope(0);
            assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
            assert_eq!(envelope["result"], "I count them myself: 42.", "{envelope}");
            let prompt = prompt_of(&stage.only_run(), 2);
            assert!(
                prompt.contains("Start again what the task still needs of it:\n- `Count files`"),
                "{prompt}"
            );
            assert_exact(stage, server, &envelope);
        });
    }
}

#[test]
fn silent_sub_agent_is_a_stall() {
    let silence = "[[fault]]\nturn = 0\nsilence = { after = \"mid-text\" }\n";
    let scenario = delegating("", "I count, which takes more than one line.\n$ touch counted\n") + silence;
    play(&scenario, |stage, _, run| {
        let output = run(&["--stall-timeout", "8s", "--background-wait", "1s"]).output();
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        assert_eq!(stops(stage), [StopCause::Stalled], "{output:?}");
        assert!(output.stderr.contains("no output for "), "{output:?}");
    });
}

#[test]
fn limits_include_sub_agents() {
    for limit in [["--max-tokens", "150000"], ["--budget", "0.15"]] {
        play(&delegating("", &"I count.\n$ echo x >> steps\n".repeat(60)), |stage, server, run| {
            let envelope = run(&[&limit[..], &["--no-wrap-up"]].concat()).output().envelope(21);
            let steps = fs::read_to_string(stage.work().join("steps")).unwrap_or_default();
            assert!((2..60).contains(&steps.lines().count()), "{steps} {envelope}");
            assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
            assert_exact(stage, server, &envelope);
        });
    }
}
