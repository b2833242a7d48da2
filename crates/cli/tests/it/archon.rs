//! The workflow `archon`: its files, statuses and hints, on a project that is shaped like one in Lean.

use crate::call::{Call, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use crate::terminal::Terminal;
use crate::workflows::{envelope, only_workflow, run_loop};
use longhaul_core::{Jitter, Policy, Preset, Span};
use longhaul_store::RunDir;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const OBJECTIVES: &str = "1. **L1.lean**\\n2. **L2.lean**\\n3. **L3.lean**\\n4. **L4.lean**\\n5. **L5.lean**\\n6. **sub/L6.lean**\\n";

/// The plan writes the stage COMPLETE in its third iteration. A prover appends to its file and writes its report. Each
/// prompt names the file of a prover.
fn script() -> String {
    format!(
        "
No prompt matches.
? You are the plan agent
I plan.
$ echo plan >> .archon/plans; printf '## Current Stage\\n%s\\n\\n## Current Objectives\\n\\n{OBJECTIVES}' \"$(test $(wc -l < .archon/plans) -ge 3 && echo COMPLETE || echo prover)\" > .archon/PROGRESS.md
Planned.
? You are a prover agent
I prove.
$ echo proof >> proofs; mkdir -p .archon/task_results; echo solved > .archon/task_results/report-$$.md
Proved.
? You are the review agent
I review.
$ echo review >> .archon/reviews
Reviewed.
"
    )
}

fn write_project(stage: &Stage, progress: &str) {
    for file in [".archon/PROGRESS.md", "L1.lean", "L2.lean", "L3.lean", "L4.lean", "L5.lean", "sub/L6.lean"]
    {
        let path = stage.work().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the stage is writable");
        let text = if file.ends_with(".lean") { "theorem t : True := sorry\n" } else { progress };
        fs::write(path, text).expect("the stage is writable");
    }
}

const PROGRESS: &str = "## Current Stage\nprover\n\n## Current Objectives\n\n1. **L1.lean**\n";

fn archon(stage: &Stage, server: &Server, args: &[&str]) -> Call {
    archon_with(stage, server, &stage.agent(), args)
}

fn archon_with(stage: &Stage, server: &Server, agent: &Path, args: &[&str]) -> Call {
    stage.longhaul(archon_args(stage, agent, args)).against(server)
}

fn archon_args(stage: &Stage, agent: &Path, args: &[&str]) -> Vec<String> {
    let paths = [stage.work(), agent.to_owned()].map(|path| path.into_os_string().into_string());
    let [project, agent] = paths.map(|path| path.expect("a text"));
    let first =
        ["loop", "archon", &project, "--agent-path", &agent, "--preset", "drill", "--memory-reserve", "0"];
    first.iter().chain(args).map(|arg| (*arg).to_owned()).collect()
}

fn archon_path(stage: &Stage, path: &str) -> PathBuf {
    stage.work().join(".archon").join(path)
}

fn meta(stage: &Stage, number: u32) -> Value {
    let text = fs::read_to_string(archon_path(stage, &format!("logs/iter-{number:03}/meta.json")));
    serde_json::from_str(&text.expect("the iteration has a record")).expect("JSON")
}

fn rows(stage: &Stage, path: &str) -> Vec<Value> {
    let text = fs::read_to_string(archon_path(stage, path)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn count(rows: &[Value], event: &str) -> usize {
    rows.iter().filter(|row| row["event"] == event).count()
}

#[test]
fn archon_survives_crashes_and_ends_complete() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    fs::create_dir_all(archon_path(&stage, "logs/iter-007")).expect("the stage is writable");
    fs::write(archon_path(&stage, "USER_HINTS.md"), "# User Hints\n\nUse induction.\n").expect("a file");
    let server = Server::start(&script());
    // Three of ten starts of an agent crash.
    let body = format!(
        "echo >> {0}/starts; case $(wc -l < {0}/starts) in *[258]) kill -9 $$;; esac; exec '{LONGHAUL}' drill-agent \"$@\"",
        stage.folder().display()
    );
    let agent = stage.script("crashing", &body);
    let output = archon_with(&stage, &server, &agent, &[]).output();
    let envelope = envelope(&output, 0);
    assert_eq!(envelope["workflow"]["iteration"], 3, "{envelope}");
    // Iterations number on after those of the project.
    for number in [8, 9] {
        let meta = meta(&stage, number);
        assert_eq!(meta["stage"], "prover", "{meta}");
        assert_eq!(meta["mode"], "parallel", "{meta}");
        for phase in ["plan", "prover", "review"] {
            assert_eq!(meta[phase]["status"], "done", "{phase}: {meta}");
        }
        let provers = meta["provers"].as_object().expect("provers");
        assert_eq!(provers.len(), 6, "{meta}");
        assert_eq!(provers["sub_L6"]["file"], "sub/L6.lean", "{meta}");
        assert!(provers.values().all(|prover| prover["status"] == "done"), "{meta}");
        assert!(meta["completedAt"].is_string() && meta["totalCostUsd"].is_number(), "{meta}");
        let log = rows(&stage, &format!("logs/iter-{number:03}/provers/sub_L6.jsonl"));
        assert_eq!((count(&log, "session_end"), count(&log, "tool_call") > 0), (1, true), "{log:?}");
        let end = log.iter().find(|row| row["event"] == "session_end");
        assert!(end.is_some_and(|end| end["duration_api_ms"].is_u64()), "{log:?}");
        let combined = rows(&stage, &format!("logs/iter-{number:03}/provers-combined.jsonl"));
        assert_eq!(count(&combined, "session_end"), 6);
        let last = combined.last().expect("a row");
        assert_eq!((&last["event"], &last["failed"]), (&"parallel_round_end".into(), &0.into()));
        assert_eq!(count(&rows(&stage, &format!("logs/iter-{number:03}/plan.jsonl")), "session_end"), 1);
    }
    let last = meta(&stage, 10);
    assert_eq!(last["plan"]["status"], "done", "{last}");
    assert!(last["prover"].is_null() && last["completedAt"].is_string(), "{last}");
    // The reports of the first provers were archived before the second ones started.
    let archived = fs::read_dir(archon_path(&stage, "task_results/archive/iter-009")).expect("an archive");
    assert!(archived.count() >= 6);
    // The first plan receives the hint, and only this one.
    let prompts: Vec<String> =
        stage.runs().iter().map(|run| run.plan().expect("a plan").spec.prompt).collect();
    let with_hint: Vec<&String> = prompts.iter().filter(|prompt| prompt.contains("Use induction.")).collect();
    assert_eq!(with_hint.len(), 1, "{with_hint:?}");
    assert!(with_hint[0].contains("iteration 1 of at most 10"), "{}", with_hint[0]);
    assert_eq!(fs::read_to_string(archon_path(&stage, "USER_HINTS.md")).expect("the file exists"), "");
}

#[test]
fn iterations_run_out_as_partial_with_advice_that_works() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script());
    let flags = ["--max-iterations", "1", "--no-review", "--serial", "--verbose-logs", "--stage", "polish"];
    let output = archon(&stage, &server, &flags).output();
    let partial = envelope(&output, 27);
    let meta = meta(&stage, 1);
    assert_eq!((&meta["stage"], &meta["mode"]), (&"polish".into(), &"serial".into()), "{meta}");
    assert!(meta["review"].is_null() && meta["prover"]["status"] == "done", "{meta}");
    assert_eq!(count(&rows(&stage, "logs/iter-001/prover.jsonl"), "session_end"), 6);
    assert!(archon_path(&stage, "logs/iter-001/prover.raw.jsonl").exists());
    let advice = partial["workflow"]["resume"].as_str().expect("advice");
    assert!(advice.ends_with("--max-iterations 2"), "{advice}");
    let words: Vec<&str> = advice.split(' ').skip(1).collect();
    let resumed = stage.longhaul(words).against(&server).output();
    assert_eq!(envelope(&resumed, 27)["workflow"]["iteration"], 2, "{resumed:?}");
}

