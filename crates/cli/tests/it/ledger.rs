//! The list of runs, what goes on, what was spent, and the ledger that they are read from: whole while many write, and
//! never in the way of a run. What an agent is does not matter here: every story is told with the scripted one.

use crate::call::{Ended, until};
use crate::harness::Stage;
use crate::output::redacted;
use crate::paging::on_a_screen;
use crate::recovering::{STEPS, in_mid_tool, late, recover};
use crate::server::{Server, WORK};
use expect_test::expect;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const FREE: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];

/// A run of the small piece of work.
fn work(stage: &Stage, server: &Server, args: &[&str]) -> Ended {
    let ended = stage.run(&stage.agent(), &FREE).args(args).against(server).end();
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

fn json(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("one object")
}

fn listed(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let ended = stage.longhaul(["runs"]).args(args).end();
    json(&ended)["runs"].as_array().expect("a list").clone()
}

fn ids(stage: &Stage, args: &[&str]) -> Vec<String> {
    listed(stage, args).iter().map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

fn path(stage: &Stage) -> PathBuf {
    stage.home().join("ledger.sqlite3")
}

/// Asserts that the ledger says what the journals say.
fn verified(stage: &Stage) {
    let ended = stage.longhaul(["ledger", "verify"]).end();
    assert_eq!(json(&ended)["differences"], Value::Array(Vec::new()), "{ended:?}");
}

#[test]
fn runs_are_listed_and_found() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    assert_eq!(listed(&stage, &[]), Vec::<Value>::new());
    assert!(!stage.home().exists(), "looking makes nothing");
    for id in ["first", "second", "third"] {
        let name = if id == "second" { "nightly" } else { "other" };
        work(&stage, &server, &["--run-id", id, "--name", name]);
    }
    assert_eq!(ids(&stage, &[]), ["third", "second", "first"]);
    assert_eq!(ids(&stage, &["-n", "2"]), ["third", "second"]);
    assert_eq!(ids(&stage, &["night"]), ["second"]);
    assert_eq!(ids(&stage, &["--state", "done"]).len(), 3);
    assert_eq!(ids(&stage, &["--state", "failed,running,orphaned"]).len(), 0);
    assert_eq!(ids(&stage, &["--since", "1h"]).len(), 3);
    assert_eq!(stage.longhaul(["runs", "--since", "2999-01-01"]).end().code, 2);
    assert_eq!(ids(&stage, &["--project", &stage.work().display().to_string()]).len(), 3);
    assert_eq!(ids(&stage, &["--project", "/nowhere"]).len(), 0);

    // By the beginning of an id, a whole one, a name: the newest one that has it.
    for (asked, found) in [("f", "first"), ("second", "second"), ("nightly", "second"), ("other", "third")] {
        let shown = json(&stage.longhaul(["show", asked]).end());
        assert_eq!(shown["id"], found, "{asked}");
    }
    work(&stage, &server, &["--run-id", "fifth"]);
    let ended = stage.longhaul(["show", "fi"]).end();
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["fifth", "first"]);
    verified(&stage);

    let text = stage.longhaul(["runs", "--output-format", "text", "--name-is-no-flag"]).end();
    assert_eq!(text.code, 2);
    let text = stage.longhaul(["runs", "--output-format", "text"]).end().stdout;
    let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    assert_eq!(text.lines().map(first).collect::<Vec<_>>(), ["id", "fifth", "third", "second", "first"]);
}

