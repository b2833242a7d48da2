//! Text from a model, a repository or a file never moves a terminal's cursor and never reverses its text.

use crate::call::Output;
use crate::harness::Stage;
use crate::paging::run_on_terminal;
use crate::server::Server;
use crate::transfer::shell;
use serde_json::Value;
use std::fs;

/// Clears the screen, sets the title, returns to the start of the line, and reverses the text, in every known
/// form.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}evil";

fn is_terminal_control(c: char) -> bool {
    let is_bidi =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_bidi || c.is_control() && !matches!(c, '\n' | '\t')
}

fn check(args: &[&str], printed: &str) {
    if let Some(offset) = printed.find(is_terminal_control) {
        let start = printed[..offset].char_indices().rev().nth(60).map_or(0, |(index, _)| index);
        let excerpt: String = printed[start..].chars().take(100).collect();
        panic!("{args:?}: {excerpt:?}");
    }
}

fn check_all(args: &[&str], output: &Output) {
    check(args, &output.stdout);
    check(args, &output.stderr);
}

/// Performs a run with this text in its directory, its task, the agent's answers, a tool call and a file
/// name.
fn run_hostile_scenario() -> (Stage, Server) {
    let stage = Stage::new();
    let work = stage.folder().join(format!("in {EVIL}"));
    fs::create_dir(&work).expect("the stage is writable");
    shell(&stage, &work, "git init -q");
    let server = Server::start(&format!(
        "
I look: {EVIL}
$ printf '%s' '{EVIL}' | tee 'file {EVIL}' >&2
Done: {EVIL}
"
    ));
    let work = work.display().to_string();
    let task = format!("Task {EVIL}");
    let base_args = [
        &task,
        "--permission-mode",
        "bypassPermissions",
        "--preset",
        "drill",
        "--name",
        "night",
        "--cwd",
        &work,
    ];
    let agent = stage.agent();
    let text = ["--output-format", "text", "--verbose", "--agent-path"];
    let text = stage.longhaul(["run"]).args(text).args([agent]).args(base_args).against(&server).output();
    assert_eq!(text.code, 0, "{text:?}");
    check_all(&["run", "text"], &text);
    assert!(text.stdout.contains("evil"), "{text:?}");
    (stage, server)
}

#[test]
fn no_command_prints_terminal_controls() {
    let (stage, server) = run_hostile_scenario();
    let evil_run = format!("run{EVIL}");
    let missing = format!("/nowhere/{EVIL}");
    let export = stage.folder().join(format!("out {EVIL}.tar")).display().to_string();
    let texts: &[&[&str]] = &[
        &["runs"],
        &["runs", "--all"],
        &["status"],
        &["show", "@"],
        &["why", "@"],
        &["logs", "@"],
        &["logs", "@", "--follow"],
        &["diff", "@", "--stat"],
        &["diff", "@", "--name-only"],
        &["cost"],
        &["cost", "--by", "run"],
        &["cost", "--by", "project"],
        &["cost", "--by", "run", "--csv"],
        &["report", "@", "--format", "text"],
        &["report", "@", "-o", "-"],
        &["handoff", "@"],
        &["rerun", "@", "--dry-run"],
        &["resume", "@", "again", "--dry-run"],
        &["gc", "--older-than", "0s", "--dry-run"],
        &["attach", "@"],
        &["recover"],
        &["doctor"],
        &["config", "show"],
        &["config", "path"],
        &["export", "@", "--output", &export],
        &["playbook", "status"],
        // Errors quote their arguments.
        &["show", &evil_run],
        &["cancel", &evil_run],
        &[&evil_run],
        &["run", "--prompt-file", &missing],
        &["run", "p", "--cwd", &missing],
        &["run", "p", "--preset", &evil_run],
        &["import", &missing],
        &["playbook", "show", "--file", &missing],
    ];
    for args in texts {
        let output = stage.longhaul(*args).output();
        assert!(
            !(output.stdout.is_empty() && output.stderr.is_empty()),
            "{args:?} prints nothing: {output:?}"
        );
        check_all(args, &output);
        // JSON keeps the text without loss.
        let json = stage.longhaul(*args).args(["--output-format", "json"]).output();
        check_all(args, &json);
    }
    let show = stage.longhaul(["show", "@", "--json"]).output();
    let show: Value = serde_json::from_str(&show.stdout).expect("JSON");
    assert!(show["cwd"].as_str().expect("a directory").ends_with(EVIL), "{show}");
    for format in ["json", "stream-json"] {
        let printed = stage.longhaul(["logs", "@", "--output-format", format]).output();
        check_all(&["logs", format], &printed);
        assert!(printed.stdout.contains(r"\u202e"), "{printed:?}");
    }
    let completed = stage.longhaul(["--", "longhaul", "show", ""]).env("LONGHAUL_COMPLETE", "fish").output();
    check_all(&["completions"], &completed);
    assert!(completed.stdout.contains("night") && completed.stdout.contains("evil"), "{completed:?}");
    drop(server);
}

#[test]
fn output_is_exact_for_programs_and_harmless_on_a_terminal() {
    let (stage, server) = run_hostile_scenario();
    let _ = server;
    let run = stage.only_run();
    for args in [&["logs", "@", "--raw"][..], &["diff", "@"], &["logs", "@"], &["show", "@"], &["runs"]] {
        let screen = run_on_terminal(&stage, args, &[("PAGER", "cat"), ("NO_COLOR", "1")]);
        assert!(screen.contains("evil"), "{args:?}: {screen:?}");
        check(args, &screen);
        let paged = run_on_terminal(&stage, args, &[("PAGER", "sed 's/^/paged: /'"), ("NO_COLOR", "1")]);
        check(args, &paged);
    }
    let raw = stage.longhaul(["logs", "@", "--raw"]).output().stdout;
    assert_eq!(raw, fs::read_to_string(run.attempt(1).stream_path()).expect("a stream"));
    let patch = stage.longhaul(["diff", "@"]).output().stdout;
    assert!(patch.contains(&format!("+{EVIL}")), "{patch:?}");
}

const FULL: &str = "/dev/full";

#[test]
fn full_stdout_exits_with_1_and_an_error() {
    let (stage, _server) = run_hostile_scenario();
    let mut commands: Vec<Vec<&str>> = [
        "--version",
        "--help",
        "runs",
        "status --json",
        "show @",
        "why @",
        "logs @",
        "logs @ --raw",
        "logs @ --output-format json",
        "diff @ --stat",
        "cost",
        "report @ -o -",
        "handoff @",
        "rerun @ --dry-run",
        "gc --older-than 0s --dry-run",
        "attach @",
        "doctor",
        "config show",
        "schema config",
        "schema",
        "completions bash",
        "man",
        "playbook status",
        "drill --list",
        "help run",
        "ledger verify",
    ]
    .iter()
    .map(|line| line.split(' ').collect())
    .collect();
    commands.push(vec!["run", "p", "--dry-run", "--agent-path", "/bin/true"]);
    for args in commands {
        let output = stage
            .program("/bin/sh")
            .args(["-c", r#""$0" "$@" > "$FULL""#, crate::harness::LONGHAUL])
            .args(&args)
            .env("FULL", FULL)
            .output();
        assert_eq!(output.code, 1, "{args:?}: {output:?}");
        output.assert_error(&["error: cannot write to stdout: No space left on device", "hint:"]);
    }
}
