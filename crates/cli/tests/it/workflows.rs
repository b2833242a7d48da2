//! Workflows: phases, items, conditions and limits, and what remains of them after a crash.

use crate::call::{Call, Output, Running, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{set_age, wait_for_takeover};
use crate::server::Server;
use crate::tidy;
use longhaul_core::{OutcomeKind, Workflow};
use longhaul_store::{Journal, RunDir, WorkflowDir};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Two phases: the second runs for each item of a list in the file.
pub const TWO_PHASES: &str = r#"
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
pub const TWO_PHASES_SCRIPT: &str = "
No prompt matches.
? Make a plan
Three lemmas.
? Prove
I prove it.
$ echo proved >> proofs
It is proved.
";

/// Returns a call of `longhaul loop` in the work directory, with the scripted agent, fast retries and no pause
/// between the starts of runs.
pub fn run_loop(stage: &Stage, server: &Server, file: &str, args: &[&str]) -> Call {
    let path = stage.file("workflow.toml", format!("start_gap = \"none\"\n{file}"));
    run_named(stage, server, path.to_str().expect("a text"), args)
}

/// Returns such a call for the path or the name of a workflow.
pub fn run_named(stage: &Stage, server: &Server, workflow: &str, args: &[&str]) -> Call {
    let call = stage.longhaul(["loop", workflow]).args(["--agent-path"]).args([stage.agent()]);
    let call = call.args(["--permission-mode", "bypassPermissions", "--preset", "drill"]);
    // Other tests may use the memory of this machine.
    let reserve: &[&str] = if args.contains(&"--memory-reserve") { &[] } else { &["--memory-reserve", "0"] };
    call.args(reserve).args(args).against(server).in_dir(&stage.work())
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

#[test]
fn only_one_workflow_works_in_a_directory_with_those_around_it() {
    let script = "I continue.\n? Work slowly\nI start.\n$ touch started; for i in $(seq 300); do test -e go && exit 0; sleep \
                  0.1; done\nDone.\n? Be quick\nDone.\n";
    let phase = |prompt: &str| format!("[[phase]]\nname = \"work\"\nprompt = \"{prompt}\"\n");
    let (stage, server) = (Stage::new(), Server::start(script));
    let project = stage.work().join("project");
    let dirs = [stage.work(), project.clone(), project.join("sub"), stage.work().join("project-2")];
    fs::create_dir_all(&dirs[2]).and_then(|()| fs::create_dir(&dirs[3])).expect("the stage is writable");
    let start = |prompt: &str, dir: &Path| {
        run_loop(&stage, &server, &phase(prompt), &[dir.to_str().expect("a text")])
    };
    let running = start("Work slowly.", &project).start();
    wait_until("the tool runs", || project.join("started").exists());
    let id = only_workflow(&stage).id().to_string();
    let holder = format!("workflow {id} works in {}", project.display());
    for dir in &dirs[..3] {
        let refused = start("Be quick.", dir).output();
        assert_eq!(refused.code, 25, "{refused:?}");
        refused.assert_error(&[&holder, &format!("`longhaul cancel {id}`")]);
    }
    envelope(&start("Be quick.", &dirs[3]).output(), 0);
    fs::write(project.join("go"), "").expect("the stage is writable");
    envelope(&running.output(), 0);
    envelope(&start("Be quick.", &dirs[2]).output(), 0);
}

/// One phase that repeats until a file has three lines.
fn counting(iterations: u32, more: &str) -> String {
    format!(
        r#"
[repeat]
iterations = {iterations}
until = {{ command = "test $(cat steps | wc -l) -ge 3" }}
[[phase]]
name = "work"
prompt = "Take a step. Session {{{{ iteration }}}} of {{{{ iterations_max }}}}.{more}"
"#
    )
}

const COUNTING_SCRIPT: &str = "
I continue.
? Take a step
I take it.
$ echo step >> steps
One step is taken.
";

#[test]
fn repeats_until_the_condition_holds() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let envelope = envelope(&run_loop(&stage, &server, &counting(5, ""), &[]).output(), 0);
    assert_eq!(envelope["workflow"]["iteration"], 3, "{envelope}");
    assert_eq!(envelope["workflow"]["until_holds"], true, "{envelope}");
    assert_eq!((lines(&stage, "steps"), stage.runs().len()), (3, 3));
}

#[test]
fn iterations_that_run_out_are_partial_and_can_be_raised() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let output = run_loop(&stage, &server, &counting(2, ""), &["--name", "counting"]).output();
    let partial = envelope(&output, 27);
    let id = partial["workflow"]["id"].as_str().expect("an id");
    let resume = partial["workflow"]["resume"].as_str().expect("a command");
    assert_eq!(resume, format!("longhaul resume {id} --max-iterations 4"));
    // A workflow takes none of the settings of a run.
    let rejected = stage.longhaul(["resume", "counting", "--model", "opus"]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["`--model` applies to a run", "--max-iterations"]);
    let words: Vec<&str> = resume.split(' ').skip(1).collect();
    let resumed = envelope(&stage.longhaul(words).against(&server).output(), 0);
    assert_eq!(resumed["workflow"]["iteration"], 3, "{resumed}");
    assert_eq!((lines(&stage, "steps"), stage.runs().len()), (3, 3));
    // It is done: another resume would start nothing.
    let refused = stage.longhaul(["resume", id]).against(&server).output();
    assert_eq!(refused.code, 25, "{refused:?}");
    refused.assert_error(&["it has finished as done", &format!("longhaul show {id}")]);
}

