//! `run --key`: repeated calls of a scheduler are one run.
//!
//! The commands on the documentation page about schedulers work as printed.

use crate::call::{Call, Output, Running, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{
    STEPS, assert_done, held_steps, release, run_to_mid_tool_with, steps, with_each_agent,
};
use crate::server::Server;
use crate::tidy;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/scheduling.md");
const KEY: [&str; 2] = ["--key", "nightly"];

fn call(stage: &Stage, agent: &Path, server: &Server, extra_args: &[&str]) -> Call {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).args(KEY).args(extra_args).against(server)
}

fn requests(server: &Server) -> usize {
    server.api.request_log().model_requests()
}

#[test]
fn finished_run_is_not_started_again() {
    with_each_agent("a repeated key", |stage, agent, server| {
        let first = call(stage, agent, server, &[]).output().envelope(0);
        assert_done(stage, &first, 1);
        assert_eq!(first["run"]["id"], "nightly");
        let requests_before = requests(server);
        let second = call(stage, agent, server, &[]).output().envelope(0);
        assert_eq!(second["result"], first["result"]);
        assert_eq!(second["usage"], first["usage"]);
        assert_eq!(requests(server), requests_before, "the second call sent a request");
        assert_done(stage, &second, 1);
        let dry = call(stage, agent, server, &["--dry-run"]).output();
        assert!(dry.code == 0 && dry.stderr.contains("run nightly of this key exists"), "{dry:?}");
        let dry = stage.run(agent, &["p", "--dry-run", "--run-id", "nightly"]).output();
        dry.envelope(25);
        dry.assert_error(&["run id nightly is already used"]);
    });
}

#[test]
fn suspended_run_is_recovered() {
    with_each_agent("recovering by key", |stage, agent, server| {
        let run = run_to_mid_tool_with(stage, agent, server, &KEY);
        run.signal(Signal::TERM);
        assert_eq!(run.output().envelope(143)["run"]["outcome"], "suspended");
        let recovered = call(stage, agent, server, &[]).output();
        assert!(!recovered.stderr.contains("ignored"), "{recovered:?}");
        assert_done(stage, &recovered.envelope(0), 2);
    });
}

#[test]
fn orphaned_run_is_recovered() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    run_to_mid_tool_with(&stage, &stage.agent(), &server, &KEY).kill();
    let recovered = call(&stage, &stage.agent(), &server, &["--budget", "3", "--check", "true"]).output();
    let warning = "nightly continues with its own settings: this call's limits, checks are ignored";
    assert!(recovered.stderr.contains(warning), "{recovered:?}");
    assert_done(&stage, &recovered.envelope(0), 1);
}

/// Returns a second call, which follows the run.
fn follow(stage: &Stage, server: &Server) -> Running {
    let events = stage.folder().join("events");
    let follower = call(stage, &stage.agent(), server, &["--events", &events.display().to_string()]).start();
    wait_until("the run is followed", || fs::metadata(&events).is_ok_and(|file| file.len() > 0));
    follower
}

#[test]
fn running_run_is_followed() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let run = run_to_mid_tool_with(&stage, &stage.agent(), &server, &KEY);
    let rejected = call(&stage, &stage.agent(), &server, &["--no-attach"]).output();
    assert_eq!(rejected.code, 25, "{rejected:?}");
    rejected.assert_error(&["run nightly is already running", "longhaul attach nightly"]);
    let detached = call(&stage, &stage.agent(), &server, &["--detach"]).output();
    assert_eq!(detached.code, 0, "{detached:?}");
    assert!(detached.stdout.contains("nightly"), "{detached:?}");
    let follower = follow(&stage, &server);
    release(&stage);
    let followed = follower.output().envelope(0);
    assert_done(&stage, &followed, 1);
    assert_eq!(run.output().envelope(0)["usage"], followed["usage"]);
}

