//! Checks: Longhaul verifies the agent's done claim with commands. Tests with an agent run with every
//! available agent.

use crate::call::wait_until;
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{play_with_each_agent, recover};
use crate::server::Server;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::{env, fs};

/// A scenario with a model that claims too early that it is done, and fixes one reported problem at a time.
const EARLY: &str = "
I write the first part.
$ echo one >> parts
All of it is done.
? part two is missing
Indeed.
$ echo two >> parts
Now it is done.
? part three is missing
Oh.
$ echo three >> parts
Now it is really done.
? part four is missing
I see.
$ echo four >> parts
Now all four are there.
";

/// Reports the first missing part.
const CHECK: &str = "for part in one two three four; do grep -qx $part parts || { echo part $part is missing; exit 1; }; done";

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str], code: i32) -> Value {
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &base_args).args(args).against(server).output().envelope(code)
}

#[test]
fn false_done_claim_is_rejected_by_the_check() {
    play_with_each_agent(EARLY, "claiming success too early", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--check", CHECK], 0);
        assert_eq!(envelope["result"], "Now all four are there.", "{envelope}");
        // Four done claims in one session, each in its own attempt. Three of them are false.
        assert_eq!(envelope["run"]["attempts"], 4, "{envelope}");
        let parts = fs::read_to_string(stage.work().join("parts")).expect("the file exists");
        assert_eq!(parts, "one\ntwo\nthree\nfour\n");
        let output = fs::read_to_string(stage.only_run().check_output_path(2)).expect("the output is stored");
        assert!(output.ends_with("part three is missing\n"), "{output}");
    });
}

/// The check passes only if its own output becomes shorter while it runs.
#[test]
fn long_output_is_shortened_while_the_check_runs() {
    let check = "yes | head -c 80000000; for i in $(seq 900); do test $(stat -L -c %s /proc/self/fd/2) -lt 2000000 && exit; sleep 0.1; done; exit 1";
    play_with_each_agent("All is done.", "a check that prints very much", |stage, agent, server| {
        run(stage, agent, server, &["--check", check, "--max-failed-checks", "1"], 0);
        let output = fs::read_to_string(stage.only_run().check_output_path(1)).expect("the output is stored");
        assert!(output.contains(" bytes omitted]"), "{} bytes", output.len());
    });
}