#[test]
fn results_are_validated_and_listed_as_items() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
schema = { type = "object", required = ["tasks"], properties.tasks = { type = "array", items.type = "string" } }
[[phase]]
name = "work"
needs = ["plan"]
fan_out = { phase = "plan", pointer = "/tasks" }
prompt = "Do {{ item }} ({{ item_number }} of {{ results.plan.tasks | length }})."
"#;
    let script = |plan: &str| {
        format!("I continue.\n? Make a plan\n{plan}\n? Do\nI do it.\n$ echo did >> did\nDid it.\n")
    };
    let (stage, server) = (Stage::new(), Server::start(&script(r#"{"tasks": ["one", "two"]}"#)));
    envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let prompts: Vec<String> =
        stage.runs().iter().map(|run| run.plan().expect("a plan").spec.prompt).collect();
    assert!(prompts.iter().any(|prompt| prompt == "Do two (2 of 2)."), "{prompts:?}");
    assert_eq!(lines(&stage, "did"), 2);
    let result = only_workflow(&stage).result(1, "plan", 0).expect("it can be read").expect("a result");
    assert_eq!(result.value, Some(serde_json::json!({"tasks": ["one", "two"]})));

    // An invalid result is a failed check.
    let (stage, server) = (Stage::new(), Server::start(&script(r#"{"tasks": "one"}"#)));
    let invalid = envelope(&run_loop(&stage, &server, file, &[]).output(), 24);
    let problem = invalid["workflow"]["phases"][0]["items"][0]["problem"].as_str().expect("a problem");
    assert!(problem.contains("does not match the schema"), "{invalid}");
    assert_eq!(stage.runs().len(), 1);
    // The run is done, but not for its workflow. The first command that the workflow names explains it.
    let id = &invalid["workflow"]["id"];
    let id = id.as_str().expect("an id");
    assert_eq!(invalid["workflow"]["next"][0], format!("longhaul why {id}-1-plan-1"), "{invalid}");
    let why = stage.longhaul(["why", &format!("{id}-1-plan-1"), "--json"]).output();
    let why: Value = serde_json::from_str(&why.stdout).expect("an object is printed");
    let text = why["next"]["text"].as_str().expect("a text");
    assert!(text.contains("counts the run as check_failed: the result does not match the schema"), "{why}");
    let commands = [format!("longhaul logs {id}-1-plan-1"), format!("longhaul resume {id}")];
    assert_eq!(why["next"]["commands"], serde_json::json!(commands), "{why}");
}

/// The agent itself gives up on a result after five invalid ones.
#[test]
fn reactions_apply_to_results_that_the_agent_gave_up_on() {
    let file = r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
schema = { type = "object", required = ["tasks"], properties.tasks = { type = "array" } }
on = { check_failed = { retry = 1 } }
run = { retry_base = "10ms", retry_cap = "10ms" }
"#;
    let invalid = "I plan.\n! call = { name = 'StructuredOutput', input = { tasks = 5 } }\n".repeat(5);
    let script = format!("{invalid}Planned.\n? none of the results that you returned\n{invalid}Planned.\n");
    let (stage, server) = (Stage::new(), Server::start(&script));
    let failed = envelope(&run_loop(&stage, &server, file, &[]).output(), 24);
    // Each run is resumed once, and the reaction starts one more run.
    let runs = stage.runs();
    assert_eq!(runs.len(), 2, "{failed}");
    for run in runs {
        let show = stage.longhaul(["show", run.id().as_str(), "--json"]).output();
        let show: Value = serde_json::from_str(&show.stdout).expect("an object is printed");
        assert_eq!(show["outcome"], "check_failed", "{show}");
        let faults: Vec<_> =
            show["attempts"].as_array().expect("attempts").iter().map(|attempt| &attempt["fault"]).collect();
        assert_eq!(faults, ["invalid_result", "invalid_result"], "{show}");
    }
    let problem = failed["workflow"]["phases"][0]["items"][0]["problem"].as_str().expect("a problem");
    assert_eq!(problem, "the agent returned no result that its JSON schema allows", "{failed}");
}

#[test]
fn phase_uses_another_agent_and_receives_its_schema() {
    let file = format!(
        r#"
[[phase]]
name = "plan"
prompt = "Make a plan."
schema = {{ type = "object", required = ["tasks"], properties.tasks = {{ type = "array" }} }}
run = {{ agent = "acp", agent_args = [{LONGHAUL:?}, "drill-agent", "--acp"] }}
[[phase]]
name = "work"
needs = ["plan"]
prompt = "Do {{{{ results.plan.tasks | length }}}} tasks."
"#
    );
    // The agent finds the schema in its prompt.
    let script = "\
I continue.
? a JSON object, which matches this JSON schema:
{\"tasks\": [\"one\", \"two\"]}
? Do 2 tasks
Did them.
";
    let (stage, server) = (Stage::new(), Server::start(script));
    let loop_call = || run_loop(&stage, &server, &file, &[]).env("CLAUDE_CODE_MAX_RETRIES", "0");
    envelope(&loop_call().output(), 0);
    let agents: Vec<String> =
        stage.runs().iter().map(|run| run.plan().expect("a plan").spec.agent.name).collect();
    assert_eq!(agents, ["claude", "acp"], "the newest run first");
    let wrong = stage.file("wrong.toml", file.replace("\"acp\"", "\"codex\""));
    let rejected = stage.longhaul(["loop", "validate"]).args([wrong]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["there is no agent `codex`", "\"acp\""]);
    // The protocol does not name the files that a call edits.
    let edits = file.replacen("[[phase]]", "[[phase]]\nedit_paths = [\"notes\"]", 1);
    let edits = stage.file("edits.toml", edits);
    let rejected = stage.longhaul(["loop", "validate"]).args([edits]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["`edit_paths` cannot be used with `agent = \"acp\"`"]);
}

/// Two phases whose first fails its check at the first try, with this reaction.
fn failing(reaction: &str) -> String {
    format!(
        r#"
[[phase]]
name = "build"
prompt = "Build it."
on = {{ check_failed = {reaction} }}
run = {{ check = ["test -e built || {{ touch built; false; }}"], max_failed_checks = 1 }}
[[phase]]
name = "test"
needs = ["build"]
prompt = "Test it."
"#
    )
}

#[test]
fn reactions_stop_continue_or_retry() {
    let script = "I continue.\n? Build\nBuilt.\n? Test\nTested.\n";
    for (reaction, code, runs) in [("\"stop\"", 24, 1), ("\"continue\"", 27, 2), ("{ retry = 1 }", 0, 3)] {
        let (stage, server) = (Stage::new(), Server::start(script));
        let envelope = envelope(&run_loop(&stage, &server, &failing(reaction), &[]).output(), code);
        assert_eq!(stage.runs().len(), runs, "{reaction}: {envelope}");
        for command in envelope["workflow"]["next"].as_array().expect("commands") {
            let command = command.as_str().expect("a command");
            assert!(
                command.starts_with("longhaul why ") || command.starts_with("longhaul resume "),
                "{command}"
            );
        }
        if code != 0 {
            // The first command works as printed.
            let words: Vec<&str> =
                envelope["workflow"]["next"][0].as_str().expect("a command").split(' ').skip(1).collect();
            let next = stage.longhaul(words).against(&server).output();
            assert_eq!(next.code, 0, "{next:?}");
        }
    }
}

/// Moves the times of a journal an hour ahead, as if the calendar clock had been set back since.
fn move_ahead(path: &Path) {
    fn add(value: &mut Value) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value.as_u64() {
                Some(at) if key == "at" => *value = (at + 3_600_000).into(),
                _ => add(value),
            }),
            Value::Array(values) => values.iter_mut().for_each(add),
            _ => {}
        }
    }
    let text = fs::read_to_string(path).expect("a journal");
    let moved = text.lines().map(|line| {
        let mut step: Value = serde_json::from_str(line).expect("a step");
        add(&mut step);
        format!("{step}\n")
    });
    fs::write(path, moved.collect::<String>()).expect("the test owns the file");
}

#[test]
fn run_that_was_resumed_on_its_own_is_not_replaced() {
    for is_clock_set_back in [false, true] {
        check_resumed_run_is_kept(is_clock_set_back);
    }
}

fn check_resumed_run_is_kept(is_clock_set_back: bool) {
    let script = "I continue.\n? Build\nBuilt.\n? Test\nTested.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    envelope(&run_loop(&stage, &server, &failing("\"stop\""), &[]).output(), 24);
    if is_clock_set_back {
        move_ahead(&only_workflow(&stage).journal_path());
    }
    let (workflow, build) = (only_workflow(&stage).id().to_string(), stage.runs()[0].id().to_string());
    let resumed = stage.longhaul(["resume", &build]).against(&server).output();
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let envelope = envelope(&stage.longhaul(["resume", &workflow]).against(&server).output(), 0);
    let ids: Vec<String> = stage.runs().iter().rev().map(|run| run.id().to_string()).collect();
    assert_eq!(ids, [build, format!("{workflow}-1-test-1")], "{envelope}");
}

