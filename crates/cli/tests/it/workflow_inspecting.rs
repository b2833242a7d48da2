//! Inspecting, following and removing workflows, their live view and their notifications.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::server::Server;
use crate::terminal::Terminal;
use crate::workflows::{TWO_PHASES, TWO_PHASES_SCRIPT, envelope, only_workflow, run_loop};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

fn json(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("an object is printed")
}

/// Returns the notifications that the command `cat >> received` received.
fn received(stage: &Stage) -> Vec<Value> {
    let text = fs::read_to_string(stage.work().join("received")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn finished_workflow_is_shown_explained_and_reported() {
    let (stage, server) = (Stage::new(), Server::start(TWO_PHASES_SCRIPT));
    envelope(&run_loop(&stage, &server, TWO_PHASES, &["--name", "lemmas"]).output(), 0);
    let id = only_workflow(&stage).id().to_string();
    for request in ["@", "lemmas", &id] {
        let shown = json(&stage.longhaul(["show", request, "--json"]).output());
        assert_eq!(shown["workflow"], id, "{shown}");
    }
    let shown = json(&stage.longhaul(["show", &id, "--json"]).output());
    let phases = &shown["iterations"][0]["phases"];
    assert_eq!(phases[1]["items"][2]["run"], format!("{id}-1-prove-3"), "{shown}");
    assert_eq!(shown["settings"][1]["needs"][0], "plan", "{shown}");
    assert_eq!(shown["outcome"], "done", "{shown}");
    let text = stage.longhaul(["show", &id, "--output-format", "text"]).output().stdout;
    for line in ["outcome     done", "iteration 1 of 1", "-1-prove-2  done", "nothing to do", "(none)"] {
        let is_expected = line != "(none)";
        assert_eq!(text.contains(line), is_expected, "`{line}` in {text}");
    }

    let why = json(&stage.longhaul(["why", &id, "--json"]).output());
    assert_eq!(why["workflow"], id, "{why}");
    let entries = why["entries"].as_array().expect("entries");
    assert!(entries.iter().any(|entry| entry["run"] == format!("{id}-1-plan-1")), "{why}");
    let text = stage.longhaul(["why", "lemmas", "--output-format", "text"]).output().stdout;
    for line in ["prove: 3 items", "prove: done, 3 of 3 runs done", "finished: done", "next: nothing to do"] {
        assert!(text.contains(line), "no `{line}` in {text}");
    }
    // The end of the phase summarizes its runs.
    assert!(!text.contains("-1-prove-1: started"), "{text}");

    let report = json(&stage.longhaul(["report", "--format", "json"]).output());
    assert_eq!(report["workflows"][0]["outcome"], "done", "{report}");
    assert_eq!(report["summary"]["runs"], 4, "{report}");
    let report = stage.longhaul(["report", &id, "--format", "text"]).output().stdout;
    assert!(report.contains("WORKFLOWS") && report.contains(&format!("4 runs of workflow {id}")), "{report}");
    let page = stage.longhaul(["report", &id, "--format", "html", "-o", "-"]).output().stdout;
    assert!(page.contains("<h2 id=\"workflows-heading\">"), "{page}");

    // Commands on one run name the way to its runs.
    for command in ["logs", "diff"] {
        let output = stage.longhaul([command, &id]).output();
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains("is a workflow, not a run"), "{output:?}");
        assert!(output.stderr.contains(&format!("`longhaul show {id}`")), "{output:?}");
    }
    let run = format!("{id}-1-prove-3");
    assert!(stage.longhaul(["logs", &run]).output().stdout.contains("It is proved."));
}

#[test]
fn timeline_explains_a_retry_and_show_lists_both_runs() {
    let file = r#"
[[phase]]
name = "build"
prompt = "Build it."
on = { check_failed = { retry = 1 } }
run = { check = ["test -e built || { touch built; false; }"], max_failed_checks = 1 }
"#;
    let (stage, server) = (Stage::new(), Server::start("I continue.\n? Build\nBuilt.\n"));
    envelope(&run_loop(&stage, &server, file, &[]).output(), 0);
    let id = only_workflow(&stage).id().to_string();
    let text = stage.longhaul(["why", &id, "--output-format", "text"]).output().stdout;
    assert!(text.contains(&format!("{id}-1-build-1: check_failed")), "{text}");
    assert!(text.contains("; running it again"), "{text}");
    assert!(text.contains(&format!("{id}-1-build-1-r1: started")), "{text}");
    let phase = &json(&stage.longhaul(["show", &id, "--json"]).output())["iterations"][0]["phases"][0];
    assert_eq!(phase["replaced"][0]["run"], format!("{id}-1-build-1"), "{phase}");
    assert_eq!(phase["replaced"][0]["status"], "check_failed", "{phase}");
    assert_eq!(phase["items"][0]["run"], format!("{id}-1-build-1-r1"), "{phase}");
}

const SLOW: &str = r#"
[[phase]]
name = "quick"
prompt = "Be quick."
[[phase]]
name = "slow"
needs = ["quick"]
fan_out = { list = ["one", "two"] }
prompt = "Work slowly on {{ item }}."
"#;

const SLOW_SCRIPT: &str = "
I continue.
? Be quick
Done.
? Work slowly
I start.
$ test -e go || touch started-$$; for i in $(seq 1200); do test -e go && exit 0; sleep 0.1; done
It is done.
";

fn has_started(stage: &Stage) -> bool {
    let names = fs::read_dir(stage.work()).expect("the directory is readable").flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().starts_with("started-")).count() == 2
}

