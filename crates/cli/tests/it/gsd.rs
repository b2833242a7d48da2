//! `longhaul gsd` and `openclawpack`: a project from the idea to an executed phase, through faults, and the registry.
//!
//! The commands of the framework are small ones of the test. They create files of `.planning` as GSD does.

use crate::call::{Call, Output, wait_until};
use crate::harness::{LONGHAUL, Stage, claude_code, with_each_agent};
use crate::recovering::kill_agent;
use crate::server::Server;
use crate::skipped::skip_test;
use crate::tidy;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::env;
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
pub const EXECUTE_ALONE: &str = "
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
plan-next)
    for phase in 01-count-words 02-count-lines; do
        test -e phases/$phase/${phase%%-*}-01-PLAN.md && continue
        mkdir -p phases/$phase
        for plan in 01 02; do echo "# Plan $plan" > phases/$phase/${phase%%-*}-$plan-PLAN.md; done
        break
    done ;;
execute-next)
    for plan in phases/*/*-PLAN.md; do
        summary=${plan%-PLAN.md}-SUMMARY.md
        test -e $summary && continue
        echo '# Summary' > $summary
        phase=$(dirname $plan)
        case $plan in
        *-02-PLAN.md) cat ../../report 2>/dev/null > $phase/$(basename $phase | cut -c1-2)-VERIFICATION.md ;;
        esac
        break
    done ;;
esac
"##;

/// The commands of a session of its own. They plan the next phase, and execute one plan of two.
const ANY_PHASE: &str = "
I look around.
? plan-phase
I plan the phase.
$ sh ../framework plan-next
The phase has two plans.
? execute-phase
I execute a plan.
$ test ! -e ../slow || { rm ../slow; sleep 60; }; sh ../framework execute-next
The phase is executed.
? have no summary
I forgot a plan.
$ sh ../framework execute-next
Both plans are executed.
";

fn report(stage: &Stage, status: &str) {
    stage.file("report", format!("---\nphase: 1\nstatus: {status}\n---\n"));
}

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
pub fn gsd(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Call {
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
    let created = gsd(stage, agent, &servers[0], &["new-project", "-"]).stdin("count words").output();
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
    with_each_agent("GSD commands", stage, check_project);
}

/// Returns a stage with a planned phase.
pub fn planned() -> Stage {
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
    let recovered = gsd(&stage, &agent, &server, &["execute-phase", "1", "--budget", "3"]).output();
    for text in ["this call's limits are ignored", "recovering run"] {
        assert!(recovered.stderr.contains(text), "{recovered:?}");
    }
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
    let bound = "the API is overloaded; the next retry would exceed the limit on retries (1)";
    assert_eq!(failed["errors"][0], bound, "{failed}");
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
fn command_runs_in_the_background() {
    let (stage, server) = (planned(), Server::start(EXECUTE_ALONE));
    let detached = || gsd(&stage, &stage.agent(), &server, &["execute-phase", "1", "--detach"]).output();
    let started = detached();
    assert_eq!(started.code, 0, "{started:?}");
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    let second = detached();
    second.envelope(25);
    second.assert_error(&["another `longhaul gsd` command works on", "longhaul status"]);
    kill_agent(&stage.only_run());
    let executed = stage.longhaul(["attach"]).output().envelope(0);
    assert_eq!((&executed["result"], summaries(&stage).len()), (&"Both plans are executed.".into(), 2));
    // A complete phase starts nothing, and says so.
    assert_eq!(detached().envelope(0)["result"], "Phase 1 is already executed: 2 plans, all with summaries.");
    let both =
        gsd(&stage, &stage.agent(), &server, &["execute-phase", "1", "--detach", "--dry-run"]).output();
    both.assert_error(&["--detach", "--dry-run"]);
}

#[test]
fn orphaned_run_of_another_command_is_recovered_first() {
    let (stage, server) = (planned(), Server::start(EXECUTE_ALONE));
    let agent = stage.agent();
    let running = gsd(&stage, &agent, &server, &["execute-phase", "1"]).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    running.kill();
    // Its agent is still at work.
    for other in [&["plan-phase", "2"][..], &["phases", "2..2"]] {
        let refused = gsd(&stage, &agent, &server, other).output();
        refused.envelope(25);
        refused.assert_error(&[
            &format!("run {} of this project, gsd-execute-phase-1, is unfinished", stage.only_run().id()),
            "`longhaul recover ",
            "`longhaul cancel ",
        ]);
    }
    // Commands that start no agent are possible.
    gsd(&stage, &agent, &server, &["plan-phase", "1"]).output().envelope(0);
    kill_agent(&stage.only_run());
    gsd(&stage, &agent, &server, &["execute-phase", "1"]).output().envelope(0);
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn work_that_an_agent_has_left_causes_a_warning() {
    let (stage, server) = (planned(), Server::start("Both plans are executed.\n"));
    for (command, text) in [
        (["execute-phase", "1"], "warning: plans of phase 1 have no summary: 01-01, 01-02"),
        (["plan-phase", "2"], "warning: phase 2 has no plans"),
    ] {
        let output = gsd(&stage, &stage.agent(), &server, &command).output();
        output.envelope(0);
        assert!(output.stderr.contains(text), "{output:?}");
    }
}

/// Returns a stage with a project that has no plans.
fn created() -> Stage {
    let stage = stage();
    let output = stage.program("sh").args(["../framework", "new-project"]).in_dir(&stage.work()).output();
    assert_eq!(output.code, 0, "{output:?}");
    stage
}

fn envelope(output: &Output, code: i32) -> Value {
    assert_eq!(output.code, code, "{output:?}");
    serde_json::from_str(&output.stdout).expect("an envelope is printed")
}

fn check_phases(stage: &Stage, agent: &Path) {
    let server = Server::start(ANY_PHASE);
    let phases = || gsd(stage, agent, &server, &["phases", "1..2"]);
    report(stage, "human_needed");
    let stopped = envelope(&phases().output(), 23);
    let errors = stopped["errors"].to_string();
    for text in ["check 2 needs a person", "write `status: passed` into .planning/phases/01-count-words"] {
        assert!(errors.contains(text), "{errors}");
    }
    // The check found the forgotten plan. The second phase was not started.
    assert_eq!((summaries(stage).len(), stage.runs().len()), (2, 2), "{stopped}");
    let again = phases().output();
    again.envelope(23);
    again.assert_error(&[
        "phase 1 needs a person",
        "write `status: passed` into .planning/phases/01-count-words",
    ]);
    assert_eq!(stage.runs().len(), 2);

    let file = stage.work().join(".planning/phases/01-count-words/01-VERIFICATION.md");
    fs::write(file, "---\nstatus: passed\n---\n").expect("the stage is writable");
    report(stage, "passed");
    let slow = stage.folder().join("slow");
    fs::write(&slow, "").expect("the stage is writable");
    let running = phases().start();
    wait_until("the second phase is executed", || stage.runs().len() == 4 && !slow.exists());
    running.kill();
    kill_agent(&stage.runs()[0]);
    let other = gsd(stage, agent, &server, &["phases", "1..1"]).output();
    other.envelope(25);
    other.assert_error(&["is unfinished, and has other phases", "`longhaul recover "]);
    let part = gsd(stage, agent, &server, &["next"]).output();
    part.envelope(25);
    part.assert_error(&["belongs to workflow", "`longhaul recover "]);
    let recovered = phases().args(["--budget", "3"]).output();
    for text in ["continues with its own settings: this call's limits are ignored", "recovering workflow"] {
        assert!(recovered.stderr.contains(text), "{recovered:?}");
    }
    let recovered = envelope(&recovered, 0);
    assert_eq!((summaries(stage).len(), stage.runs().len()), (4, 4), "{recovered}");

    let complete = phases().output().envelope(0);
    assert_eq!(complete["result"], "Phases 1 to 2 are complete.");
    let next = gsd(stage, agent, &server, &["next"]).output().envelope(0);
    let resumed = stage.longhaul(["resume", stopped["workflow"]["id"].as_str().expect("an id")]).output();
    resumed.envelope(25);
    resumed.assert_error(&["has worked on its project since", "phases 1..2` does what is left"]);
    assert_eq!((&next["result"], stage.runs().len()), (&"The milestone is complete: 2 phases.".into(), 4));
    tidy::check(stage);
}

#[test]
fn phases_are_planned_executed_and_verified_as_a_workflow() {
    with_each_agent("the phases of a project", created, check_phases);
}

#[test]
fn next_command_is_the_first_that_a_phase_needs() {
    let (stage, server) = (created(), Server::start(ANY_PHASE));
    let agent = stage.agent();
    let next = |action: &str| {
        let output = gsd(&stage, &agent, &server, &["next"]).output();
        assert!(output.stderr.contains(action), "{action}: {output:?}");
        output.envelope(0)
    };
    let planned = next("phase 1 (Count words): plan-phase");
    assert_eq!(planned["result"], "The phase has two plans.");
    next("phase 1 (Count words): execute-phase");
    report(&stage, "gaps_found");
    next("phase 1 (Count words): execute-phase");
    let prompt = stage.runs()[0].plan().expect("a plan").spec.prompt;
    assert!(prompt.ends_with("are complete: 01-01. Continue with plan 01-02."), "{prompt}");
    next("phase 1 (Count words): plan-phase");
    let prompt = stage.runs()[0].plan().expect("a plan").spec.prompt;
    assert_eq!(prompt, "/gsd:plan-phase 1 --gaps");

    // A phase that the roadmap calls complete is left alone, unless its report says otherwise.
    fs::write(
        stage.work().join(".planning/phases/01-count-words/01-VERIFICATION.md"),
        "---\nstatus: passed\n---\n",
    )
    .expect("the stage is writable");
    let roadmap = stage.work().join(".planning/ROADMAP.md");
    let text = fs::read_to_string(&roadmap).expect("the roadmap");
    fs::write(&roadmap, text.replace("[ ] **Phase 1", "[x] **Phase 1")).expect("the stage is writable");
    next("phase 2 (Count lines): execute-phase");
}

/// The framework calls a phase complete when its plans have summaries, before it verifies the phase.
#[test]
fn phase_with_gaps_is_open_although_the_roadmap_calls_it_complete() {
    let (stage, server) = (created(), Server::start(ANY_PHASE));
    let roadmap = stage.work().join(".planning/ROADMAP.md");
    let text = fs::read_to_string(&roadmap).expect("the roadmap");
    fs::write(&roadmap, text.replace("[ ] **Phase 1", "[x] **Phase 1")).expect("the stage is writable");
    let dir = stage.work().join(".planning/phases/01-count-words");
    fs::create_dir_all(&dir).expect("the stage is writable");
    for (file, content) in [
        ("01-01-PLAN.md", "# Plan"),
        ("01-01-SUMMARY.md", "# Summary"),
        ("01-VERIFICATION.md", "---\nstatus: gaps_found\n---\n"),
    ] {
        fs::write(dir.join(file), content).expect("the stage is writable");
    }
    let phases =
        |args: &[&str]| gsd(&stage, &stage.agent(), &server, &[&["phases", "1..1"], args].concat()).output();
    let dry_run = phases(&["--dry-run"]);
    assert!(dry_run.stdout.contains("/gsd:plan-phase 1 --gaps"), "{dry_run:?}");
    fs::write(dir.join("01-VERIFICATION.md"), "---\nstatus: human_needed\n---\n")
        .expect("the stage is writable");
    phases(&[]).envelope(23);
    fs::write(dir.join("01-VERIFICATION.md"), "---\nstatus: passed\n---\n").expect("the stage is writable");
    phases(&[]).envelope(0);
    assert!(stage.runs().is_empty());
}

#[test]
fn inserted_phase_has_its_place_by_number() {
    let (stage, server) = (created(), Server::start(ANY_PHASE));
    let roadmap = stage.work().join(".planning/ROADMAP.md");
    let text = fs::read_to_string(&roadmap).expect("the roadmap");
    let line = "- [ ] **Phase 2: Count lines** - The second command\n";
    let inserted = format!("{line}- [ ] **Phase 1.1: Count bytes** - Inserted\n");
    fs::write(&roadmap, text.replace(line, &inserted)).expect("the stage is writable");
    let dry_run = gsd(&stage, &stage.agent(), &server, &["phases", "1..2", "--dry-run"]).output();
    let dry_run = envelope(&dry_run, 0);
    let phases = dry_run["phases"].as_array().expect("phases");
    let prompts: Vec<&str> = phases.iter().map(|phase| phase["prompt"].as_str().expect("a prompt")).collect();
    let expected = [
        "/gsd:plan-phase 1",
        "/gsd:execute-phase 1",
        "/gsd:plan-phase 1.1",
        "/gsd:execute-phase 1.1",
        "/gsd:plan-phase 2",
        "/gsd:execute-phase 2",
    ];
    assert_eq!(prompts, expected);
    assert!(stage.runs().is_empty());
}

/// Changes the text of a project's roadmap.
fn change_roadmap(stage: &Stage, change: impl FnOnce(String) -> String) {
    let roadmap = stage.work().join(".planning/ROADMAP.md");
    let text = fs::read_to_string(&roadmap).expect("the roadmap");
    fs::write(&roadmap, change(text)).expect("the stage is writable");
}

#[test]
fn phases_can_have_letters_and_directories_the_code_of_the_project() {
    let (stage, server) = (planned(), Server::start(ANY_PHASE));
    let phases = stage.work().join(".planning/phases");
    fs::rename(phases.join("01-count-words"), phases.join("CK-01-count-words")).expect("it exists");
    change_roadmap(&stage, |text| text.replace("Phase 2: Count lines", "Phase 1A: Count lines"));
    let verify = stage.longhaul(["gsd", "verify-phase", "1", "--planned"]).in_dir(&stage.work()).output();
    verify.envelope(0);
    let dry_run = gsd(&stage, &stage.agent(), &server, &["phases", "1..1a", "--dry-run"]).output();
    let dry_run = envelope(&dry_run, 0);
    let phases = dry_run["phases"].as_array().expect("phases");
    let prompts: Vec<&str> = phases.iter().map(|phase| phase["prompt"].as_str().expect("a prompt")).collect();
    assert_eq!(prompts, ["/gsd:execute-phase 1", "/gsd:plan-phase 1A", "/gsd:execute-phase 1A"]);

    change_roadmap(&stage, |text| text.replace("[ ] **Phase 1:", "[x] **Phase 1:"));
    let status = status(&stage);
    let result = &status["result"];
    assert_eq!((&result["phases_complete"], &result["phases_total"]), (&json!(1), &json!(2)), "{status}");
    let next = gsd(&stage, &stage.agent(), &server, &["next", "--dry-run"]).output();
    assert!(next.stderr.contains("phase 1A (Count lines): plan-phase"), "{next:?}");
}

#[test]
fn next_phase_is_unknown_if_the_roadmap_is_not_read_completely() {
    let (stage, server) = (planned(), Server::start(ANY_PHASE));
    let next = || gsd(&stage, &stage.agent(), &server, &["next"]).output();
    for plan in ["01", "02"] {
        let file = format!(".planning/phases/01-count-words/01-{plan}-SUMMARY.md");
        fs::write(stage.work().join(file), "").expect("the stage is writable");
    }
    change_roadmap(&stage, |text| text.replace("Phase 2: Count lines", "Phase WC-2: Count lines"));
    let unreadable = next();
    unreadable.envelope(25);
    unreadable
        .assert_error(&["warning: ROADMAP.md:6: phase WC-2 cannot be read", "the next phase is unknown"]);
    change_roadmap(&stage, |_| "# Roadmap\n".to_owned());
    next().envelope(25);
    fs::remove_file(stage.work().join(".planning/ROADMAP.md")).expect("it exists");
    let missing = next();
    missing.envelope(25);
    missing.assert_error(&["the next phase is unknown: ROADMAP.md: the file is missing"]);
    assert!(stage.runs().is_empty());
}

#[test]
fn phase_is_verified_by_its_files() {
    let stage = created();
    let verify = |code: i32, args: &[&str]| {
        let output = stage.longhaul(["gsd", "verify-phase"]).args(args).in_dir(&stage.work()).output();
        output.envelope(code);
        output
    };
    verify(24, &["1"]).assert_error(&["phase 1 has no plans"]);
    verify(24, &["1", "--planned"]).assert_error(&["phase 1 has no plans"]);
    let framework = |command: &str| {
        let call = stage.program("sh").args(["../framework", command]).in_dir(&stage.work());
        assert_eq!(call.output().code, 0);
    };
    framework("plan-next");
    verify(0, &["1", "--planned"]);
    verify(24, &["1"]).assert_error(&["plans of phase 1 have no summary: 01-01, 01-02"]);
    framework("execute-next");
    framework("execute-next");
    fs::remove_file(stage.work().join(".planning/phases/01-count-words/01-VERIFICATION.md"))
        .expect("it exists");
    assert!(verify(0, &["1"]).stdout.contains("There is no report of its verification."));
    for (status, code, text) in [
        ("passed", 0, ""),
        ("gaps_found", 24, "the verification of phase 1 found gaps: see .planning/phases/01-count-words/01-"),
        ("pending", 23, "01-VERIFICATION.md states `pending`"),
    ] {
        let file = stage.work().join(".planning/phases/01-count-words/01-VERIFICATION.md");
        fs::write(file, format!("---\nstatus: {status}\n---\n")).expect("the stage is writable");
        let status_has_gaps = status == "gaps_found";
        let output = verify(code, &["1"]);
        assert!(output.stderr.contains(text), "{output:?}");
        let status = stage.longhaul(["gsd", "status"]).in_dir(&stage.work()).output();
        let progress = status.envelope(0)["result"]["progress_percent"].clone();
        let has_gaps = status.stderr.contains("the verification of phase 1 found gaps");
        assert_eq!((progress.is_null(), has_gaps), (status_has_gaps, status_has_gaps), "{status:?}");
    }
}

#[test]
fn slash_command_is_that_of_the_installed_framework() {
    let (stage, server) = (created(), Server::start(NEW_PROJECT));
    let agent = stage.agent();
    let dry_run = || gsd(&stage, &agent, &server, &["plan-phase", "1", "--dry-run"]).output();
    assert!(dry_run().stdout.contains("/gsd:plan-phase 1"));
    fs::remove_dir_all(stage.work().join(".claude")).expect("it exists");
    let missing = dry_run();
    missing.envelope(25);
    missing.assert_error(&["GSD is not installed", "npx get-shit-done-cc", "--slash-command"]);
    let skill = stage.user_home().join(".claude/skills/gsd-plan-phase");
    fs::create_dir_all(&skill).expect("the stage is writable");
    fs::write(skill.join("SKILL.md"), "---\nname: gsd-plan-phase\n---\n").expect("the stage is writable");
    assert!(dry_run().stdout.contains("/gsd-plan-phase 1"));
}

/// The framework from npm. Its own tool writes the files, as its workflows say.
const REAL_FRAMEWORK: &str = r##"
I look around.
? Initialize a new project through unified flow
I create the project.
$ cd .planning 2>/dev/null || mkdir .planning && cd .planning && echo '# Word counter' > PROJECT.md && sh ../../roadmap && node ~/.claude/get-shit-done/bin/gsd-tools.cjs --cwd .. config-new-project '{}'
The project has a phase.
? Create executable phase prompts
I plan the phase.
$ tool="node $HOME/.claude/get-shit-done/bin/gsd-tools.cjs"; $tool scaffold phase-dir --phase 1 --name 'Count words' && $tool template fill plan --phase 1 --plan 01
The phase has a plan.
? Execute all plans in a phase using wave-based parallel execution
I execute the plan.
$ tool="node $HOME/.claude/get-shit-done/bin/gsd-tools.cjs"; $tool template fill summary --phase 1 --plan 01 && $tool template fill verification --phase 1 && $tool frontmatter set .planning/phases/01-count-words/01-VERIFICATION.md --field status --value '"passed"' && $tool phase complete 1
The plan is executed.
"##;

const REAL_ROADMAP: &str = r##"
cat > ROADMAP.md <<'END'
# Roadmap: Word counter

## Phases

- [ ] **Phase 1: Count words** - The first command

## Phase Details

### Phase 1: Count words
**Goal**: Words are counted
**Plans**: TBD
END
printf '# Project State\n\n## Current Position\n\nPhase: 1 of 1 (Count words)\nPlan: 0 of 1 in current phase\nStatus: Ready to plan\nLast activity: 2026-01-02\n' > STATE.md
"##;

/// Returns the package of GSD, which `LONGHAUL_TEST_GSD` names. `cargo xtask test` installs it and sets the variable.
fn real_framework() -> Option<PathBuf> {
    let found = env::var_os("LONGHAUL_TEST_GSD").map(PathBuf::from);
    if found.is_none() {
        let remedy = "run `cargo xtask test`, which installs it";
        skip_test("the GSD of npm", "LONGHAUL_TEST_GSD is not set", remedy);
    }
    found
}

#[test]
fn real_framework_is_driven() {
    let Some(claude) = claude_code("the GSD of npm") else { return };
    let Some(framework) = real_framework() else { return };
    let (stage, server) = (Stage::new(), Server::start(REAL_FRAMEWORK));
    stage.file("roadmap", REAL_ROADMAP);
    let installer = framework.join("bin/install.js");
    let installed = stage
        .program("node")
        .args([installer.to_str().expect("the path is UTF-8"), "--claude", "--global"])
        .in_dir(&stage.work())
        .output();
    assert_eq!(installed.code, 0, "{installed:?}");
    // Claude Code replaces each command by the framework's own instructions, which the script recognizes.
    for (args, result) in [
        (&["new-project", "count words"][..], "The project has a phase."),
        (&["plan-phase", "1"], "The phase has a plan."),
        (&["execute-phase", "1"], "The plan is executed."),
    ] {
        let envelope = gsd(&stage, &claude, &server, args).output().envelope(0);
        assert_eq!(envelope["result"], result);
    }
    let status = status(&stage);
    assert_eq!(
        (&status["result"]["current_phase"], &status["result"]["progress_percent"]),
        (&json!(1), &json!(100.0))
    );
    let next = gsd(&stage, &claude, &server, &["next"]).output().envelope(0);
    assert_eq!(next["result"], "The milestone is complete: 1 phase.");
}

#[test]
fn second_command_on_a_project_waits_or_is_refused() {
    let (stage, server) = (planned(), Server::start(EXECUTE_ALONE));
    let agent = stage.agent();
    let first = gsd(&stage, &agent, &server, &["execute-phase", "1"]).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    let refused = gsd(&stage, &agent, &server, &["plan-phase", "1", "--no-wait"]).output();
    refused.envelope(25);
    refused.assert_error(&["another `longhaul gsd` command works on", "without --no-wait"]);
    // Its stderr can be read while it waits.
    let shell = ["-c", "exec \"$@\" 2> ../second.err", "sh", LONGHAUL, "gsd"];
    let second = with_agent(stage.program("sh").args(shell), &stage, &agent, &server, &["plan-phase", "1"]);
    let second = second.start();
    let elsewhere = planned();
    let other = gsd(&elsewhere, &agent, &server, &["plan-phase", "1"]).output().envelope(0);
    assert_eq!(other["result"], "Phase 1 is already planned: 2 plans.");
    let stderr = || fs::read_to_string(stage.folder().join("second.err")).unwrap_or_default();
    wait_until("the second command waits", || {
        stderr().contains("waiting for another `longhaul gsd` command")
    });
    kill_agent(&stage.only_run());
    first.output().envelope(0);
    second.output().envelope(0);
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
    check(2, &["new-project", "-"], &["the prompt from stdin is empty"]);
    check(25, &["new-project", "count words"], &["is already a project", "longhaul gsd status"]);
    check(25, &["plan-phase", "7"], &["the project has no phase 7", "its phases are 1, 2"]);
    check(25, &["execute-phase", "7", "--dry-run"], &["the project has no phase 7"]);
    check(25, &["execute-phase", "2"], &["phase 2 has no plans", "longhaul gsd plan-phase 2"]);
    check(2, &["plan-phase", "one"], &["one"]);
    check(2, &["phases", "1"], &["two phases, such as `1..3`"]);
    check(2, &["phases", "2..1"], &["phase 1 is before phase 2"]);
    check(25, &["phases", "1..7"], &["the project has no phase 7", "its phases are 1, 2"]);
    check(2, &["plan-phase", "1", "--timeout", "5", "--attempt-timeout", "5"], &["--timeout"]);
    let empty = ["--project-dir", "/", "plan-phase", "1"];
    check(25, &empty, &["has no directory `.planning`", "longhaul gsd --project-dir / new-project IDEA`"]);
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
    with_each_agent("the commands of openclawpack", stage, check_alias);
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