/// The check of the first phase fails until the user resumes its run on their own.
const BESIDE: &str = r#"
[[phase]]
name = "build"
prompt = "Build it."
on = { check_failed = "continue" }
run = { check = ["test -e built"], max_failed_checks = 1 }
[[phase]]
name = "test"
needs = ["build"]
prompt = "Test it."
"#;

const BESIDE_SCRIPT: &str = "
I continue.
? Build it
Built.
? Test it
I test it.
$ touch testing; for i in $(seq 300); do test -e go && break; sleep 0.1; done
Tested.
? Try again
I build it.
$ touch building; for i in $(seq 300); do test -e go && break; sleep 0.1; done; touch built
Built.
";

#[test]
fn workflow_is_not_recovered_next_to_a_run_that_it_would_not_wait_for() {
    let (stage, server) = (Stage::new(), Server::start(BESIDE_SCRIPT));
    let running = run_loop(&stage, &server, BESIDE, &[]).start();
    wait_until("the second run works", || stage.work().join("testing").exists());
    let id = only_workflow(&stage).id().to_string();
    let build = format!("{id}-1-build-1");
    let resumed = stage.longhaul(["resume", &build, "Try again."]).against(&server).start();
    wait_until("the first run works again", || stage.work().join("building").exists());
    let status = stage.longhaul(["status", "--output-format", "text"]).output().stdout;
    assert!(status.lines().any(|line| line.starts_with(&build)), "{status}");
    running.kill();
    let rejected = stage.longhaul(["recover", &id]).against(&server).output();
    assert_eq!(rejected.code, 25, "{rejected:?}");
    rejected.assert_error(&["cannot continue workflow", &format!("longhaul attach {build}")]);
    fs::write(stage.work().join("go"), "").expect("the file is written");
    resumed.output().envelope(0);
    envelope(&stage.longhaul(["recover", &id]).against(&server).output(), 27);
    assert_eq!(stage.runs().len(), 2);
}

