//! `--events`: a run's decisions as lines of JSON, for programs. They match the journal, each record once and
//! in order, even if the supervisor is replaced or a reader fails.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{assert_done, recover, run_to_mid_tool_with, with_each_agent};
use crate::server::{Server, WORK};
use longhaul_store::{Journal, RunDir, rfc3339};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

fn run_work(stage: &Stage, args: &[&str]) -> Output {
    let server = Server::start(WORK);
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(&stage.agent(), &base_args).args(args).against(&server).output()
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn events(path: &Path) -> Vec<Value> {
    parsed(&fs::read_to_string(path).expect("there are events"))
}

/// Returns the events that correspond to the journal's records.
fn journaled_events(run: &RunDir) -> Vec<Value> {
    let history = <Journal>::load(&run.journal_path()).expect("the journal can be read");
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

fn is_finished(events: &[Value]) -> bool {
    events.last().is_some_and(|last| last["record"] == "run_finished")
}

#[test]
fn events_match_the_journal() {
    with_each_agent("the events of a run", |stage, agent, server| {
        let file = stage.folder().join("events.jsonl");
        let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--events"];
        let output = stage.run(agent, &base_args).args([&file]).against(server).output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(events(&file), journaled_events(&stage.only_run()));
        assert!(is_finished(&events(&file)));
        assert_eq!(output.stderr, "");
    });
}

#[test]
fn takeover_does_not_repeat_events() {
    with_each_agent("the events after a takeover", |stage, agent, server| {
        let file = stage.folder().join("events.jsonl");
        let target = file.display().to_string();
        let started = run_to_mid_tool_with(stage, agent, server, &["--events", &target]);
        wait_until("some events are written", || {
            fs::read_to_string(&file).is_ok_and(|text| text.lines().count() > 2)
        });
        started.kill();
        let run = stage.only_run();
        // One line is torn and one is missing, as after a crash during a write.
        let complete = fs::read_to_string(&file).expect("there are events");
        let torn = complete.trim_end().rsplit_once('\n').map_or("", |(rest, _)| rest);
        fs::write(&file, &torn[..torn.len() - 10]).expect("the file is writable");
        let output = recover(stage, server, &["--events", &target]).output();
        assert_done(stage, &output.envelope(0), 1);
        assert_eq!(events(&file), journaled_events(&run));
        let output =
            stage.longhaul(["resume", "@", "--repeat-task", "--events", &target]).against(server).output();
        output.envelope(0);
        assert_eq!(events(&file), journaled_events(&run));
    });
}

/// Kills the supervisor at every third failpoint of a run.
#[test]
fn events_are_complete_after_a_kill_at_any_failpoint() {
    for point in (1..).step_by(3) {
        let (stage, server) = (Stage::new(), Server::start(WORK));
        let file = stage.folder().join("events.jsonl");
        let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage
            .run(&stage.agent(), &base_args)
            .args(["--notify", "cat >> received", "--events"])
            .args([&file]);
        let run = run.env("LONGHAUL_FAILPOINT", format!("supervisor@{point}")).against(&server).start();
        let output = run.output_unless_killed();
        if output.is_none() {
            let target = file.display().to_string();
            recover(&stage, &server, &["@", "--events", &target]).output().envelope(0);
        }
        assert_eq!(events(&file), journaled_events(&stage.only_run()), "point {point}");
        let received = fs::read_to_string(stage.work().join("received")).expect("the outcome was sent");
        assert_eq!(received.lines().count(), 1, "point {point}: {received}");
        if output.is_some() {
            assert!(point > 20, "nothing was killed after {point} points");
            return;
        }
    }
}

#[test]
fn stdout_can_be_reserved_for_events() {
    let stage = Stage::new();
    let output = run_work(&stage, &["--events", "-"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(parsed(&output.stdout), journaled_events(&stage.only_run()));

    // A later `attach` writes all events, and writes them once.
    let file = stage.folder().join("events.jsonl");
    for _ in 0..2 {
        let attached = stage.longhaul(["attach", "@", "--events"]).args([&file]).output();
        attached.envelope(0);
        assert_eq!(events(&file), journaled_events(&stage.only_run()));
    }
    let attached = stage.longhaul(["attach", "@", "--events", "-"]).output();
    assert_eq!((attached.code, attached.stdout), (0, output.stdout));
}

#[test]
fn unsuccessful_run_is_reported_on_stderr_if_stdout_has_events() {
    let stage = Stage::new();
    let failed = stage.longhaul(["run", "p", "--agent-path", "/nowhere", "--events", "-"]).output();
    assert_eq!((failed.code, failed.stdout.as_str()), (25, ""), "{failed:?}");
    failed.assert_error(&["/nowhere"]);
    let limited = run_work(&stage, &["--events", "-", "--max-turns", "1"]);
    assert_eq!(limited.code, 22, "{limited:?}");
    assert!(is_finished(&parsed(&limited.stdout)), "{limited:?}");
    assert!(limited.stderr.contains(" finished as out_of_time"), "{limited:?}");
}

#[test]
fn events_can_be_written_to_an_open_descriptor() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let script = format!("exec '{LONGHAUL}' \"$@\" 3>>events.jsonl");
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--events", "fd:3"];
    let call = stage.program("sh").args(["-c", &script, "sh", "run", "--cwd"]).args([stage.work()]);
    let output = call.args(["--agent-path"]).args([stage.agent()]).args(base_args).against(&server).output();
    output.envelope(0);
    assert_eq!(events(&stage.folder().join("events.jsonl")), journaled_events(&stage.only_run()));
}

#[test]
fn unread_events_do_not_delay_the_run() {
    let stage = Stage::new();
    let fifo = stage.folder().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is mkfifo").success());
    let output = run_work(&stage, &["--events", &fifo.display().to_string()]);
    output.envelope(0);
    assert!(
        output.stderr.contains("warning: the last events of the run could not be written to"),
        "{output:?}"
    );
    // A full disk.
    let output = run_work(&stage, &["--events", "/dev/full"]);
    output.envelope(0);
    let count = journaled_events(&stage.runs()[0]).len();
    let warning =
        format!("warning: {count} events of the run could not be written to /dev/full: No space left");
    assert!(output.stderr.contains(&warning), "{output:?}");
    assert_eq!(run_work(&stage, &["--quiet", "--events", "/dev/full"]).stderr, "");
}

#[test]
fn several_runs_can_write_events_to_one_file() {
    let stage = Stage::new();
    let file = stage.folder().join("events.jsonl");
    let target = file.display().to_string();
    run_work(&stage, &["--events", &target]).envelope(0);
    run_work(&stage, &["--events", &target]).envelope(0);
    let all = events(&file);
    for run in stage.runs() {
        let run_events: Vec<_> =
            all.iter().filter(|event| event["run"] == run.id().as_str()).cloned().collect();
        assert_eq!(run_events, journaled_events(&run));
    }
}

#[test]
fn invalid_event_target_is_rejected_before_anything_starts() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    check(
        &["--events", "/nowhere/events"],
        &["cannot write events to /nowhere/events: No such file", "`fd:3`"],
    );
    check(&["--events", "/"], &["cannot write events to /: Is a directory"]);
    check(&["--events", "fd:77"], &["cannot write events to fd:77: there is no such descriptor"]);
    check(&["--events", "fd:0x3"], &["fd:0x3"]);
    for format in ["json", "text", "stream-json"] {
        let fragments = ["--output-format prints on stdout, too", "leave out --output-format"];
        check(&["--events", "-", "--output-format", format], &fragments);
    }
    check(&["--events", "-", "--detach"], &["has no stdout", "attach RUN --events -"]);
    assert!(stage.runs().is_empty());
}

#[test]
fn detached_run_writes_events() {
    let stage = Stage::new();
    let file = stage.folder().join("events.jsonl");
    let server = Server::start(WORK);
    let base_args =
        ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--detach", "--events"];
    let started = stage.run(&stage.agent(), &base_args).args([&file]).against(&server).output();
    assert_eq!(started.code, 0, "{started:?}");
    stage.longhaul(["attach", "@"]).output().envelope(0);
    wait_until("all events are written", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        // The last line may be incomplete.
        text.ends_with('\n') && is_finished(&parsed(&text))
    });
    assert_eq!(events(&file), journaled_events(&stage.only_run()));
    assert_eq!(events(&file)[0]["record"], json!("run_started"));
}
