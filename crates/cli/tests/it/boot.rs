//! Recovery at boot: Longhaul writes the service, enables it with a fake systemctl, and removes it again. It
//! changes no other file of the user.
#![cfg(target_os = "linux")]

use crate::acp;
use crate::call::{Call, Output, Running, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{STEPS, assert_done, kill_agent};
use crate::server::Server;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns a stage whose `systemctl` logs its arguments and then runs this script.
fn stage(systemctl: &str) -> Stage {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("bin")).expect("the stage is new");
    let log = stage.folder().join("systemctl.log");
    stage.script("bin/systemctl", &format!("echo \"$@\" >> '{}'\n{systemctl}", log.display()));
    stage
}

fn recover(stage: &Stage, args: &[&str]) -> Call {
    stage.longhaul(["recover"]).args(args).env("PATH", stage.folder().join("bin"))
}

fn systemctl_calls(stage: &Stage) -> String {
    fs::read_to_string(stage.folder().join("systemctl.log")).unwrap_or_default()
}

fn service(stage: &Stage) -> PathBuf {
    stage.user_home().join(".config/systemd/user/longhaul-recover.service")
}

/// Returns the file from which the service reads the agent's environment variables.
fn env_file(stage: &Stage) -> PathBuf {
    stage.user_home().join(".config/longhaul/agent.env")
}

/// Creates the link by which systemd starts the service, as its `enable` does.
fn enable(stage: &Stage) {
    let service = service(stage);
    let link = service.with_file_name("default.target.wants/longhaul-recover.service");
    fs::create_dir_all(link.parent().expect("it has a parent")).expect("the stage is writable");
    std::os::unix::fs::symlink(service, link).expect("the stage is writable");
}

/// Returns the printed commands that write the environment file.
fn printed_commands(output: &Output) -> Vec<&str> {
    output.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect()
}

fn assert_success(output: &Output, fragments: &[&str]) {
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
    for fragment in fragments {
        assert!(output.stderr.contains(fragment), "no `{fragment}` in {output:?}");
    }
}

#[test]
fn service_is_installed_and_removed() {
    let stage = stage("");
    let install = ["--install", "--active-within", "36h", "--notify", "true", "--events", "/var/log/e"];
    let call =
        recover(&stage, &install).env("ANTHROPIC_API_KEY", "sk-secret").env("CLAUDE_CONFIG_DIR", "/c d");
    let path = service(&stage);
    let expected = [
        path.to_str().expect("a plain name"),
        "loginctl enable-linger",
        "this file lacks ANTHROPIC_API_KEY, CLAUDE_CONFIG_DIR, IS_SANDBOX; to add what is set here, type:",
        &env_file(&stage).display().to_string(),
    ];
    assert_success(&call.output(), &expected);
    let enable = "--user daemon-reload\n--user enable longhaul-recover.service\n";
    assert_eq!(systemctl_calls(&stage), enable);
    let written = fs::read_to_string(&path).expect("the service is written");
    let mode = fs::metadata(&path).expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for line in [
        " recover --verbose --no-config --active-within=129600s --notify=true --events=/var/log/e\n"
            .to_owned(),
        format!("EnvironmentFile=-{}\n", env_file(&stage).display()),
        format!("Environment=\"LONGHAUL_HOME={}\"\n", stage.home().display()),
        format!("Environment=\"PATH={}\"\n", stage.folder().join("bin").display()),
    ] {
        assert!(written.contains(&line), "no `{line}` in {written}");
    }
    for secret in ["sk-secret", "/c d"] {
        assert!(!written.contains(secret), "{secret} is in {written}");
    }

    // A second installation changes nothing.
    assert_success(&recover(&stage, &install).env("CLAUDE_CONFIG_DIR", "/c d").output(), &[]);
    assert_eq!(fs::read_to_string(&path).expect("the file exists"), written);
    assert_success(&recover(&stage, &["--uninstall"]).output(), &["removed"]);
    let disable = "--user disable longhaul-recover.service\n--user daemon-reload\n";
    assert_eq!(systemctl_calls(&stage), [enable, enable, disable].concat());
    assert!(!path.exists());
    assert_success(&recover(&stage, &["--uninstall"]).output(), &["nothing to remove"]);
    assert!(!stage.home().exists(), "installing creates no home for runs");
}