#[test]
fn run_that_loses_its_supervisor_while_it_is_followed_is_recovered() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_to_mid_tool_with(&stage, &stage.agent(), &server, &KEY);
    let follower = follow(&stage, &server);
    run.kill();
    assert_done(&stage, &follower.output().envelope(0), 1);
}

#[test]
fn simultaneous_starts_create_one_run() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let agent = stage.agent();
    let runs: Vec<_> = (0..4).map(|_| call(&stage, &agent, &server, &[]).start()).collect();
    wait_until("the tool runs", || stage.work().join("started").exists());
    let rejected = call(&stage, &agent, &server, &["--no-attach"]).output();
    rejected.assert_error(&["run nightly is already running", "longhaul attach nightly"]);
    release(&stage);
    for run in runs {
        let envelope = run.output().envelope(0);
        assert_eq!(envelope["run"]["id"], "nightly");
        assert_eq!(envelope["result"], "All three steps are taken.");
    }
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
    assert_eq!(requests(&server), 4, "the work was done once");
    stage.only_run();
}

/// A check that passes once the file exists.
const CHECK: [&str; 4] = ["--check", "test -e ../fixed", "--max-failed-checks", "1"];

#[test]
fn failed_run_is_resumed_only_with_retry() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let agent = stage.agent();
    let failed = call(&stage, &agent, &server, &CHECK).output().envelope(24);
    let requests_before = requests(&server);
    let printed = call(&stage, &agent, &server, &CHECK).output().envelope(24);
    assert_eq!(printed["usage"], failed["usage"]);
    assert_eq!(requests(&server), requests_before, "the call without --retry sent a request");
    fs::write(stage.folder().join("fixed"), "").expect("the stage is writable");
    let retry: Vec<&str> = CHECK.into_iter().chain(["--retry"]).collect();
    let resumed = call(&stage, &agent, &server, &retry).output().envelope(0);
    assert_eq!(resumed["session_id"], failed["session_id"]);
    stage.only_run();
}

#[test]
fn retry_uses_the_settings_of_its_call() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let call = |args: &[&str]| call(&stage, &stage.agent(), &server, args);
    let failed = call(&CHECK).output().envelope(24);
    let resumed = call(&["--check", "true", "--model", "opus", "--retry"]).output().envelope(0);
    assert_eq!(resumed["session_id"], failed["session_id"]);
    assert_eq!(stage.only_run().plan().expect("a plan").spec.model.as_deref(), Some("opus"));
}

#[test]
fn retry_without_remaining_limits_prints_the_finished_run() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let turns = ["--max-turns", "1"];
    let call = |args: &[&str]| call(&stage, &stage.agent(), &server, &turns).args(args).output();
    let finished = call(&[]).envelope(22);
    let requests_before = requests(&server);
    let printed = call(&["--retry"]);
    let hint = "hint: raise it: `longhaul resume nightly --max-turns 4`";
    for text in ["warning: cannot continue run nightly: ", hint] {
        assert!(printed.stderr.contains(text), "{printed:?}");
    }
    let printed = printed.envelope(22);
    assert_eq!((&printed["run"], &printed["usage"]), (&finished["run"], &finished["usage"]));
    assert_eq!(requests(&server), requests_before);
}

#[test]
fn simultaneous_recoveries_warn_once_each() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    run_to_mid_tool_with(&stage, &stage.agent(), &server, &KEY).kill();
    let args = ["other", "--permission-mode", "bypassPermissions", "--preset", "drill", "--budget", "3"];
    let run = || stage.run(&stage.agent(), &args).args(KEY).against(&server).start();
    let runs: Vec<_> = (0..4).map(|_| run()).collect();
    release(&stage);
    for run in runs {
        let output = run.output();
        assert_eq!(output.stderr.matches("a different prompt").count(), 1, "{output:?}");
        // A call that finds the finished run ignores no limits.
        assert!(output.stderr.matches("this call's limits are ignored").count() <= 1, "{output:?}");
        output.envelope(0);
    }
}

