//! The commands that read the ledger: `runs`, `status`, `cost`, `gc` and `ledger`. The ledger stays correct
//! with many writers and never blocks a run. Tests use the scripted agent only.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::output::redacted;
use crate::paging::run_on_terminal;
use crate::recovering::{held_steps, recover, release, run_to_mid_tool, slow_step_then};
use crate::server::{Server, WORK};
use expect_test::expect;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const BASE_ARGS: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];

/// Performs a run of the standard scenario.
fn run_work(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    let output = stage.run(&stage.agent(), &BASE_ARGS).args(args).against(server).output();
    assert_eq!(output.code, 0, "{output:?}");
    output
}

fn json(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("one object")
}

fn listed_runs(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let output = stage.longhaul(["runs"]).args(args).output();
    json(&output)["runs"].as_array().expect("a list").clone()
}

fn ids(stage: &Stage, args: &[&str]) -> Vec<String> {
    listed_runs(stage, args).iter().map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

fn path(stage: &Stage) -> PathBuf {
    stage.home().join("ledger.sqlite3")
}

/// Asserts that the ledger matches the journals.
fn assert_verified(stage: &Stage) {
    let output = stage.longhaul(["ledger", "verify"]).output();
    assert_eq!(json(&output)["differences"], Value::Array(Vec::new()), "{output:?}");
}

#[test]
fn runs_are_listed_and_found() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    assert_eq!(listed_runs(&stage, &[]), Vec::<Value>::new());
    assert!(!stage.home().exists(), "listing creates nothing");
    for id in ["first", "second", "third"] {
        let name = if id == "second" { "nightly" } else { "other" };
        run_work(&stage, &server, &["--run-id", id, "--name", name]);
    }
    assert_eq!(ids(&stage, &[]), ["third", "second", "first"]);
    assert_eq!(ids(&stage, &["-n", "2"]), ["third", "second"]);
    assert_eq!(ids(&stage, &["night"]), ["second"]);
    assert_eq!(ids(&stage, &["--state", "done"]).len(), 3);
    assert_eq!(ids(&stage, &["--state", "failed,running,orphaned"]).len(), 0);
    assert_eq!(ids(&stage, &["--state", "done,orphaned", "-n", "2"]), ["third", "second"]);
    assert_eq!(ids(&stage, &["--since", "1h"]).len(), 3);
    assert_eq!(stage.longhaul(["runs", "--since", "2999-01-01"]).output().code, 2);
    assert_eq!(ids(&stage, &["--project", &stage.work().display().to_string()]).len(), 3);
    assert_eq!(ids(&stage, &["--project", "/nowhere"]).len(), 0);

    // A run is found by a prefix of its id, its id, or its name. A name means the newest run that has it.
    for (query, found) in [("f", "first"), ("second", "second"), ("nightly", "second"), ("other", "third")] {
        let shown = json(&stage.longhaul(["show", query]).output());
        assert_eq!(shown["id"], found, "{query}");
    }
    run_work(&stage, &server, &["--run-id", "fifth"]);
    let output = stage.longhaul(["show", "fi"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["fifth", "first"]);
    assert_verified(&stage);

    let text = stage.longhaul(["runs", "--output-format", "text", "--name-is-no-flag"]).output();
    assert_eq!(text.code, 2);
    let text = stage.longhaul(["runs", "--output-format", "text"]).output().stdout;
    let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    assert_eq!(text.lines().map(first).collect::<Vec<_>>(), ["id", "fifth", "third", "second", "first"]);
}

#[test]
fn listed_run_has_every_field_for_programs() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &["--run-id", "one", "--name", "nightly"]);
    let json = stage.longhaul(["runs"]).output().stdout;
    let varying = [
        "\"started_at\":",
        "\"ended_at\":",
        "\"active_ms\":",
        "\"total_cost_usd\":",
        "\"reported_cost_usd\":",
        "\"total_tokens\":",
        "\"dir\":",
    ];
    expect![[r#"
        {
          "runs": [
            {
              "id": "one",
              "name": "nightly",
              "agent": "claude",
              "model": null,
              "cwd": "<stage>/work",
              "task": "p",
              "outcome": "done",
              "fault": null,
              "until": null,
              "retry_at": null,
              "started_at": …,
              "ended_at": …,
              "active_ms": …,
              "waiting_ms": 0,
              "downtime_ms": 0,
              "attempts": 1,
              "resume_generation": 0,
              "reported_cost_usd": …,
              "estimated_cost_usd": 0.0,
              "unpriced": false,
              "total_tokens": …,
              "error": null,
              "state": "finished",
              "total_cost_usd": …,
              "dir": …,
              "next": null
            }
          ],
          "more": false
        }
    "#]]
    .assert_eq(&redacted(&stage, &json, &varying));
}

#[test]
fn status_reports_running_and_orphaned_runs() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let none = stage.longhaul(["status", "--output-format", "text"]).output();
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (0, "no unfinished runs; `longhaul runs` lists all runs\n")
    );
    let running = run_to_mid_tool(&stage, &stage.agent(), &server);
    let status = || json(&stage.longhaul(["status"]).output());
    assert_eq!(status()["running"], 1);
    wait_until("the tool is shown", || {
        status()["runs"][0]["activity"].as_str().is_some_and(|text| text.starts_with("Bash: "))
    });
    let text = stage.longhaul(["status"]).with_text_output().output().stdout;
    assert!(text.lines().nth(2).is_some_and(|line| line.starts_with("  Bash: ")), "{text}");
    assert_eq!(ids(&stage, &["--state", "running"]).len(), 1);
    let verified = json(&stage.longhaul(["ledger", "verify"]).output());
    assert_eq!(verified, serde_json::json!({ "runs": 0, "supervised": 1, "differences": [] }));
    running.kill();
    wait_until("the lock of the run is released", || status()["orphaned"] == 1);
    let report = status();
    let id = report["runs"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(report["runs"][0]["next"], format!("longhaul recover {id}"));
    assert_eq!(ids(&stage, &["--state", "orphaned"]), [id]);
    release(&stage);
    recover(&stage, &server, &[]).output().envelope(0);
    assert_eq!(status()["runs"], Value::Array(Vec::new()));
    assert_eq!(ids(&stage, &["--state", "done"]).len(), 1);
    assert_verified(&stage);
}

