//! The live view of `run`, `attach` and `status --watch` on a terminal.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{endless_steps, held_steps, play_with_each_agent, release, run_to_mid_tool_with};
use crate::script;
use crate::server::{Server, WORK};
use crate::terminal::Terminal;
use longhaul_drill::scenario::Auth;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

const ARGS: [&str; 9] = [
    "p",
    "--permission-mode",
    "bypassPermissions",
    "--run-id",
    "one",
    "--name",
    "nightly",
    "--preset",
    "drill",
];

/// Returns the arguments of a run with this agent.
fn run_with(stage: &Stage, agent: &Path, args: &[&str]) -> Vec<String> {
    let paths = [stage.work(), agent.to_owned()].map(|path| path.display().to_string());
    let base_args = ["run", "--cwd", &paths[0], "--agent-path", &paths[1]];
    base_args.iter().chain(&ARGS).chain(args).map(|arg| (*arg).to_owned()).collect()
}

/// Returns the arguments of a run with the scripted agent.
fn run(stage: &Stage, args: &[&str]) -> Vec<String> {
    run_with(stage, &stage.agent(), args)
}

#[test]
fn terminal_shows_the_running_tool_then_a_clean_screen_and_a_summary() {
    play_with_each_agent(&held_steps(), "the live view of a run", |stage, agent, server| {
        let args = run_with(stage, agent, &["--budget", "5", "--time-limit", "1h"]);
        let mut terminal = Terminal::start(stage, server, &args, (80, 24));
        // The message with the tool call ends a moment after the call starts.
        wait_until("the tool is shown", || {
            terminal.shows("Bash: test -e started") && terminal.shows(" turns, ")
        });
        let rows = terminal.rows();
        let view = rows.iter().position(|row| row.starts_with("nightly (one): working, "));
        let view = &rows[view.expect("the state is shown")..];
        let tool = "  Bash: test -e started && exit 0; touch started; until test -e go; do ";
        assert!(view[1].starts_with(tool), "{rows:?}");
        assert!(view[2].contains("turns, ") && view[2].contains(" tokens, $"), "{rows:?}");
        // The percentage of the budget depends on the agent.
        assert!(
            view[3].starts_with("  budget ") && view[3].ends_with("% of $5.00, time 0% of 1h"),
            "{rows:?}"
        );
        assert!(view[4..].iter().all(String::is_empty), "{rows:?}");
        release(stage);
        assert_eq!(terminal.wait(), Some(0));
        let rows = terminal.rows();
        assert!(terminal.shows("All three steps are taken.") && !terminal.shows("working"), "{rows:?}");
        let outcome = rows.iter().find(|row| row.starts_with("  outcome ")).expect("there is a summary");
        assert_eq!(outcome, "  outcome     done (not verified: no check was set)");
    });
}

#[test]
fn resized_terminal_is_redrawn_without_wrapped_lines() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let mut terminal = Terminal::start(&stage, &server, &run(&stage, &["--budget", "5"]), (120, 24));
    wait_until("the tool is shown", || terminal.shows("until test -e go"));
    terminal.resize((50, 24));
    wait_until("the tool is truncated", || terminal.shows("touch start") && !terminal.shows("until"));
    let rows = terminal.rows();
    assert!(rows[0].starts_with("nightly (one): working"), "{rows:?}");
    assert!(rows[3].starts_with("  budget 0%") && rows[4].is_empty(), "{rows:?}");
    release(&stage);
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn first_ctrl_c_explains_the_second_and_leaves_a_clean_screen() {
    let (stage, server) = (Stage::new(), Server::start(&endless_steps()));
    let mut terminal = Terminal::start(&stage, &server, &run(&stage, &[]), (80, 24));
    wait_until("the tool is shown", || terminal.shows("Bash: test -e started"));
    // A terminal prints `^C` at its cursor.
    terminal.type_keys(b"\x03");
    wait_until("the keys are echoed", || terminal.written().contains("^C"));
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130));
    let rows = terminal.rows();
    assert!(rows.iter().any(|row| row.contains("Ctrl-C stops it at once")), "{rows:?}");
    assert!(!terminal.shows("working") && !terminal.shows("^C"), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("  outcome     cancelled")), "{rows:?}");
    assert!(!terminal.shows("FAILED"), "{rows:?}");
}