#[test]
fn printed_commands_write_the_variables_of_this_shell() {
    let stage = stage("");
    let secret = r#"sk "50%" \n $HOME `id` #;=é "#;
    let shell = |call: Call| call.env("ANTHROPIC_API_KEY", secret).env("HTTPS_PROXY", "http://127.0.0.1:1");
    let install = || recover(&stage, &["--install"]);
    let first = shell(install()).output();
    assert_success(&first, &["this file lacks ANTHROPIC_API_KEY, HTTPS_PROXY, IS_SANDBOX;"]);
    assert!(!first.stderr.contains("sk "), "{first:?}");
    for command in printed_commands(&first) {
        let output = shell(stage.program("sh")).args(["-c", command]).output();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{command}");
    }
    let path = env_file(&stage);
    assert_eq!(fs::metadata(&path).expect("the file was written").permissions().mode() & 0o777, 0o600);
    // launchd runs a shell that reads the file.
    let read = format!(". {}; printf %s \"$ANTHROPIC_API_KEY\"", path.display());
    assert_eq!(stage.program("sh").args(["-c", &read]).output().stdout, secret);
    let text = fs::read_to_string(&path).expect("the file was written");
    let mut lines: Vec<_> = text.lines().collect();
    // The environment is unordered.
    lines.sort_unstable();
    let key = format!("ANTHROPIC_API_KEY='{secret}'");
    assert_eq!(lines, [key.as_str(), "HTTPS_PROXY='http://127.0.0.1:1'", "IS_SANDBOX='1'"]);

    let second = shell(install()).output();
    assert_success(&second, &[path.to_str().expect("a plain name")]);
    assert_eq!(printed_commands(&second), [""; 0], "nothing is missing");
    // Another variable is added to the existing ones.
    let third = shell(install()).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1").output();
    assert_success(&third, &["this file lacks ANTHROPIC_BASE_URL;"]);
    assert_eq!(printed_commands(&third).len(), 1, "{third:?}");
    let multiline = shell(install()).env("ANTHROPIC_CUSTOM_HEADERS", "a: 1\nb: 2").output();
    assert_success(&multiline, &["add ANTHROPIC_CUSTOM_HEADERS with an editor"]);
    assert_eq!(printed_commands(&multiline), [""; 0], "{multiline:?}");
}

/// Returns the finding of `longhaul doctor` about the service.
fn finding(call: Call) -> Option<Value> {
    let printed: Value = serde_json::from_str(&call.output().stdout).expect("JSON");
    let findings = printed["findings"].as_array().expect("findings").clone();
    findings.into_iter().find(|finding| finding["check"] == "recovery_at_boot")
}

/// Starts a call and returns it in the middle of the second step.
fn wait_for_tool(stage: &Stage, call: Call) -> Running {
    let running = call.start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    running
}

#[test]
fn run_over_acp_is_recovered_with_its_variable() {
    let (stage, server) = (stage(""), Server::start(STEPS));
    let shell = |call: Call| call.against(&server).env("OPENAI_API_KEY", "sk-1").env("OTHER_API_KEY", "sk-2");
    let run = shell(acp::run(&stage, &server, &acp::BYPASS)).without_env("OTHER_API_KEY");
    wait_for_tool(&stage, run).kill();
    kill_agent(&stage.only_run());
    let path = env_file(&stage);
    // The service has only the variables of the file.
    let recover_at_boot = || {
        let script = format!("set -a; test ! -e '{0}' || . '{0}'; exec \"$0\" recover", path.display());
        stage.program("sh").args(["-c", &script, LONGHAUL]).output()
    };
    let needed = "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY";
    recover_at_boot().assert_error(&[&format!("{needed} were set when the run started")]);
    // In another shell, the variables cannot be copied.
    let elsewhere = recover(&stage, &["--install"]).output();
    assert_success(&elsewhere, &[&format!("add {needed} with an editor"), "or is not set here"]);
    enable(&stage);
    // Claude Code needs one more variable of this shell.
    let needed = "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, IS_SANDBOX, OPENAI_API_KEY";
    let missing = finding(stage.longhaul(["doctor"])).expect("the service is installed");
    assert!(missing["detail"].as_str().is_some_and(|text| text.contains(needed)), "{missing}");
    let install = shell(recover(&stage, &["--install"])).output();
    assert_success(&install, &[&format!("this file lacks {needed}; to add what is set here, type:")]);
    for command in printed_commands(&install) {
        assert_eq!(shell(stage.program("sh")).args(["-c", command]).output().code, 0, "{command}");
    }
    let complete = finding(shell(stage.longhaul(["doctor"]))).expect("the service is installed");
    assert_eq!(complete["state"], "ok", "{complete}");
    assert_done(&stage, &recover_at_boot().envelope(0), 2);
    // A finished run needs no variable.
    fs::write(&path, "").expect("the test owns the file");
    let done =
        finding(stage.longhaul(["doctor"]).without_env("IS_SANDBOX")).expect("the service is installed");
    assert_eq!(done["state"], "ok", "{done}");
}

#[test]
fn slack_channels_need_their_variables() {
    let (stage, server) = (stage(""), Server::start(STEPS));
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--notify", "slack:TEAM_HOOK"];
    let run = stage.run(&stage.agent(), &args).against(&server).env("TEAM_HOOK", "http://127.0.0.1:1/hook");
    wait_for_tool(&stage, run).kill();
    kill_agent(&stage.only_run());
    let install = recover(&stage, &["--install"]).output();
    let lacking = install.stderr.lines().find(|line| line.contains("this file lacks"));
    assert!(lacking.is_some_and(|line| line.contains("TEAM_HOOK")), "{install:?}");
}

