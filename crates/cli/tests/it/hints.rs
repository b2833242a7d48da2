//! Every printed hint is a command that works: in text, in JSON and in the HTML report. Each test executes
//! the hints on separate runs and checks that they have an effect.

use crate::call::Output;
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::STEPS;
use crate::server::{Server, WORK};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

const BASE_ARGS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// A run that ends with `code`.
struct Case {
    scenario: String,
    args: Vec<&'static str>,
    /// The agent. `None` is the scripted one.
    agent: Option<&'static str>,
    is_sandbox: bool,
    code: i32,
}

fn case(scenario: &str, args: &[&'static str], code: i32) -> Case {
    Case { scenario: scenario.to_owned(), args: args.to_vec(), agent: None, is_sandbox: true, code }
}

fn failing_scenario(status: &str) -> String {
    format!("{WORK}[[fault]]\ntimes = \"always\"\nstatus = {status}\n")
}

/// Performs the run of this case.
fn play(case: &Case) -> (Stage, Server, Output) {
    let (stage, server) = (Stage::new(), Server::start(&case.scenario));
    let agent = case.agent.map_or_else(|| stage.agent(), PathBuf::from);
    let call = stage.run(&agent, &["p", "--run-id", "kmzqbd", "--output-format", "json"]).args(&case.args);
    let call = if case.is_sandbox { call } else { call.without_env("IS_SANDBOX") };
    let output = call.against(&server).output();
    assert_eq!(output.code, case.code, "{:?}: {output:?}", case.args);
    (stage, server, output)
}

/// Returns the commands in a text: between backticks, on separate lines, or in elements of a page.
fn commands(text: &str) -> BTreeSet<String> {
    let pieces = text.split(['`', '\n', '<', '>']).map(str::trim);
    let pieces = pieces.map(|piece| piece.trim_start_matches("Resume: ").trim_start_matches("next: "));
    let is_command =
        |piece: &&str| piece.starts_with("longhaul ") || piece.starts_with("IS_SANDBOX=1 longhaul ");
    pieces.filter(is_command).map(str::to_owned).collect()
}

fn command_list(value: &Value) -> Vec<String> {
    let list = value.as_array().unwrap_or_else(|| panic!("a list of commands, not {value}"));
    list.iter().map(|command| command.as_str().expect("a command is text").to_owned()).collect()
}

/// Asserts that all output about the run names the same commands, in the same order, and returns them.
fn printed_hints(stage: &Stage, output: &Output) -> Vec<String> {
    let envelope: Value = serde_json::from_str(&output.stdout).expect("an envelope is printed");
    let next = command_list(&envelope["run"]["next"]);
    let first = next.first().expect("there is a command").clone();
    assert_eq!(envelope["run"]["resume"], first.as_str());
    let all: BTreeSet<String> = next.iter().cloned().collect();
    assert!(commands(&output.stderr).is_superset(&all), "{next:?}: {}", output.stderr);
    let call = |args: &[&str]| stage.longhaul(args).output();
    for command in ["why", "show"] {
        let json = call(&[command, "kmzqbd", "--output-format", "json"]).stdout;
        let json: Value = serde_json::from_str(&json).expect("JSON is printed");
        assert_eq!(command_list(&json["next"]["commands"]), next, "{command}");
        let text = call(&[command, "kmzqbd", "--output-format", "text"]);
        assert!(commands(&text.stdout).is_superset(&all), "{command}: {text:?}");
    }
    let report: Value =
        serde_json::from_str(&call(&["report", "--output-format", "json"]).stdout).expect("JSON");
    let run = report["runs"].as_array().and_then(|runs| runs.first()).expect("the run is reported").clone();
    assert_eq!(run["next"], first.as_str(), "{run}");
    let page = stage.folder().join("page.html");
    assert_eq!(stage.longhaul(["report", "-o"]).args([&page]).output().code, 0);
    let page = fs::read_to_string(page).expect("the page is written");
    assert!(commands(&page).contains(&first), "{first} is not on the page");
    let row = call(&["runs", "--output-format", "json"]).stdout;
    let row: Value = serde_json::from_str(&row).expect("JSON");
    let next_of_row = row["runs"][0]["next"].as_str().map(str::to_owned);
    next.into_iter().chain(next_of_row).collect()
}

/// Runs a command in a shell, as a user does.
fn execute(stage: &Stage, server: &Server, command: &str, is_sandbox: bool) -> Output {
    let bin = Path::new(LONGHAUL).parent().expect("the binary is in a directory");
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap_or_default());
    let call = stage.program("sh").args(["-c", command]).env("PATH", path).against(server);
    if is_sandbox { call.output() } else { call.without_env("IS_SANDBOX").output() }
}