#[test]
fn failed_prover_is_an_error_and_stops_no_other() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let text = script().replace(OBJECTIVES, "1. **L1.lean**\\n2. **L2.lean**\\n");
    let server = Server::start(&text);
    // The prover of one file crashes on each attempt.
    let body =
        format!("case $LONGHAUL_RUN in *-prover-1*) kill -9 $$;; esac; exec '{LONGHAUL}' drill-agent \"$@\"");
    let agent = stage.script("crashing", &body);
    let output = archon_with(&stage, &server, &agent, &["--max-iterations", "1"]).output();
    envelope(&output, 27);
    let meta = meta(&stage, 1);
    let statuses = ["L1", "L2"].map(|slug| meta["provers"][slug]["status"].clone());
    assert_eq!(statuses, ["error", "done"], "{meta}");
    assert_eq!(
        (&meta["prover"]["status"], &meta["review"]["status"]),
        (&"error".into(), &"done".into()),
        "{meta}"
    );
    assert_eq!(count(&rows(&stage, "logs/iter-001/provers/L1.jsonl"), "session_end"), 0);
    assert!(archon_path(&stage, "reviews").exists(), "the review takes place");
}

#[test]
fn files_with_similar_names_have_logs_and_reports_of_their_own() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    for file in ["A/B.lean", "A_B.lean"] {
        let path = stage.work().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the stage is writable");
        fs::write(path, "theorem t : True := sorry\n").expect("the stage is writable");
    }
    let text = script().replace(OBJECTIVES, "1. **A/B.lean**\\n2. **A_B.lean**\\n");
    let server = Server::start(&text);
    let body =
        format!("case $LONGHAUL_RUN in *-prover-1*) kill -9 $$;; esac; exec '{LONGHAUL}' drill-agent \"$@\"");
    let agent = stage.script("crashing", &body);
    envelope(&archon_with(&stage, &server, &agent, &["--max-iterations", "1"]).output(), 27);
    let meta = meta(&stage, 1);
    let prover = |slug: &str| {
        let prover = &meta["provers"][slug];
        [&prover["file"], &prover["status"]].map(|value| value.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(prover("A_B"), ["A/B.lean", "error"], "{meta}");
    assert_eq!(prover("A_B_2"), ["A_B.lean", "done"], "{meta}");
    let ends =
        |slug: &str| count(&rows(&stage, &format!("logs/iter-001/provers/{slug}.jsonl")), "session_end");
    assert_eq!((ends("A_B"), ends("A_B_2")), (0, 1));
    let specs: Vec<_> = stage.runs().iter().map(|run| run.plan().expect("a plan").spec).collect();
    for (file, report) in [("A/B.lean", "A_B.lean.md"), ("A_B.lean", "A_B_2.lean.md")] {
        let path = format!(".archon/task_results/{report}");
        let spec =
            specs.iter().find(|spec| spec.guards.edit_paths.first().is_some_and(|first| first == file));
        let spec = spec.expect("each file has a run");
        assert_eq!(spec.guards.edit_paths, [file, &path]);
        assert!(spec.prompt.contains(&format!("Your report: {path}\n")), "{}", spec.prompt);
    }
}

#[test]
fn logs_are_correct_after_kill_and_recover() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let text = script().replace("$ echo proof >> proofs;", "$ echo proof >> proofs; sleep 1;");
    let server = Server::start(&text);
    let call = archon(&stage, &server, &["--max-iterations", "1", "--max-parallel", "2"]).start();
    let log = archon_path(&stage, "logs/iter-001/provers/L3.jsonl");
    let works = || fs::read_to_string(&log).is_ok_and(|text| text.contains("tool_call"));
    wait_until("the third prover works", works);
    call.kill();
    assert_eq!(meta(&stage, 1)["prover"]["status"], "running");
    let output = stage.longhaul(["recover", "@"]).against(&server).output();
    assert_eq!(output.code, 27, "{output:?}");
    let meta = meta(&stage, 1);
    for phase in ["plan", "prover", "review"] {
        assert_eq!(meta[phase]["status"], "done", "{phase}: {meta}");
    }
    assert!(meta["completedAt"].is_string() && !archon_path(&stage, "logs/iter-002").exists(), "{meta}");
    for slug in ["L1", "L2", "L3", "L4", "L5", "sub_L6"] {
        let log = rows(&stage, &format!("logs/iter-001/provers/{slug}.jsonl"));
        // No row is lost or doubled, whichever side of its run the kill hit.
        assert_eq!((count(&log, "session_end"), count(&log, "shell")), (1, 1), "{slug}: {log:?}");
    }
}