#[test]
fn a_run_in_a_list_has_what_a_program_needs() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &["--run-id", "one", "--name", "nightly"]);
    let told = stage.longhaul(["runs"]).end().stdout;
    let varying = [
        "\"started_at\":",
        "\"ended_at\":",
        "\"active_ms\":",
        "\"total_cost_usd\":",
        "\"total_tokens\":",
        "\"dir\":",
    ];
    expect![[r#"
        {
          "runs": [
            {
              "id": "one",
              "name": "nightly",
              "state": "over",
              "outcome": "done",
              "fault": null,
              "until": null,
              "retry_at": null,
              "started_at": …,
              "ended_at": …,
              "active_ms": …,
              "waiting_ms": 0,
              "attempts": 1,
              "resume_generation": 0,
              "total_cost_usd": …,
              "estimated_cost_usd": 0.0,
              "unpriced": false,
              "total_tokens": …,
              "agent": "claude",
              "model": null,
              "cwd": "<stage>/work",
              "task": "p",
              "dir": …,
              "error": null,
              "next": null
            }
          ],
          "more": false
        }
    "#]]
    .assert_eq(&redacted(&stage, &told, &varying));
}

#[test]
fn what_goes_on_is_told_and_what_nobody_has() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let none = stage.longhaul(["status", "--output-format", "text"]).end();
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (0, "no unfinished runs; `longhaul runs` lists all runs\n")
    );
    let running = in_mid_tool(&stage, &stage.agent(), &server);
    let status = || json(&stage.longhaul(["status"]).end());
    assert_eq!(status()["running"], 1);
    let now = status()["runs"][0]["now"].clone();
    assert!(now.as_str().is_some_and(|now| now.starts_with("Bash: ")), "{now}");
    let text = stage.longhaul(["status"]).in_text().end().stdout;
    assert!(text.lines().nth(2).is_some_and(|line| line.starts_with("  Bash: ")), "{text}");
    assert_eq!(ids(&stage, &["--state", "running"]).len(), 1);
    running.kill();
    until("its lock is gone", || status()["orphaned"] == 1);
    let told = status();
    let id = told["runs"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(told["runs"][0]["next"], format!("longhaul recover {id}"));
    assert_eq!(ids(&stage, &["--state", "orphaned"]), [id]);
    recover(&stage, &server, &[]).end().envelope(0);
    assert_eq!(status()["runs"], Value::Array(Vec::new()));
    assert_eq!(ids(&stage, &["--state", "done"]).len(), 1);
    verified(&stage);
}

#[test]
fn a_run_that_waits_says_for_what() {
    let overloaded = "[[fault]]\nturn = 1\nstatus = { code = 529 }\n";
    let (stage, server) = (Stage::new(), Server::plays(&(WORK.to_owned() + overloaded)));
    let args = ["--retry-base", "1h", "--retry-cap", "1h", "--retry-jitter", "none", "--inner-retries", "0"];
    let waiting = stage.run(&stage.agent(), &FREE[..3]).args(args).against(&server).start();
    let status = || json(&stage.longhaul(["status"]).end());
    until("it waits", || status()["waiting"] == 1);
    let told = status()["runs"][0].clone();
    assert_eq!(told["fault"], "overloaded");
    let now = told["now"].as_str().expect("words");
    assert!(
        now.starts_with("waiting until ") && now.ends_with(": the API is overloaded · attempt 2"),
        "{now}"
    );
    assert_eq!(stage.longhaul(["cancel", "@"]).end().code, 0);
    waiting.end().envelope(130);
    assert_eq!(ids(&stage, &["--state", "cancelled"]).len(), 1);
    verified(&stage);
}

#[test]
fn what_was_spent_is_what_the_api_billed() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    for _ in 0..2 {
        work(&stage, &server, &[]);
    }
    let billed = server.api.account().cost().dollars();
    for by in ["day", "model", "project", "run", "agent"] {
        let told = json(&stage.longhaul(["cost", "--by", by]).end());
        let total = told["total"]["total_cost_usd"].as_f64().expect("a number");
        assert!((total - billed).abs() < 1e-4, "{by}: {total} of {billed}: {told}");
        assert_eq!(told["total"]["estimated_cost_usd"], 0.0, "{by}");
        assert_eq!(told["rows"].as_array().map(Vec::len), Some(if by == "run" { 2 } else { 1 }), "{told}");
        assert_eq!(told["total"]["messages"], 4, "{by}");
    }
    let csv = stage.longhaul(["cost", "--by", "run", "--csv"]).end().stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert_eq!(stage.longhaul(["cost", "--since", "soon"]).end().code, 2);
    assert_eq!(stage.longhaul(["cost", "--by", "colour"]).end().code, 2);
}

/// What happens to the ledger while runs begin and end.
#[test]
fn no_run_fails_for_the_ledger() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &[]);
    let whole = fs::read(path(&stage)).expect("there is a ledger");
    let mut expected = 1;
    let mut check = |what: &str, damage: &dyn Fn()| {
        damage();
        work(&stage, &server, &[]);
        expected += 1;
        let told = stage.longhaul(["runs"]).end();
        assert_eq!(json(&told)["runs"].as_array().map(Vec::len), Some(expected), "{what}: {told:?}");
        let _ = fs::remove_dir(path(&stage));
        assert_eq!(stage.longhaul(["ledger", "rebuild"]).end().code, 0, "{what}");
        verified(&stage);
    };
    check("it is gone", &|| fs::remove_file(path(&stage)).expect("it was there"));
    check("it is empty", &|| fs::write(path(&stage), "").expect("it can be written"));
    check("it is garbage", &|| fs::write(path(&stage), "garbage".repeat(999)).expect("it can be written"));
    check("it is cut", &|| fs::write(path(&stage), &whole[..whole.len() / 2]).expect("it can be written"));
    check("it is a directory", &|| {
        fs::remove_file(path(&stage)).expect("it was there");
        fs::create_dir(path(&stage)).expect("it can be made");
    });
}

