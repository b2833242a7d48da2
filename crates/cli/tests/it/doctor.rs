//! `longhaul doctor` on a working and on a broken installation. It starts only the agent with `--version` and
//! changes nothing.

use crate::call::{Call, wait_until};
use crate::harness::{Stage, claude_code};
use crate::output::redacted;
use crate::recovering::{STEPS, recover, run_to_mid_tool};
use crate::server::Server;
use crate::tidy::all_paths;
use crate::workflows::{SLOW_SCRIPT, only_workflow, start_slow};
use expect_test::expect;
use serde_json::Value;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A call of `doctor` on a working installation, with an agent, a key, and the tools for the sandbox.
fn doctor(stage: &Stage, agent: &Path) -> Call {
    let tools = stage.folder().join("tools");
    if !tools.exists() {
        fs::create_dir(&tools).expect("the stage is writable");
        stage.script("tools/bwrap", "exit 1");
        stage.script("tools/socat", "exit 1");
    }
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let call = stage.longhaul(["doctor", "--agent-path"]).args([agent]);
    call.env("PATH", path).env("ANTHROPIC_API_KEY", "sk-secret")
}

fn json(call: Call, code: i32) -> Value {
    let output = call.output();
    assert_eq!(output.code, code, "{output:?}");
    assert!(!output.stdout.contains("sk-secret") && !output.stderr.contains("sk-secret"), "{output:?}");
    assert_eq!(output.stderr, "", "problems are findings, not messages on stderr");
    serde_json::from_str(&output.stdout).expect("one object")
}

/// Returns the finding of one check: its state, message and remedy.
fn finding_of(report: &Value, check: &str) -> (String, String, String) {
    let findings = report["findings"].as_array().expect("a list");
    let finding = findings.iter().find(|finding| finding["check"] == check);
    let finding = finding.unwrap_or_else(|| panic!("no {check} in {report}"));
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("detail"), text("remedy"))
}