#[test]
fn hints_given_during_a_plan_reach_the_next_plan_once() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let give = format!(
        "$ test -e hinted || {{ '{LONGHAUL}' hint @ 'Use Zorn.' && printf 'Use induction.' > .archon/USER_HINTS.md && touch hinted; }}; echo plan"
    );
    let server = Server::start(&script().replace("$ echo plan", &give));
    envelope(&archon(&stage, &server, &[]).output(), 0);
    let plans = stage.runs().into_iter().rev().map(|run| run.plan().expect("a plan"));
    let plans: Vec<String> = plans
        .filter(|plan| plan.workflow.as_ref().is_some_and(|position| position.phase == "plan"))
        .map(|plan| plan.spec.prompt)
        .collect();
    for hint in ["Use Zorn.", "Use induction."] {
        let received: Vec<bool> = plans.iter().map(|prompt| prompt.contains(hint)).collect();
        assert_eq!(received, [false, true, false], "{hint}");
    }
}

#[test]
fn hints_written_after_a_failed_plan_reach_the_repeated_one() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script().replace(OBJECTIVES, "1. **L1.lean**\\n"));
    // The agent crashes on each attempt until the file exists.
    let go = stage.folder().join("go");
    let body = format!("test -e {} || kill -9 $$; exec '{LONGHAUL}' drill-agent \"$@\"", go.display());
    let agent = stage.script("crashing", &body);
    fs::write(archon_path(&stage, "USER_HINTS.md"), "Use induction.\n").expect("the stage is writable");
    let failed = archon_with(&stage, &server, &agent, &["--max-iterations", "1", "--no-review"]).output();
    assert_ne!(failed.code, 0, "{failed:?}");
    fs::write(archon_path(&stage, "USER_HINTS.md"), "Use Zorn.\n").expect("the stage is writable");
    fs::write(go, "").expect("the stage is writable");
    let id = only_workflow(&stage).id().to_string();
    envelope(&stage.longhaul(["resume", &id]).against(&server).output(), 27);
    let plans = stage.runs().into_iter().rev().map(|run| run.plan().expect("a plan"));
    let received: Vec<[bool; 2]> = plans
        .filter(|plan| plan.workflow.as_ref().is_some_and(|position| position.phase == "plan"))
        .map(|plan| ["Use induction.", "Use Zorn."].map(|hint| plan.spec.prompt.contains(hint)))
        .collect();
    assert_eq!((received.first(), received.last()), (Some(&[true, false]), Some(&[true, true])));
}

