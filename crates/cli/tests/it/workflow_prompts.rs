//! What reaches the prompts of a workflow: its files, the focus and hints, also across a crash.

use crate::call::wait_until;
use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use crate::workflows::{envelope, only_workflow, run_loop};
use longhaul_core::RunSpec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// Returns the iteration and the prompt of each run of a phase, oldest first.
pub fn prompts(stage: &Stage, phase: &str) -> Vec<(u32, String)> {
    let plans = stage.runs().into_iter().rev().map(|run| run.plan().expect("a plan"));
    let of_phase = plans.filter_map(|plan| {
        let position = plan.workflow?;
        (position.phase == phase).then_some((position.iteration, plan.spec.prompt))
    });
    of_phase.collect()
}

#[test]
fn only_one_phase_runs_with_the_focus_in_its_prompt() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan{% if focus %} only for {{ focus }}{% endif %}."
[[phase]]
name = "prove"
needs = ["plan"]
prompt = "Prove it{% if focus %} only for {{ focus }}{% endif %}."
"#;
    let script = "I continue.\n? Make a plan\nPlanned.\n? Prove\nProved.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    let output = run_loop(&stage, &server, file, &["--only", "prove", "--focus", "the lemma"]).output();
    let envelope = envelope(&output, 0);
    let phases = &envelope["workflow"]["phases"];
    assert_eq!([&phases[0]["status"], &phases[1]["status"]], ["skipped", "done"], "{envelope}");
    assert_eq!(prompts(&stage, "plan"), []);
    assert_eq!(prompts(&stage, "prove"), [(1, "Prove it only for the lemma.".to_owned())]);
    assert_eq!(stage.runs().len(), 1);
    let wrong = run_loop(&stage, &server, file, &["--only", "review"]).output();
    assert_eq!(wrong.code, 2, "{wrong:?}");
    wrong.assert_error(&["review", "plan"]);
}

#[test]
fn settings_of_a_phase_reach_only_its_runs() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
[[phase]]
name = "prove"
needs = ["plan"]
prompt = "Prove it."
[phase.run]
model = "claude-haiku-4-5"
review = "claude-opus-4-8"
deny_tools = ["WebFetch"]
block_path = ["/secrets"]
"#;
    let script = "Done.\n? You review its work\nI review it.\n! call = { name = 'StructuredOutput', input = { complete \
                  = true, missing = [] } }\nReviewed.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    let flags = ["--model", "claude-sonnet-4-5", "--review", "--deny-tools", "WebSearch"];
    envelope(&run_loop(&stage, &server, file, &flags).output(), 0);
    let runs = stage.runs();
    let specs: Vec<RunSpec> = runs.iter().map(|run| run.plan().expect("a plan").spec).collect();
    let reviewer = |spec: &RunSpec| {
        let review = spec.policy.checks.as_ref().and_then(|checks| checks.review.clone());
        review.expect("a review").model
    };
    let [prove, plan] = &specs[..] else { panic!("not two runs: {specs:?}") };
    assert_eq!((plan.model.as_deref(), reviewer(plan).as_deref()), (Some("claude-sonnet-4-5"), None));
    assert_eq!(
        (&plan.guards.deny_tools[..], plan.guards.block_paths.len()),
        (&["WebSearch".to_owned()][..], 0)
    );
    // A setting of the phase replaces a flag, but a prohibition adds to it.
    let models = (prove.model.as_deref(), reviewer(prove));
    assert_eq!(models, (Some("claude-haiku-4-5"), Some("claude-opus-4-8".to_owned())));
    let guards = (&prove.guards.deny_tools[..], &prove.guards.block_paths[..]);
    let denied = ["WebSearch", "WebFetch"].map(str::to_owned);
    assert_eq!(guards, (&denied[..], &["/secrets".to_owned()][..]));
    assert!(runs.iter().all(|run| run.review(1).path().exists()), "each run is reviewed");
}

