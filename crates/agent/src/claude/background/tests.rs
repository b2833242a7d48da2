use super::output_path;
use crate::claude::Claude;
use crate::{Dialect, DoneSignals, Guards};
use expect_test::{Expect, expect};
use longhaul_core::{BackgroundTask, Exit, Notice};

const CALL: &str = r#"{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"python\n  train.py","description":"Train","run_in_background":true}}]}}"#;
const LISTED: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"Train"}]}"#;
const STARTED: &str = r#"{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"toolu_1","description":"Train","is_backgrounded":true}"#;
const CALL_RESULT: &str = r#"{"type":"user","message":{"content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"Command running in background with ID: b1. Output is being written to: /tmp/b1.output. You will be notified when it completes."}]}}"#;
const MESSAGE: &str =
    r#"{"type":"assistant","message":{"id":"m2","model":"m","content":[{"type":"text","text":"It runs."}]}}"#;
const STOPPED: &str = r#"{"type":"system","subtype":"task_notification","task_id":"b1","tool_use_id":"toolu_1","status":"stopped","output_file":""}"#;
const COMPLETED: &str = r#"{"type":"system","subtype":"task_notification","task_id":"b1","tool_use_id":"toolu_1","status":"completed","output_file":"/tmp/b1.output"}"#;
const EMPTY: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#;

/// Checks the running tasks after these lines, and the number of tasks that ended with the process.
fn check(lines: &[&str], running: Expect, ended: u32) {
    let mut decoder = Claude::default().decoder(&Guards::default(), &DoneSignals::default());
    let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
    decoder.feed(stream.as_bytes(), &mut Vec::new());
    let line = |task: &BackgroundTask| format!("{} {} {:?}", task.call, task.command, task.output_file);
    let tasks: Vec<String> = decoder.snapshot().background.iter().map(line).collect();
    running.assert_eq(&tasks.join("; "));
    assert_eq!(decoder.evidence(Exit::Code(143), "").background, ended, "{lines:#?}");
}

#[test]
fn task_has_command_and_output_path() {
    check(&[CALL, LISTED], expect![" Train None"], 1);
    check(
        &[CALL, LISTED, STARTED, CALL_RESULT, MESSAGE],
        expect![[r#"toolu_1 python train.py Some("/tmp/b1.output")"#]],
        1,
    );
    check(&[LISTED, STARTED], expect!["toolu_1 Train None"], 1);
}

#[test]
fn only_tasks_that_end_with_the_process_count_as_stopped() {
    check(
        &[CALL, LISTED, STARTED, CALL_RESULT, MESSAGE, STOPPED, EMPTY],
        expect![[r#"toolu_1 python train.py Some("/tmp/b1.output")"#]],
        1,
    );
    // The model stopped it and continued.
    check(&[CALL, LISTED, STARTED, CALL_RESULT, MESSAGE, STOPPED, EMPTY, MESSAGE], expect![], 0);
    check(&[CALL, LISTED, STARTED, CALL_RESULT, MESSAGE, COMPLETED, EMPTY], expect![], 0);
}

#[test]
fn sub_agents_are_counted_apart_from_commands() {
    const BOTH: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"Train"},{"task_id":"a1","task_type":"local_agent","description":"Port"}]}"#;
    let mut decoder = Claude::default().decoder(&Guards::default(), &DoneSignals::default());
    let mut notices = Vec::new();
    decoder.feed(format!("{BOTH}\n{EMPTY}\n").as_bytes(), &mut notices);
    let changed = |tasks, sub_agents| Notice::BackgroundChanged { tasks, sub_agents };
    assert_eq!(notices, [changed(2, 1), changed(0, 0)]);
    // Both left the list, but the stream does not state how they ended.
    let evidence = decoder.evidence(Exit::Code(0), "");
    assert_eq!((evidence.background, evidence.lost_sub_agents), (2, true));
}

#[test]
fn parses_absolute_output_path() {
    for (text, path) in [
        ("Output is being written to: /a b/c.output. You will", Some("/a b/c.output")),
        ("Output is being written to: c.output. You will", None),
        ("Output is being written to: /a\n/c.output. You will", None),
        ("Output is being written to: /a", None),
        ("done", None),
    ] {
        assert_eq!(output_path(text), path, "{text}");
    }
}