/// Writes twelve files, and returns the objectives that name them.
fn twelve_objectives(stage: &Stage) -> String {
    let objective = |number: u32| {
        fs::write(stage.work().join(format!("M{number}.lean")), "").expect("the stage is writable");
        format!("{number}. **M{number}.lean**\\n")
    };
    (1..=12).map(objective).collect()
}

#[test]
fn reports_stay_while_a_resumed_workflow_completes_deferred_objectives() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let old = archon_path(&stage, "task_results/old.md");
    fs::create_dir_all(old.parent().expect("a parent")).expect("the stage is writable");
    fs::write(old, "of the last iteration").expect("the stage is writable");
    // The second plan is the last one.
    let script = script().replace(OBJECTIVES, &twelve_objectives(&stage)).replace("-ge 3", "-ge 2");
    let server = Server::start(&script);
    envelope(&archon(&stage, &server, &["--max-iterations", "1", "--no-review"]).output(), 27);
    let id = only_workflow(&stage).id().to_string();
    let resumed = stage.longhaul(["resume", &id, "--max-iterations", "2"]).against(&server).output();
    envelope(&resumed, 0);
    let reports = |dir: &str| {
        let entries = fs::read_dir(archon_path(&stage, dir)).expect("a directory").flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "md")).count()
    };
    assert_eq!((reports("task_results"), reports("task_results/archive/iter-001")), (12, 1));
}