#[test]
fn run_that_never_started_is_started_with_corrected_settings() {
    with_each_agent("a corrected call", |stage, agent, server| {
        let run = |prompt: &str, args: &[&str]| {
            let call = stage.run(agent, &[prompt, "--permission-mode", "bypassPermissions"]).args(KEY);
            call.args(args).against(server).output()
        };
        run("another task", &["--", "--bogus-flag"]).envelope(25);
        let corrected = run("p", &[]);
        assert_done(stage, &corrected.envelope(0), 1);
        assert!(!corrected.stderr.contains("different prompt"), "{corrected:?}");
    });
}

#[test]
fn cancelled_run_stays_cancelled() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_to_mid_tool_with(&stage, &stage.agent(), &server, &KEY);
    run.signal(Signal::INT);
    run.output().envelope(130);
    let again = call(&stage, &stage.agent(), &server, &["--retry"]).output().envelope(130);
    assert_eq!(again["run"]["outcome"], "cancelled");
}

#[test]
fn different_prompt_causes_a_warning() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    call(&stage, &stage.agent(), &server, &[]).output().envelope(0);
    let is_warned = |args: &[&str], stdin: &str| {
        let output = stage.run(&stage.agent(), args).args(KEY).stdin(stdin).against(&server).output();
        output.envelope(0);
        output.stderr.contains("warning: run nightly was started with a different prompt")
    };
    let file = |name: &str, text: &str| stage.file(name, text).display().to_string();
    let (same, other) = (file("same", "p"), file("other", "another task"));
    assert!(is_warned(&["another task"], "") && !is_warned(&["p"], ""));
    assert!(is_warned(&["-"], "another task") && !is_warned(&["-"], "p"));
    assert!(is_warned(&["--prompt-file", &other], "") && !is_warned(&["--prompt-file", &same], ""));
    // Nothing is read, so nothing is compared.
    assert!(!is_warned(&["-"], ""));
}

#[test]
fn prompt_from_stdin_is_compared_and_used() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let args = ["-", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let call =
        |args: &[&str]| stage.run(&stage.agent(), args).args(KEY).args(CHECK).stdin("p").against(&server);
    call(&args).output().envelope(24);
    fs::write(stage.folder().join("fixed"), "").expect("the stage is writable");
    let retry: Vec<&str> = args.into_iter().chain(["--retry"]).collect();
    call(&retry).output().envelope(0);
}

/// Returns the code block under a heading of the page.
fn block(language: &str) -> &'static str {
    let section = PAGE.split(&format!("## {language}\n")).nth(1).expect("the page has the heading");
    let block = section.split("```").nth(1).expect("the heading has a block");
    block.split_once('\n').expect("a block has lines").1
}

/// Creates a stage on which the commands of the page run as printed: `longhaul` is on PATH, with a preset for
/// tests and the scripted agent.
fn scheduled_stage() -> Stage {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("bin")).expect("the stage is new");
    let agent = stage.agent();
    let flags =
        format!("--permission-mode bypassPermissions --preset drill --agent-path '{}'", agent.display());
    stage.script("bin/longhaul", &format!("exec '{LONGHAUL}' \"$@\" {flags}"));
    stage.script("bin/scontrol", "echo \"$@\" >> requeued");
    // No day ends between two calls.
    stage.script("bin/date", "echo 2026-11-22");
    fs::write(stage.work().join("task.md"), "p").expect("the stage is writable");
    let settings = stage.user_home().join(".config/longhaul");
    fs::create_dir_all(&settings).expect("the stage is writable");
    fs::write(settings.join("agent.env"), "DISABLE_TELEMETRY='1'\n").expect("the stage is writable");
    stage
}

fn shell(stage: &Stage, server: &Server, command: &str) -> Call {
    let path = format!(
        "{}:{}",
        stage.folder().join("bin").display(),
        std::env::var("PATH").expect("there is a PATH")
    );
    let command = command.replace("$HOME/project", &stage.work().display().to_string());
    let script = format!("cd '{}'; {command}", stage.work().display());
    let call = stage.program("bash").args(["-c", &script]).against(server).env("PATH", path);
    call.env("SLURM_JOB_ID", "17").env("GITHUB_RUN_ID", "4242")
}