#[test]
fn status_reports_unreadable_runs() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &[]);
    fs::write(stage.only_run().journal_path(), "no journal\nat all\n").expect("the test owns the file");
    assert_eq!(stage.longhaul(["ledger", "rebuild"]).output().code, 0);
    let status = json(&stage.longhaul(["status"]).output());
    assert_eq!(status["runs"][0]["state"], "unreadable", "{status}");
    assert!(status["runs"][0]["activity"].as_str().is_some_and(|text| text.contains("journal")), "{status}");
    let text = stage.longhaul(["status"]).with_text_output().output().stdout;
    assert!(text.contains("unreadable") && text.contains(">$0 "), "{text}");
    // Its usage is unknown, not zero.
    assert_eq!(listed_runs(&stage, &[])[0]["unpriced"], true);
    for by in ["day", "run", "project"] {
        let cost = stage.longhaul(["cost", "--by", by]).with_text_output().output().stdout;
        assert_eq!(cost.matches(">$0 ").count(), 2, "{cost}");
    }
    assert_verified(&stage);
    // It is not shown forever.
    let modified = SystemTime::now() - Duration::from_secs(8 * 24 * 3600);
    let dir = fs::File::open(stage.only_run().path()).expect("the directory exists");
    dir.set_modified(modified).expect("the test owns it");
    assert_eq!(stage.longhaul(["ledger", "rebuild"]).output().code, 0);
    assert_eq!(json(&stage.longhaul(["status"]).output())["runs"], serde_json::json!([]));
}

#[test]
fn status_reports_the_reason_of_a_wait() {
    let overloaded = "[[fault]]\nturn = 1\nstatus = { code = 529 }\n";
    let (stage, server) = (Stage::new(), Server::start(&(WORK.to_owned() + overloaded)));
    let args = ["--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none", "--inner-retries", "0"];
    let waiting = stage.run(&stage.agent(), &BASE_ARGS[..3]).args(args).against(&server).start();
    let status = || json(&stage.longhaul(["status"]).output());
    wait_until("the run waits", || status()["waiting"] == 1);
    let run = status()["runs"][0].clone();
    assert_eq!(run["fault"], "overloaded");
    let activity = run["activity"].as_str().expect("a text");
    assert!(
        activity.starts_with("waiting until ") && activity.ends_with(": the API is overloaded · attempt 2"),
        "{activity}"
    );
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
    waiting.output().envelope(130);
    assert_eq!(ids(&stage, &["--state", "cancelled"]).len(), 1);
    assert_verified(&stage);
}

