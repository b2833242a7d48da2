//! `--events`: a run's decisions as lines of JSON, for programs. They are those of the journal, each once and in order,
//! whoever supervises the run and whatever becomes of those who are told.

use crate::call::{Ended, until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{done_in, in_mid_tool_with, recover, with_each_agent};
use crate::server::{Server, WORK};
use longhaul_store::{Journal, RunDir, rfc3339};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

fn work(stage: &Stage, args: &[&str]) -> Ended {
    let server = Server::plays(WORK);
    let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(&stage.agent(), &free).args(args).against(&server).end()
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn events(path: &Path) -> Vec<Value> {
    parsed(&fs::read_to_string(path).expect("there are events"))
}

/// What a journal has to tell.
fn journalled(run: &RunDir) -> Vec<Value> {
    let history = Journal::load(&run.journal_path()).expect("the journal can be read");
    let mut events = Vec::new();
    for entry in &history.entries {
        for record in &entry.records {
            let mut event = serde_json::to_value(record).expect("a record is JSON");
            event["at"] = rfc3339(entry.at).into();
            event["run"] = run.id().as_str().into();
            event["seq"] = (events.len() + 1).into();
            events.push(event);
        }
    }
    events
}

fn run_finished(events: &[Value]) -> bool {
    events.last().is_some_and(|last| last["record"] == "run_finished")
}

#[test]
fn a_run_is_told_as_it_is_journalled() {
    with_each_agent("telling its events", |stage, agent, server| {
        let file = stage.folder().join("events.jsonl");
        let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--events"];
        let ended = stage.run(agent, &free).args([&file]).against(server).end();
        done_in(stage, &ended.envelope(0), 1);
        assert_eq!(events(&file), journalled(&stage.only_run()));
        assert!(run_finished(&events(&file)));
        assert_eq!(ended.stderr, "");
    });
}

#[test]
fn each_event_is_told_once_whoever_supervises() {
    with_each_agent("telling the rest of its events", |stage, agent, server| {
        let file = stage.folder().join("events.jsonl");
        let to = file.display().to_string();
        let started = in_mid_tool_with(stage, agent, server, &["--events", &to]);
        until("something is told", || fs::read_to_string(&file).is_ok_and(|told| told.lines().count() > 2));
        started.kill();
        let run = stage.only_run();
        // A line that its writer did not live to finish, and one that it did not live to begin.
        let whole = fs::read_to_string(&file).expect("there are events");
        let torn = whole.trim_end().rsplit_once('\n').map_or("", |(rest, _)| rest);
        fs::write(&file, &torn[..torn.len() - 10]).expect("it can be cut");
        let ended = recover(stage, server, &["--events", &to]).end();
        done_in(stage, &ended.envelope(0), 1);
        assert_eq!(events(&file), journalled(&run));
        let ended = stage.longhaul(["resume", "@", "--repeat-task", "--events", &to]).against(server).end();
        ended.envelope(0);
        assert_eq!(events(&file), journalled(&run));
    });
}

/// Dies at one point after the other, until there is none left.
#[test]
fn whatever_kills_a_supervisor_everything_is_told_once() {
    for point in (1..).step_by(3) {
        let (stage, server) = (Stage::new(), Server::plays(WORK));
        let file = stage.folder().join("events.jsonl");
        let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run =
            stage.run(&stage.agent(), &free).args(["--notify", "cat >> heard", "--events"]).args([&file]);
        let run = run.env("LONGHAUL_FAILPOINT", format!("supervisor@{point}")).against(&server).start();
        let ended = run.end_or_killed();
        if ended.is_none() {
            let to = file.display().to_string();
            recover(&stage, &server, &["@", "--events", &to]).end().envelope(0);
        }
        assert_eq!(events(&file), journalled(&stage.only_run()), "point {point}");
        let received = fs::read_to_string(stage.work().join("heard")).expect("its outcome is told");
        assert_eq!(received.lines().count(), 1, "point {point}: {received}");
        if ended.is_some() {
            assert!(point > 20, "nothing was killed after {point} points");
            return;
        }
    }
}

#[test]
fn stdout_can_be_for_events_alone() {
    let stage = Stage::new();
    let ended = work(&stage, &["--events", "-"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(parsed(&ended.stdout), journalled(&stage.only_run()));

    // Who comes late hears all of it, and once.
    let file = stage.folder().join("events.jsonl");
    for _ in 0..2 {
        let attached = stage.longhaul(["attach", "@", "--events"]).args([&file]).end();
        attached.envelope(0);
        assert_eq!(events(&file), journalled(&stage.only_run()));
    }
    let attached = stage.longhaul(["attach", "@", "--events", "-"]).end();
    assert_eq!((attached.code, attached.stdout), (0, ended.stdout));
}

#[test]
fn a_run_that_ends_badly_says_so_on_stderr_where_stdout_is_taken() {
    let stage = Stage::new();
    let refused = stage.longhaul(["run", "p", "--agent-path", "/nowhere", "--events", "-"]).end();
    assert_eq!((refused.code, refused.stdout.as_str()), (25, ""), "{refused:?}");
    refused.says(&["/nowhere"]);
    let cut = work(&stage, &["--events", "-", "--max-turns", "1"]);
    assert_eq!(cut.code, 22, "{cut:?}");
    assert!(run_finished(&parsed(&cut.stdout)), "{cut:?}");
    assert!(cut.stderr.contains(" finished: out_of_time"), "{cut:?}");
}

#[test]
fn an_open_descriptor_is_told() {
    let stage = Stage::new();
    let server = Server::plays(WORK);
    let script = format!("exec '{LONGHAUL}' \"$@\" 3>>events.jsonl");
    let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--events", "fd:3"];
    let call = stage.program("sh").args(["-c", &script, "sh", "run", "--cwd"]).args([stage.work()]);
    let ended = call.args(["--agent-path"]).args([stage.agent()]).args(free).against(&server).end();
    ended.envelope(0);
    assert_eq!(events(&stage.folder().join("events.jsonl")), journalled(&stage.only_run()));
}

#[test]
fn who_does_not_listen_delays_nobody() {
    let stage = Stage::new();
    let fifo = stage.folder().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is mkfifo").success());
    let ended = work(&stage, &["--events", &fifo.display().to_string()]);
    ended.envelope(0);
    assert!(ended.stderr.contains("warning: the last of the run's events were not taken by"), "{ended:?}");
    // A disk without room.
    let ended = work(&stage, &["--events", "/dev/full"]);
    ended.envelope(0);
    let told = journalled(&stage.runs()[0]).len();
    let words = format!("warning: {told} of the run's events did not get to /dev/full: No space left");
    assert!(ended.stderr.contains(&words), "{ended:?}");
    assert_eq!(work(&stage, &["--quiet", "--events", "/dev/full"]).stderr, "");
}

#[test]
fn several_runs_may_be_told_in_one_file() {
    let stage = Stage::new();
    let file = stage.folder().join("events.jsonl");
    let to = file.display().to_string();
    work(&stage, &["--events", &to]).envelope(0);
    work(&stage, &["--events", &to]).envelope(0);
    let told = events(&file);
    for run in stage.runs() {
        let own: Vec<_> = told.iter().filter(|event| event["run"] == run.id().as_str()).cloned().collect();
        assert_eq!(own, journalled(&run));
    }
}

#[test]
fn what_cannot_be_told_is_refused_before_anything_is_started() {
    let stage = Stage::new();
    let check = |args: &[&str], words: &[&str]| {
        let ended = stage.run(&stage.agent(), &["p"]).args(args).end();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
        ended.says(words);
    };
    check(&["--events", "/nowhere/events"], &["cannot write events to /nowhere/events: No such file", "`fd:3`"]);
    check(&["--events", "/"], &["cannot write events to /: Is a directory"]);
    check(&["--events", "fd:77"], &["cannot write events to fd:77: there is no such descriptor"]);
    check(&["--events", "fd:0x3"], &["fd:0x3"]);
    for format in ["json", "text", "stream-json"] {
        let words = ["--output-format prints on stdout, too", "leave out --output-format"];
        check(&["--events", "-", "--output-format", format], &words);
    }
    check(&["--events", "-", "--detach"], &["has no stdout", "attach RUN --events -"]);
    assert!(stage.runs().is_empty());
}

#[test]
fn a_run_that_is_left_alone_is_told_too() {
    let stage = Stage::new();
    let file = stage.folder().join("events.jsonl");
    let server = Server::plays(WORK);
    let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--detach", "--events"];
    let started = stage.run(&stage.agent(), &free).args([&file]).against(&server).end();
    assert_eq!(started.code, 0, "{started:?}");
    stage.longhaul(["attach", "@"]).end().envelope(0);
    until("all of it is told", || run_finished(&events(&file)));
    assert_eq!(events(&file), journalled(&stage.only_run()));
    assert_eq!(events(&file)[0]["record"], json!("run_started"));
}