#[test]
fn status_shows_the_live_runs_of_a_workflow_with_their_cost() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let running = run_loop(&stage, &server, SLOW, &[]).start();
    wait_until("both runs work", || has_started(&stage));
    let id = only_workflow(&stage).id().to_string();
    let cost = |value: &Value| value["total_cost_usd"].as_f64().expect("an amount");
    let status = || json(&stage.longhaul(["status", "--json"]).output());
    wait_until("the live runs cost something", || {
        status()["runs"].as_array().expect("runs").iter().all(|run| cost(run) > 0.0)
    });
    let status = status();
    let workflow = &status["workflows"][0];
    let items = workflow["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .flat_map(|phase| phase["items"].as_array().expect("items"));
    let costs: Vec<f64> = items.map(cost).collect();
    assert!(costs.iter().all(|cost| *cost > 0.0), "{status}");
    assert!((cost(workflow) - costs.iter().sum::<f64>()).abs() < 1e-9, "{status}");
    let shown = json(&stage.longhaul(["show", &id, "--json"]).output());
    assert_eq!(cost(&shown), cost(workflow), "{shown}");
    let text = stage.longhaul(["status", "--output-format", "text"]).output().stdout;
    let row =
        text.lines().find(|line| line.starts_with(&format!("    {id}-1-slow-1  running: Bash: test -e go")));
    let row = row.unwrap_or_else(|| panic!("no row of the live run: {text}"));
    assert!(row.contains(", $0.") && row.ends_with("  one"), "{text}");
    fs::write(stage.work().join("go"), "").expect("the file is written");
    envelope(&running.output(), 0);
}

#[test]
fn gc_removes_a_workflow_only_as_a_whole() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let gc = |args: &[&str]| {
        let args = [&["gc", "--older-than", "0s", "--json"], args].concat();
        json(&stage.longhaul(args).output())
    };
    let running = run_loop(&stage, &server, SLOW, &[]).start();
    wait_until("both runs work", || has_started(&stage));
    let dir = only_workflow(&stage);
    // The first run is finished, but its workflow is not.
    let collected = gc(&["--keep-last", "0"]);
    assert_eq!(collected["runs"].as_array().map(Vec::len), Some(0), "{collected}");
    assert_eq!(collected["workflows"].as_array().map(Vec::len), Some(0), "{collected}");
    assert_eq!(collected["retained"]["in an unfinished workflow"], 1, "{collected}");
    // It has no supervisor any more.
    running.signal(Signal::TERM);
    envelope(&running.output(), 143);
    let status = stage.longhaul(["status", "--output-format", "text"]).output().stdout;
    assert!(status.contains(&format!("  suspended: longhaul recover {}\n", dir.id())), "{status}");
    // A workflow continues its runs.
    let runs = json(&stage.longhaul(["runs", "--json"]).output());
    assert_eq!(runs["runs"][0]["next"], format!("longhaul recover {}", dir.id()), "{runs}");
    assert_eq!(gc(&["--keep-last", "0"])["workflows"].as_array().map(Vec::len), Some(0));
    let next = json(&stage.longhaul(["why", "@", "--json"]).output());
    assert_eq!(next["next"]["commands"][0], format!("longhaul recover {}", dir.id()), "{next}");
    fs::write(stage.work().join("go"), "").expect("the file is written");
    envelope(&stage.longhaul(["recover"]).against(&server).output(), 0);
    // The workflow and its runs are one of the newest.
    assert_eq!(gc(&["--keep-last", "1"])["workflows"].as_array().map(Vec::len), Some(0));
    assert_eq!(gc(&["--keep-last", "0", "--keep", "done"])["workflows"].as_array().map(Vec::len), Some(0));
    // A worktree holds work that is not merged.
    let worktree = dir.path().join("worktrees/left");
    fs::create_dir_all(&worktree).expect("it is made");
    let collected = gc(&["--keep-last", "0", "--include-workspaces"]);
    assert_eq!(collected["retained"]["with git worktrees"], 3, "{collected}");
    fs::remove_dir(&worktree).expect("it is empty");
    let planned = gc(&["--keep-last", "0", "--dry-run"]);
    assert_eq!(planned["workflows"][0]["runs"], 3, "{planned}");
    assert_eq!((stage.runs().len(), stage.workflows().len()), (3, 1));
    let collected = gc(&["--keep-last", "0"]);
    assert_eq!(collected["workflows"][0]["id"], dir.id().as_str(), "{collected}");
    assert_eq!((stage.runs().len(), stage.workflows().len()), (0, 0));
}

