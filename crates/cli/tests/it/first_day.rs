//! What somebody types who has read the README's first page: what is left out has a meaning, what is wrong says what would
//! be right, and a terminal shows at a glance what to see to. What an agent is does not matter here.

use crate::call::{Ended, until};
use crate::harness::Stage;
use crate::paging::on_a_screen;
use crate::recovering::{STEPS, in_mid_tool};
use crate::server::{Server, WORK};
use rustix::process::Signal;
use std::fs;

const FREE: [&str; 4] = ["p", "--permission-mode", "bypassPermissions", "--run-id"];

/// A run of this id that is done.
fn work(stage: &Stage, server: &Server, id: &str) {
    let ended = stage.run(&stage.agent(), &FREE).args([id]).against(server).end();
    assert_eq!(ended.code, 0, "{ended:?}");
}

fn says(ended: &Ended, words: &[&str]) {
    for word in words {
        assert!(ended.stderr.contains(word), "no `{word}` in {ended:?}");
    }
}

#[test]
fn before_the_first_run_lists_say_that_there_is_none() {
    let stage = Stage::new();
    let text = |args: &[&str]| stage.longhaul(args).args(["--output-format", "text"]).end();
    says(&text(&["runs"]), &["no runs yet", "`longhaul run`"]);
    says(&text(&["runs", "--state", "failed"]), &["no run matches"]);
    assert!(text(&["cost"]).stdout.starts_with("no spending in the last 30 days"));
    assert_eq!(text(&["cost", "--all"]).stdout, "no spending\n");
}

#[test]
fn a_command_that_looks_takes_the_last_run() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, "first");
    work(&stage, &server, "last");
    for command in ["why", "show", "logs", "attach"] {
        let (named, unnamed) = (stage.longhaul([command, "last"]).end(), stage.longhaul([command]).end());
        assert_eq!((named.code, &named.stdout), (0, &unnamed.stdout), "{command}: {unnamed:?}");
    }
    // What ends a run wants to be told which.
    assert_eq!(stage.longhaul(["cancel"]).end().code, 2);
}

#[test]
fn whoever_leaves_a_run_is_told_that_it_goes_on() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    let run = in_mid_tool(&stage, &stage.agent(), &server);
    let told = stage.folder().join("told.jsonl");
    let attached = stage.longhaul(["attach", "--events"]).args([&told]).start();
    until("it follows", || fs::metadata(&told).is_ok_and(|told| told.len() > 0));
    attached.signal(Signal::INT);
    let left = attached.end();
    assert_eq!(left.code, 130, "{left:?}");
    let id = stage.only_run().id().to_string();
    says(&left, &[&format!("run {id} goes on"), &format!("`longhaul cancel {id}` ends it")]);
    run.end().envelope(0);
}

#[test]
fn a_run_that_is_over_has_nothing_to_cancel() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, "one");
    let refused = stage.longhaul(["cancel", "one"]).end();
    assert_eq!(refused.code, 25, "{refused:?}");
    refused.says(&["run one has already finished: done", "`longhaul why one`"]);
}

#[test]
fn a_drill_says_how_its_run_is_looked_at() {
    let stage = Stage::new();
    let text =
        |args: &[&str]| stage.longhaul(["drill", "refusal", "--output-format", "text"]).args(args).end();
    says(&text(&[]), &["--keep"]);
    let kept = text(&["--keep"]);
    let said = |before: &str| {
        let line = kept.stderr.lines().find_map(|line| line.trim_start().strip_prefix(before));
        line.and_then(|rest| rest.split(' ').next()).expect("it is said").to_owned()
    };
    let (home, run) = (said("export LONGHAUL_HOME="), said("longhaul why "));
    let why = stage.longhaul(["why", &run, "--output-format", "text"]).env("LONGHAUL_HOME", home).end();
    assert!(why.code == 0 && why.stdout.starts_with(&format!("run {run}: failed")), "{why:?}");
    fs::remove_dir_all(said("kept ")).expect("it is there");
}

#[test]
fn a_report_is_a_page_where_its_file_is_called_one() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, "one");
    let check = |file: &str, more: &[&str], begins: &str| {
        let path = stage.folder().join(file);
        let args = ["report", "--output-format", "text", "-o"];
        let ended = stage.longhaul(args).args([&path]).args(more).end();
        assert_eq!(ended.code, 0, "{ended:?}");
        let written = fs::read_to_string(path).expect("it is written");
        assert!(written.to_lowercase().starts_with(begins), "{file}: {written}");
    };
    check("page.html", &[], "<!doctype html>");
    check("page.txt", &[], "longhaul report");
    check("text.html", &["--text"], "longhaul report");
}

#[test]
fn a_terminal_shows_at_a_glance_what_is_well() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    work(&stage, &server, "one");
    let check = |args: &[&str], words: &str| {
        let painted = on_a_screen(&stage, args, &[("PAGER", "cat")]);
        assert!(painted.contains(&format!("\x1b[32m{words}\x1b[0m")), "{args:?}: {painted}");
        for no in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let plain = on_a_screen(&stage, args, &[("PAGER", "cat"), no]);
            assert!(plain.contains(words) && !plain.contains('\x1b'), "{args:?} {no:?}: {plain}");
        }
        let piped = stage.longhaul(args).args(["--output-format", "text"]).end();
        assert!(piped.stdout.contains(words) && !piped.stdout.contains('\x1b'), "{piped:?}");
    };
    check(&["runs"], "done");
    check(&["why"], "done");
    check(&["drill", "refusal"], "pass");
}

#[test]
fn a_run_that_is_resumed_after_a_crash_says_that_it_crashed() {
    let (stage, server) = (Stage::new(), Server::plays(STEPS));
    in_mid_tool(&stage, &stage.agent(), &server).kill();
    let resumed = stage.longhaul(["resume", "@"]).against(&server).end();
    resumed.envelope(0);
    let id = stage.only_run().id().to_string();
    says(&resumed, &[&format!("the supervisor of run {id} died; recovering it")]);
}