#[test]
fn wait_is_shown_with_its_end_and_reason_on_every_screen() {
    let stage = Stage::new();
    let mut scenario =
        script::scenario(&format!("{WORK}[[fault]]\nturn = 2\nusage_limit = {{ reset_s = 15 }}\n"));
    scenario.auth = Auth::Oauth;
    let server = Server::play(&scenario);
    let args = ["--inner-retries", "0"];
    let mut terminal = Terminal::start(&stage, &server, &run(&stage, &args), (100, 24));
    wait_until("the wait is shown", || terminal.shows("nightly (one): waiting"));
    let mut attached = Terminal::start(&stage, &server, &["attach".to_owned(), "one".to_owned()], (100, 24));
    let mut watching =
        Terminal::start(&stage, &server, &["status".to_owned(), "--watch".to_owned()], (100, 24));
    for screen in [&terminal, &attached, &watching] {
        wait_until("the wait is shown", || {
            screen.shows("  until ") && screen.shows("the account's usage limit is reached")
        });
    }
    assert_eq!((terminal.wait(), attached.wait()), (Some(0), Some(0)));
    for screen in [&terminal, &attached] {
        assert!(screen.shows("outcome     done") && !screen.shows("(one): waiting"), "{:?}", screen.rows());
    }
    wait_until("the outcome is printed", || {
        watching.shows("nightly (one): done, ") && watching.shows("no unfinished runs")
    });
    watching.signal(Signal::INT);
    assert_eq!(watching.wait(), Some(130));
    assert!(!watching.shows("no unfinished runs"));
}

#[test]
fn suspended_and_orphaned_runs_stay_on_the_screen_with_their_next_command() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let mut watching =
        Terminal::start(&stage, &server, &["status".to_owned(), "--watch".to_owned()], (80, 24));
    let mut terminal = Terminal::start(&stage, &server, &run(&stage, &[]), (80, 24));
    wait_until("the tool is shown", || {
        watching.shows("nightly (one): working") && terminal.shows("Bash: test -e")
    });
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), Some(143));
    assert!(
        terminal.shows("  outcome     suspended") && terminal.shows("longhaul recover one"),
        "{:?}",
        terminal.rows()
    );
    wait_until("the command is shown", || {
        watching.shows("suspended; continue it with `longhaul recover one`")
    });
    stage.longhaul(["recover"]).against(&server).output().envelope(0);
    wait_until("no run is shown", || watching.shows("no unfinished runs"));
    fs::remove_file(stage.work().join("started")).expect("the first run wrote it");
    let killed = run_to_mid_tool_with(&stage, &stage.agent(), &server, &["--run-id", "two"]);
    wait_until("the run is shown", || watching.shows("two: working"));
    killed.kill();
    wait_until("the command is shown", || {
        watching.shows("two: no supervisor; continue it with `longhaul recover two`")
    });
    watching.signal(Signal::INT);
    assert_eq!(watching.wait(), Some(130));
    release(&stage);
    stage.longhaul(["recover"]).against(&server).output().envelope(0);
}

#[test]
fn watch_needs_a_terminal() {
    let stage = Stage::new();
    let rejected = stage.longhaul(["status", "--watch"]).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["watch runs: stderr is not a terminal", "`longhaul status`"]);
}

#[test]
fn dumb_terminal_receives_only_lines() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = run(&stage, &[]);
    let mut terminal = Terminal::start_with_type(&stage, &server, &args, (80, 24), "dumb");
    assert_eq!(terminal.wait(), Some(0));
    let written = terminal.written();
    assert!(!written.contains('\x1b'), "{written:?}");
    let args = ["status".to_owned(), "--watch".to_owned()];
    let mut terminal = Terminal::start_with_type(&stage, &server, &args, (80, 24), "dumb");
    assert_eq!(terminal.wait(), Some(2));
    let written = terminal.written();
    assert!(written.contains("TERM is `dumb` or not set"), "{written:?}");
}