#[test]
fn usage_limit_parks_the_workflow() {
    let script = "auth = 'oauth'\nI continue.\n? Take a step\nI take it.\n$ echo step >> steps\nDone.\n[[fault]]\nusage_limit = { reset_s = 10 }\n";
    let file = "[[phase]]\nname = \"work\"\nprompt = \"Take a step.\"\nrun = { max_reset_wait = \"1s\" }\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    let output = run_loop(&stage, &server, file, &[]).output();
    let envelope = envelope(&output, 0);
    assert_eq!(stage.runs().len(), 1, "the run is resumed: {envelope}");
    assert!(output.stderr.contains("retry_later"), "{output:?}");
    assert!(output.stderr.contains("waiting until"), "{output:?}");
}

#[test]
fn shares_never_exceed_the_budget() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let file = r#"
max_parallel = 4
budget = 0.05
[[phase]]
name = "work"
fan_out = { command = "seq 40" }
prompt = "Take a step for {{ item }}."
"#;
    let envelope = envelope(&run_loop(&stage, &server, file, &[]).output(), 21);
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
    // One response of each live run can be in flight when its share is used up.
    let largest = stage
        .runs()
        .iter()
        .filter_map(|run| run.status().ok())
        .map(|status| status.total_cost_usd.0.as_dollars())
        .fold(0.0, f64::max);
    assert!(cost <= 0.05 + 4.0 * largest, "{envelope}");
    let next = envelope["workflow"]["next"][0].as_str().expect("a command");
    assert!(next.contains("--add-budget"), "{next}");
    let by_workflow = stage.longhaul(["cost", "--by", "workflow"]).output();
    let by_workflow: Value = serde_json::from_str(&by_workflow.stdout).expect("an object is printed");
    assert!(
        by_workflow.to_string().contains(envelope["workflow"]["id"].as_str().expect("an id")),
        "{by_workflow}"
    );
    // Without a budget, the stopped runs have none either.
    let resumed = stage.longhaul(["resume", "@", "--budget", "none"]).against(&server).output();
    self::envelope(&resumed, 0);
}

/// A phase whose run takes a while, and one after it.
const SLOW: &str = r#"
[[phase]]
name = "slow"
prompt = "Work slowly."
[[phase]]
name = "rest"
needs = ["slow"]
prompt = "Do the rest."
"#;

pub const SLOW_SCRIPT: &str = "
I continue.
? Work slowly
I start.
$ test -e started && exit 0; touch started; sleep 3; echo slow >> steps
It is done.
? Do the rest
I do it.
$ echo rest >> steps
All is done.
";

/// Returns the script with a first phase that does not end on its own, for runs that are stopped.
fn endless_script() -> String {
    SLOW_SCRIPT.replace("sleep 3", "tail -f /dev/null")
}

pub fn start_slow(stage: &Stage, server: &Server) -> Running {
    let running = run_loop(stage, server, SLOW, &[]).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    running
}