#[test]
fn cost_matches_the_bill_of_the_api() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    for _ in 0..2 {
        run_work(&stage, &server, &[]);
    }
    let billed = server.api.request_log().cost().dollars();
    for by in ["day", "model", "project", "run", "agent"] {
        let costs = json(&stage.longhaul(["cost", "--by", by]).output());
        let total = costs["total"]["total_cost_usd"].as_f64().expect("a number");
        assert!((total - billed).abs() < 1e-4, "{by}: {total} of {billed}: {costs}");
        assert_eq!(costs["total"]["estimated_cost_usd"], 0.0, "{by}");
        assert_eq!(costs["rows"].as_array().map(Vec::len), Some(if by == "run" { 2 } else { 1 }), "{costs}");
        assert_eq!(costs["total"]["messages"], 4, "{by}");
    }
    let by_workflow = json(&stage.longhaul(["cost", "--by", "workflow"]).output());
    assert_eq!(by_workflow["rows"][0]["key"], "-", "{by_workflow}");
    let csv = stage.longhaul(["cost", "--by", "run", "--csv"]).output().stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert_eq!(stage.longhaul(["cost", "--since", "soon"]).output().code, 2);
    assert_eq!(stage.longhaul(["cost", "--by", "color"]).output().code, 2);
}

/// Damages the ledger between runs.
#[test]
fn damaged_ledger_does_not_fail_a_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &[]);
    let intact = fs::read(path(&stage)).expect("there is a ledger");
    let mut expected = 1;
    let mut check = |context: &str, damage: &dyn Fn()| {
        damage();
        run_work(&stage, &server, &[]);
        expected += 1;
        let output = stage.longhaul(["runs"]).output();
        assert_eq!(json(&output)["runs"].as_array().map(Vec::len), Some(expected), "{context}: {output:?}");
        let _ = fs::remove_dir(path(&stage));
        assert_eq!(stage.longhaul(["ledger", "rebuild"]).output().code, 0, "{context}");
        assert_verified(&stage);
    };
    check("missing", &|| fs::remove_file(path(&stage)).expect("the file existed"));
    check("empty", &|| fs::write(path(&stage), "").expect("writing succeeds"));
    check("garbage", &|| fs::write(path(&stage), "garbage".repeat(999)).expect("writing succeeds"));
    check("truncated", &|| fs::write(path(&stage), &intact[..intact.len() / 2]).expect("writing succeeds"));
    check("a directory", &|| {
        fs::remove_file(path(&stage)).expect("the file existed");
        fs::create_dir(path(&stage)).expect("creation succeeds");
    });
}

/// Returns the ids in a text list, without the lines of activities.
fn ids_in_text(text: &str) -> Vec<String> {
    let lines = text.lines().skip(1).filter(|line| !line.starts_with(' '));
    lines.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn pipe_receives_all_runs_and_a_terminal_the_newest() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &["--run-id", "a0"]);
    let first = stage.only_run();
    // More runs than fit on a screen: copies of one.
    for number in 1..=30 {
        let copy = first.path().with_file_name(format!("a{number}"));
        assert_eq!(stage.program("cp").args(["-a"]).args([first.path(), &copy]).output().code, 0);
    }
    let text = stage.longhaul(["runs"]).with_text_output().output();
    assert_eq!(ids_in_text(&text.stdout).len(), 31, "{text:?}");
    assert_eq!(text.stderr, "");
    assert_eq!(ids(&stage, &[]).len(), 31);
    assert_eq!(ids_in_text(&run_on_terminal(&stage, &["runs", "--no-pager"], &[])).len(), 30);
    assert_eq!(ids_in_text(&run_on_terminal(&stage, &["runs", "--all", "--no-pager"], &[])).len(), 31);
    for (limit, listed) in [("1", "1 run"), ("2", "2 runs")] {
        let limited = stage.longhaul(["runs", "-n", limit]).with_text_output().output();
        assert_eq!(limited.stderr, format!("the newest {listed}; --all lists all\n"));
    }
}

