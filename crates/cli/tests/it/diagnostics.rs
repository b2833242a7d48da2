//! Texts on noteworthy events: asked for in each of three ways, there after a recovery, and never the reason for a failure.

use crate::call::Call;
use crate::harness::Stage;
use crate::recovering::{in_mid_tool_with, recover, with_each_agent};
use crate::server::Server;
use crate::tidy;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The API is overloaded once.
const OVERLOADED: &str = r#"
name = "overloaded"
summary = "529 once"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "It is done."
[[fault]]
turn = 1
status = { code = 529 }
"#;

fn run(stage: &Stage, args: &[&str]) -> Call {
    let slow =
        ["--preset", "drill", "--inner-retries", "0", "--retry-jitter", "none", "--retry-base", "200ms"];
    stage.run(&stage.agent(), &["p", "--permission-mode", "bypassPermissions"]).args(slow).args(args)
}

/// Carries a run out that meets one fault.
fn carry(stage: &Stage, call: Call) {
    let server = Server::plays(OVERLOADED);
    let ended = call.against(&server).end();
    assert_eq!(ended.envelope(0)["run"]["attempts"], 2, "{ended:?}");
    tidy::check(stage);
}

/// The names of the texts in a folder, without their times.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.file_name().to_str()?.get("20260921_120000_".len()..)?.to_owned()))
        .collect();
    names.sort();
    names
}

fn in_run(stage: &Stage) -> Vec<String> {
    names(&stage.only_run().diagnostic_path())
}

fn in_project(stage: &Stage) -> Vec<String> {
    names(&stage.work().join(".claude/diagnostic"))
}

fn flag(stage: &Stage) {
    fs::create_dir_all(stage.work().join(".claude")).expect("the stage can be written");
    fs::write(stage.work().join(".claude/diagnostic_mode"), "").expect("the stage can be written");
}

const TEXTS: [&str; 3] = ["fault_overloaded.txt", "outcome_done.txt", "wait.txt"];

#[test]
fn nothing_is_written_unasked() {
    let stage = Stage::new();
    carry(&stage, run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "0"));
    assert!(!stage.only_run().diagnostic_path().exists());
    assert!(!stage.work().join(".claude").exists());
}

#[test]
fn a_flag_asks() {
    let stage = Stage::new();
    carry(&stage, run(&stage, &["--diagnostic"]));
    assert_eq!(in_run(&stage), TEXTS);
    assert_eq!(in_project(&stage), [""; 0]);
}

#[test]
fn a_variable_asks() {
    let stage = Stage::new();
    carry(&stage, run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "1"));
    assert_eq!(in_run(&stage), TEXTS);
    let refused = run(&stage, &[]).env("LONGHAUL_DIAGNOSTIC", "maybe").end();
    assert_eq!(refused.code, 2, "{refused:?}");
    refused.says(&["LONGHAUL_DIAGNOSTIC", "`maybe` is neither 1 nor 0", "set it to 1"]);
}

#[test]
fn a_file_of_the_project_asks() {
    let stage = Stage::new();
    flag(&stage);
    carry(&stage, run(&stage, &[]));
    assert_eq!(in_run(&stage), TEXTS);
    assert_eq!(in_project(&stage), TEXTS);
    let folder = stage.work().join(".claude/diagnostic");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for text in tidy::everything(&folder) {
        assert_eq!(mode(&text), 0o600, "{}", text.display());
        let text = fs::read_to_string(text).expect("it can be read");
        assert!(!text.contains("sk-ant-"), "a key in {text}");
    }
}

#[test]
fn a_project_that_cannot_be_written_fails_nothing() {
    let stage = Stage::new();
    flag(&stage);
    // Whoever runs this as root may write into any directory, but not into a file as if it were one.
    fs::write(stage.work().join(".claude/diagnostic"), "in the way").expect("the stage can be written");
    let folder = stage.work().join(".claude");
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).expect("the folder is ours");
    carry(&stage, run(&stage, &[]));
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("the folder is ours");
    assert_eq!(in_run(&stage), TEXTS);
    assert_eq!(tidy::everything(&folder).len(), 2, "something was written");
}

#[test]
fn a_recovered_run_goes_on_with_it() {
    with_each_agent("texts after a recovery", |stage, agent, server| {
        in_mid_tool_with(stage, agent, server, &["--diagnostic"]).kill();
        let recovered = recover(stage, server, &["@"]).end();
        assert_eq!(recovered.code, 0, "{recovered:?}");
        let names = in_run(stage);
        for name in ["recovered.txt", "outcome_done.txt"] {
            assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
        }
        tidy::check(stage);
    });
}