#[test]
fn cancel_stops_all_runs_and_resume_continues() {
    let (stage, server) = (Stage::new(), Server::start(&endless_script()));
    let running = start_slow(&stage, &server);
    let dir = only_workflow(&stage);
    // A second workflow in this directory is rejected before any model call.
    let second = run_loop(&stage, &server, SLOW, &[]).output();
    assert_eq!(second.code, 25, "{second:?}");
    second.assert_error(&[dir.id().as_str(), "longhaul attach", "longhaul cancel"]);
    assert_eq!(stage.workflows().len(), 1);
    let status = stage.longhaul(["status"]).output();
    let status: Value = serde_json::from_str(&status.stdout).expect("an object is printed");
    assert_eq!(status["workflows"][0]["status"], "running", "{status}");
    assert_eq!(status["workflows"][0]["phases"][0]["items"][0]["status"], "running", "{status}");

    let cancelled = stage.longhaul(["cancel", dir.id().as_str()]).against(&server).output();
    envelope_of(&cancelled, 0, 130);
    assert_eq!(envelope(&running.output(), 130)["errors"][0], "the user cancelled the workflow");
    let resumed = stage.longhaul(["resume", "@"]).against(&server).output();
    envelope(&resumed, 0);
    assert!(fs::read_to_string(stage.work().join("steps")).expect("steps").ends_with("rest\n"));
}

#[test]
fn cancelled_run_ends_its_workflow() {
    let (stage, server) = (Stage::new(), Server::start(&endless_script()));
    let running = start_slow(&stage, &server);
    stage.longhaul(["cancel", stage.only_run().id().as_str()]).against(&server).output();
    assert_eq!(envelope(&running.output(), 130)["errors"][0], "a run of the workflow was cancelled");
}

/// Returns the envelope of a command whose exit code is not that of the workflow.
pub fn envelope_of(output: &Output, code: i32, outcome_code: i32) -> Value {
    assert_eq!(output.code, code, "{output:?}");
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope is printed");
    assert_eq!(envelope["workflow"]["exit_code"], outcome_code, "{envelope}");
    envelope
}

#[test]
fn sigterm_suspends_and_recover_continues() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let running = start_slow(&stage, &server);
    running.signal(Signal::TERM);
    let suspended = envelope(&running.output(), 143);
    let id = suspended["workflow"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(suspended["workflow"]["next"], serde_json::json!([format!("longhaul recover {id}")]));
    let listed = stage.longhaul(["recover", "--list"]).output();
    assert_eq!(listed.stdout, format!("{id}\n"), "its runs are not recovered on their own: {listed:?}");
    envelope(&stage.longhaul(["recover"]).against(&server).output(), 0);
    assert_eq!(stage.runs().len(), 2);
}

/// The files of a workflow do not change while its runs work.
#[test]
fn workflow_is_recovered_if_one_of_its_runs_was_active_lately() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    start_slow(&stage, &server).kill();
    let dir = only_workflow(&stage);
    set_age(&[dir.journal_path(), dir.status_path()], 8 * 24);
    envelope(&stage.longhaul(["recover"]).against(&server).output(), 0);
}

/// Cancelling starts no agent, so it needs no variables of the agent.
#[test]
fn suspended_workflow_can_be_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let running = start_slow(&stage, &server);
    running.signal(Signal::TERM);
    envelope(&running.output(), 143);
    // The time of a shorter suspension is not recorded.
    std::thread::sleep(Duration::from_millis(1_100));
    envelope_of(&stage.longhaul(["cancel", "@"]).output(), 0, 130);
    assert!(!stage.only_run().attempt(2).path().exists(), "cancelling started the agent");
}

#[test]
fn suspended_workflow_can_be_cancelled_while_another_one_uses_its_directory() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let running = start_slow(&stage, &server);
    let id = only_workflow(&stage).id().to_string();
    running.signal(Signal::TERM);
    envelope(&running.output(), 143);
    fs::remove_file(stage.work().join("started")).expect("the tool wrote it");
    let other = start_slow(&stage, &server);
    envelope_of(&stage.longhaul(["cancel", id.as_str()]).output(), 0, 130);
    envelope(&other.output(), 0);
}

#[test]
fn sigterm_suspends_a_run_that_another_process_supervises() {
    let (stage, server) = (Stage::new(), Server::start(&endless_script()));
    start_slow(&stage, &server).kill();
    let id = only_workflow(&stage).id().to_string();
    let run = stage.only_run().path().display().to_string();
    let other = stage.longhaul(["recover", &run]).against(&server).start();
    wait_for_takeover(&stage);
    let workflow = stage.longhaul(["recover", &id]).against(&server).start();
    wait_until("the workflow is taken over", || {
        let journal = fs::read_to_string(only_workflow(&stage).journal_path());
        journal.is_ok_and(|journal| journal.contains("taken_over"))
    });
    workflow.signal(Signal::TERM);
    envelope(&workflow.output(), 143);
    let suspended = other.output().envelope(143);
    assert_eq!(suspended["run"]["outcome"], "suspended", "{suspended}");
    // No request is left that would suspend the run again.
    envelope(&stage.longhaul(["recover", &id]).against(&server).output(), 0);
    assert_eq!(stage.runs().len(), 2);
}

