//! Workflows: phases, items, conditions and limits, and what remains of them after a crash.

use crate::call::{Call, Output};
use crate::harness::Stage;
use crate::server::Server;
use crate::tidy;
use longhaul_core::{OutcomeKind, Workflow};
use longhaul_store::{Journal, WorkflowDir};
use serde_json::Value;
use std::fs;

/// Two phases: the second runs for each item of a list in the file.
const TWO_PHASES: &str = r#"
start_gap = "none"
[[phase]]
name = "plan"
prompt = "Make a plan."
[[phase]]
name = "prove"
needs = ["plan"]
fan_out = { list = ["alpha", "beta", "gamma"] }
max_parallel = 2
prompt = "Prove {{ item }}. The plan: {{ results.plan }}"
"#;

/// A reply to each prompt of these phases.
const TWO_PHASES_SCRIPT: &str = "
No prompt matches.
? Make a plan
Three lemmas.
? Prove
I prove it.
$ echo proved >> proofs
It is proved.
";

/// Returns a call of `longhaul loop` in the work directory, with the scripted agent and fast retries.
pub fn run_loop(stage: &Stage, server: &Server, file: &str, args: &[&str]) -> Call {
    let path = stage.file("workflow.toml", file);
    let agent = stage.agent();
    let call = stage.longhaul(["loop"]).args([path]).args(["--agent-path"]).args([agent]);
    let call = call.args(["--permission-mode", "bypassPermissions", "--preset", "drill"]);
    call.args(["--memory-reserve", "0"]).args(args).against(server).in_dir(&stage.work())
}

/// Asserts the exit code and returns what was printed as one JSON object.
pub fn envelope(output: &Output, code: i32) -> Value {
    assert_eq!(output.code, code, "{output:?}");
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope is printed");
    assert_eq!(envelope["workflow"]["exit_code"], code, "{envelope}");
    assert_eq!(envelope["success"], code == 0, "{envelope}");
    let errors = envelope["errors"].as_array().expect("a list of errors");
    assert_eq!(errors.is_empty(), code == 0, "only a done workflow has no error: {envelope}");
    envelope
}

pub fn only_workflow(stage: &Stage) -> WorkflowDir {
    let mut workflows = stage.workflows();
    assert_eq!(workflows.len(), 1, "{workflows:?}");
    workflows.remove(0)
}

/// Returns the workflow as its journal replays.
pub fn replayed(dir: &WorkflowDir) -> Workflow {
    let loaded = Journal::load(&dir.journal_path()).expect("the journal can be read");
    assert_eq!(loaded.torn_bytes, 0, "the journal is torn");
    Workflow::replay(loaded.records())
}

fn lines(stage: &Stage, name: &str) -> usize {
    fs::read_to_string(stage.work().join(name)).unwrap_or_default().lines().count()
}

#[test]
fn phases_run_in_order_and_items_in_parallel() {
    let (stage, server) = (Stage::new(), Server::start(TWO_PHASES_SCRIPT));
    let output = run_loop(&stage, &server, TWO_PHASES, &[]).output();
    let envelope = envelope(&output, 0);
    let id = envelope["workflow"]["id"].as_str().expect("an id");
    let phases = &envelope["workflow"]["phases"];
    assert_eq!(phases[0]["items"][0]["run"], format!("{id}-1-plan-1"), "{envelope}");
    let runs: Vec<&Value> = phases[1]["items"].as_array().expect("items").iter().collect();
    assert_eq!(runs.len(), 3, "{envelope}");
    assert!(runs.iter().all(|run| run["status"] == "done"), "{envelope}");
    assert_eq!(runs[2]["item"], "gamma", "{envelope}");
    assert_eq!(lines(&stage, "proofs"), 3);
    // The result of the plan is in each prompt of the second phase.
    for run in stage.runs().iter().filter(|run| run.id().as_str().contains("-prove-")) {
        let plan = run.plan().expect("a plan");
        assert!(plan.spec.prompt.ends_with("The plan: Three lemmas."), "{}", plan.spec.prompt);
        let position = plan.workflow.expect("the run belongs to a workflow");
        assert_eq!((position.id.as_str(), position.phase.as_str()), (id, "prove"));
        assert_eq!(tidy::replayed_outcome(run).kind, OutcomeKind::Done);
    }
    let dir = only_workflow(&stage);
    assert_eq!(replayed(&dir).state().outcome().map(|outcome| outcome.kind), Some(OutcomeKind::Done));
    for line in ["plan: done", "prove: 3 items", "(beta)", "prove: done"] {
        assert!(output.stderr.contains(line), "no `{line}` in {}", output.stderr);
    }
}
