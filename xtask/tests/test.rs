//! `cargo xtask test` with a cargo that is played: it goes on to its end, and tells what failed and what was left out.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Says how it is called. A call that begins like `$FAILS` fails, and the tests leave something out if `$LEAVES` is set.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $*"
if [ "$1" = test ]; then
    [ -z "$LEAVES" ] || echo '{"what":"a page","why":"there is no browser","remedy":"install one"}' >> "$LONGHAUL_TEST_LEFT_OUT"
    echo "test result: ok. 3 passed; 0 failed; by $LONGHAUL_TEST_CLAUDE"
fi
case "$1" in "$FAILS") exit 101;; esac
"#;

fn test(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> Output {
    // Read by a shell, not started: it may be written by a thread whose neighbour starts a program just now.
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("test")
        .args(args)
        .env_remove("CI")
        .env("CARGO", folder.join("cargo"))
        .env("LONGHAUL_TEST_CLAUDE", "a claude");
    command.env("FAILS", "nothing").envs(environment.iter().copied()).stdin(Stdio::null());
    command.output().expect("it can be started")
}

/// A folder with the cargo that is played. A process of its own writes it: a program that some other thread's child still
/// has open for writing cannot be started.
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
fn it_goes_on_to_its_end_and_tells_what_was_left_out() {
    let folder = folder();
    let check = |args: &[&str], environment: &[(&str, &str)], code: i32, end: &str, error: &str| {
        let ended = test(folder.path(), args, environment);
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.status.code(), Some(code), "{args:?} {environment:?}: {out}{err}");
        assert!(out.contains("cargo fmt") && out.contains("cargo clippy"), "{out}");
        let closing = "test result: ok. 3 passed; 0 failed; by a claude\n\n";
        assert!(out.ends_with(&format!("{closing}{end}")), "{args:?} {environment:?}: {out}");
        assert_eq!(err, error, "{args:?} {environment:?}");
    };
    let nothing = "nothing was left out\n";
    let a_page = "left out: 1\n  there is no browser: install one\n    a page\n";
    let denied =
        "error: something was left out, which is a failure with --deny-left-out and where CI is set\n";
    let by = "exit status: 101\n";
    check(&[], &[], 0, nothing, "");
    check(&["--deny-left-out"], &[("CI", "true")], 0, nothing, "");
    check(&[], &[("LEAVES", "1")], 0, a_page, "");
    check(&["--deny-left-out"], &[("LEAVES", "1")], 1, a_page, denied);
    check(&[], &[("LEAVES", "1"), ("CI", "true")], 1, a_page, denied);
    check(&[], &[("LEAVES", "1"), ("CI", "false")], 0, a_page, "");
    check(&[], &[("FAILS", "fmt")], 1, nothing, &format!("error: cargo fmt --all --check: {by}"));
    let tests = format!("error: cargo test --workspace --no-fail-fast: {by}");
    check(&[], &[("FAILS", "test"), ("LEAVES", "1")], 1, a_page, &tests);
    check(&["--deny-left-out"], &[("FAILS", "test"), ("LEAVES", "1")], 1, a_page, &(tests + denied));
}

#[test]
fn what_it_does_not_know_is_refused() {
    let folder = folder();
    let ended = test(folder.path(), &["--all"], &[]);
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(1), &b""[..]));
    assert_eq!(
        String::from_utf8_lossy(&ended.stderr),
        "error: test takes --deny-left-out and nothing else\n"
    );
}
