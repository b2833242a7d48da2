//! Tests of the diagnostic texts and of the conditions under which they are written.

mod agreement;

use super::Diagnostic;
use crate::Environment;
use crate::live::subscriber::{Subscriber, WorldView};
use expect_test::{Expect, expect};
use longhaul_core::{
    AfterAttempt, AgentResult, AttemptEnd, AttemptPlan, Evidence, Exit, Fault, FoundAttempt, Moment, Outcome,
    OutcomeKind, Preset, ProcessActivity, ProcessState, PromptKind, Record, Remedy, Run, SessionId,
    SessionPlan, Span, StallReport, Step, StopCause, StopLevel, Usage,
};
use longhaul_store::{AttemptExit, RunDir};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const AT: Moment = Moment::from_unix_seconds(1_790_000_000);

/// A run's directory next to a project.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Workspace {
        let workspace = Workspace(tempfile::tempdir().expect("a temporary directory"));
        fs::create_dir_all(workspace.project().join(".claude")).expect("the directory is new");
        fs::create_dir(workspace.run()).expect("the directory is new");
        workspace
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("onerun")
    }

    fn enable_by_file(&self) {
        fs::write(self.project().join(".claude/diagnostic_mode"), "").expect("the directory is writable");
    }

    fn texts(&self, requested: bool, records: &[Record]) -> Texts {
        let dir = RunDir::from_path(self.run()).expect("the name is a run id");
        let mut diagnostic = Diagnostic::new(requested, &dir, &self.project(), &Environment::default());
        let mut run = Run::new();
        for record in records {
            run.apply(AT, record);
            let view = WorldView { at: AT, attempt: None, spawn_error: None };
            let step = Step { records: vec![record.clone()], actions: Vec::new() };
            diagnostic.on_step(&run, &Preset::Default.policy(), &view, &step);
        }
        diagnostic.on_takeover(&run, AT, &FoundAttempt::Ended(Evidence::from_exit(Exit::Unobserved)));
        let hidden = self.0.path().display().to_string();
        Texts {
            in_run: texts(&dir.diagnostic_path(), &hidden),
            in_project: texts(&self.project().join(".claude/diagnostic"), &hidden),
        }
    }
}

struct Texts {
    in_run: Vec<(String, String)>,
    in_project: Vec<(String, String)>,
}

/// Returns every text of a directory with its name, without the time.
fn texts(dir: &Path, hidden: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut texts: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("names are text");
            let (time, name) = name.split_at("20260921_120000_".len());
            assert!(time.chars().all(|c| c.is_ascii_digit() || c == '_'), "{time}");
            let text = fs::read_to_string(entry.path()).expect("the file is readable");
            (name.to_owned(), text.replace(hidden, ""))
        })
        .collect();
    texts.sort();
    texts
}

fn plan(attempt: u32) -> AttemptPlan {
    let session = SessionPlan::New(SessionId::from("s1"));
    AttemptPlan::new(attempt, session, PromptKind::Task)
}

fn stalled_and_waiting() -> Vec<Record> {
    let activity =
        ProcessActivity { agent: ProcessState::Idle, connections: 1, children: 0, busy_children: 0 };
    let stall = StallReport {
        silent_for: Span::from_mins(7),
        no_progress_for: Span::from_mins(7),
        open_tools: 0,
        processes: Some(activity),
    };
    let next = AfterAttempt::Attempt { at: AT + Span::from_secs(9), remedy: Remedy::Resume, plan: plan(2) };
    vec![
        Record::RunStarted,
        Record::AttemptStarted { plan: plan(1) },
        Record::StopOrdered { cause: StopCause::Stalled, level: StopLevel::Term, stall: Some(stall) },
        Record::AttemptEnded(AttemptEnd {
            result: Some(AgentResult::COMPLETED),
            denied_calls: 2,
            ..AttemptEnd::new(Some(Fault::Stalled), Usage::default(), next)
        }),
        Record::Swept { stopped_processes: 0 },
        Record::RunFinished { outcome: Outcome::from_fault(OutcomeKind::Failed, Fault::Stalled) },
    ]
}

fn check(texts: &[(String, String)], name: &str, expected: Expect) {
    let text = texts.iter().find(|(found, _)| found == name).map(|(_, text)| text.as_str());
    expected.assert_eq(text.unwrap_or("there is no such text"));
}