/// Its next run may start after the boot.
#[test]
fn workflow_over_acp_needs_the_variables_of_its_agent() {
    let (stage, server) = (stage(""), Server::start(STEPS));
    let file = format!(
        "start_gap = \"none\"\n[[phase]]\nname = \"build\"\nprompt = \"Take the steps.\"\n\
         run = {{ agent = \"acp\", agent_args = [\"{LONGHAUL}\", \"drill-agent\", \"--acp\"] }}\n"
    );
    let args = ["--permission-mode", "bypassPermissions", "--memory-reserve", "0"];
    let call = stage.longhaul(["loop"]).args([stage.file("workflow.toml", file)]).args(args);
    wait_for_tool(&stage, call.against(&server).in_dir(&stage.work())).kill();
    kill_agent(&stage.only_run());
    for folder in ["runs", "sessions"] {
        fs::remove_dir_all(stage.home().join(folder)).expect("there is a run");
    }
    let install = recover(&stage, &["--install"]).env("OPENAI_API_KEY", "sk-1").output();
    assert_success(&install, &["this file lacks IS_SANDBOX, OPENAI_API_KEY;"]);
}

/// Writes a file into a new directory.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("the path has a parent")).expect("the stage is writable");
    fs::write(path, text).expect("the stage is writable");
}

#[test]
fn readable_environment_file_is_reported() {
    let stage = stage("");
    let path = env_file(&stage);
    write(&path, "ANTHROPIC_API_KEY=sk-1\nIS_SANDBOX=1\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the test owns the file");
    let chmod = format!("chmod 600 {}", path.display());
    assert_success(&recover(&stage, &["--install"]).output(), &["other users can read this file", &chmod]);
    let doctor = || stage.longhaul(["doctor"]);
    let disabled = finding(doctor()).expect("the service is installed");
    assert_eq!(disabled["detail"], "the service is installed, but not enabled");
    enable(&stage);
    let open = finding(doctor()).expect("the service is installed");
    assert_eq!((&open["state"], &open["remedy"]), (&"warning".into(), &chmod.into()), "{open}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the test owns the file");
    let complete = finding(doctor().env("ANTHROPIC_API_KEY", "sk-2")).expect("the service is installed");
    assert_eq!(complete["state"], "ok", "{complete}");
    let missing =
        finding(doctor().env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")).expect("the service is installed");
    let message = missing["detail"].as_str().expect("a text");
    assert!(
        missing["state"] == "warning" && message.contains("does not set ANTHROPIC_BASE_URL:"),
        "{missing}"
    );
    assert_success(&recover(&stage, &["--uninstall"]).output(), &["removed"]);
    assert_eq!(finding(doctor()), None);
}

#[test]
fn print_service_changes_nothing() {
    let stage = stage("");
    let config = stage.folder().join("config");
    let printed = recover(&stage, &["--print-service"]).env("XDG_CONFIG_HOME", &config).output();
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert!(!config.exists() && systemctl_calls(&stage).is_empty());
    assert_success(&recover(&stage, &["--install", "--quiet"]).env("XDG_CONFIG_HOME", &config).output(), &[]);
    let path = config.join("systemd/user/longhaul-recover.service");
    assert_eq!(fs::read_to_string(path).expect("the service was written"), printed.stdout);
    assert!(!stage.user_home().join(".config").exists());
}

#[test]
fn foreign_service_is_not_changed() {
    let stage = stage("");
    let path = service(&stage);
    write(&path, "[Service]\nExecStart=/bin/true\n");
    for flag in ["--install", "--uninstall"] {
        let failed = recover(&stage, &[flag]).output();
        failed.envelope(25);
        failed.assert_error(&["longhaul did not write it", "hint: move it"]);
    }
    assert_eq!(fs::read_to_string(&path).expect("the file exists"), "[Service]\nExecStart=/bin/true\n");
    assert_eq!(systemctl_calls(&stage), "");
}

/// systemctl fails like this in a container, or over a connection without a user session.
#[test]
fn failing_systemctl_is_an_error() {
    let stage = stage("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let failed = recover(&stage, &["--install"]).output();
    failed.envelope(25);
    failed.assert_error(&[
        "Failed to connect to bus",
        "was written",
        "systemctl --user enable longhaul-recover.service",
    ]);
    assert!(service(&stage).exists());
    assert_success(&recover(&stage, &["--uninstall"]).output(), &["could not disable", "removed"]);
    assert!(!service(&stage).exists());

    fs::remove_file(stage.folder().join("bin/systemctl")).expect("the test owns the file");
    let failed = recover(&stage, &["--install"]).output();
    failed.envelope(25);
    failed.assert_error(&["cannot start systemctl", "systemctl --user enable longhaul-recover.service"]);
}

#[test]
fn contradictory_flags_are_rejected() {
    let stage = stage("");
    for args in [
        ["--install", "@"],
        ["--install", "--list"],
        ["--install", "--uninstall"],
        ["--install", "--print-service"],
        ["--uninstall", "--print-service"],
        ["--uninstall", "--active-within=1h"],
        ["--print-service", "@"],
    ] {
        let output = recover(&stage, &args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(&["cannot be used with"]);
    }
    assert_eq!(systemctl_calls(&stage), "");
}