/// Calls a command of the page twice. Asserts that the first call does the work and the second sends no
/// request.
fn assert_works_once(command: &str, key: &str) {
    let (stage, server) = (scheduled_stage(), Server::start(STEPS));
    let assert_done = |output: &Output| assert_eq!(output.code, 0, "{command}: {output:?}");
    assert_done(&shell(&stage, &server, command).output());
    assert_eq!(steps(&stage), "one\ntwo\nthree\n");
    assert!(stage.only_run().id().as_str().starts_with(key), "{:?}", stage.only_run());
    let requests_before = requests(&server);
    assert_done(&shell(&stage, &server, command).output());
    assert_eq!(requests(&server), requests_before, "{command}");
}

#[test]
fn crontab_line_works() {
    let line = block("cron").lines().find(|line| line.starts_with("0 ")).expect("there is a line");
    // The command follows five time fields. cron turns `\%` into `%`.
    let command = line.splitn(6, ' ').nth(5).expect("a line has six fields").replace("\\%", "%");
    assert_works_once(&command, "nightly-2");
}

#[test]
fn sbatch_script_works_and_requeues_a_preempted_job() {
    assert_works_once(block("Slurm"), "slurm-17");
    let (stage, server) = (scheduled_stage(), Server::start(STEPS));
    let job = shell(&stage, &server, block("Slurm")).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    job.signal(Signal::TERM);
    let output = job.output();
    assert_eq!(output.code, 143, "{output:?}");
    assert_eq!(
        fs::read_to_string(stage.work().join("requeued")).expect("the job was requeued"),
        "requeue 17\n"
    );
    let requeued = shell(&stage, &server, block("Slurm")).output();
    assert_eq!(requeued.code, 0, "{requeued:?}");
    assert_eq!(stage.runs().len(), 1);
    tidy::replayed_outcome(&stage.only_run());
}

#[test]
fn kubernetes_command_works() {
    let line = block("Kubernetes").lines().find_map(|line| line.trim().strip_prefix("command: "));
    let words: Vec<String> = serde_json::from_str(line.expect("there is a command")).expect("a list");
    assert_works_once(&words.join(" "), "nightly");
}

#[test]
fn actions_step_works() {
    let line = block("GitHub Actions").lines().find_map(|line| line.trim().strip_prefix("run: "));
    assert_works_once(line.expect("there is a command"), "actions-4242");
}

#[test]
fn systemd_unit_works() {
    let unit = block("systemd");
    let start =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("the unit has a start command");
    assert_works_once(&start.replace("%h/.cargo/bin/longhaul", "longhaul"), "nightly");
    // Every outcome that a restart cannot help is excluded.
    let listed = |key: &str| -> Vec<u8> {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)).expect("the unit has the key");
        line.split(' ').map(|code| code.parse().expect("a code")).collect()
    };
    assert_eq!(listed("RestartPreventExitStatus="), [2, 21, 22, 23, 24, 25, 70, 130]);
    assert_eq!((listed("RestartForceExitStatus="), listed("SuccessExitStatus=")), (vec![75], vec![129, 143]));
}

#[test]
fn invalid_key_flags_are_rejected() {
    let stage = Stage::new();
    for args in [&["--key", "a b"][..], &["--key", "a", "--run-id", "b"], &["--retry"], &["--no-attach"]] {
        let rejected = stage.run(&stage.agent(), &["p"]).args(args).output();
        assert_eq!(rejected.code, 2, "{args:?}: {rejected:?}");
    }
    let planned = stage.run(&stage.agent(), &["p", "--key", "a", "--dry-run"]).output();
    let printed: Value = serde_json::from_str(&planned.stdout).expect("a dry run prints JSON");
    assert!(printed.is_object());
    assert!(stage.runs().is_empty());
}