#[test]
fn ledger_of_a_newer_version_is_not_changed() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &[]);
    let newer = rusqlite::Connection::open(path(&stage)).expect("a database");
    newer.pragma_update(None, "user_version", 99).expect("writing succeeds");
    drop(newer);
    run_work(&stage, &server, &[]);
    let output = stage.longhaul(["runs"]).output();
    assert_eq!(json(&output)["runs"].as_array().map(Vec::len), Some(2), "{output:?}");
    assert!(
        output.stderr.contains("a newer version of longhaul wrote it; reading every run's directory"),
        "{output:?}"
    );
    assert!(!stage.home().join("ledger.sqlite3.old").exists(), "the ledger was moved");
    assert_eq!(stage.longhaul(["ledger", "rebuild"]).output().code, 0);
    assert_verified(&stage);
}

#[test]
fn locked_ledger_does_not_delay_a_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &[]);
    let lock = rusqlite::Connection::open(path(&stage)).expect("a database");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("locking succeeds");
    run_work(&stage, &server, &[]);
    let output = stage.longhaul(["runs"]).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stderr.starts_with("warning: ") && output.stderr.contains("another process is writing to it")
    );
    drop(lock);
    assert_eq!(ids(&stage, &[]).len(), 2);
    assert_verified(&stage);
}

#[test]
fn status_is_final_before_the_supervisor_waits_for_the_ledger() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &["--run-id", "one"]);
    let lock = rusqlite::Connection::open(path(&stage)).expect("a database");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("locking succeeds");
    run_work(&stage, &server, &["--run-id", "two"]);
    let ended_at = SystemTime::now();
    drop(lock);
    let run = stage.runs().into_iter().find(|run| run.id().as_str() == "two").expect("the file exists");
    assert_eq!(run.status().expect("the status can be read").status, "done");
    let status_at =
        fs::metadata(run.status_path()).and_then(|file| file.modified()).expect("the file exists");
    // After writing the status, the supervisor waits two seconds for the ledger. No other wait is as long,
    // and a slow machine only lengthens it.
    let waited =
        ended_at.duration_since(status_at).expect("the status is written before the supervisor exits");
    assert!(waited > Duration::from_secs(1), "the status was written {waited:?} before the end");
}

#[test]
fn twenty_concurrent_runs_are_listed_once_each() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let agent = stage.agent();
    let runs: Vec<_> = (0..20).map(|_| stage.run(&agent, &BASE_ARGS).against(&server).start()).collect();
    for run in runs {
        run.output().envelope(0);
    }
    let mut listed_runs = ids(&stage, &["--all"]);
    assert_eq!(listed_runs.len(), 20);
    listed_runs.sort();
    listed_runs.dedup();
    assert_eq!(listed_runs.len(), 20);
    assert_verified(&stage);
}

#[test]
fn killed_writers_do_not_damage_the_ledger() {
    // Each run takes more than a second, so that none finishes before it is killed.
    let work = slow_step_then(r#"write = { path = "written", content = "yes" }"#);
    let (stage, server) = (Stage::new(), Server::start(&work));
    // Kills runs at different times, from the start to the middle, while the ledger is being read.
    let agent = stage.agent();
    for number in 0..8_u32 {
        let run = stage.run(&agent, &BASE_ARGS).against(&server).start();
        wait_until("the run is created", || stage.runs().len() as u32 > number);
        let started = std::time::Instant::now();
        wait_until("the delay has passed", || {
            let _ = listed_runs(&stage, &[]);
            started.elapsed().as_millis() as u32 >= number * 100
        });
        run.kill();
    }
    assert!(listed_runs(&stage, &[]).iter().all(|run| run["state"] != "unreadable"));
    assert_verified(&stage);
    let output = recover(&stage, &server, &[]).output();
    assert!(!output.stderr.contains("ledger"), "{output:?}");
    wait_until("all runs have finished", || ids(&stage, &["--state", "running,waiting,orphaned"]).is_empty());
    assert_verified(&stage);
}

#[test]
fn closed_pipe_is_not_an_error() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, &[]);
    for command in ["runs", "status", "cost"] {
        let mut child = Command::new(crate::harness::LONGHAUL)
            .args([command, "--output-format", "text"])
            .env("LONGHAUL_HOME", stage.home())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program exits");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{command}"
        );
    }
}

