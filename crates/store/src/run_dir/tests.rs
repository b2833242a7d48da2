use super::*;
use crate::{Argv, AttemptExit, EnvNames, WatchdogStop};
use longhaul_core::{AnsweredQuestion, Exit, Moment, Span};
use std::io::Write;

fn run_dir() -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let run = RunDir::new(dir.path().to_owned(), RunId::from("bcdfgh"));
    (dir, run)
}

#[test]
fn lists_attempts_in_order() {
    let (_dir, run) = run_dir();
    for number in [1000, 2, 1, 2] {
        run.attempt(number).create().expect("attempt");
    }
    fs::write(run.attempts_path().join("notes"), "").expect("an unrelated file");
    let attempts = run.attempts().expect("attempts");
    assert_eq!(attempts.iter().map(AttemptDir::number).collect::<Vec<_>>(), [1, 2, 1000]);
    assert!(attempts[0].path().ends_with("attempts/001"));
    assert!(attempts[2].path().ends_with("attempts/1000"));
}

#[test]
fn directory_name_is_the_run_id() {
    let (dir, run) = run_dir();
    let path = dir.path().join("bcdfgh");
    assert_eq!(RunDir::from_path(path.clone()), Some(RunDir::new(path, run.id().clone())));
    assert_eq!((RunDir::from_path("bcdfgh".into()), RunDir::from_path("/".into())), (None, None));
}

#[test]
fn plan_of_moved_run_names_its_moved_workspace() {
    let (dir, run) = run_dir();
    let mut plan = crate::plan::tests::plan();
    let cwd_of = |run: &RunDir| run.plan().expect("a plan").spec.cwd;
    let store = |run: &RunDir, plan: &Plan| {
        fs::write(run.plan_path(), "").expect("written");
        run.replace_plan(plan).expect("replaced");
    };
    let run_in = |path: &Path| {
        RunDir::from_path(fs::canonicalize(path).expect("it is there").join("bcdfgh")).expect("a run")
    };
    fs::create_dir(dir.path().join("bcdfgh")).expect("made");
    let old = run_in(dir.path());
    plan.spec.cwd = old.workspace_path().join("input");
    store(&old, &plan);
    assert_eq!(cwd_of(&old), old.workspace_path().join("input"));
    fs::create_dir(dir.path().join("moved")).expect("made");
    fs::rename(old.path(), dir.path().join("moved/bcdfgh")).expect("moved");
    let new = run_in(&dir.path().join("moved"));
    assert_eq!(cwd_of(&new), new.workspace_path().join("input"));
    // Every other directory is stored unchanged.
    plan.spec.cwd = dir.path().into();
    store(&new, &plan);
    assert_eq!(cwd_of(&new), dir.path());
    drop(run);
}

#[test]
fn reopened_stream_keeps_its_content() {
    let (_dir, run) = run_dir();
    let attempt = run.attempt(1).create().expect("attempt");
    for line in ["one\n", "two\n"] {
        attempt.create_stream().expect("stream").write_all(line.as_bytes()).expect("written");
    }
    assert_eq!(fs::read_to_string(attempt.stream_path()).expect("read"), "one\ntwo\n");
}

#[test]
fn returns_last_heartbeat() {
    let (dir, run) = run_dir();
    assert_eq!(run.heartbeat(), None);
    for at in [1_790_000_000_000, 1_790_000_005_000].map(Moment) {
        run.write_heartbeat(at);
        assert_eq!(run.heartbeat(), Some(at));
    }
    // A power cut may empty the file.
    fs::write(dir.path().join("heartbeat"), "").expect("written");
    assert_eq!(run.heartbeat(), None);
}

#[test]
fn round_trips_files_of_an_attempt() {
    let (_dir, run) = run_dir();
    let attempt = run.attempt(1).create().expect("attempt");
    assert_eq!(attempt.read::<AttemptExit>().expect("none yet"), None);
    let exit =
        AttemptExit { exit: Exit::Signal(9), ended_at: Moment(5).into(), process: None, oom_killed: true };
    attempt.write(&exit).expect("written");
    assert_eq!(attempt.read().expect("exit"), Some(exit));
    assert_eq!(attempt.read::<WatchdogStop>().expect("none yet"), None);
    assert_eq!(attempt.read::<Vec<AnsweredQuestion>>().expect("none yet"), None);
    let answer = AnsweredQuestion { question: "Which?".into(), answer: "This".into(), key: None };
    attempt.write(&vec![answer.clone()]).expect("written");
    assert_eq!(attempt.read().expect("answers"), Some(vec![answer]));
    let stop = WatchdogStop { at: Moment(7).into(), silent_ms: Span(2_000), processes_stopped: Some(2) };
    attempt.write(&stop).expect("written");
    assert_eq!(attempt.read().expect("a stop"), Some(stop));
    let argv = Argv {
        program: "/bin/agent".into(),
        args: vec!["-p".into()],
        cwd: "/tmp".into(),
        env: EnvNames::new(["A"], ["B"]),
    };
    attempt.write(&argv).expect("written");
    assert_eq!(attempt.read().expect("arguments"), Some(argv));
}

#[test]
fn unreadable_file_names_its_writer() {
    let (_dir, run) = run_dir();
    fs::write(run.plan_path(), r#"{"longhaul_version":"9.1.0","prompt":3}"#).expect("written");
    let error = run.plan().expect_err("not a plan");
    assert!(error.to_string().contains("plan.json"), "{error}");
    assert!(
        matches!(&error, StoreError::Unreadable { written_by: Some(version), .. } if version == "9.1.0"),
        "{error}"
    );
    fs::write(run.plan_path(), "{").expect("written");
    let error = run.plan().expect_err("not a plan");
    assert!(matches!(error, StoreError::Unreadable { written_by: None, .. }), "{error}");
}