#[test]
fn setting_that_is_off_replaces_the_configuration() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
run = { keep_partial_messages = false, check = [] }
[[phase]]
name = "prove"
needs = ["plan"]
prompt = "Prove it."
"#;
    let (stage, server) = (Stage::new(), Server::start("Done.\n"));
    fs::create_dir_all(stage.user_home().join(".config/longhaul")).expect("the stage is writable");
    let configured = "keep_partial_messages = true\ncheck = [\"true\"]\n";
    stage.file("user/.config/longhaul/config.toml", configured);
    envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let specs = stage.runs().into_iter().map(|run| run.plan().expect("a plan").spec);
    let settings: Vec<_> =
        specs.map(|spec| (spec.keep_partial_messages, spec.policy.checks.is_some())).collect();
    assert_eq!(settings, [(true, true), (false, false)], "the newest run first");
}

#[test]
fn result_is_returned_whatever_tools_are_allowed() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
schema = { type = "object", required = ["tasks"], properties.tasks = { type = "array" } }
run = { allow_tools = ["Read"] }
"#;
    let script = "I plan.\n! call = { name = 'StructuredOutput', input = { tasks = ['one'] } }\nPlanned.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let result = only_workflow(&stage).result(1, "plan", 0).expect("it can be read").expect("a result");
    assert_eq!(result.value, Some(json!({ "tasks": ["one"] })));
    let show = stage.longhaul(["show", stage.only_run().id().as_str(), "--output-format", "json"]).output();
    let show: Value = serde_json::from_str(&show.stdout).expect("a run is shown");
    assert_eq!(show["attempts"][0]["denied_calls"], 0, "{show}");
}

#[test]
fn remaining_budget_excludes_the_shares_of_other_live_runs() {
    let file = r#"
[[phase]]
name = "prove"
fan_out = { list = ["one", "two"] }
prompt = "Prove {{ item }} with {{ remaining.budget_usd }} dollars."
"#;
    // The first run works until the second one has started.
    let script = "I continue.\n? Prove one\nI prove it.\n$ for i in $(seq 300); do test -e two && exit 0; sleep 0.1; \
                  done\nProved.\n? Prove two\nI prove it.\n$ touch two\nProved.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    envelope(&run_loop(&stage, &server, file, &["--budget", "10"]).output(), 0);
    let mut prompts: Vec<String> = prompts(&stage, "prove").into_iter().map(|(_, prompt)| prompt).collect();
    prompts.sort_unstable();
    assert_eq!(prompts, ["Prove one with 10.0 dollars.", "Prove two with 5.0 dollars."]);
}

#[test]
fn a_hint_that_no_phase_receives_is_a_warning() {
    let file = r#"
[[phase]]
name = "first"
prompt = "Start.{% for hint in hints %} Hint: {{ hint }}{% endfor %}"
[[phase]]
name = "last"
needs = ["first"]
prompt = "Finish."
"#;
    let script = format!(
        "
I continue.
? Finish
I hint.
$ '{LONGHAUL}' hint @ '' 2> ../empty; '{LONGHAUL}' hint @ 'too late' 2> ../hinted
Done.
"
    );
    let (stage, server) = (Stage::new(), Server::start(&script));
    let output = run_loop(&stage, &server, file, &[]).output();
    let printed = |name: &str| fs::read_to_string(stage.folder().join(name)).expect("the command printed it");
    assert!(printed("empty").contains("the hint from the command line is empty"), "{}", printed("empty"));
    assert!(printed("hinted").contains("receives the hint, if one is left"), "{}", printed("hinted"));
    envelope(&output, 0);
    let warning = "warning: no phase received the hint: too late";
    assert!(output.stderr.contains(warning), "{output:?}");
    let shown = stage.longhaul(["show", "@"]).output();
    assert!(shown.stdout.contains("no phase received the hint: too late"), "{shown:?}");
}