#[test]
fn texts_are_readable() {
    let workspace = Workspace::new();
    let dir = RunDir::from_path(workspace.run()).expect("the name is a run id");
    let attempt = dir.attempt(1).create().expect("the directory is writable");
    let exit = AttemptExit { exit: Exit::Code(143), ended_at: AT.into(), process: None, oom_killed: false };
    attempt.write(&exit).expect("the directory is writable");
    fs::write(attempt.stderr_path(), "warning: key sk-ant-api03-secret is old\nbye\n")
        .expect("the directory is writable");

    let Texts { in_run, in_project } = workspace.texts(true, &stalled_and_waiting());
    assert_eq!(in_project, []);
    let names: Vec<&str> = in_run.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fault_stalled.txt",
            "guard_denied.txt",
            "outcome_failed.txt",
            "recovered.txt",
            "stop_stalled.txt",
            "wait.txt"
        ]
    );
    check(
        &in_run,
        "fault_stalled.txt",
        expect![[r#"
            attempt 1 failed: stalled

            at         2026-09-21T14:13:20.000Z
            run        onerun
            attempt    1
            session    none
            directory  /project
            fault      stalled
            result     denials 0, stop_reason end_turn, terminal_reason completed
            remedy     resume
            next       attempt 2 at 2026-09-21T14:13:29.000Z, task
            exit       code 143

            the end of /onerun/attempts/001/stderr.log:
            warning: key [a key was here] is old
            bye
        "#]],
    );
    check(
        &in_run,
        "stop_stalled.txt",
        expect![[r#"
            attempt 1 is stopped: stalled

            at         2026-09-21T14:13:20.000Z
            run        onerun
            attempt    1
            session    none
            directory  /project
            cause      stalled
            level      term
            observed   no output for 7m, no tool running, connection open
        "#]],
    );
    check(
        &in_run,
        "wait.txt",
        expect![[r#"
            waiting for attempt 2

            at         2026-09-21T14:13:20.000Z
            run        onerun
            attempt    1
            session    none
            directory  /project
            until      2026-09-21T14:13:29.000Z
            duration   9s
            fault      stalled
        "#]],
    );
    check(
        &in_run,
        "guard_denied.txt",
        expect![[r#"
            the guards denied tool calls of attempt 1

            at         2026-09-21T14:13:20.000Z
            run        onerun
            attempt    1
            session    none
            directory  /project
            denials    2
        "#]],
    );
    check(
        &in_run,
        "outcome_failed.txt",
        expect![[r#"
        the run finished: failed

        at         2026-09-21T14:13:20.000Z
        run        onerun
        attempt    1
        session    none
        directory  /project
        outcome    failed
        exit code  20
        fault      stalled
    "#]],
    );
    check(
        &in_run,
        "recovered.txt",
        expect![[r#"
            taken over by a new supervisor

            at         2026-09-21T14:13:20.000Z
            run        onerun
            attempt    1
            session    none
            directory  /project
            agent      exited
            exit       unobserved
        "#]],
    );
}

#[test]
fn writes_nothing_unless_requested() {
    let workspace = Workspace::new();
    let Texts { in_run, in_project } = workspace.texts(false, &stalled_and_waiting());
    assert_eq!((in_run, in_project), (Vec::new(), Vec::new()));
    assert!(!workspace.run().join("diagnostic").exists());
}

#[test]
fn project_file_enables_the_same_texts() {
    let workspace = Workspace::new();
    workspace.enable_by_file();
    let Texts { in_run, in_project } = workspace.texts(false, &stalled_and_waiting());
    assert_eq!(in_run.len(), 6);
    assert_eq!(in_run, in_project);
}

#[test]
fn events_of_one_second_get_separate_files() {
    let workspace = Workspace::new();
    let records = [
        Record::Downtime { duration: Span::from_mins(1) },
        Record::Downtime { duration: Span::from_mins(2) },
    ];
    let names: Vec<String> =
        workspace.texts(true, &records).in_run.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["downtime.txt", "downtime_2.txt", "recovered.txt"]);
}

#[test]
fn ignores_an_unwritable_directory() {
    let workspace = Workspace::new();
    workspace.enable_by_file();
    fs::write(workspace.project().join(".claude/diagnostic"), "in the way")
        .expect("the directory is writable");
    let Texts { in_run, in_project } = workspace.texts(false, &stalled_and_waiting());
    assert_eq!((in_run.len(), in_project.len()), (6, 0));
}
