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
usage_limit = { reset_s = 10 }
";

/// Returns the records of the workflow's journal with this name.
fn records(stage: &Stage, name: &str) -> Vec<Value> {
    let workflow = stage.workflows().pop();
    let text = workflow.and_then(|dir| fs::read_to_string(dir.journal_path()).ok()).unwrap_or_default();
    let steps = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = Vec::new();
    for step in steps {
        for record in
            step["records"].as_array().into_iter().flatten().filter(|record| record["record"] == name)
        {
            let mut record = record.clone();
            record["at"] = step["at"].clone();
            found.push(record);
        }
    }
    found
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

/// The check fails until the user makes it pass.
const TRANSLATIONS: &str = r#"
[[phase]]
name = "translate"
fan_out = { list = ["de", "fr"] }
prompt = "Translate into {{ item }}."
run = { check = ["test -e passed"], max_failed_checks = 1 }
on = { check_failed = "continue" }
[[phase]]
name = "compare"
needs = ["translate"]
prompt = "Compare: {{ results.translate }}"
"#;

const TRANSLATIONS_SCRIPT: &str = "
I continue.
? Translate into
It is translated.
? Compare
They are compared.
";

#[test]
fn resumed_workflow_repeats_phases_that_ran_without_what_they_need() {
    let (stage, server) = (Stage::new(), Server::start(TRANSLATIONS_SCRIPT));
    envelope(&run_loop(&stage, &server, TRANSLATIONS, &["--serial"]).output(), 27);
    let id = only_workflow(&stage).id().to_string();
    fs::write(stage.work().join("passed"), "").expect("the stage is writable");
    envelope(&stage.longhaul(["resume", &id]).against(&server).output(), 0);
    let prompts: Vec<String> = prompts(&stage, "compare").into_iter().map(|(_, prompt)| prompt).collect();
    let whole = r#"Compare: ["It is translated.","It is translated."]"#;
    assert_eq!(prompts, ["Compare: [null,null]", whole]);
}

const ONE_RUN: &str = "[[phase]]\nname = \"work\"\nprompt = \"Take a step.\"\n";

#[test]
fn resumed_workflow_tries_again_after_a_run_that_the_user_resumed_without_success() {
    let script = "I take it.\n$ echo step >> steps\nA step is taken.\n";
    let stage = Stage::new();
    let rejecting =
        Server::start(&format!("{script}[[fault]]\ntimes = \"always\"\nstatus = {{ code = 403 }}\n"));
    envelope(&run_loop(&stage, &rejecting, ONE_RUN, &[]).output(), 23);
    let (id, run) = (only_workflow(&stage).id().to_string(), stage.only_run().id().to_string());
    for _ in 0..2 {
        assert_eq!(stage.longhaul(["resume", &run]).against(&rejecting).output().code, 23);
    }
    envelope(&stage.longhaul(["resume", &id]).against(&Server::start(script)).output(), 0);
    assert_eq!(runs(&stage), ["1-work-1"]);
    assert_eq!(fs::read_to_string(stage.work().join("steps")).expect("steps"), "step\n");
}

/// The check of the first try fails.
const RETRIED: &str = r#"
[[phase]]
name = "work"
prompt = "Take a step."
run = { check = ["test $(wc -l < steps) -gt 1"], max_failed_checks = 1 }
on = { check_failed = { retry = 1 } }
"#;

#[test]
fn costs_of_a_workflow_include_replaced_runs() {
    let script = "I take it.\n$ echo step >> steps\nA step is taken.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    let done = envelope(&run_loop(&stage, &server, RETRIED, &[]).output(), 0);
    let phase_cost = |envelope: &Value| envelope["phases"][0]["total_cost_usd"].clone();
    assert_eq!(phase_cost(&done["workflow"]), done["usage"]["total_cost_usd"], "{done}");
    assert_eq!(runs(&stage), ["1-work-1", "1-work-1-r1"]);
    // The user pays more for a run that another one replaced.
    let id = only_workflow(&stage).id().to_string();
    let replaced = format!("{id}-1-work-1");
    let resumed = stage.longhaul(["resume", &replaced, "Take one more."]).against(&server).output();
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let printed = |args: &[&str]| -> Value {
        serde_json::from_str(&stage.longhaul(args).output().stdout).expect("an object is printed")
    };
    let total = printed(&["cost", "--by", "workflow"])["total"]["total_cost_usd"].clone();
    assert!(total.as_f64() > done["usage"]["total_cost_usd"].as_f64(), "{total}");
    let (shown, status) = (printed(&["show", &id]), printed(&["status", &id]));
    assert_eq!([&shown["total_cost_usd"], &status["workflows"][0]["total_cost_usd"]], [&total, &total]);
    assert_eq!(
        [phase_cost(&shown["iterations"][0]), phase_cost(&status["workflows"][0])],
        [total.clone(), total]
    );
}

#[test]
fn parked_run_of_a_cancelled_workflow_is_not_resumed_later() {
    let script = PARKING_SCRIPT.replace("reset_s = 10", "reset_s = 300");
    let (stage, server) = (Stage::new(), Server::start(&script));
    let running = run_loop(&stage, &server, PARKING, &[]).start();
    wait_until("the run is parked", || records(&stage, "run_ended").iter().any(|end| end["next"] == "park"));
    let id = only_workflow(&stage).id().to_string();
    let why = stage.longhaul(["why", &format!("{id}-1-work-1"), "--json"]).output().stdout;
    let why: Value = serde_json::from_str(&why).expect("an object is printed");
    let text = why["next"]["text"].as_str().expect("a text");
    assert!(text.starts_with(&format!("workflow {id} resumes the run at ")), "{why}");
    assert_eq!(why["next"]["commands"], serde_json::json!([format!("longhaul attach {id}")]));
    stage.longhaul(["cancel", &id]).against(&server).output();
    let cancelled = envelope(&running.output(), 130);
    let item = &cancelled["workflow"]["phases"][1]["items"][0];
    assert_eq!((&item["status"], &item["until"]), (&"retry_later".into(), &Value::Null), "{cancelled}");
    assert!(cancelled["errors"].to_string().contains("finished as retry_later"), "{cancelled}");
}