fn check(case: &Case) {
    let (stage, _server, output) = play(case);
    for command in printed_hints(&stage, &output) {
        let (stage, server, _) = play(case);
        let before = stage.only_run().status().expect("a status").attempt;
        let output = execute(&stage, &server, &command, case.is_sandbox);
        assert!(![2, 127].contains(&output.code), "`{command}` of {:?}: {output:?}", case.args);
        if command.contains("longhaul resume") {
            let after = stage.only_run().status().expect("a status").attempt;
            assert!(after > before, "`{command}` of {:?} changes nothing: {output:?}", case.args);
        }
    }
}

#[test]
fn hints_after_denied_tools_work_as_printed() {
    check(&case(WORK, &[], 23));
    check(&case(WORK, &["--permission-mode", "acceptEdits"], 23));
    let (stage, server, _) = play(&case(WORK, &[], 23));
    execute(&stage, &server, "longhaul resume kmzqbd --allow-denials", true).envelope(0);
    // The scripted agent has no rules for tools.
    if let Some(claude) = claude_code("a run with allowed commands") {
        let (stage, server) = (Stage::new(), Server::start(WORK));
        let args = ["p", "--permission-mode", "acceptEdits", "--", "--allowedTools", "Bash(echo:*)"];
        stage.run(&claude, &args).against(&server).output().envelope(0);
    }
}

#[test]
fn hints_after_a_limit_work_as_printed() {
    let limits = [
        (&["--budget", "0.001"][..], 21),
        (&["--max-tokens", "10"], 21),
        (&["--max-turns", "1"], 22),
        (&["--max-turns", "2", "--max-tokens", "1300"], 22),
    ];
    for (limit, code) in limits {
        check(&case(WORK, &[&BASE_ARGS, limit].concat(), code));
    }
    for limit in ["--time-limit", "--wall-limit"] {
        check(&case(STEPS, &[&BASE_ARGS[..], &[limit, "1s", "--no-wrap-up"]].concat(), 22));
    }
    let timeout = ["--preset", "openclawpack", "--attempt-timeout", "1s"];
    check(&case(STEPS, &[&BASE_ARGS[..], &timeout].concat(), 22));
}

#[test]
fn hints_after_an_api_error_or_failed_check_work_as_printed() {
    check(&case(&failing_scenario("{ code = 401 }"), &BASE_ARGS, 23));
    check(&case(
        &failing_scenario("{ code = 404, message = \"model: nope\" }"),
        &[&BASE_ARGS[..], &["--model", "nope"]].concat(),
        20,
    ));
    check(&case(WORK, &[&BASE_ARGS[..], &["--check", "false", "--max-failed-checks", "1"]].concat(), 24));
}

#[test]
fn hints_after_a_failed_start_work_as_printed() {
    check(&case(WORK, &["--permission-mode", "acceptEdit"], 25));
    if rustix::process::geteuid().is_root() {
        let root = Case { is_sandbox: false, ..case(WORK, &BASE_ARGS, 25) };
        check(&root);
        let (stage, server, output) = play(&root);
        output.assert_error(&["IS_SANDBOX=1 longhaul resume kmzqbd"]);
        assert!(output.envelope(25)["errors"].to_string().contains("as root"), "{output:?}");
        execute(&stage, &server, "IS_SANDBOX=1 longhaul resume kmzqbd", false).envelope(0);
    }
}

#[test]
fn wrong_agent_argument_asks_for_a_new_run() {
    let (stage, _server, output) =
        play(&case(WORK, &[&BASE_ARGS[..], &["--", "--no-such-flag"]].concat(), 25));
    output.assert_error(&["start a new run with corrected arguments after `--`"]);
    assert_eq!(output.envelope(25)["run"]["next"], serde_json::json!([]), "{output:?}");
    let why = stage.longhaul(["why", "--output-format", "text", "kmzqbd"]).output();
    assert!(!why.stdout.contains("npm") && why.stdout.contains("corrected arguments"), "{why:?}");
}