#[test]
fn terminal_shows_the_live_runs_of_a_workflow_and_of_an_attached_one() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let running = run_loop(&stage, &server, SLOW, &["--name", "nightly"]).start();
    wait_until("both runs work", || has_started(&stage));
    let id = only_workflow(&stage).id().to_string();
    let args = ["attach", &id].map(str::to_owned);
    let mut terminal = Terminal::start(&stage, &server, &args, (100, 30));
    wait_until("the tool is shown", || terminal.shows(&format!("  {id}-1-slow-2 (two): ")));
    wait_until("the tool is shown", || terminal.shows("Bash: test -e go"));
    let rows = terminal.rows();
    let view = rows.iter().position(|row| row.starts_with(&format!("nightly ({id}): running, ")));
    let view = &rows[view.expect("the state is shown")..];
    assert!(view[1].starts_with("  quick done, slow 0 of 2 done"), "{rows:?}");
    assert!(view[2].starts_with(&format!("  {id}-1-slow-1 (one): $")), "{rows:?}");
    let watch = ["status", "--watch"].map(str::to_owned);
    let mut watching = Terminal::start(&stage, &server, &watch, (100, 30));
    wait_until("the runs are watched", || watching.shows("Bash: test -e go"));
    let rows = watching.rows();
    let tree =
        rows.iter().position(|row| row.starts_with(&format!("workflow {id}: running, iteration 1 of 1")));
    let tree = &rows[tree.expect("the workflow is shown")..];
    assert!(tree[1].starts_with("  quick            done, $"), "{rows:?}");
    assert!(tree[2].starts_with("  slow             running, 2 runs, $"), "{rows:?}");
    // Each run belongs to its workflow.
    let runs = json(&stage.longhaul(["runs", "--json"]).output());
    let position = &runs["runs"][0]["workflow"];
    assert_eq!((&position["id"], &position["phase"]), (&id.as_str().into(), &"slow".into()), "{runs}");
    fs::write(stage.work().join("go"), "").expect("the file is written");
    envelope(&running.output(), 0);
    assert_eq!(terminal.wait(), Some(0));
    wait_until("the end is shown", || watching.shows(&format!("workflow {id}: done, iteration 1 of 1")));
    watching.signal(Signal::INT);
    assert_eq!(watching.wait(), Some(130));
    let rows = terminal.rows();
    assert!(!terminal.shows("): running, "), "{rows:?}");
    assert!(terminal.shows("slow: done, 2 of 2 runs done"), "{rows:?}");
}

#[test]
fn only_the_workflow_notifies_once_also_across_a_crash() {
    let (stage, server) = (Stage::new(), Server::start(TWO_PHASES_SCRIPT));
    let output = run_loop(&stage, &server, TWO_PHASES, &["--notify", "cat >> received"]).output();
    envelope(&output, 0);
    let dir = only_workflow(&stage);
    let [notification] = &received(&stage)[..] else { panic!("not one: {:?}", received(&stage)) };
    assert_eq!(notification["kind"], "outcome", "{notification}");
    assert_eq!(notification["run"], dir.id().as_str(), "{notification}");
    assert_eq!(notification["workflow"], true, "{notification}");
    assert_eq!(notification["attempts"], 4, "{notification}");
    assert_eq!(notification["next"], format!("longhaul show {}", dir.id()), "{notification}");
    // The supervisor died after the notification, before it published the outcome.
    let status = dir.path().join("status.json");
    fs::remove_file(&status).expect("the file exists");
    let recover = || stage.longhaul(["recover", dir.id().as_str()]).against(&server).output();
    envelope(&recover(), 0);
    assert_eq!(received(&stage).len(), 1);
    // It died before the notification.
    fs::remove_file(&status).expect("the file exists");
    fs::remove_file(dir.notify_files().record_path("outcome-0")).expect("the file exists");
    envelope(&recover(), 0);
    assert_eq!(received(&stage).len(), 2);
    assert!(stage.runs().iter().all(|run| !run.path().join("notified").exists()));
}

#[test]
fn run_that_needs_a_person_stops_the_workflow_and_notifies_once() {
    let script = format!("{TWO_PHASES_SCRIPT}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 401 }}\n");
    let (stage, server) = (Stage::new(), Server::start(&script));
    let output = run_loop(&stage, &server, TWO_PHASES, &["--notify", "cat >> received"]).output();
    let envelope = envelope(&output, 23);
    let [notification] = &received(&stage)[..] else { panic!("not one: {:?}", received(&stage)) };
    assert_eq!(notification["kind"], "needs_person", "{notification}");
    assert_eq!(notification["next"], envelope["workflow"]["next"][0], "{notification}");
    assert_eq!(stage.runs().len(), 1, "no further run starts");
}
