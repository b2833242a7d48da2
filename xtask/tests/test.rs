//! Tests `cargo xtask test` with a scripted cargo. The command continues after failures, and reports failures
//! and skipped tests.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Prints its arguments. The subcommand `$FAILS` fails, with its first argument if that is named. If `$SKIPS` is set, the tests note a skipped test.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $*"
if [ "$1 $2" = "test --workspace" ]; then
    [ -z "$SKIPS" ] || echo '{"description":"a page","reason":"there is no browser","remedy":"install one"}' >> "$LONGHAUL_TEST_SKIPPED"
    echo "test result: ok. 3 passed; 0 failed; by $LONGHAUL_TEST_CLAUDE"
fi
case "$FAILS" in "$1" | "$1 $2") exit 101;; esac
"#;

fn test(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> Output {
    // This thread may not start a file that another thread's child still has open, so the script is only read
    // here.
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("test")
        .args(args)
        .env_remove("CI")
        .env("CARGO", folder.join("cargo"))
        .env("LONGHAUL_TEST_CLAUDE", "a claude")
        .env("LONGHAUL_TEST_GSD", "a framework")
        .env("LONGHAUL_TEST_MCP_SDK", "a client");
    command.env("FAILS", "nothing").envs(environment.iter().copied()).stdin(Stdio::null());
    command.output().expect("the program starts")
}

/// Returns a directory with the scripted cargo. A separate process writes it: a program that another thread's
/// child still has open for writing cannot be started.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut install = Command::new("sh");
    install
        .args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""])
        .arg(folder.path().join("cargo"))
        .arg(CARGO);
    assert!(install.status().expect("there is a shell").success());
    folder
}

#[test]
fn continues_after_failures_and_reports_skipped_tests() {
    let folder = folder();
    let check = |args: &[&str], environment: &[(&str, &str)], code: i32, end: &str, error: &str| {
        let output = test(folder.path(), args, environment);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?} {environment:?}: {out}{err}");
        assert!(out.contains("cargo fmt") && out.contains("cargo clippy"), "{out}");
        let closing = "test result: ok. 3 passed; 0 failed; by a claude\n\n";
        assert!(out.ends_with(&format!("{closing}{end}")), "{args:?} {environment:?}: {out}");
        assert_eq!(err, error, "{args:?} {environment:?}");
    };
    let nothing = "nothing was skipped\n";
    let a_page = "skipped: 1\n  there is no browser: install one\n    a page\n";
    let denied = "error: a test was skipped, which is a failure with --deny-skipped and where CI is set\n";
    let status = "exit status: 101\n";
    check(&[], &[], 0, nothing, "");
    check(&["--deny-skipped"], &[("CI", "true")], 0, nothing, "");
    check(&[], &[("SKIPS", "1")], 0, a_page, "");
    check(&["--deny-skipped"], &[("SKIPS", "1")], 1, a_page, denied);
    check(&[], &[("SKIPS", "1"), ("CI", "true")], 1, a_page, denied);
    check(&[], &[("SKIPS", "1"), ("CI", "false")], 0, a_page, "");
    check(&[], &[("FAILS", "fmt")], 1, nothing, &format!("error: cargo fmt --all --check: {status}"));
    let tests = format!("error: cargo test --workspace --no-fail-fast: {status}");
    check(&[], &[("FAILS", "test --workspace"), ("SKIPS", "1")], 1, a_page, &tests);
    check(
        &["--deny-skipped"],
        &[("FAILS", "test --workspace"), ("SKIPS", "1")],
        1,
        a_page,
        &(tests + denied),
    );
}

#[test]
fn rejects_unknown_arguments() {
    let folder = folder();
    let output = test(folder.path(), &["--all"], &[]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: unexpected argument '--all' found"), "{error}");
}
