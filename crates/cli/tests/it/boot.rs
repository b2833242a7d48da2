//! Runs are gone on with at boot: the service is written, enabled by a systemctl that stands in for the real one, and
//! taken back, and nothing else of the user's is touched.
#![cfg(target_os = "linux")]

use crate::call::{Call, Ended};
use crate::harness::Stage;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A stage with a systemctl that writes down what it is asked, and then does this.
fn stage(systemctl: &str) -> Stage {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("bin")).expect("the stage is new");
    let asked = stage.folder().join("asked");
    stage.script("bin/systemctl", &format!("echo \"$@\" >> '{}'\n{systemctl}", asked.display()));
    stage
}

fn recover(stage: &Stage, args: &[&str]) -> Call {
    stage.longhaul(["recover"]).args(args).env("PATH", stage.folder().join("bin"))
}

fn asked(stage: &Stage) -> String {
    fs::read_to_string(stage.folder().join("asked")).unwrap_or_default()
}

fn service(stage: &Stage) -> PathBuf {
    stage.user_home().join(".config/systemd/user/longhaul-recover.service")
}

/// The file from which the service reads the agent's variables.
fn env_file(stage: &Stage) -> PathBuf {
    stage.user_home().join(".config/longhaul/agent.env")
}

/// The commands that were printed to write that file.
fn printed_commands(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect()
}

fn fine(ended: &Ended, words: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "no `{word}` in {ended:?}");
    }
}

#[test]
fn the_service_is_installed_and_taken_back() {
    let stage = stage("");
    let install = ["--install", "--active-within", "36h"];
    let call =
        recover(&stage, &install).env("ANTHROPIC_API_KEY", "sk-secret").env("CLAUDE_CONFIG_DIR", "/c d");
    let path = service(&stage);
    let told = [
        path.to_str().expect("a plain name"),
        "loginctl enable-linger",
        "ANTHROPIC_API_KEY, CLAUDE_CONFIG_DIR are set here, but not in this file",
        &env_file(&stage).display().to_string(),
    ];
    fine(&call.end(), &told);
    let enable = "--user daemon-reload\n--user enable longhaul-recover.service\n";
    assert_eq!(asked(&stage), enable);
    let written = fs::read_to_string(&path).expect("the service is written");
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for line in [
        " recover --verbose --no-config --active-within=129600s\n".to_owned(),
        format!("EnvironmentFile=-{}\n", env_file(&stage).display()),
        format!("Environment=\"LONGHAUL_HOME={}\"\n", stage.home().display()),
        format!("Environment=\"PATH={}\"\n", stage.folder().join("bin").display()),
    ] {
        assert!(written.contains(&line), "no `{line}` in {written}");
    }
    for word in ["sk-secret", "/c d"] {
        assert!(!written.contains(word), "{word} is in {written}");
    }

    // Once more is as good as once.
    fine(&recover(&stage, &install).env("CLAUDE_CONFIG_DIR", "/c d").end(), &[]);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), written);
    fine(&recover(&stage, &["--uninstall"]).end(), &["removed"]);
    let disable = "--user disable longhaul-recover.service\n--user daemon-reload\n";
    assert_eq!(asked(&stage), [enable, enable, disable].concat());
    assert!(!path.exists());
    fine(&recover(&stage, &["--uninstall"]).end(), &["nothing to remove"]);
    assert!(!stage.home().exists(), "the runs are none of its business");
}

#[test]
fn printed_commands_write_the_variables_of_this_shell() {
    let stage = stage("");
    let secret = r#"sk "50%" \n $HOME `id` #;=é "#;
    let shell = |call: Call| call.env("ANTHROPIC_API_KEY", secret).env("HTTPS_PROXY", "http://127.0.0.1:1");
    let install = || recover(&stage, &["--install"]);
    let first = shell(install()).end();
    fine(&first, &["ANTHROPIC_API_KEY, HTTPS_PROXY are set here"]);
    assert!(!first.stderr.contains("sk "), "{first:?}");
    for command in printed_commands(&first) {
        let ended = shell(stage.program("sh")).args(["-c", command]).end();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""), "{command}");
    }
    let path = env_file(&stage);
    assert_eq!(fs::metadata(&path).expect("it is written").permissions().mode() & 0o777, 0o600);
    // launchd has a shell read it.
    let read = format!(". {}; printf %s \"$ANTHROPIC_API_KEY\"", path.display());
    assert_eq!(stage.program("sh").args(["-c", &read]).end().stdout, secret);
    let text = fs::read_to_string(&path).expect("it is written");
    let mut lines: Vec<_> = text.lines().collect();
    // The environment has no order.
    lines.sort_unstable();
    assert_eq!(lines, [&format!("ANTHROPIC_API_KEY='{secret}'"), "HTTPS_PROXY='http://127.0.0.1:1'"]);

    let second = shell(install()).end();
    fine(&second, &[path.to_str().expect("a plain name")]);
    assert_eq!(printed_commands(&second), [""; 0], "nothing is missing");
    // One more is added to the others.
    let third = shell(install()).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1").end();
    fine(&third, &["ANTHROPIC_BASE_URL is set here, but not in this file"]);
    assert_eq!(printed_commands(&third).len(), 1, "{third:?}");
    let odd = shell(install()).env("ANTHROPIC_CUSTOM_HEADERS", "a: 1\nb: 2").end();
    fine(&odd, &["add ANTHROPIC_CUSTOM_HEADERS with an editor"]);
    assert_eq!(printed_commands(&odd), [""; 0], "{odd:?}");
}