#[test]
fn killed_at_any_point_recovers_without_running_finished_runs_again() {
    let whole = {
        let (stage, server) = (Stage::new(), Server::start(TWO_PHASES_SCRIPT));
        let log = stage.folder().join("points");
        let call = run_loop(&stage, &server, TWO_PHASES, &["--serial"]).env("LONGHAUL_FAILPOINT_LOG", &log);
        envelope(&call.output(), 0);
        fs::read_to_string(&log).expect("points are logged").lines().count()
    };
    let mut kills = 0;
    // Every few points, from the first to the last.
    for point in (1..=whole).step_by((whole / 12).max(1)) {
        let (stage, server) = (Stage::new(), Server::start(TWO_PHASES_SCRIPT));
        let call = run_loop(&stage, &server, TWO_PHASES, &["--serial"]);
        let killed =
            call.env("LONGHAUL_FAILPOINT", format!("supervisor@{point}")).start().output_unless_killed();
        if killed.is_some() || stage.workflows().is_empty() {
            continue;
        }
        kills += 1;
        let finished: Vec<RunDir> = stage.runs().into_iter().filter(RunDir::is_outcome_published).collect();
        let journal = |run: &RunDir| fs::read(run.journal_path()).expect("a journal");
        let before: Vec<Vec<u8>> = finished.iter().map(journal).collect();
        let id = only_workflow(&stage).id().to_string();
        let recovered = envelope(&stage.longhaul(["recover", &id]).against(&server).output(), 0);
        assert_eq!(finished.iter().map(journal).collect::<Vec<_>>(), before, "at point {point}: {recovered}");
        assert_eq!(stage.runs().len(), 4, "at point {point}: {recovered}");
        assert!(lines(&stage, "proofs") >= 2, "at point {point}: {recovered}");
        assert_eq!(
            replayed(&only_workflow(&stage)).state().outcome().map(|outcome| outcome.kind),
            Some(OutcomeKind::Done)
        );
    }
    assert!(kills >= 8, "only {kills} of {whole} points were hit");
}

#[test]
fn empty_list_of_items_is_skipped_with_a_warning() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let file =
        "[[phase]]\nname = \"work\"\nfan_out = { command = \"true\" }\nprompt = \"Take {{ item }}.\"\n";
    let output = run_loop(&stage, &server, file, &[]).output();
    let envelope = envelope(&output, 0);
    assert!(output.stderr.contains("warning:") && output.stderr.contains("phase `work`"), "{output:?}");
    assert!(envelope["workflow"]["phases"][0]["problem"].is_string(), "{envelope}");
    assert_eq!(stage.runs().len(), 0);
}

#[test]
fn failed_phase_has_no_items_of_an_earlier_iteration() {
    let file = r#"
[repeat]
iterations = 2
[[phase]]
name = "plan"
prompt = "Make a plan."
schema = { type = "object", required = ["tasks"], properties.tasks = { type = "array" } }
on = { check_failed = "continue" }
run = { check = ["test ! -e planned && touch planned"], max_failed_checks = 1 }
[[phase]]
name = "work"
fan_out = { phase = "plan", pointer = "/tasks" }
prompt = "Do {{ item }}."
"#;
    let script =
        "I continue.\n? Make a plan\n{\"tasks\": [\"one\"]}\n? Do\nI do it.\n$ echo did >> did\nDid it.\n";
    let (stage, server) = (Stage::new(), Server::start(script));
    let output = run_loop(&stage, &server, file, &[]).output();
    let ended: Value = serde_json::from_str(&output.stdout).expect("an envelope is printed");
    assert_eq!((&ended["workflow"]["iteration"], lines(&stage, "did")), (&2.into(), 1), "{ended}");
    assert!(ended["workflow"]["phases"][1]["problem"].is_string(), "{ended}");
    assert_eq!(stage.runs().len(), 3);
}

#[test]
fn many_items_are_capped_and_reported() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let file = "[[phase]]\nname = \"work\"\nmax_objectives = 2\nfan_out = { command = \"seq 10000\" }\nprompt = \"Take a step for {{ item }}.\"\n";
    let output = run_loop(&stage, &server, file, &[]).output();
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope is printed");
    assert_eq!(envelope["workflow"]["phases"][0]["deferred"], 9_998, "{envelope}");
    assert_eq!(stage.runs().len(), 2);
    assert!(output.stderr.contains("9998 more are deferred"), "{output:?}");
    assert_eq!(envelope["errors"][0], "9998 items above `max_objectives` were left out", "{envelope}");
}

