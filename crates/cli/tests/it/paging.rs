//! Pagers: long text for a terminal goes through a pager.

use crate::harness::{LONGHAUL, Stage};
use crate::server::{Server, WORK};
use crate::terminal::open_terminal;
use crate::transfer::shell;
use std::io::Read;
use std::process::{Command, Stdio};

/// A pager that marks each line.
const MARKING_PAGER: (&str, &str) = ("PAGER", "sed 's/^/paged: /'");

/// Runs the program with a terminal as its stdout, and returns the text on the screen.
pub fn run_on_terminal(stage: &Stage, args: &[&str], pagers: &[(&str, &str)]) -> String {
    let (mut control, screen) = open_terminal();
    let status = Command::new(LONGHAUL)
        .args(args)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .envs(pagers.iter().copied())
        .envs([("LONGHAUL_HOME", stage.home()), ("HOME", stage.user_home())])
        .stdin(Stdio::null())
        .stdout(screen)
        .stderr(Stdio::null())
        .status()
        .expect("the program starts");
    assert!(status.success(), "{args:?}: {status}");
    let mut bytes = Vec::new();
    // No process has the other end open. Reading returns the remaining text, then an error.
    let _ = control.read_to_end(&mut bytes);
    String::from_utf8(bytes).expect("the output is UTF-8").replace("\r\n", "\n")
}

#[test]
fn long_text_is_paged_only_on_a_terminal() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    assert!(shell(&stage, &stage.work(), "git init -q").is_empty());
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--run-id", "one"];
    assert_eq!(stage.run(&stage.agent(), &base_args).against(&server).output().code, 0);
    for command in [&["runs"][..], &["why", "@"], &["show", "@"], &["logs", "@"], &["diff"], &["cost"]] {
        let paged = run_on_terminal(&stage, command, &[MARKING_PAGER]);
        assert!(
            !paged.is_empty() && paged.lines().all(|line| line.starts_with("paged: ")),
            "{command:?}: {paged}"
        );
        for pager in ["", "cat", "/nowhere/pager"] {
            let shown = run_on_terminal(&stage, command, &[("PAGER", pager)]);
            assert_eq!(shown.lines().count(), paged.lines().count(), "{command:?} by {pager:?}: {shown}");
        }
        let unpaged = run_on_terminal(&stage, &[command, &["--no-pager"]].concat(), &[MARKING_PAGER]);
        assert!(!unpaged.contains("paged: "), "{command:?}: {unpaged}");
        // Output to a pipe is never paged.
        let piped = stage.longhaul(command).env(MARKING_PAGER.0, MARKING_PAGER.1).output();
        assert!(!piped.stdout.contains("paged: "), "{command:?}: {piped:?}");
    }
}

#[test]
fn longhaul_pager_overrides_pager() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--run-id", "one"];
    assert_eq!(stage.run(&stage.agent(), &base_args).against(&server).output().code, 0);
    let check = |pager: &str, mark: &str| {
        let pagers = [MARKING_PAGER, ("LONGHAUL_PAGER", pager)];
        let shown = run_on_terminal(&stage, &["why", "@"], &pagers);
        assert!(shown.lines().count() > 1, "{pager:?}: {shown}");
        let is_marked = |line: &str| line.starts_with(mark) && !line.starts_with("paged: ");
        assert!(shown.lines().all(is_marked), "{pager:?}: {shown}");
    };
    check("sed 's/^/by another: /'", "by another: ");
    // LONGHAUL_PAGER can also disable paging.
    check("", "");
    check("cat", "");
    check("/nowhere/pager", "");
}