#[test]
fn objectives_above_the_cap_are_deferred_and_reported() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script().replace(OBJECTIVES, &twelve_objectives(&stage)));
    let output = archon(&stage, &server, &["--max-iterations", "1"]).output();
    let envelope = envelope(&output, 27);
    let phase = &envelope["workflow"]["phases"][1];
    assert_eq!(phase["items"].as_array().map(Vec::len), Some(10), "{envelope}");
    assert_eq!((&phase["items"][9]["item"], &phase["deferred"]), (&"M10.lean".into(), &2.into()), "{phase}");
    assert!(output.stderr.contains("prover: 10 items, 2 more are deferred"), "{}", output.stderr);
    let shown = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
    assert!(shown.contains("2 more items are deferred"), "{shown}");
    let provers = meta(&stage, 1)["provers"].as_object().expect("provers").len();
    assert_eq!(provers, 10);
}

#[test]
fn missing_objective_is_shown_by_status_and_show_of_a_detached_workflow() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script().replace(OBJECTIVES, "1. **L1.lean**\\n2. **Missing.lean**\\n"));
    let started = archon(&stage, &server, &["--max-iterations", "1", "--detach"]).output();
    assert_eq!(started.code, 0, "{started:?}");
    let dir = only_workflow(&stage);
    wait_until("it finishes", || dir.is_outcome_published());
    let warning = ".archon/PROGRESS.md, line 7: there is no file `Missing.lean`; no prover works on it";
    for command in ["status", "show"] {
        let shown = stage.longhaul([command, dir.id().as_str(), "--output-format", "text"]).output().stdout;
        assert_eq!(shown.matches(&format!("warning: {warning}\n")).count(), 1, "{shown}");
    }
    let status: Value =
        serde_json::from_str(&stage.longhaul(["status", "@", "--json"]).output().stdout).expect("JSON");
    assert_eq!(status["workflows"][0]["warnings"], serde_json::json!([warning]), "{status}");
    // In the foreground, it is printed as well.
    let output = archon(&stage, &server, &["--max-iterations", "1"]).output();
    assert!(output.stderr.contains(&format!("warning: {warning}")), "{}", output.stderr);
}

#[test]
fn warning_appears_above_the_live_view() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let wait = "$ for i in $(seq 300); do test -e go && break; sleep 0.1; done; echo proof";
    let text =
        script().replace(OBJECTIVES, "1. **L1.lean**\\n2. **Missing.lean**\\n").replace("$ echo proof", wait);
    let server = Server::start(&text);
    // The first line of the view is longer than the warning and must leave nothing of itself.
    let name = "nightly".repeat(9);
    let args = archon_args(&stage, &stage.agent(), &["--max-iterations", "2", "--name", &name]);
    let mut terminal = Terminal::start(&stage, &server, &args, (160, 30));
    wait_until("the prover works", || terminal.shows("Bash: for i in"));
    let rows = terminal.rows();
    let warning =
        "warning: .archon/PROGRESS.md, line 7: there is no file `Missing.lean`; no prover works on it";
    let warning = rows.iter().position(|row| row.trim_end() == warning);
    let view = rows.iter().position(|row| row.starts_with(&name) && row.contains(": running"));
    assert!(warning.zip(view).is_some_and(|(warning, view)| warning < view), "{rows:?}");
    fs::write(stage.work().join("go"), "").expect("the stage is writable");
    assert_eq!(terminal.wait(), Some(27));
}

