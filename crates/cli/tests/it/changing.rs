//! Changes of settings by `resume` and `rerun`: they take effect, the journal names them, and other settings
//! stay.

use crate::call::Output;
use crate::harness::Stage;
use crate::recovering::{held_steps, orphaned_run, play_with_each_agent, release, run_to_mid_tool};
use crate::server::{Server, WORK};
use serde_json::{Value, json};

fn json(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("JSON is printed")
}

/// Returns the latest changes in the timeline of the last run.
fn changes(stage: &Stage) -> Value {
    let timeline = json(&stage.longhaul(["why", "@", "--output-format", "json"]).output());
    let entries = timeline["entries"].as_array().expect("a timeline");
    let found = entries.iter().rev().find(|entry| !entry["changes"].is_null());
    found.expect("an entry has changes")["changes"].clone()
}

#[test]
fn resume_changes_settings_and_journals_them() {
    play_with_each_agent(WORK, "changing settings", |stage, agent, server| {
        let denied = stage.run(agent, &["p", "--budget", "1"]).against(server).output().envelope(23);
        assert_eq!(denied["run"]["fault"], "permission", "{denied}");
        let base_args = ["resume", "@", "--permission-mode", "bypassPermissions", "--model", "haiku"];
        let more = ["--add-budget", "2", "--check", "true", "--deny-tools", "WebFetch"];
        let resumed =
            stage.longhaul(base_args).args(more).args(["--max-reset-wait", "2h"]).against(server).output();
        resumed.envelope(0);
        let changed =
            |setting: &str, from: &str, to: &str| json!({"setting": setting, "from": from, "to": to});
        let expected = json!([
            changed("model", "default", "haiku"),
            changed("permission_mode", "default", "bypassPermissions"),
            changed("deny_tools", "none", "WebFetch"),
            changed("check", "none", "1 command"),
            changed("budget", "1", "3"),
            changed("max_reset_wait", "192h", "2h"),
            changed("max_failed_checks", "none", "10"),
            changed("check_timeout", "none", "30m"),
        ]);
        assert_eq!(changes(stage), expected);
        let text = stage.longhaul(["why", "@", "--output-format", "text"]).output();
        let expected = "permission mode default -> bypassPermissions, deny tools none -> WebFetch, check none -> 1 command, \
                     budget $1.00 -> $3.00";
        let lines = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lines.contains(expected), "{text:?}");
        let plan = stage.only_run().plan().expect("a plan");
        let checks = plan.spec.policy.checks.expect("a check");
        assert_eq!((plan.spec.model.as_deref(), checks.commands.len()), (Some("haiku"), 1));
        assert_eq!(plan.origins.get("model").map(String::as_str), Some("flag"));
    });
}

#[test]
fn rerun_and_fork_change_settings_of_only_the_new_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    stage.run(&stage.agent(), &["p", "--run-id", "old"]).against(&server).output().envelope(23);
    let base_args = ["--permission-mode", "bypassPermissions", "--max-turns", "9"];
    for command in [&["rerun", "old"][..], &["resume", "old", "--fork"]] {
        stage.longhaul(command).args(base_args).against(&server).output().envelope(0);
        let plan = stage.runs()[0].plan().expect("a plan");
        assert_eq!(plan.spec.permission_mode.as_deref(), Some("bypassPermissions"));
        assert_eq!(plan.spec.policy.limits.turns, Some(9));
    }
    let plans: Vec<_> =
        stage.runs().iter().map(|run| run.plan().expect("a plan").spec.permission_mode).collect();
    assert_eq!(plans.iter().filter(|mode| mode.is_none()).count(), 1, "{plans:?}");
}

#[test]
fn unfinished_run_keeps_the_settings_of_its_agent() {
    let (stage, server, _) = orphaned_run();
    let rejected = stage.longhaul(["resume", "@", "--model", "haiku"]).against(&server).output();
    rejected.envelope(25);
    let id = stage.only_run().id().to_string();
    rejected.assert_error(&["the run has not finished", &format!("longhaul cancel {id}")]);
    stage.longhaul(["resume", "@", "--budget", "7"]).against(&server).output().envelope(0);
    assert_eq!(changes(&stage), json!([{"setting": "budget", "from": "none", "to": "7"}]));
}

#[test]
fn invalid_changes_are_usage_errors() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    stage.run(&stage.agent(), &["p"]).against(&server).output().envelope(23);
    for change in [
        &["--model", ""][..],
        &["--permission-mode", " "],
        &["--check", "no-such-program-here"],
        &["--notify", ""],
        &["--max-failed-checks", "3"],
        &["--add-budget", "1"],
    ] {
        for command in ["resume", "rerun"] {
            let rejected = stage.longhaul([command, "@"]).args(change).against(&server).output();
            assert_eq!(rejected.code, 2, "{command} {change:?}: {rejected:?}");
        }
    }
    assert_eq!(stage.longhaul(["run", "p", "--model", ""]).output().code, 2);
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn second_run_in_a_directory_causes_a_warning() {
    let (stage, server) = (Stage::new(), Server::start(&held_steps()));
    let first = run_to_mid_tool(&stage, &stage.agent(), &server);
    let id = stage.only_run().id().to_string();
    let other = Server::start(WORK);
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    let second = stage.run(&stage.agent(), &base_args).against(&other).output();
    assert!(second.stderr.contains(&format!("another run, {id}, works in this directory")), "{second:?}");
    second.envelope(0);
    release(&stage);
    first.output().envelope(0);
    let alone = stage.run(&stage.agent(), &base_args).against(&other).output();
    assert!(!alone.stderr.contains("another run"), "{alone:?}");
}