#[test]
fn working_installation_has_no_findings() {
    let stage = Stage::new();
    let agent = stage.agent();
    let call = doctor(&stage, &agent).args(["--output-format", "text"]);
    let before = all_paths(stage.folder());
    let text = call.output();
    // These lines vary by machine.
    let varying = ["ok  disk           ", "ok  memory         ", "ok  clock          "];
    expect![[r#"
        ok  configuration  no file
        ok  agent          <stage>/agent
        ok  version        2.1.330 (Claude Code) (tested version)
        ok  login          ANTHROPIC_API_KEY
        ok  inner retries  set by each run
        ok  api timeout    360 s, the agent's own
        ok  sessions       <stage>/user/.claude/projects, created by the agent's first session
        ok  home           <stage>/longhaul, created by the first run
        ok  disk            …
        ok  ledger         none yet; the first run creates it
        ok  orphaned runs  none
        ok  clock           …
        ok  processes      a run's processes can be found and stopped
        ok  memory          …
        ok  sandbox        bubblewrap and socat are installed, for --network
        no problems, no warnings
    "#]]
    .assert_eq(&redacted(&stage, &text.stdout, &varying));
    assert_eq!((text.code, text.stderr.as_str()), (0, ""));

    let json = doctor(&stage, &agent).output().stdout;
    let mut is_varying = false;
    let line = |line: &str| {
        let is_found = line.trim_start().starts_with("\"detail\":");
        let line = if is_varying && is_found { "      \"detail\": …," } else { line };
        if line.trim_start().starts_with("\"check\":") {
            is_varying = ["\"disk\"", "\"memory\"", "\"clock\""].iter().any(|check| line.contains(check));
        }
        format!("{line}\n")
    };
    let json: String = json.lines().map(line).collect();
    expect![[r#"
        {
          "problems": 0,
          "warnings": 0,
          "findings": [
            {
              "check": "configuration",
              "state": "ok",
              "detail": "no file",
              "remedy": null
            },
            {
              "check": "agent",
              "state": "ok",
              "detail": "<stage>/agent",
              "remedy": null
            },
            {
              "check": "version",
              "state": "ok",
              "detail": "2.1.330 (Claude Code) (tested version)",
              "remedy": null
            },
            {
              "check": "login",
              "state": "ok",
              "detail": "ANTHROPIC_API_KEY",
              "remedy": null
            },
            {
              "check": "inner_retries",
              "state": "ok",
              "detail": "set by each run",
              "remedy": null
            },
            {
              "check": "api_timeout",
              "state": "ok",
              "detail": "360 s, the agent's own",
              "remedy": null
            },
            {
              "check": "sessions",
              "state": "ok",
              "detail": "<stage>/user/.claude/projects, created by the agent's first session",
              "remedy": null
            },
            {
              "check": "home",
              "state": "ok",
              "detail": "<stage>/longhaul, created by the first run",
              "remedy": null
            },
            {
              "check": "disk",
              "state": "ok",
              "detail": …,
              "remedy": null
            },
            {
              "check": "ledger",
              "state": "ok",
              "detail": "none yet; the first run creates it",
              "remedy": null
            },
            {
              "check": "orphaned_runs",
              "state": "ok",
              "detail": "none",
              "remedy": null
            },
            {
              "check": "clock",
              "state": "ok",
              "detail": …,
              "remedy": null
            },
            {
              "check": "processes",
              "state": "ok",
              "detail": "a run's processes can be found and stopped",
              "remedy": null
            },
            {
              "check": "memory",
              "state": "ok",
              "detail": …,
              "remedy": null
            },
            {
              "check": "sandbox",
              "state": "ok",
              "detail": "bubblewrap and socat are installed, for --network",
              "remedy": null
            }
          ]
        }
    "#]]
    .assert_eq(&redacted(&stage, &json, &[]));
    assert_eq!(all_paths(stage.folder()), before, "doctor creates no file");
}

/// The page lists the checks in the order of the report.
#[test]
fn page_documents_every_check() {
    let stage = Stage::new();
    let report = json(doctor(&stage, &stage.agent()), 0);
    let findings = report["findings"].as_array().expect("a list");
    let checks: Vec<&str> = findings.iter().filter_map(|finding| finding["check"].as_str()).collect();
    let page = include_str!("../../../../docs/doctor.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), checks);
}

#[test]
fn learning_needs_a_key() {
    let stage = Stage::new();
    let finding = |is_with_key: bool| {
        let call = doctor(&stage, &stage.agent());
        let call = if is_with_key { call } else { call.without_env("ANTHROPIC_API_KEY") };
        finding_of(&json(call, 0), "learning")
    };
    assert_eq!(stage.longhaul(["playbook", "install"]).output().code, 0);
    assert_eq!(finding(true).0, "ok");
    let (state, detail, _) = finding(false);
    assert!(state == "warning" && detail.contains("no API key is set"), "{detail}");
    assert_eq!(stage.longhaul(["playbook", "install", "--judge", "claude"]).output().code, 0);
    assert_eq!(finding(false).0, "ok");
    fs::write(stage.user_home().join(".claude/settings.json"), "{bad").expect("the stage is writable");
    let (state, detail, _) = finding(true);
    assert!(state == "warning" && detail.contains("settings.json"), "{detail}");
    let status = stage.longhaul(["playbook", "status"]).output();
    assert!(status.code == 0 && status.stderr.contains("settings.json"), "{status:?}");
}

#[test]
fn damaged_learning_database_has_a_remedy() {
    let stage = Stage::new();
    let dir = stage.home().join("playbook");
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("the stage is writable");
    fs::write(dir.join("learning.sqlite3"), "no database, but as long as the header of one".repeat(90))
        .expect("the stage is writable");
    fs::set_permissions(dir.join("learning.sqlite3"), Permissions::from_mode(0o600)).expect("it exists");
    let (state, _, remedy) = finding_of(&json(doctor(&stage, &stage.agent()), 1), "learning");
    assert_eq!((state.as_str(), remedy.as_str()), ("problem", "longhaul playbook status"));
    assert_eq!(stage.longhaul(remedy.split(' ').skip(1)).output().code, 0);
    assert_eq!(json(doctor(&stage, &stage.agent()), 0)["findings"].to_string().find("playbook status"), None);
}

#[test]
fn unusable_agent_is_a_problem() {
    let stage = Stage::new();
    let check = |agent: &Path, code: i32, check: &str, state: &str, fragment: &str| {
        let report = json(doctor(&stage, agent), code);
        let (actual_state, message, remedy) = finding_of(&report, check);
        assert!(
            actual_state == state && message.contains(fragment) && !remedy.is_empty(),
            "{fragment}: {report}"
        );
    };
    check(Path::new("/nowhere/claude"), 1, "agent", "problem", "there is no such file");
    check(
        &stage.script("breaks", "echo 9.9.9; exit 3"),
        1,
        "version",
        "problem",
        "it exited with exit status: 3",
    );
    check(
        &stage.script("old", "echo '1.0.3 (Claude Code)'"),
        0,
        "version",
        "warning",
        "1.0.3 (Claude Code) is older",
    );
    check(&stage.script("other", "env"), 1, "version", "problem", "unknown: it printed");
    // The agent receives only the variables it needs to find files, and its child processes are stopped with
    // it.
    let script = "test -z \"$ANTHROPIC_API_KEY$LONGHAUL_HOME\" && test -n \"$HOME\" && echo 2.1.330";
    let report = json(doctor(&stage, &stage.script("environment", script)), 0);
    assert_eq!(finding_of(&report, "version").0, "ok", "{report}");
    check(&stage.script("hangs", "sleep 300 & sleep 300"), 1, "version", "problem", "within 10 s");
}

#[test]
fn environment_problems_are_reported() {
    let stage = Stage::new();
    let agent = stage.agent();
    let check = |call: Call, code: i32, check: &str, state: &str, fragment: &str| {
        let report = json(call, code);
        let (actual_state, message, remedy) = finding_of(&report, check);
        assert!(actual_state == state && message.contains(fragment), "{check}: {report}");
        assert_eq!(remedy.is_empty(), state == "ok", "{check}: {report}");
    };
    let call_doctor = || doctor(&stage, &agent);
    check(call_doctor().without_env("ANTHROPIC_API_KEY"), 0, "login", "warning", "neither");
    check(call_doctor().env("CLAUDE_CODE_MAX_RETRIES", "99"), 0, "inner_retries", "ok", "--inner-retries");
    check(call_doctor().env("API_TIMEOUT_MS", "5000"), 0, "api_timeout", "warning", "5 s");
    check(call_doctor().env("PATH", stage.folder()), 0, "sandbox", "warning", "bubblewrap and socat");

    let file = stage.file("file", "");
    check(call_doctor().env("LONGHAUL_HOME", &file), 1, "home", "problem", "is not a directory");
    check(call_doctor().env("CLAUDE_CONFIG_DIR", &file), 1, "sessions", "problem", "is not a directory");

    let broken = stage.file("longhaul.toml", "\nmax_retries = \"many\"\n");
    check(call_doctor(), 1, "configuration", "problem", "longhaul.toml:2");
    check(call_doctor().args(["--no-config"]), 0, "configuration", "ok", "no file");
    fs::write(&broken, "max_retries = 9\n").expect("writing succeeds");
    check(call_doctor(), 0, "configuration", "ok", "longhaul.toml");
    check(call_doctor().args(["--profile", "absent"]), 1, "configuration", "problem", "`absent`");
}

#[test]
fn doctor_checks_the_configured_agent() {
    let stage = Stage::new();
    let folder = stage.user_home().join(".config/longhaul");
    fs::create_dir_all(&folder).expect("the stage is writable");
    fs::write(folder.join("config.toml"), "agent_path = \"/nowhere/claude\"\n")
        .expect("the stage is writable");
    let report = json(stage.longhaul(["doctor"]), 1);
    assert!(finding_of(&report, "agent").1.contains("/nowhere/claude"), "{report}");
}

#[test]
fn orphaned_runs_are_reported() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let agent = stage.agent();
    let running = run_to_mid_tool(&stage, &agent, &server);
    let orphaned = || finding_of(&json(doctor(&stage, &agent), 0), "orphaned_runs");
    assert_eq!(orphaned().1, "none");
    running.kill();
    wait_until("the lock of the run is released", || orphaned().0 == "warning");
    let id = stage.only_run().id().to_string();
    assert_eq!(orphaned().2, format!("longhaul recover {id}"));
    recover(&stage, &server, &[]).output().envelope(0);
    assert_eq!(orphaned().1, "none");

    // A damaged ledger is not changed, and the orphaned runs are reported without it.
    let path = stage.home().join("ledger.sqlite3");
    fs::write(&path, "garbage").expect("writing succeeds");
    let report = json(doctor(&stage, &agent), 0);
    let (state, _, remedy) = finding_of(&report, "ledger");
    assert_eq!(
        (state.as_str(), remedy.as_str()),
        ("warning", "rebuild it: longhaul ledger rebuild"),
        "{report}"
    );
    assert_eq!(finding_of(&report, "orphaned_runs").0, "ok");
    assert_eq!(fs::read(&path).expect("the file exists"), b"garbage");
    assert_eq!(stage.longhaul(["ledger", "rebuild"]).output().code, 0);
}

#[test]
fn orphaned_workflow_is_reported_with_its_runs() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    let agent = stage.agent();
    let orphaned = || finding_of(&json(doctor(&stage, &agent), 0), "orphaned_runs");
    start_slow(&stage, &server).kill();
    let id = only_workflow(&stage).id().to_string();
    wait_until("the lock of the workflow is released", || orphaned().0 == "warning");
    assert_eq!(orphaned().1, format!("{id} has no supervisor"));
    assert_eq!(orphaned().2, format!("longhaul recover {id}"));
    let status = stage.longhaul(["status", "--output-format", "text"]).output().stdout;
    assert!(status.contains(&format!("  no supervisor: longhaul recover {id}\n")), "{status}");
    assert_eq!(stage.longhaul(["cancel", "@"]).output().code, 0);
    assert_eq!(orphaned().1, "none");
}

#[test]
fn version_of_the_real_agent_is_reported() {
    let Some(claude) = claude_code("doctor") else { return };
    let stage = Stage::new();
    let report = json(doctor(&stage, &claude), 0);
    assert_eq!(finding_of(&report, "version").1, "2.1.330 (Claude Code) (tested version)");
    assert_eq!(all_paths(&stage.user_home()), Vec::<PathBuf>::new(), "the agent writes nothing");
}
