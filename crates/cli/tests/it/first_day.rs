//! The first commands of a new user: defaults make sense, errors name the correct usage, and a terminal marks
//! success. Tests use the scripted agent only.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::paging::run_on_terminal;
use crate::recovering::{held_steps, orphaned_run, release, run_to_mid_tool};
use crate::server::{Server, WORK};
use rustix::process::Signal;
use std::fs;

const BASE_ARGS: [&str; 4] = ["p", "--permission-mode", "bypassPermissions", "--run-id"];

/// Performs a run with this id that finishes as done.
fn run_work(stage: &Stage, server: &Server, id: &str) {
    let output = stage.run(&stage.agent(), &BASE_ARGS).args([id]).against(server).output();
    assert_eq!(output.code, 0, "{output:?}");
}

fn assert_stderr_has(output: &Output, fragments: &[&str]) {
    for fragment in fragments {
        assert!(output.stderr.contains(fragment), "no `{fragment}` in {output:?}");
    }
}

#[test]
fn lists_report_the_absence_of_runs() {
    let stage = Stage::new();
    let text = |args: &[&str]| stage.longhaul(args).args(["--output-format", "text"]).output();
    assert_stderr_has(&text(&["runs"]), &["no runs yet", "`longhaul run`"]);
    assert_stderr_has(&text(&["runs", "--state", "failed"]), &["no run matches"]);
    assert!(text(&["cost"]).stdout.starts_with("no spending in the last 30 days"));
    assert_eq!(text(&["cost", "--all"]).stdout, "no spending\n");
}

#[test]
fn read_only_commands_default_to_the_last_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, "first");
    run_work(&stage, &server, "last");
    for command in ["why", "show", "logs", "attach"] {
        let (named, unnamed) =
            (stage.longhaul([command, "last"]).output(), stage.longhaul([command]).output());
        assert_eq!((named.code, &named.stdout), (0, &unnamed.stdout), "{command}: {unnamed:?}");
    }
    // A command that ends a run needs an explicit run.
    assert_eq!(stage.longhaul(["cancel"]).output().code, 2);
}

#[test]
fn detaching_says_run_continues() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let run = run_to_mid_tool(&stage, &stage.agent(), &server);
    let events = stage.folder().join("events.jsonl");
    let attached = stage.longhaul(["attach", "--events"]).args([&events]).start();
    wait_until("attach writes events", || fs::metadata(&events).is_ok_and(|file| file.len() > 0));
    attached.signal(Signal::INT);
    let detached = attached.output();
    assert_eq!(detached.code, 130, "{detached:?}");
    let id = stage.only_run().id().to_string();
    assert_stderr_has(
        &detached,
        &[&format!("run {id} continues"), &format!("stop it with `longhaul cancel {id}`")],
    );
    release(&stage);
    run.output().envelope(0);
}

#[test]
fn finished_run_cannot_be_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, "one");
    let cancel = stage.longhaul(["cancel", "one"]).output();
    assert_eq!(cancel.code, 25, "{cancel:?}");
    cancel.assert_error(&["run one has already finished: done", "`longhaul why one`"]);
}

#[test]
fn drill_names_the_commands_to_inspect_its_run() {
    let stage = Stage::new();
    let text =
        |args: &[&str]| stage.longhaul(["drill", "refusal", "--output-format", "text"]).args(args).output();
    assert_stderr_has(&text(&[]), &["--keep"]);
    let drill = text(&["--keep"]);
    let word_after = |prefix: &str| {
        let line = drill.stderr.lines().find_map(|line| line.trim_start().strip_prefix(prefix));
        line.and_then(|rest| rest.split(' ').next()).expect("the command is printed").to_owned()
    };
    let (home, run) = (word_after("export LONGHAUL_HOME="), word_after("longhaul why "));
    let explanation =
        stage.longhaul(["why", &run, "--output-format", "text"]).env("LONGHAUL_HOME", home).output();
    assert!(
        explanation.code == 0 && explanation.stdout.starts_with(&format!("run {run}: failed")),
        "{explanation:?}"
    );
    fs::remove_dir_all(word_after("kept ")).expect("the file exists");
}

#[test]
fn report_format_follows_the_file_name() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, "one");
    let check = |file: &str, more: &[&str], prefix: &str| {
        let path = stage.folder().join(file);
        let args = ["report", "--output-format", "text", "-o"];
        let output = stage.longhaul(args).args([&path]).args(more).output();
        assert_eq!(output.code, 0, "{output:?}");
        let written = fs::read_to_string(path).expect("the file was written");
        assert!(written.to_lowercase().starts_with(prefix), "{file}: {written}");
    };
    check("page.html", &[], "<!doctype html>");
    check("page.txt", &[], "longhaul report");
    check("text.html", &["--format", "text"], "longhaul report");
}

#[test]
fn success_is_green_on_a_terminal() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run_work(&stage, &server, "one");
    let check = |args: &[&str], text: &str| {
        let colored = run_on_terminal(&stage, args, &[("PAGER", "cat")]);
        assert!(colored.contains(&format!("\x1b[32m{text}\x1b[0m")), "{args:?}: {colored}");
        for without_color in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let plain = run_on_terminal(&stage, args, &[("PAGER", "cat"), without_color]);
            assert!(plain.contains(text) && !plain.contains('\x1b'), "{args:?} {without_color:?}: {plain}");
        }
        let piped = stage.longhaul(args).args(["--output-format", "text"]).output();
        assert!(piped.stdout.contains(text) && !piped.stdout.contains('\x1b'), "{piped:?}");
    };
    check(&["runs"], "done");
    check(&["why"], "done");
    check(&["drill", "refusal"], "pass");
}

#[test]
fn resuming_an_orphaned_run_reports_the_crash() {
    let (stage, server, _) = orphaned_run();
    let resumed = stage.longhaul(["resume", "@"]).against(&server).output();
    resumed.envelope(0);
    let id = stage.only_run().id().to_string();
    assert_stderr_has(&resumed, &[&format!("the supervisor of run {id} died; recovering it")]);
}