#[test]
fn files_of_a_workflow_are_read_only_at_its_start() {
    let file = r#"
[[phase]]
name = "slow"
prompt_file = "slow.md"
[[phase]]
name = "rest"
needs = ["slow"]
prompt_file = "rest.md"
schema_file = "rest.json"
[[phase]]
name = "last"
needs = ["rest"]
prompt = "Do the last step.{% for hint in hints %} Hint: {{ hint }}{% endfor %}"
"#;
    let script = "
I continue.
? Work slowly
I start.
$ touch started; for i in $(seq 200); do test -e go && exit 0; sleep 0.1; done
Done.
? Do the rest
{\"complete\": true}
? Do the last
Done.
";
    let (stage, server) = (Stage::new(), Server::start(script));
    stage.file("slow.md", "Work slowly.");
    let rest = stage.file("rest.md", "Do the rest.");
    let schema = stage.file("rest.json", r#"{"type": "object", "required": ["complete"]}"#);
    let running = run_loop(&stage, &server, file, &[]).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    running.kill();
    fs::write(rest, "Do something else in phase {{ nowhere }}.").expect("the file is written");
    fs::remove_file(schema).expect("the file exists");
    fs::write(stage.work().join("go"), "").expect("the file is written");
    let id = only_workflow(&stage).id().to_string();
    let hinted = stage.longhaul(["hint", &id, "be brief"]).output();
    assert_eq!(hinted.code, 0, "{hinted:?}");
    envelope(&stage.longhaul(["recover", &id]).against(&server).output(), 0);
    assert_eq!(prompts(&stage, "rest"), [(1, "Do the rest.".to_owned())]);
    assert_eq!(prompts(&stage, "last"), [(1, "Do the last step. Hint: be brief".to_owned())]);
    let result = only_workflow(&stage).result(1, "rest", 0).expect("it can be read").expect("a result");
    assert_eq!(result.value, Some(serde_json::json!({"complete": true})));
}

/// A phase that repeats until a file has three lines.
const STEPS: &str = r#"
[repeat]
iterations = 5
until = { command = "test $(cat steps | wc -l) -ge 3" }
[[phase]]
name = "work"
prompt = "Take a step.{% for hint in hints %} Hint: {{ hint }}.{% endfor %}"
"#;

/// The user gives a hint while the first run works.
fn hinting_script() -> String {
    format!(
        "
I continue.
? Take a step
I take it.
$ test -e hinted || {{ '{LONGHAUL}' hint @ 'mind the gap' && touch hinted; }}; echo step >> steps
One step is taken.
"
    )
}

#[test]
fn hint_reaches_the_next_phase_once_wherever_the_workflow_is_killed() {
    let whole = {
        let (stage, server) = (Stage::new(), Server::start(&hinting_script()));
        let log = stage.folder().join("points");
        let call = run_loop(&stage, &server, STEPS, &[]).env("LONGHAUL_FAILPOINT_LOG", &log);
        envelope(&call.output(), 0);
        assert_hinted_once(&stage, "without a kill");
        fs::read_to_string(&log).expect("points are logged").lines().count()
    };
    let mut kills: BTreeMap<bool, u32> = BTreeMap::new();
    for point in (1..=whole).step_by((whole / 14).max(1)) {
        let (stage, server) = (Stage::new(), Server::start(&hinting_script()));
        let call = run_loop(&stage, &server, STEPS, &[]);
        let killed =
            call.env("LONGHAUL_FAILPOINT", format!("supervisor@{point}")).start().output_unless_killed();
        if killed.is_some() || stage.workflows().is_empty() {
            continue;
        }
        let has_received = prompts(&stage, "work").iter().any(|(_, prompt)| prompt.contains("mind the gap"));
        *kills.entry(has_received).or_default() += 1;
        let recovered = stage.longhaul(["recover", "@"]).against(&server).output();
        envelope(&recovered, 0);
        assert_hinted_once(&stage, &format!("at point {point}"));
    }
    // Before a phase received the hint, and after it.
    assert!(kills.len() == 2 && kills.values().all(|count| *count >= 3), "{kills:?} of {whole} points");
}

/// Asserts that only the run after the one that gave the hint received it.
fn assert_hinted_once(stage: &Stage, title: &str) {
    let prompts = prompts(stage, "work");
    let hinted: Vec<u32> =
        prompts.iter().filter(|(_, prompt)| prompt.contains("mind the gap")).map(|(at, _)| *at).collect();
    assert_eq!(hinted, [2], "{title}: {prompts:?}");
    assert_eq!(only_workflow(stage).pending_hints().expect("hints can be read"), [], "{title}");
}