#[test]
fn empty_objectives_start_no_prover_and_warn() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script().replace(OBJECTIVES, ""));
    let output = archon(&stage, &server, &["--max-iterations", "1"]).output();
    let envelope = envelope(&output, 27);
    let phase = &envelope["workflow"]["phases"][1];
    assert_eq!((&phase["items"], &phase["problem"]), (&serde_json::json!([]), &"no items".into()), "{phase}");
    assert!(output.stderr.contains("warning: phase `prover`: no items"), "{}", output.stderr);
    let meta = meta(&stage, 1);
    assert_eq!((&meta["plan"]["status"], &meta["review"]["status"]), (&"done".into(), &"done".into()));
    assert!(meta["provers"].as_object().is_none_or(serde_json::Map::is_empty), "{meta}");
    assert!(meta["completedAt"].is_string(), "{meta}");
}

#[test]
fn preset_archon_retries_twice_after_half_a_minute_and_a_minute() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let server = Server::start(&script());
    let agent = stage.agent();
    let policies = |flags: &[&str]| -> Vec<Policy> {
        let call =
            stage.longhaul(["loop", "archon"]).args([stage.work()]).args(["--agent-path"]).args([&agent]);
        let call = call.args(["--memory-reserve", "0", "--max-iterations", "1", "--no-review", "--quiet"]);
        call.args(flags).against(&server).output();
        let runs = stage.runs();
        let id = stage.workflows()[0].id().to_string();
        let runs = runs.iter().filter(|run| run.id().as_str().starts_with(&id));
        // The plan has a check of its own.
        let policy = |run: &RunDir| run.plan().expect("a plan").spec.policy;
        runs.map(|run| policy(run).with(|policy| policy.checks = None)).collect()
    };
    let archon = policies(&["--preset", "archon"]);
    assert_eq!(archon.len(), 7, "a plan and six provers");
    assert!(archon.iter().all(|policy| *policy == Preset::Archon.policy()), "{archon:?}");
    let backoff = archon[0].backoff;
    assert_eq!(
        (archon[0].retries_max, backoff.base, backoff.jitter),
        (2, Span::from_secs(30), Jitter::Percent(25))
    );
    // The flags of the original replace single numbers, and the preset is not the default.
    let changed = policies(&["--preset", "archon", "--max-retries", "1", "--retry-backoff", "45"]);
    assert!(
        changed.iter().all(|policy| policy.retries_max == 1 && policy.backoff.base == Span::from_secs(45))
    );
    assert!(policies(&[]).iter().all(|policy| *policy == Preset::Default.policy()));
}

#[test]
fn bad_projects_are_rejected_before_any_model_call() {
    let server = Server::start(&script());
    let check = |progress: Option<&str>, fragments: &[&str]| {
        let stage = Stage::new();
        if let Some(progress) = progress {
            write_project(&stage, progress);
        }
        archon(&stage, &server, &[]).output().assert_error(fragments);
        assert!(stage.runs().is_empty() && stage.workflows().is_empty());
    };
    check(None, &["there is no file .archon/PROGRESS.md", "## Current Stage"]);
    check(Some("## Current Stage\ninit\n"), &["is not set up", "`init`"]);
    check(Some("## Current Stage\nproving\n"), &["`proving` is no stage", "autoformalize"]);
    let stage = Stage::new();
    let output = stage.longhaul(["loop", "archon", "missing"]).output();
    output.assert_error(&["cannot use the directory missing", "name an existing directory"]);
}

/// A file of the user's own that keeps Archon's files.
const OWN_FILE: &str = r#"
archon_files = ".archon"
[repeat]
iterations = 2
[[phase]]
name = "plan"
prompt = "You are the plan agent.{% for hint in hints %} Hint: {{ hint }}{% endfor %}"
[[phase]]
name = "prover"
needs = ["plan"]
prompt = "You are a prover agent.{% for hint in hints %} Hint: {{ hint }}{% endfor %}"
"#;