#[test]
fn unknown_program_is_detected_in_one_attempt() {
    for program in ["/bin/false", "/bin/echo", "/bin/ls", "/bin/cat"] {
        let case = Case { agent: Some(program), ..case(WORK, &BASE_ARGS, 25) };
        let (stage, _server, output) = play(&case);
        let envelope = output.envelope(25);
        assert_eq!(envelope["run"]["attempts"], 1, "{program}: {envelope}");
        assert!(envelope["errors"].to_string().contains("is not Claude Code"), "{program}: {envelope}");
        drop(stage);
    }
    let (_stage, _server, output) = play(&Case { agent: Some("/bin/false"), ..case(WORK, &BASE_ARGS, 25) });
    output.assert_error(&["`longhaul doctor --agent-path /bin/false`"]);
    // It exits as an interrupted agent does.
    let silent = Case {
        agent: Some("/bin/true"),
        ..case(WORK, &[&BASE_ARGS[..], &["--max-retries", "0"]].concat(), 20)
    };
    play(&silent).2.assert_error(&["`longhaul doctor --agent-path /bin/true`"]);
    check(&Case { agent: Some("/bin/false"), ..case(WORK, &BASE_ARGS, 25) });
}

#[test]
fn hints_of_errors_work_as_printed() {
    let done = case(WORK, &BASE_ARGS, 0);
    for args in ["resume kmzqbd", "cancel kmzqbd", "recover kmzqbd", "resume kmzqb --model ''"] {
        let (stage, server, _) = play(&done);
        let error = execute(&stage, &server, &format!("longhaul {args}"), true);
        assert!(error.code != 0, "{args}: {error:?}");
        for command in commands(&error.stderr) {
            let output = execute(&stage, &server, &command, true);
            assert_eq!(output.code, 0, "`{command}` of `{args}`: {output:?}");
        }
    }
    let (stage, _server, _) = play(&done);
    let envelope = stage.longhaul(["resume", "kmzqbd", "--json"]).output().envelope(25);
    assert!(
        envelope["errors"][1].as_str().is_some_and(|hint| hint.starts_with("hint: `longhaul")),
        "{envelope}"
    );
    let (stage, server, _) = play(&case(WORK, &[&BASE_ARGS[..], &["--max-turns", "1"]].concat(), 22));
    let error = execute(&stage, &server, "longhaul resume kmzqbd", true);
    assert_eq!(error.code, 2, "{error:?}");
    let hints = commands(&error.stderr);
    assert_eq!(hints.len(), 1, "{error:?}");
    for command in hints {
        execute(&stage, &server, &command, true).envelope(0);
    }
}

#[test]
fn unstarted_run_is_not_the_last_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let agent = stage.agent();
    let run = |id: &'static str, mode: &'static str| {
        stage.run(&agent, &["p", "--run-id", id, "--permission-mode", mode]).against(&server).output().code
    };
    assert_eq!(run("not_started", "no-such-mode"), 25);
    let none = stage.longhaul(["show", "@"]).output();
    assert_eq!(none.code, 2, "{none:?}");
    none.assert_error(&["no run `"]);
    assert_eq!((run("works", "bypassPermissions"), run("again", "no-such-mode")), (0, 25));
    for command in ["why", "show"] {
        let output = stage.longhaul([command, "@", "--output-format", "json"]).output();
        assert!(output.stdout.contains("\"id\": \"works\""), "{output:?}");
        assert_eq!(output.stderr, "run again is newer, but did not start: longhaul why again\n");
    }
    assert_eq!(stage.runs().len(), 3);
}

#[test]
fn run_of_another_home_is_named_by_its_directory() {
    let (stage, server, _) = play(&case(WORK, &[&BASE_ARGS[..], &["--max-turns", "1"]].concat(), 22));
    let dir = stage.only_run().path().to_owned();
    let other = stage.folder().join("other home");
    let call = |args: &[&str]| {
        stage
            .longhaul(args)
            .env("LONGHAUL_HOME", &other)
            .env("LONGHAUL_AGENT_PATH", stage.agent())
            .against(&server)
    };
    let why = call(&["why", &dir.to_string_lossy(), "--output-format", "json"]).output();
    let why: Value = serde_json::from_str(&why.stdout).expect("JSON is printed");
    let commands = command_list(&why["next"]["commands"]);
    let words: Vec<&str> = commands[0].split(' ').collect();
    assert_eq!(words[..3], ["longhaul", "resume", &*dir.to_string_lossy()], "{commands:?}");
    call(&words[1..]).output().envelope(0);
}

#[test]
fn export_of_a_damaged_run_names_its_handoff() {
    let (stage, _server, _) = play(&case(WORK, &BASE_ARGS, 0));
    fs::write(stage.only_run().path().join("plan.json"), "{").expect("the stage is writable");
    let output = stage.longhaul(["export", "kmzqbd"]).output();
    assert!(output.code != 0, "{output:?}");
    output.assert_error(&["plan.json", "longhaul handoff --from-transcript"]);
}