#[test]
fn hint_reaches_exactly_one_phase() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let file = counting(2, "{% for hint in hints %} Hint: {{ hint }}.{% endfor %}");
    let partial = envelope(&run_loop(&stage, &server, &file, &[]).output(), 27);
    let id = partial["workflow"]["id"].as_str().expect("an id").to_owned();
    let hinted = stage.longhaul(["hint", &id, "mind the gap"]).output();
    assert_eq!(hinted.code, 0, "{hinted:?}");
    // The third step makes the condition hold; the marker file makes a fourth one necessary.
    fs::remove_file(stage.work().join("steps")).expect("there are steps");
    envelope(&stage.longhaul(["resume", &id, "--max-iterations", "5"]).against(&server).output(), 0);
    let prompts: Vec<String> =
        stage.runs().iter().map(|run| run.plan().expect("a plan").spec.prompt).collect();
    assert_eq!(prompts.len(), 5);
    let hinted = prompts.iter().filter(|prompt| prompt.contains("mind the gap"));
    assert_eq!(hinted.count(), 1, "{prompts:?}");
    assert_eq!(only_workflow(&stage).pending_hints().expect("hints can be read"), []);
}

#[test]
fn bad_input_is_rejected_before_any_model_call() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let phase = |more: &str| format!("[[phase]]\nname = \"work\"\nprompt = \"Work.\"\n{more}");
    let check = |file: &str, args: &[&str], code: i32, fragments: &[&str]| {
        let output = run_loop(&stage, &server, file, args).output();
        assert_eq!(output.code, code, "{file}: {output:?}");
        output.assert_error(fragments);
        let has_help = output.stderr.contains("hint:") || output.stderr.contains("try '--help'");
        assert!(has_help, "{file}: {output:?}");
    };
    check("", &[], 2, &["workflow.toml"]);
    check(&phase("needs = [\"nowhere\"]"), &[], 2, &["workflow.toml:5:", "nowhere"]);
    check(&phase("promt = 1"), &[], 2, &["workflow.toml:5:"]);
    check(&phase("run = { modell = \"opus\" }"), &[], 2, &["workflow.toml:5:", "modell", "`model`"]);
    check(&phase("run = { budget = \"much\" }"), &[], 2, &["workflow.toml:5:", "budget"]);
    check(&phase("run = { checks = [] }"), &[], 2, &["no setting `checks`", "did you mean `check`?"]);
    check(&phase("run = { check = [] , name = \"x\" }"), &[], 2, &["cannot be set for a phase"]);
    check(&phase("isolation = \"worktree\""), &[], 25, &["git repository", "isolation"]);
    check(&phase(""), &["--from", "nowhere"], 2, &["nowhere"]);
    check(&phase(""), &["--max-iterations", "0"], 2, &["--max-iterations"]);
    check(&phase(""), &["--set", "task=x"], 2, &["task"]);
    check(&phase("[parameters]\ntask = \"\""), &[], 2, &["task"]);
    check(&phase(""), &["--model", ""], 2, &["--model"]);
    let missing = stage.longhaul(["loop", "nowhere.toml"]).output();
    assert_eq!(missing.code, 2, "{missing:?}");
    missing.assert_error(&["nowhere.toml", "ralph"]);
    assert_eq!(server.api.request_log().model_requests(), 0);
    assert_eq!(stage.workflows().len(), 0);
}

#[test]
fn validates_and_prints_prompts_without_an_agent_call() {
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    let path = stage.file("workflow.toml", TWO_PHASES);
    let valid = stage.longhaul(["loop", "validate"]).args([&path]).output();
    assert_eq!(valid.code, 0, "{valid:?}");
    assert!(valid.stdout.contains("plan") && valid.stdout.contains("prove"), "{valid:?}");
    let json = stage.longhaul(["loop", "validate", "--json"]).args([&path]).output();
    assert_eq!(json.code, 0, "{json:?}");
    // It rejects what `loop` would reject.
    let check = |settings: &str, fragments: &[&str]| {
        let phase = format!("[[phase]]\nname = \"work\"\nprompt = \"Work.\"\nrun = {{ {settings} }}\n");
        let path = stage.file("invalid.toml", phase);
        let invalid = stage.longhaul(["loop", "validate"]).args([&path]).output();
        assert_eq!(invalid.code, 2, "{invalid:?}");
        invalid.assert_error(fragments);
    };
    check("check = [\"if then\"]", &["phase `work`", "the shell cannot parse it"]);
    let endless = "[[phase]]\nname = \"work\"\nprompt = \"Work.\"\nrun = { keep_going = true }\n";
    let dry_run =
        |limits: &[&str]| run_loop(&stage, &server, endless, &[&["--dry-run"], limits].concat()).output();
    dry_run(&[]).assert_error(&["phase `work`", "`keep_going` without a limit"]);
    assert_eq!(dry_run(&["--budget", "3"]).code, 0, "the workflow's limit is enough");
    let dry = run_loop(&stage, &server, TWO_PHASES, &["--dry-run", "--budget", "3"]).output();
    let dry: Value = serde_json::from_str(&dry.stdout).expect("an object is printed");
    assert_eq!(dry["policy"]["limits"]["budget"], 3_000_000, "{dry}");
    assert_eq!(dry["phases"][0]["prompt"], "Make a plan.", "{dry}");
    assert!(dry["phases"][1]["reason"].is_string(), "the plan has no result yet: {dry}");
    let text = run_loop(&stage, &server, TWO_PHASES, &["--dry-run", "--output-format", "text"]).output();
    assert!(text.stdout.contains("| Make a plan."), "{text:?}");
    // A prompt that needs a result appears as its template.
    assert!(text.stdout.contains("| Prove {{ item }}. The plan: {{ results.plan }}\n"), "{text:?}");
    assert_eq!(server.api.request_log().model_requests(), 0);
}