#[test]
fn gc_continues_after_a_run_that_it_cannot_remove() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    for id in ["one", "two", "three"] {
        run_work(&stage, &server, &["--run-id", id]);
    }
    let find = |id: &str| stage.runs().into_iter().find(|run| run.id().as_str() == id).expect("it exists");
    // For root, permissions are no obstacle.
    let cache = find("one").workspace_path().join("cache");
    fs::create_dir_all(&cache).expect("the stage is writable");
    fs::write(cache.join("go.mod"), "module m").expect("the stage is writable");
    fs::set_permissions(&cache, Permissions::from_mode(0o555)).expect("the test owns it");
    // A run cannot be renamed to a directory that is not empty.
    fs::create_dir_all(find("two").path().with_file_name(".removed-two").join("full")).expect("it is made");
    let gc = || {
        let args = ["gc", "--older-than", "0", "--keep-last", "0", "--include-workspaces"];
        stage.longhaul(args).output()
    };
    let failed = gc();
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("error: cannot remove "), "{failed:?}");
    let report: Value = serde_json::from_str(&failed.stdout).expect("one object");
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(report["retained"], serde_json::json!({ "not removable": 1 }), "{report}");
    assert_eq!(ids(&stage, &[]), ["two"]);
    let again = gc();
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(ids(&stage, &[]), [""; 0], "{again:?}");
}

#[test]
fn gc_removes_old_finished_runs() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    for id in ["one", "two", "three", "four"] {
        run_work(&stage, &server, &["--run-id", id]);
    }
    let elsewhere = stage.folder().join("elsewhere");
    run_work(&stage, &server, &["--run-id", "five", "--runs-dir", &elsewhere.display().to_string()]);
    // This run has a workspace.
    let second = stage.runs().into_iter().find(|run| run.id().as_str() == "two").expect("the file exists");
    fs::create_dir(second.workspace_path()).expect("creation succeeds");
    fs::set_permissions(second.workspace_path(), Permissions::from_mode(0o700))
        .expect("the test owns the file");

    // The ledger wrongly lists this run as finished: it is orphaned.
    let fourth = stage.runs().into_iter().find(|run| run.id().as_str() == "four").expect("the file exists");
    let whole = fs::read_to_string(fourth.journal_path()).expect("a journal");
    let (unfinished, _) = whole.trim_end().rsplit_once('\n').expect("several steps");
    fs::write(fourth.journal_path(), format!("{unfinished}\n")).expect("the test owns the file");
    let ledger = rusqlite::Connection::open(path(&stage)).expect("a database");
    let metadata = fs::metadata(fourth.journal_path()).expect("the file exists");
    let modified = std::os::unix::fs::MetadataExt::mtime(&metadata) * 1_000_000_000
        + std::os::unix::fs::MetadataExt::mtime_nsec(&metadata);
    let change = "UPDATE runs SET journal_bytes = ?, journal_modified = ? WHERE id = 'four'";
    ledger.execute(change, (metadata.len() as i64, modified)).expect("the ledger is writable");
    drop(ledger);
    let report = json(&stage.longhaul(["gc", "--older-than", "0", "--keep-last", "0", "--dry-run"]).output());
    assert_eq!(report["retained"]["unfinished"], 1, "{report}");
    fs::write(fourth.journal_path(), whole).expect("the test owns the file");

    let gc = |args: &[&str]| json(&stage.longhaul(["gc"]).args(args).output());
    let removed = |report: &Value| {
        let runs = report["runs"].as_array().expect("a list").iter();
        runs.map(|run| run["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(removed(&gc(&["--older-than", "1h", "--keep-last", "0"])), [""; 0]);
    assert_eq!(removed(&gc(&["--older-than", "0"])), [""; 0], "the newest ten are kept");
    let old = ["--older-than", "0", "--keep-last", "2"];
    assert_eq!(removed(&gc(&[&old[..], &["--keep", "done"]].concat())), [""; 0]);
    let report = gc(&[&old[..], &["--dry-run"]].concat());
    assert_eq!(removed(&report), ["three", "one"]);
    assert!(report["bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{report}");
    assert_eq!(ids(&stage, &[]).len(), 5, "nothing was removed");
    assert_eq!(removed(&gc(&old)), ["three", "one"]);
    assert_eq!(ids(&stage, &[]), ["five", "four", "two"]);
    let all = gc(&["--older-than", "0", "--keep-last", "0", "--include-workspaces"]);
    assert_eq!(removed(&all), ["four", "two"]);
    assert_eq!(all["retained"]["stored elsewhere"], 1, "{all}");
    assert_eq!(ids(&stage, &[]), ["five"]);
    assert_verified(&stage);
    // `--older-than` has no default.
    let output = stage.longhaul(["gc"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["--older-than"]);
}