/// The ids in a list as text, without the lines of activities.
fn listed_as_text(text: &str) -> Vec<String> {
    let lines = text.lines().skip(1).filter(|line| !line.starts_with(' '));
    lines.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_pipe_receives_all_runs_and_a_terminal_the_newest() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &["--run-id", "a0"]);
    let first = stage.only_run();
    // As many runs as a screen does not have: copies of one.
    for number in 1..=30 {
        let copy = first.path().with_file_name(format!("a{number}"));
        assert_eq!(stage.program("cp").args(["-a"]).args([first.path(), &copy]).end().code, 0);
    }
    let text = stage.longhaul(["runs"]).in_text().end();
    assert_eq!(listed_as_text(&text.stdout).len(), 31, "{text:?}");
    assert_eq!(text.stderr, "");
    assert_eq!(ids(&stage, &[]).len(), 31);
    assert_eq!(listed_as_text(&on_a_screen(&stage, &["runs", "--no-pager"], &[])).len(), 30);
    assert_eq!(listed_as_text(&on_a_screen(&stage, &["runs", "--all", "--no-pager"], &[])).len(), 31);
    let limited = stage.longhaul(["runs", "-n", "2"]).in_text().end();
    assert_eq!(limited.stderr, "the newest 2 runs; --all lists all\n");
}

#[test]
fn a_ledger_of_a_newer_version_is_left_alone() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &[]);
    let newer = rusqlite::Connection::open(path(&stage)).expect("a database");
    newer.pragma_update(None, "user_version", 99).expect("it is set");
    drop(newer);
    work(&stage, &server, &[]);
    let told = stage.longhaul(["runs"]).end();
    assert_eq!(json(&told)["runs"].as_array().map(Vec::len), Some(2), "{told:?}");
    assert!(
        told.stderr.contains("a newer version of longhaul wrote it; reading every run's directory"),
        "{told:?}"
    );
    assert!(!stage.home().join("ledger.sqlite3.old").exists(), "it was set aside");
    assert_eq!(stage.longhaul(["ledger", "rebuild"]).end().code, 0);
    verified(&stage);
}

#[test]
fn no_run_waits_for_who_holds_the_ledger() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &[]);
    let held = rusqlite::Connection::open(path(&stage)).expect("a database");
    held.execute_batch("BEGIN EXCLUSIVE").expect("it is locked");
    work(&stage, &server, &[]);
    let told = stage.longhaul(["runs"]).end();
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stderr.starts_with("warning: ") && told.stderr.contains("another process is writing to it"));
    drop(held);
    assert_eq!(ids(&stage, &[]).len(), 2);
    verified(&stage);
}

#[test]
fn a_run_is_told_to_be_over_before_its_supervisor_waits_for_the_ledger() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &["--run-id", "one"]);
    let held = rusqlite::Connection::open(path(&stage)).expect("a database");
    held.execute_batch("BEGIN EXCLUSIVE").expect("it is locked");
    work(&stage, &server, &["--run-id", "two"]);
    let ended = SystemTime::now();
    drop(held);
    let run = stage.runs().into_iter().find(|run| run.id().as_str() == "two").expect("it is there");
    assert_eq!(run.status().expect("the status can be read").status, "done");
    let told = fs::metadata(run.status_path()).and_then(|file| file.modified()).expect("it is there");
    // It waits for two seconds then, and for nothing else as long. A slow machine only makes that longer.
    let waited = ended.duration_since(told).expect("it is told before its supervisor ends");
    assert!(waited > Duration::from_secs(1), "it was told {waited:?} before the end");
}

#[test]
fn twenty_runs_that_end_at_once_are_listed_once_each() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let agent = stage.agent();
    let runs: Vec<_> = (0..20).map(|_| stage.run(&agent, &FREE).against(&server).start()).collect();
    for run in runs {
        run.end().envelope(0);
    }
    let mut listed = ids(&stage, &["--all"]);
    assert_eq!(listed.len(), 20);
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 20);
    verified(&stage);
}

