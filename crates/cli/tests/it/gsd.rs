//! `longhaul gsd` and `openclawpack`: a project from the idea to an executed phase, through faults, and the registry.
//!
//! The commands of the framework are small ones of the test. They create files of `.planning` as GSD does.

use crate::call::{Call, Output, wait_until};
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::kill_agent;
use crate::server::Server;
use crate::tidy;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

// The APIs of one session, one for each command. Each script starts with the turns of the commands before.
const NEW_PROJECT: &str = "
I create the project.
$ sh ../framework new-project
The project has two phases.
";
/// The API is overloaded for one request.
const PLAN_PHASE: &str = "
I create the project.
$ sh ../framework new-project
I plan the phase.
$ sh ../framework plan-phase
Phase 1 has two plans.
[[fault]]
turn = 3
times = 1
status = { code = 529 }
";
/// The second plan takes long, unless it was interrupted before.
const EXECUTE_PHASE: &str = "
I create the project.
$ sh ../framework new-project
I plan the phase.
$ sh ../framework plan-phase
I execute the first plan.
$ sh ../framework execute-plan 01
And the second one.
$ test -e ../started || { touch ../started; sleep 60; }; sh ../framework execute-plan 02
Both plans are executed.
";

/// The same in a session of its own.
const EXECUTE_ALONE: &str = "
I execute the first plan.
$ sh ../framework execute-plan 01
And the second one.
$ test -e ../started || { touch ../started; sleep 60; }; sh ../framework execute-plan 02
Both plans are executed.
";

/// The files that the framework creates.
const FRAMEWORK: &str = r##"
mkdir -p .planning/phases/01-count-words
cd .planning
case $1 in
new-project)
    printf '# Word counter\n' > PROJECT.md
    printf '{"mode": "yolo", "depth": "standard"}\n' > config.json
    printf '# Requirements\n\n## v1 Requirements\n\n- [ ] **CNT-01**: Count words\n- [ ] **CNT-02**: Count lines\n' > REQUIREMENTS.md
    cat > ROADMAP.md <<'END'
# Roadmap

## Phases

- [ ] **Phase 1: Count words** - The first command
- [ ] **Phase 2: Count lines** - The second command

## Phase Details

### Phase 1: Count words
**Goal**: Words are counted
**Requirements**: CNT-01

### Phase 2: Count lines
**Goal**: Lines are counted
**Requirements**: CNT-02
END
    printf '# Project State\n\n## Current Position\n\nPhase: 1 of 2 (Count words)\nPlan: 0 of 2 in current phase\nStatus: Ready to plan\n' > STATE.md ;;
plan-phase)
    for plan in 01 02; do echo "# Plan $plan" > phases/01-count-words/01-$plan-PLAN.md; done ;;
execute-plan)
    echo "# Summary $2" >> phases/01-count-words/01-$2-SUMMARY.md ;;
esac
"##;

/// Returns a stage with the commands of the framework.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.file("framework", FRAMEWORK);
    let commands = stage.work().join(".claude/commands/gsd");
    fs::create_dir_all(&commands).expect("the stage is writable");
    for name in ["new-project", "plan-phase", "execute-phase"] {
        let text =
            format!("---\ndescription: {name}\n---\nThis is {name} of the framework, for $ARGUMENTS\n");
        fs::write(commands.join(format!("{name}.md")), text).expect("the stage is writable");
    }
    stage
}