#[test]
fn dry_run_prints_the_prompt_of_each_item_under_the_flags() {
    let file = r#"
[repeat]
iterations = 4
[[phase]]
name = "plan"
prompt = "Make plan {{ iteration }}."
[[phase]]
name = "prove"
needs = ["plan"]
fan_out = { glob = "*/*.lean" }
max_objectives = 2
prompt = "Prove {{ item }} as {{ item_slug }}."
"#;
    let (stage, server) = (Stage::new(), Server::start(COUNTING_SCRIPT));
    fs::create_dir_all(stage.work().join("a")).expect("the stage is writable");
    for name in ["a/1.lean", "a/2.lean", "a/3.lean"] {
        fs::write(stage.work().join(name), "").expect("the stage is writable");
    }
    let dry = |flags: &[&str]| run_loop(&stage, &server, file, &[&["--dry-run"], flags].concat());
    let text = |flags: &[&str]| dry(&[&["--output-format", "text"], flags].concat()).output().stdout;
    let all = text(&["--max-iterations", "3", "--max-parallel", "2"]);
    for line in [
        "up to 3 iterations, at most 2 runs at a time",
        "  Item 1 of 2: a/1.lean\n  | Prove a/1.lean as a_1.",
        "  Item 2 of 2: a/2.lean\n  | Prove a/2.lean as a_2.",
        "  1 more items are deferred",
        "  | Make plan 1.",
    ] {
        assert!(all.contains(line), "no `{line}` in {all}");
    }
    let only = text(&["--only", "prove"]);
    assert!(only.contains("├─ plan (skipped)") && only.contains("\nPhase plan (skipped):\n"), "{only}");
    assert!(!only.contains("Make plan"), "{only}");
    let from = text(&["--from", "prove"]);
    let plan = "\nPhase plan (skipped in iteration 1):\n  agent_path: set by flag\n";
    assert!(from.contains(plan) && from.contains("\n  | Make plan 2."), "{from}");
    let json: Value = serde_json::from_str(&dry(&["--skip", "plan"]).output().stdout).expect("an object");
    assert_eq!(
        (&json["phases"][0]["skipped"], &json["phases"][0]["prompt"]),
        (&"skipped".into(), &Value::Null)
    );
    let prompts = &json["phases"][1]["prompts"];
    assert_eq!(prompts[1]["prompt"], "Prove a/2.lean as a_2.", "{json}");
    assert_eq!((prompts.as_array().map(Vec::len), &json["phases"][1]["deferred"]), (Some(2), &1.into()));
}

#[test]
fn detached_workflow_can_be_attached() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let detached = run_loop(&stage, &server, SLOW, &["--detach"]).output();
    assert_eq!(detached.code, 0, "{detached:?}");
    let message: Value = serde_json::from_str(&detached.stdout).expect("an object is printed");
    let id = message["run"]["id"].as_str().expect("an id");
    let attached = stage.longhaul(["attach", id]).against(&server).output();
    envelope(&attached, 0);
    assert!(attached.stderr.contains("rest: done"), "{attached:?}");
    let logs = stage.longhaul(["logs", id]).output();
    assert_eq!(logs.code, 2, "{logs:?}");
    logs.assert_error(&["is a workflow", &format!("longhaul show {id}")]);
    let status = stage.longhaul(["status", id]).with_text_output().output();
    assert!(status.stdout.contains(&format!("workflow {id}: done")), "{status:?}");
}

#[test]
fn examples_of_the_documentation_run() {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workflows.md"));
    let docs = docs.expect("the documentation can be read");
    let examples: Vec<&str> =
        docs.split("```toml\n").skip(1).filter_map(|part| part.split("\n```").next()).take(3).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let (stage, server) = (Stage::new(), Server::start("All is done.\n"));
        envelope(&run_loop(&stage, &server, example, &["--max-parallel", "4"]).output(), 0);
        assert!(!stage.runs().is_empty());
    }
}