#[test]
fn writers_that_are_killed_leave_nothing_wrong() {
    // Each takes more than a second, so that none is killed when all is told.
    let work = late(r#"write = { path = "written", content = "yes" }"#);
    let (stage, server) = (Stage::new(), Server::plays(&work));
    // At moments from the beginning to the middle of a run, while somebody reads.
    let agent = stage.agent();
    for number in 0..8_u32 {
        let run = stage.run(&agent, &FREE).against(&server).start();
        until("it is there", || stage.runs().len() as u32 > number);
        let started = std::time::Instant::now();
        until("its time has come", || {
            let _ = listed(&stage, &[]);
            started.elapsed().as_millis() as u32 >= number * 100
        });
        run.kill();
    }
    assert!(listed(&stage, &[]).iter().all(|run| run["state"] != "unreadable"));
    verified(&stage);
    let ended = recover(&stage, &server, &[]).end();
    assert!(!ended.stderr.contains("ledger"), "{ended:?}");
    until("all are over", || ids(&stage, &["--state", "running,waiting,orphaned"]).is_empty());
    verified(&stage);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, &[]);
    for command in ["runs", "status", "cost"] {
        let mut child = Command::new(crate::harness::LONGHAUL)
            .args([command, "--output-format", "text"])
            .env("LONGHAUL_HOME", stage.home())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(
            (ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()),
            (Some(0), ""),
            "{command}"
        );
    }
}

#[test]
fn runs_that_have_long_been_over_are_removed_when_that_is_asked_for() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    for id in ["one", "two", "three", "four"] {
        work(&stage, &server, &["--run-id", id]);
    }
    let elsewhere = stage.folder().join("elsewhere");
    work(&stage, &server, &["--run-id", "five", "--runs-dir", &elsewhere.display().to_string()]);
    // Somebody worked in it.
    let second = stage.runs().into_iter().find(|run| run.id().as_str() == "two").expect("it is there");
    fs::create_dir(second.workspace_path()).expect("it can be made");
    fs::set_permissions(second.workspace_path(), Permissions::from_mode(0o700)).expect("it is ours");

    // The ledger says that this one is over, and is wrong: it goes on, and nobody has it.
    let fourth = stage.runs().into_iter().find(|run| run.id().as_str() == "four").expect("it is there");
    let whole = fs::read_to_string(fourth.journal_path()).expect("a journal");
    let (going_on, _) = whole.trim_end().rsplit_once('\n').expect("several steps");
    fs::write(fourth.journal_path(), format!("{going_on}\n")).expect("it is ours");
    let wrong = rusqlite::Connection::open(path(&stage)).expect("a database");
    let marker = fs::metadata(fourth.journal_path()).expect("it is there");
    let modified = std::os::unix::fs::MetadataExt::mtime(&marker) * 1_000_000_000
        + std::os::unix::fs::MetadataExt::mtime_nsec(&marker);
    let change = "UPDATE runs SET journal_bytes = ?, journal_modified = ? WHERE id = 'four'";
    wrong.execute(change, (marker.len() as i64, modified)).expect("it is changed");
    drop(wrong);
    let told = json(&stage.longhaul(["gc", "--older-than", "0", "--keep-last", "0", "--dry-run"]).end());
    assert_eq!(told["kept"]["unfinished"], 1, "{told}");
    fs::write(fourth.journal_path(), whole).expect("it is ours");

    let gc = |args: &[&str]| json(&stage.longhaul(["gc"]).args(args).end());
    let removed = |told: &Value| {
        let runs = told["runs"].as_array().expect("a list").iter();
        runs.map(|run| run["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(removed(&gc(&["--older-than", "1h", "--keep-last", "0"])), [""; 0]);
    assert_eq!(removed(&gc(&["--older-than", "0"])), [""; 0], "the newest ten are kept");
    let old = ["--older-than", "0", "--keep-last", "2"];
    assert_eq!(removed(&gc(&[&old[..], &["--keep", "done"]].concat())), [""; 0]);
    let told = gc(&[&old[..], &["--dry-run"]].concat());
    assert_eq!(removed(&told), ["three", "one"]);
    assert!(told["bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{told}");
    assert_eq!(ids(&stage, &[]).len(), 5, "nothing was removed");
    assert_eq!(removed(&gc(&old)), ["three", "one"]);
    assert_eq!(ids(&stage, &[]), ["five", "four", "two"]);
    let all = gc(&["--older-than", "0", "--keep-last", "0", "--include-workspaces"]);
    assert_eq!(removed(&all), ["four", "two"]);
    assert_eq!(all["kept"]["stored elsewhere"], 1, "{all}");
    assert_eq!(ids(&stage, &[]), ["five"]);
    verified(&stage);
    // There is no age by itself.
    let ended = stage.longhaul(["gc"]).end();
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["--older-than"]);
}