/// Returns a call of a command on the project, with fast retries.
fn gsd(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Call {
    with_agent(stage.longhaul(["gsd"]), stage, agent, server, args)
}

fn with_agent(call: Call, stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Call {
    let call = call.args(args).args(["--agent-path"]).args([agent]);
    let call = call.args(["--inner-retries", "0", "--retry-base", "100ms"]);
    call.against(server).in_dir(&stage.work())
}

fn status(stage: &Stage) -> Value {
    let output = stage.longhaul(["gsd", "status"]).in_dir(&stage.work()).output();
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("an envelope is printed")
}

fn summaries(stage: &Stage) -> BTreeSet<(PathBuf, usize)> {
    let files = tidy::all_paths(&stage.work().join(".planning/phases"));
    let summaries = files.into_iter().filter(|path| path.to_string_lossy().ends_with("-SUMMARY.md"));
    summaries
        .map(|path| {
            let lines = fs::read_to_string(&path).expect("a file").lines().count();
            (PathBuf::from(path.file_name().expect("a name")), lines)
        })
        .collect()
}

fn session(envelope: &Value) -> String {
    envelope["session_id"].as_str().expect("a session").to_owned()
}

/// Creates, plans and executes, with an overload while planning and a killed agent while executing. The sessions are
/// one, because each command continues that of the command before.
fn check_project(stage: &Stage, agent: &Path) {
    let servers = [NEW_PROJECT, PLAN_PHASE, EXECUTE_PHASE].map(Server::start);
    let created = gsd(stage, agent, &servers[0], &["new-project", "count words"]).output();
    assert!(created.stderr.contains(r#"event: {"type":"decision_needed""#), "{created:?}");
    let created = created.envelope(0);
    assert_eq!(created["result"], "The project has two phases.");
    let session_id = session(&created);

    let planned = gsd(stage, agent, &servers[1], &["plan-phase", "1", "--resume", &session_id]).output();
    assert!(planned.stderr.contains(r#""type":"plan_complete""#), "{planned:?}");
    let planned = planned.envelope(0);
    assert_eq!(
        (&planned["result"], session(&planned)),
        (&"Phase 1 has two plans.".into(), session_id.clone())
    );
    assert_eq!(planned["run"]["attempts"], 2, "{planned}");
    let requests = servers[1].api.request_log().requests;
    assert!(requests.iter().any(|request| request.status == 529));

    let execute = ["execute-phase", "1", "--resume", &session_id, "--timeout", "600"];
    let running = gsd(stage, agent, &servers[2], &execute).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    kill_agent(&stage.runs()[0]);
    let executed = running.output().envelope(0);
    assert_eq!((&executed["result"], session(&executed)), (&"Both plans are executed.".into(), session_id));
    assert_eq!(executed["run"]["attempts"], 2, "{executed}");
    assert_eq!(
        summaries(stage),
        BTreeSet::from([("01-01-SUMMARY.md".into(), 1), ("01-02-SUMMARY.md".into(), 1)])
    );

    let status = status(stage);
    let result = &status["result"];
    assert_eq!(
        (&result["current_phase"], &result["progress_percent"]),
        (&json!(1), &json!(100.0)),
        "{status}"
    );
    assert_eq!(result["requirements_total"], 2, "{status}");
    assert_eq!((&status["usage"]["output_tokens"], &status["run"]["outcome"]), (&json!(0), &json!("done")));
    tidy::check(stage);
}

#[test]
fn project_is_created_planned_and_executed_through_faults() {
    let stage_of_script = stage();
    check_project(&stage_of_script, &stage_of_script.agent());
    if let Some(claude) = claude_code("GSD commands") {
        check_project(&stage(), &claude);
    }
}

/// Returns a stage with a planned phase.
fn planned() -> Stage {
    let stage = stage();
    for command in ["new-project", "plan-phase"] {
        let output = stage.program("sh").args(["../framework", command]).in_dir(&stage.work()).output();
        assert_eq!(output.code, 0, "{output:?}");
    }
    stage
}

#[test]
fn killed_command_continues_when_it_is_called_again() {
    let (stage, server) = (planned(), Server::start(EXECUTE_ALONE));
    let agent = stage.agent();
    let running = gsd(&stage, &agent, &server, &["execute-phase", "1"]).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    running.kill();
    kill_agent(&stage.only_run());
    let other = gsd(&stage, &agent, &server, &["execute-phase", "1", "--again"]).output();
    other.envelope(25);
    other.assert_error(&["is unfinished", "longhaul cancel"]);
    let recovered = gsd(&stage, &agent, &server, &["execute-phase", "1"]).output();
    assert!(recovered.stderr.contains("recovering run"), "{recovered:?}");
    let recovered = recovered.envelope(0);
    assert_eq!((&recovered["run"]["attempts"], stage.runs().len()), (&json!(2), 1), "{recovered}");
    assert_eq!(summaries(&stage).len(), 2);

    // The work is complete, so no model is called.
    for (command, text) in [
        ("execute-phase", "Phase 1 is already executed: 2 plans, all with summaries."),
        ("plan-phase", "Phase 1 is already planned: 2 plans."),
    ] {
        let complete = gsd(&stage, &agent, &server, &[command, "1"]).output().envelope(0);
        assert_eq!((&complete["result"], stage.runs().len()), (&text.into(), 1), "{complete}");
    }
}

#[test]
fn failed_session_is_continued_with_the_first_unfinished_plan() {
    let stage = planned();
    let agent = stage.agent();
    let fails = Server::start(
        "
I execute the first plan.
$ sh ../framework execute-plan 01
And the second one.
[[fault]]
turn = 2
times = 9
status = { code = 529 }
",
    );
    let failed =
        gsd(&stage, &agent, &fails, &["execute-phase", "1", "--max-retries", "1"]).output().envelope(75);
    assert_eq!(failed["run"]["outcome"], "retry_later", "{failed}");
    fs::write(stage.folder().join("started"), "").expect("the stage is writable");
    let server = Server::start(EXECUTE_ALONE);
    let executed = gsd(&stage, &agent, &server, &["execute-phase", "1"]).output().envelope(0);
    assert_eq!(session(&executed), session(&failed));
    assert_eq!(executed["result"], "Both plans are executed.", "{executed}");
    assert_eq!(
        summaries(&stage),
        BTreeSet::from([("01-01-SUMMARY.md".into(), 1), ("01-02-SUMMARY.md".into(), 1)])
    );
    let prompt = stage.runs()[0].plan().expect("a plan").spec.prompt;
    assert!(prompt.starts_with("/gsd:execute-phase 1\n\nAn earlier session"), "{prompt}");
    assert!(prompt.ends_with("are complete: 01-01. Continue with plan 01-02."), "{prompt}");
}

#[test]
fn second_command_on_a_project_waits_or_is_refused() {
    let (stage, server) = (planned(), Server::start(EXECUTE_ALONE));
    let agent = stage.agent();
    let first = gsd(&stage, &agent, &server, &["execute-phase", "1"]).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    let refused = gsd(&stage, &agent, &server, &["plan-phase", "1", "--no-wait"]).output();
    refused.envelope(25);
    refused.assert_error(&["another `longhaul gsd` command works on", "leave out --no-wait"]);
    let second = gsd(&stage, &agent, &server, &["plan-phase", "1"]).start();
    let elsewhere = planned();
    let other = gsd(&elsewhere, &agent, &server, &["plan-phase", "1"]).output().envelope(0);
    assert_eq!(other["result"], "Phase 1 is already planned: 2 plans.");
    kill_agent(&stage.only_run());
    first.output().envelope(0);
    let second = second.output();
    assert!(second.stderr.contains("waiting for another `longhaul gsd` command"), "{second:?}");
    second.envelope(0);
}

#[test]
fn defaults_of_openclawpack_apply_and_can_be_changed() {
    let stage = planned();
    let server = Server::start(NEW_PROJECT);
    let dry_run = |args: &[&str]| {
        let output = gsd(&stage, &stage.agent(), &server, args).args(["--dry-run"]).output();
        assert_eq!(output.code, 0, "{output:?}");
        serde_json::from_str::<Value>(&output.stdout).expect("a dry run")
    };
    let plan = dry_run(&["plan-phase", "2"]);
    let command = plan["command"].to_string();
    for words in ["bypassPermissions", r#""--setting-sources","user,project""#, "--append-system-prompt"] {
        assert!(command.contains(words), "{words} in {command}");
    }
    let policy = &plan["policy"];
    assert_eq!(
        (&policy["attempt_timeout"], &policy["max_reset_wait"]),
        (&json!(600_000), &json!(1_200_000)),
        "{plan}"
    );
    // Four attempts, their waits, and one reset.
    let wall = plan["worst_case"]["wall_without_progress_ms"].as_u64().expect("a bound");
    assert!((3_600_000..3_700_000).contains(&wall), "{plan}");
    assert!(plan["guards"].to_string().contains("context=Skip"), "{plan}");

    let changed = ["execute-phase", "2", "--timeout", "60", "--max-wait", "5m", "--total-timeout", "10m"];
    let more = [
        "--answer",
        "proceed=No",
        "--permission-mode",
        "acceptEdits",
        "--slash-command",
        "/gsd-execute-phase",
    ];
    let changed = dry_run(&[&changed[..], &more].concat());
    let policy = &changed["policy"];
    assert_eq!(
        (&policy["attempt_timeout"], &policy["max_reset_wait"]),
        (&json!(60_000), &json!(300_000)),
        "{changed}"
    );
    assert_eq!(policy["limits"]["wall"], 600_000, "{changed}");
    assert!(changed["guards"].to_string().contains("proceed=No"), "{changed}");
    assert!(changed["command"].to_string().contains("acceptEdits"), "{changed}");
    assert!(changed.to_string().contains("/gsd-execute-phase 2"), "{changed}");
}

#[test]
fn bad_input_is_rejected_before_any_model_call() {
    let (stage, server) = (planned(), Server::start(NEW_PROJECT));
    let agent = stage.agent();
    let check = |code: i32, args: &[&str], fragments: &[&str]| {
        let output = gsd(&stage, &agent, &server, args).output();
        assert_eq!(output.code, code, "{args:?}: {output:?}");
        output.assert_error(fragments);
    };
    check(2, &["new-project"], &["the idea of the project is missing", "--idea-file"]);
    check(2, &["new-project", "--idea-file", "missing.md"], &["missing.md"]);
    check(25, &["new-project", "count words"], &["is already a project", "longhaul gsd status"]);
    check(25, &["plan-phase", "7"], &["the project has no phase 7", "its phases are 1, 2"]);
    check(25, &["execute-phase", "2"], &["phase 2 has no plans", "longhaul gsd plan-phase 2"]);
    check(2, &["plan-phase", "one"], &["one"]);
    check(2, &["plan-phase", "1", "--timeout", "5", "--attempt-timeout", "5"], &["--timeout"]);
    let empty = ["--project-dir", "/", "plan-phase", "1"];
    check(25, &empty, &["has no directory `.planning`", "longhaul gsd new-project"]);
    assert_eq!((stage.runs().len(), server.api.request_log().requests.len()), (0, 0));

    let unknown = gsd(&stage, &agent, &server, &["plan-phase", "1", "--answer", "contxt=Skip"]).output();
    unknown.envelope(0);
    for text in ["no known question of plan-phase has the key `contxt`", "did you mean `context`?"] {
        assert!(unknown.stderr.contains(text), "{unknown:?}");
    }
}

#[test]
fn state_that_is_ahead_of_the_work_causes_a_warning() {
    let (stage, server) = (planned(), Server::start(NEW_PROJECT));
    let state = stage.work().join(".planning/STATE.md");
    let text = fs::read_to_string(&state).expect("the state");
    fs::write(&state, text.replace("Phase: 1 of 2 (Count words)", "Phase: 2 of 2 (Count lines)"))
        .expect("the stage is writable");
    let output = gsd(&stage, &stage.agent(), &server, &["execute-phase", "2"]).output();
    output.envelope(25);
    output.assert_error(&[
        "phase 2 is current, but plans of phase 1 have no summary: 01-01, 01-02",
        "`longhaul gsd execute-phase 1` executes them",
        "phase 2 has no plans",
    ]);
}

/// Returns a call of the program under its other name.
fn openclawpack(stage: &Stage, args: &[&str]) -> Call {
    let link = stage.folder().join("openclawpack");
    if !link.exists() {
        symlink(LONGHAUL, &link).expect("the stage is writable");
    }
    let program = link.to_str().expect("the path is UTF-8");
    stage.program(program).args(args).in_dir(&stage.work())
}

fn six_keys(output: &Output) -> Value {
    let envelope: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let keys: BTreeSet<&str> = envelope.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = ["success", "result", "errors", "session_id", "usage", "duration_ms"];
    assert_eq!(keys, BTreeSet::from(expected), "{envelope}");
    envelope
}

fn check_alias(stage: &Stage, agent: &Path) {
    let servers = [NEW_PROJECT, PLAN_PHASE, EXECUTE_PHASE].map(Server::start);
    let call =
        |server: &Server, args: &[&str]| with_agent(openclawpack(stage, args), stage, agent, server, &[]);
    let created = call(&servers[0], &["--quiet", "new-project", "--idea", "count words"]).output();
    assert_eq!((created.code, created.stderr.as_str()), (0, ""), "{created:?}");
    let created = six_keys(&created);
    assert_eq!(created["result"], "The project has two phases.");

    let planned = call(&servers[1], &["plan-phase", "1", "--resume", &session(&created)]).output();
    assert_eq!(planned.code, 0, "{planned:?}");
    assert!(planned.stderr.contains("Transient error attempt 1/3, retrying in 0."), "{planned:?}");
    assert_eq!(session(&six_keys(&planned)), session(&created));

    let running =
        call(&servers[2], &["--output-format", "text", "execute-phase", "1", "--resume", &session(&created)])
            .start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    kill_agent(&stage.runs()[0]);
    let executed = running.output();
    assert_eq!(executed.code, 0, "{executed:?}");
    let text = &executed.stdout;
    assert!(text.starts_with("Status: SUCCESS\n\nBoth plans are executed.\n\nSession: "), "{text}");
    assert!(text.contains(" output\nCost: $") && text.ends_with("ms\n"), "{text}");

    let status = six_keys(&openclawpack(stage, &["status"]).output());
    assert_eq!(status["result"]["current_phase"], 1, "{status}");
    tidy::check(stage);
}

#[test]
fn openclawpack_accepts_its_command_lines_and_prints_its_results() {
    let stage_of_script = stage();
    check_alias(&stage_of_script, &stage_of_script.agent());
    if let Some(claude) = claude_code("the commands of openclawpack") {
        check_alias(&stage(), &claude);
    }
}

#[test]
fn openclawpack_exit_codes_are_ours_unless_requested() {
    let stage = Stage::new();
    for (args, code) in [
        (&["status"][..], 25),
        (&["--exit-zero", "status"], 0),
        (&["new-project"], 2),
        (&["new-project", "--exit-zero"], 1),
        (&["explain"], 2),
    ] {
        let output = openclawpack(&stage, args).output();
        assert_eq!(output.code, code, "{args:?}: {output:?}");
    }
    let failed = openclawpack(&stage, &["--output-format", "text", "status"]).output();
    assert!(failed.stdout.starts_with("Status: FAILED\n\nErrors:\n  - "), "{failed:?}");
    let version = openclawpack(&stage, &["-v"]).output();
    assert!(version.stdout.starts_with("longhaul "), "{version:?}");
}

#[test]
fn projects_are_registered_in_the_file_of_openclawpack() {
    let stage = planned();
    let projects =
        |args: &[&str]| stage.longhaul(["gsd", "projects"]).args(args).in_dir(&stage.work()).output();
    let added = projects(&["add", ".", "--name", "words"]);
    assert_eq!(added.code, 0, "{added:?}");
    let file = stage.user_home().join(".local/share/openclawpack/registry.json");
    let registry: Value = serde_json::from_slice(&fs::read(&file).expect("the registry")).expect("JSON");
    let work = fs::canonicalize(stage.work()).expect("a directory");
    assert_eq!(registry["version"], 1);
    assert_eq!(registry["projects"]["words"]["path"], work.display().to_string());
    projects(&["add", "."]).assert_error(&["is already in the list, as `words`"]);
    projects(&["add", "/"]).assert_error(&["has no directory `.planning`"]);
    projects(&["remove", "lines"]).assert_error(&["there is no project `lines`", "the list has words"]);

    let listed: Value = serde_json::from_str(&projects(&["list", "--refresh"]).stdout).expect("an envelope");
    assert_eq!(listed["result"][0]["last_known_state"]["current_phase"], 1, "{listed}");
    assert!(listed["result"][0]["last_checked_at"].is_string(), "{listed}");
    fs::write(&file, "{").expect("the stage is writable");
    let damaged = projects(&["list"]);
    assert_eq!(damaged.code, 0, "{damaged:?}");
    for text in ["the registry of projects was damaged", "registry.damaged-1.json"] {
        assert!(damaged.stderr.contains(text), "{damaged:?}");
    }
    assert_eq!(projects(&["add", "."]).code, 0);
    assert_eq!(projects(&["remove", "work"]).code, 0);
}