#[test]
fn work_failing_its_check_fails_the_run() {
    play_with_each_agent(EARLY, "work that never passes its check", |stage, agent, server| {
        let args =
            ["--check", "true", "--check", "echo this is never enough; false", "--max-failed-checks", "2"];
        let envelope = run(stage, agent, server, &args, 24);
        assert_eq!(envelope["run"]["outcome"], "check_failed", "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        assert!(envelope["result"].is_string(), "the partial result: {envelope}");
    });
}

/// The start and the end of each command's output are kept, and the prompt has the end.
#[test]
fn long_output_of_a_check_loses_its_middle() {
    let (stage, server) = (Stage::new(), Server::start(EARLY));
    let floods = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last";
    let args = ["--check", floods, "--check", "echo part two is missing; false", "--max-failed-checks", "1"];
    run(&stage, &stage.agent(), &server, &args, 24);
    let output = fs::read_to_string(stage.only_run().check_output_path(1)).expect("the output is stored");
    assert!(output.len() < (1 << 20) + 1000, "{} bytes", output.len());
    let omitted = 3_000_000 + "first\n\nlast\n".len() - (1 << 20);
    assert_eq!(output.matches(&format!("x\n[{omitted} bytes omitted]\nx")).count(), 1);
    assert!(output.starts_with(&format!("$ {floods}\nfirst\nx")));
    assert!(output.ends_with("x\nlast\n$ echo part two is missing; false\npart two is missing\n"));
}

#[test]
fn check_can_ask_for_a_person() {
    play_with_each_agent(EARLY, "a check that needs a person", |stage, agent, server| {
        let check = "test -e approved || { echo part two is missing: please approve; exit 23; }";
        let envelope = run(stage, agent, server, &["--check", check], 23);
        let errors = envelope["errors"].to_string();
        for text in ["check 1 needs a person", "part two is missing: please approve"] {
            assert!(errors.contains(text), "{envelope}");
        }
        let why = stage.longhaul(["why", "@"]).with_text_output().output().stdout;
        assert!(why.contains("checks/001.log"), "{why}");

        // The person approves. The agent receives the output of the check.
        fs::write(stage.work().join("approved"), "").expect("the stage is writable");
        let resumed = stage.longhaul(["resume", "@"]).against(server).output().envelope(0);
        assert_eq!(
            (&resumed["result"], &resumed["run"]["verified"]),
            (&"Now it is done.".into(), &"checks".into())
        );
    });
}

/// The shell exits with 127 if it finds no program. Often the agent can build or install it.
#[test]
fn agent_fixes_a_check_that_cannot_find_a_program() {
    let scenario = "
All is done.
? ./built
Indeed.
$ echo exit > built; chmod +x built
Now it is built.
";
    let (stage, server) = (Stage::new(), Server::start(scenario));
    let envelope = run(&stage, &stage.agent(), &server, &["--check", "test -d . && ./built"], 0);
    assert_eq!(envelope["result"], "Now it is built.", "{envelope}");
    assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
}

/// An update replaces the program, but not the link to it.
#[test]
fn generated_check_starts_the_program_by_its_link() {
    let (stage, server) = (Stage::new(), Server::start("All is done."));
    let links = stage.folder().join("links");
    fs::create_dir(&links).expect("the stage is writable");
    symlink(LONGHAUL, links.join("longhaul")).expect("the stage is writable");
    fs::create_dir(stage.work().join(".archon")).expect("the stage is writable");
    let progress = "## Current Stage\nprover\n\n## Current Objectives\n\n1. **L1.lean**\n";
    fs::write(stage.work().join(".archon/PROGRESS.md"), progress).expect("the stage is writable");
    fs::write(stage.work().join("L1.lean"), "theorem t : True := sorry\n").expect("the stage is writable");
    let call = stage.longhaul(["loop", "archon"]).args([stage.work()]).args(["--agent-path"]);
    let call = call.args([stage.agent()]).args(["--preset", "drill", "--memory-reserve", "0"]);
    let path = format!("{}:{}", links.display(), env::var("PATH").unwrap_or_default());
    let output =
        call.args(["--max-iterations", "1", "--no-review"]).env("PATH", path).against(&server).output();
    let checks = stage.runs().into_iter().filter_map(|run| run.plan().expect("a plan").spec.policy.checks);
    let commands: Vec<String> = checks.flat_map(|checks| checks.commands).collect();
    let expected = format!("; {}/longhaul loop check-progress .archon/PROGRESS.md ", links.display());
    assert!(commands.len() == 1 && commands[0].contains(&expected), "{commands:?}: {output:?}");
}

#[test]
fn hanging_check_is_stopped_with_its_processes() {
    let stage = Stage::new();
    let server = Server::start(EARLY);
    let args =
        ["--check", "sleep 300 & setsid sleep 300", "--check-timeout", "1s", "--max-failed-checks", "1"];
    let envelope = run(&stage, &stage.agent(), &server, &args, 24);
    assert_eq!(envelope["run"]["outcome"], "check_failed", "{envelope}");
    let log =
        fs::read_to_string(stage.only_run().path().join("checks/001.log")).expect("the check has a log");
    assert!(log.ends_with("longhaul stopped this check: it took longer than 1s\n"), "{log}");
    let why = stage.longhaul(["why", "@", "--output-format", "text"]).output().stdout;
    assert!(why.contains("check 1 timed out ("), "{why}");
}

#[test]
fn check_runs_again_after_its_supervisor_died() {
    let stage = Stage::new();
    let server = Server::start(EARLY);
    let slow = "echo checked >> checked; sleep 1; grep -qx one parts";
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--check", slow];
    let started = stage.run(&stage.agent(), &base_args).against(&server).start();
    wait_until("the check runs", || stage.work().join("checked").exists());
    started.kill();
    let envelope = recover(&stage, &server, &[]).output().envelope(0);
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    // No supervisor read the first result, so the check runs again.
    let checked = fs::read_to_string(stage.work().join("checked")).expect("the check ran");
    assert_eq!(checked, "checked\nchecked\n");
}

#[test]
fn invalid_check_is_rejected() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    check(&["--check", "no-such-program --fast"], &["there is no program `no-such-program`"]);
    check(&["--check", "if then"], &["the shell cannot parse it"]);
    check(&["--check", " "], &["it is empty"]);
    check(&["--max-failed-checks", "3"], &["--max-failed-checks and --check-timeout need a check"]);
    assert!(stage.runs().is_empty());
}