#[test]
fn missing_progress_creates_no_iteration_and_warns_once() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    let replies = "I continue.\n? You are the plan agent\nI plan.\n$ rm -f .archon/PROGRESS.md\nPlanned.\n? You are a \
                   prover agent\nProved.\n";
    let server = Server::start(replies);
    let output = run_loop(&stage, &server, OWN_FILE, &[]).output();
    envelope(&output, 0);
    let logs = fs::read_dir(archon_path(&stage, "logs")).expect("there are logs").flatten();
    let logs: Vec<_> = logs.map(|entry| entry.file_name()).collect();
    assert_eq!(logs, ["iter-001"], "the second iteration has no stage");
    let warnings = output.stderr.matches("there is no file .archon/PROGRESS.md").count();
    assert_eq!(warnings, 1, "{}", output.stderr);
    // Now the file is missing from the start.
    let runs = stage.runs().len();
    let refused = run_loop(&stage, &server, OWN_FILE, &[]).output();
    refused.assert_error(&["there is no file .archon/PROGRESS.md", "## Current Stage"]);
    assert_eq!((refused.code, stage.runs().len()), (2, runs));
}

#[test]
fn user_hints_reach_one_phase_of_an_own_workflow() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    fs::write(archon_path(&stage, "USER_HINTS.md"), "Use induction.\n").expect("the stage is writable");
    let replies = "I continue.\n? You are the plan agent\nPlanned.\n? You are a prover agent\nI prove.\n$ test -e hinted || \
                   printf 'Use Zorn.' > .archon/USER_HINTS.md; touch hinted\nProved.\n";
    let server = Server::start(replies);
    envelope(&run_loop(&stage, &server, OWN_FILE, &[]).output(), 0);
    let plans = stage.runs().into_iter().rev().map(|run| run.plan().expect("a plan"));
    let prompts: Vec<String> = plans.map(|plan| plan.spec.prompt).collect();
    let (plan, prover) = ("You are the plan agent.", "You are a prover agent.");
    let hinted = |hint: &str| format!("{plan} Hint: {hint}");
    assert_eq!(
        prompts,
        [hinted("Use induction."), prover.to_owned(), hinted("Use Zorn."), prover.to_owned()]
    );
}

#[test]
fn plan_agent_corrects_what_provers_cannot_work_on() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    fs::write(stage.work().join("sub/L1.lean"), "").expect("the stage is writable");
    let plan = |reply: &str, stage: &str, objective: &str| {
        let text = format!("## Current Stage\\n{stage}\\n## Current Objectives\\n1. **{objective}**\\n");
        format!("? {reply}\nI plan.\n$ printf '{text}' > .archon/PROGRESS.md\nPlanned.\n")
    };
    let prover = "? You are a prover agent\nProved.\n? You are the review agent\nReviewed.\n";
    let first = plan("You are the plan agent", "formalization complete; verification complete", "L1.lean");
    let second = plan("is no stage", "prover", "L1.lean");
    let third = plan("is the name of 2 files", "prover", "sub/L1.lean");
    let server = Server::start(&format!("No prompt matches.\n{first}{second}{third}{prover}"));
    let output = archon(&stage, &server, &["--max-iterations", "1"]).output();
    let envelope = envelope(&output, 27);
    assert_eq!(envelope["workflow"]["phases"][1]["items"][0]["item"], "sub/L1.lean", "{envelope}");
}

#[test]
fn plan_that_stays_wrong_stops_and_lists_the_matches() {
    let stage = Stage::new();
    write_project(&stage, PROGRESS);
    fs::write(stage.work().join("sub/L1.lean"), "").expect("the stage is writable");
    let text =
        script().replace(OBJECTIVES, "1. **L1.lean**\\n").replace("No prompt matches.", "I plan no further.");
    let server = Server::start(&text);
    let output = archon(&stage, &server, &[]).output();
    let errors = envelope(&output, 24)["errors"].to_string();
    assert!(errors.contains("the name of 2 files: L1.lean, sub/L1.lean"), "{errors}");
    assert!(meta(&stage, 1)["prover"].is_null(), "no prover started");
}