#[test]
fn file_of_variables_that_others_can_read_is_reported() {
    let stage = stage("");
    let path = env_file(&stage);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the stage can be written");
    fs::write(&path, "ANTHROPIC_API_KEY=sk-1\n").expect("the stage can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let chmod = format!("chmod 600 {}", path.display());
    fine(&recover(&stage, &["--install"]).end(), &["others can read this file", &chmod]);
    let finding = |call: Call| {
        let printed: Value = serde_json::from_str(&call.end().stdout).expect("JSON");
        let findings = printed["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["check"] == "recovery_at_boot")
    };
    let doctor = || stage.longhaul(["doctor"]);
    let open = finding(doctor()).expect("the service is installed");
    assert_eq!((&open["state"], &open["remedy"]), (&"warning".into(), &chmod.into()), "{open}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let whole = finding(doctor().env("ANTHROPIC_API_KEY", "sk-2")).expect("the service is installed");
    assert_eq!(whole["state"], "ok", "{whole}");
    let missing = finding(doctor().env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")).expect("it is installed");
    let words = missing["found"].as_str().expect("words");
    assert!(missing["state"] == "warning" && words.contains("does not set ANTHROPIC_BASE_URL:"), "{missing}");
    fine(&recover(&stage, &["--uninstall"]).end(), &["removed"]);
    assert_eq!(finding(doctor()), None);
}

#[test]
fn printing_changes_nothing() {
    let stage = stage("");
    let config = stage.folder().join("config");
    let printed = recover(&stage, &["--print-service"]).env("XDG_CONFIG_HOME", &config).end();
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert!(!config.exists() && asked(&stage).is_empty());
    fine(&recover(&stage, &["--install", "--quiet"]).env("XDG_CONFIG_HOME", &config).end(), &[]);
    let path = config.join("systemd/user/longhaul-recover.service");
    assert_eq!(fs::read_to_string(path).expect("it is written there"), printed.stdout);
    assert!(!stage.user_home().join(".config").exists());
}

#[test]
fn what_longhaul_did_not_write_is_left_alone() {
    let stage = stage("");
    let path = service(&stage);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the stage can be written");
    fs::write(&path, "[Service]\nExecStart=/bin/true\n").expect("the stage can be written");
    for flag in ["--install", "--uninstall"] {
        let refused = recover(&stage, &[flag]).end();
        refused.envelope(25);
        refused.says(&["longhaul did not write it", "hint: move it"]);
    }
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "[Service]\nExecStart=/bin/true\n");
    assert_eq!(asked(&stage), "");
}

/// As in a container, or over a connection without a session.
#[test]
fn a_manager_that_does_not_answer_is_no_success() {
    let stage = stage("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let refused = recover(&stage, &["--install"]).end();
    refused.envelope(25);
    refused.says(&[
        "Failed to connect to bus",
        "is written",
        "systemctl --user enable longhaul-recover.service",
    ]);
    assert!(service(&stage).exists());
    fine(&recover(&stage, &["--uninstall"]).end(), &["could not disable", "removed"]);
    assert!(!service(&stage).exists());

    fs::remove_file(stage.folder().join("bin/systemctl")).expect("the file is ours");
    let refused = recover(&stage, &["--install"]).end();
    refused.envelope(25);
    refused.says(&["start systemctl", "systemctl --user enable longhaul-recover.service"]);
}

#[test]
fn flags_that_contradict_each_other() {
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
        let ended = recover(&stage, &args).end();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}: {ended:?}");
        ended.says(&["cannot be used with"]);
    }
    assert_eq!(asked(&stage), "");
}
