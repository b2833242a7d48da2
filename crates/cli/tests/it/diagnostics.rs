//! Diagnostic texts on noteworthy events: each of three settings enables them, they exist after a recovery,
//! and they never fail a run.

use crate::call::Call;
use crate::harness::Stage;
use crate::recovering::{recover, run_to_mid_tool_with, with_each_agent};
use crate::server::Server;
use crate::tidy;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A scenario in which the API is overloaded once.
const OVERLOADED: &str = "
It is done.
[[fault]]
turn = 1
status = { code = 529 }
";

fn run(stage: &Stage, args: &[&str]) -> Call {
    let policy =
        ["--preset", "drill", "--inner-retries", "0", "--retry-jitter", "none", "--retry-base", "200ms"];
    stage.run(&stage.agent(), &["p", "--permission-mode", "bypassPermissions"]).args(policy).args(args)
}

/// Performs a run with one fault.
fn run_with_fault(stage: &Stage, call: Call) {
    let server = Server::start(OVERLOADED);
    let output = call.against(&server).output();
    assert_eq!(output.envelope(0)["run"]["attempts"], 2, "{output:?}");
    tidy::check(stage);
}

/// Returns the file names in a directory, without their timestamps.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.file_name().to_str()?.get("20260921_120000_".len()..)?.to_owned()))
        .collect();
    names.sort();
    names
}

fn texts_in_run(stage: &Stage) -> Vec<String> {
    names(&stage.only_run().diagnostic_path())
}

fn texts_in_project(stage: &Stage) -> Vec<String> {
    names(&stage.work().join(".claude/diagnostic"))
}

fn enable_in_project(stage: &Stage) {
    fs::create_dir_all(stage.work().join(".claude")).expect("the stage is writable");
    fs::write(stage.work().join(".claude/diagnostic_mode"), "").expect("the stage is writable");
}

const TEXTS: [&str; 3] = ["fault_overloaded.txt", "outcome_done.txt", "wait.txt"];

#[test]
fn diagnostics_are_off_by_default() {
    let stage = Stage::new();
    run_with_fault(&stage, run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "0"));
    assert!(!stage.only_run().diagnostic_path().exists());
    assert!(!stage.work().join(".claude").exists());
}

#[test]
fn flag_enables_diagnostics() {
    let stage = Stage::new();
    run_with_fault(&stage, run(&stage, &["--diagnostic"]));
    assert_eq!(texts_in_run(&stage), TEXTS);
    assert_eq!(texts_in_project(&stage), [""; 0]);
}

#[test]
fn variable_enables_diagnostics() {
    let stage = Stage::new();
    run_with_fault(&stage, run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "1"));
    assert_eq!(texts_in_run(&stage), TEXTS);
    let rejected = run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "maybe").output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["LONGHAUL_DIAGNOSTIC", "`maybe` is neither 1 nor 0", "set it to 1"]);
}

#[test]
fn project_file_enables_diagnostics() {
    let stage = Stage::new();
    enable_in_project(&stage);
    run_with_fault(&stage, run(&stage, &[]));
    assert_eq!(texts_in_run(&stage), TEXTS);
    assert_eq!(texts_in_project(&stage), TEXTS);
    let folder = stage.work().join(".claude/diagnostic");
    let mode = |path: &Path| fs::metadata(path).expect("the file exists").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for text in tidy::all_paths(&folder) {
        assert_eq!(mode(&text), 0o600, "{}", text.display());
        let text = fs::read_to_string(text).expect("reading succeeds");
        assert!(!text.contains("sk-ant-"), "a key in {text}");
    }
}

#[test]
fn unwritable_project_does_not_fail_the_run() {
    let stage = Stage::new();
    enable_in_project(&stage);
    // Root may write to any directory, but not to a file as if it were a directory.
    fs::write(stage.work().join(".claude/diagnostic"), "in the way").expect("the stage is writable");
    let folder = stage.work().join(".claude");
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).expect("the test owns the directory");
    run_with_fault(&stage, run(&stage, &[]));
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("the test owns the directory");
    assert_eq!(texts_in_run(&stage), TEXTS);
    assert_eq!(tidy::all_paths(&folder).len(), 2, "something was written");
}

#[test]
fn recovered_run_continues_diagnostics() {
    with_each_agent("diagnostic texts after a recovery", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &["--diagnostic"]).kill();
        let recovered = recover(stage, server, &["@"]).output();
        assert_eq!(recovered.code, 0, "{recovered:?}");
        let names = texts_in_run(stage);
        for name in ["recovered.txt", "outcome_done.txt"] {
            assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
        }
        tidy::check(stage);
    });
}
