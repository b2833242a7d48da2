//! Workflows that continue after a failure or a crash: what runs then, and what does not run again.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::server::Server;
use crate::workflow_prompts::prompts;
use crate::workflows::{envelope, only_workflow, run_loop};
use serde_json::Value;
use std::fs;

/// Returns the ids of all runs without that of the workflow, oldest first.
fn runs(stage: &Stage) -> Vec<String> {
    let prefix = format!("{}-", only_workflow(stage).id());
    let ids = stage.runs().into_iter().rev().map(|run| run.id().to_string());
    ids.map(|id| id.strip_prefix(&prefix).expect("the run is of the workflow").to_owned()).collect()
}

/// The check of the last phase fails until all lemmas are proved, but only one is in the first list.
const LEMMAS: &str = r#"
[[phase]]
name = "prove"
max_objectives = 1
fan_out = { list = ["alpha", "beta"] }
prompt = "Prove {{ item }}."
[[phase]]
name = "sum"
needs = ["prove"]
prompt = "Sum up: {{ results.prove }}"
run = { check = ["grep -q beta proofs"], max_failed_checks = 1 }
"#;

const LEMMAS_SCRIPT: &str = "
I continue.
? Prove alpha
I prove it.
$ echo alpha >> proofs
Alpha holds.
? Prove beta
I prove it.
$ sleep 0.5; echo beta >> proofs
Beta holds.
? Sum up
All is summed up.
";

#[test]
fn resumed_workflow_completes_deferred_items_before_the_phase_that_needs_them() {
    let (stage, server) = (Stage::new(), Server::start(LEMMAS_SCRIPT));
    let failed = envelope(&run_loop(&stage, &server, LEMMAS, &[]).output(), 24);
    assert_eq!(failed["workflow"]["phases"][0]["deferred"], 1, "{failed}");
    assert_eq!(runs(&stage), ["1-prove-1", "1-sum-1"]);
    let id = only_workflow(&stage).id().to_string();
    envelope(&stage.longhaul(["resume", &id]).against(&server).output(), 0);
    assert_eq!(runs(&stage), ["1-prove-1", "1-sum-1", "1-prove-2", "1-sum-1-r1"]);
    let prompts: Vec<String> = prompts(&stage, "sum").into_iter().map(|(_, prompt)| prompt).collect();
    assert_eq!(prompts, [r#"Sum up: ["Alpha holds."]"#, r#"Sum up: ["Alpha holds.","Beta holds."]"#]);
    assert_eq!(fs::read_to_string(stage.work().join("proofs")).expect("proofs"), "alpha\nbeta\n");
}

/// The second phase meets a usage limit, and its run does not wait for the reset.
const PARKING: &str = r#"
[[phase]]
name = "prepare"
prompt = "Prepare it."
[[phase]]
name = "work"
needs = ["prepare"]
prompt = "Take a step."
run = { max_reset_wait = "1s" }
"#;

const PARKING_SCRIPT: &str = "auth = 'oauth'
I take it.
$ echo step >> steps
A step is taken.
? Prepare
I prepare it.
$ echo prepared >> steps
It is prepared.
[[fault]]
turn = 1
usage_limit = { reset_s = 3 }
";

/// Returns the records of the workflow's journal with this name.
fn records(stage: &Stage, name: &str) -> Vec<Value> {
    let workflow = stage.workflows().pop();
    let text = workflow.and_then(|dir| fs::read_to_string(dir.journal_path()).ok()).unwrap_or_default();
    let steps = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let records = steps.flat_map(|step| step["records"].as_array().cloned().unwrap_or_default());
    records.filter(|record| record["record"] == name).collect()
}

#[test]
fn killed_while_parked_waits_until_the_same_moment_and_repeats_no_run() {
    let (stage, server) = (Stage::new(), Server::start(PARKING_SCRIPT));
    let running = run_loop(&stage, &server, PARKING, &[]).start();
    let parks = || -> Vec<Value> {
        let ends = records(&stage, "run_ended").into_iter();
        ends.filter(|end| end["next"] == "park").map(|end| end["parked_until"].clone()).collect()
    };
    wait_until("the run is parked", || parks().len() == 1);
    running.kill();
    let until = parks();
    let journal = |id: &str| {
        let runs = stage.runs();
        let run = runs.iter().find(|run| run.id().as_str().ends_with(id)).expect("the run exists");
        fs::read(run.journal_path()).expect("a journal")
    };
    let prepared = journal("-prepare-1");
    let recovered = stage.longhaul(["recover"]).against(&server).output();
    envelope(&recovered, 0);
    assert_eq!(parks(), until, "it is parked once");
    let resumed: Vec<Value> =
        records(&stage, "run_planned").into_iter().filter(|run| run["resumed"] == true).collect();
    let [resumed] = &resumed[..] else { panic!("not resumed once: {resumed:?}") };
    assert_eq!(resumed["key"]["phase"], 1, "{resumed}");
    assert!(resumed["at"].as_i64() >= until[0].as_i64(), "parked until {until:?}: {resumed}");
    assert_eq!(runs(&stage), ["1-prepare-1", "1-work-1"]);
    assert!(journal("-prepare-1") == prepared, "a finished run is not touched");
    assert_eq!(fs::read_to_string(stage.work().join("steps")).expect("steps"), "prepared\nstep\n");
}
