//! Configuration: Longhaul reads the user's and the project's files and the environment, and rejects invalid
//! settings and settings that a project must not decide.

use crate::call::{Call, Output};
use crate::harness::Stage;
use crate::server::{Server, WORK};
use crate::tidy;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// Writes the user's configuration file.
fn user(stage: &Stage, text: &str) -> PathBuf {
    let folder = stage.user_home().join(".config/longhaul");
    fs::create_dir_all(&folder).expect("the stage is writable");
    stage.file("user/.config/longhaul/config.toml", text)
}

/// Writes the project's configuration file.
fn project(stage: &Stage, text: &str) -> PathBuf {
    stage.file("work/longhaul.toml", text)
}

fn json(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).expect("valid JSON")
}

/// A dry run in the work directory.
fn dry_run(stage: &Stage, args: &[&str]) -> Call {
    stage.run(&stage.agent(), &["p", "--dry-run", "--output-format", "json"]).args(args)
}

#[test]
fn run_records_the_origin_of_each_setting() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let user_file = user(&stage, "permission_mode = \"bypassPermissions\"\nmax_retries = 7\nbudget = 50\n");
    let project_file = project(&stage, "model = \"opus\"\nmax_retries = 8\n\n[profile.short]\nbudget = 3\n");
    let call = stage.run(&stage.agent(), &["p", "--profile", "short", "--stall-timeout", "9m"]);
    call.against(&server).env("LONGHAUL_RETRY_BASE", "1s").output().envelope(0);
    let plan = stage.only_run().plan().expect("there is a plan");
    let canonical = |path: &PathBuf| fs::canonicalize(path).expect("the file exists").display().to_string();
    let expected = [
        ("agent_path", "flag".to_owned()),
        ("budget", format!("{}:5 (profile short)", canonical(&project_file))),
        ("max_retries", format!("{}:2", canonical(&project_file))),
        ("model", format!("{}:1", canonical(&project_file))),
        ("permission_mode", format!("{}:1", user_file.display())),
        ("preset", "default".to_owned()),
        ("retry_base", "LONGHAUL_RETRY_BASE".to_owned()),
        ("stall_timeout", "flag".to_owned()),
    ];
    let origins: Vec<_> = plan.origins.iter().map(|(key, origin)| (key.as_str(), origin.clone())).collect();
    assert_eq!(origins, expected);
    assert_eq!(
        (plan.spec.policy.retries_max, plan.spec.policy.limits.budget.map(|usd| usd.as_dollars())),
        (8, Some(3.0))
    );
}

#[test]
fn dry_run_shows_the_configuration() {
    let stage = Stage::new();
    let user_file =
        user(&stage, "check = [\"true\"]\nmax_failed_checks = 4\nagent_args = [\"--add-dir\", \"/srv\"]\n");
    let plan = json(&dry_run(&stage, &[]).output());
    assert_eq!(plan["changed"]["max_failed_checks"], format!("{}:2", user_file.display()));
    assert_eq!(plan["checks"], serde_json::json!(["true"]));
    let args = plan["command"]["args"].as_array().expect("a list");
    assert!(args.iter().any(|arg| arg == "--add-dir"), "{args:?}");
    let text = dry_run(&stage, &["--output-format", "text"]).output();
    assert_eq!(text.code, 2, "a flag may occur only once: {text:?}");
    let text = stage.run(&stage.agent(), &["p", "--dry-run", "--output-format", "text"]).output();
    assert!(text.stdout.contains(&format!("Set by:\n  agent_args: {}:3\n", user_file.display())), "{text:?}");
    let args =
        ["p", "--dry-run", "--output-format", "text", "--time-limit", "1h", "--wrap-up-reserve", "50m"];
    let text = stage.run(&stage.agent(), &args).output();
    assert!(text.stdout.contains("  wrap_up_reserve: 30m, half of the limit\n"), "{text:?}");
    let events = dry_run(&stage, &["--events", "/nowhere/events"]).output();
    assert_eq!(events.code, 2, "{events:?}");
    events.assert_error(&["cannot write events to /nowhere/events"]);
    // Flags take precedence, and drop configured settings that they exclude.
    let plan = json(&dry_run(&stage, &["--keep-going", "--budget", "none"]).output());
    assert_eq!((&plan["checks"], &plan["changed"]["check"]), (&serde_json::json!([]), &Value::Null));
    let plan = json(&dry_run(&stage, &["--no-config"]).output());
    assert_eq!(
        (&plan["checks"], plan["changed"].as_object().map(serde_json::Map::len)),
        (&serde_json::json!([]), Some(2))
    );
}

#[test]
fn invalid_file_starts_nothing() {
    let stage = Stage::new();
    let check = |fragments: &[&str]| {
        let output = stage.run(&stage.agent(), &["p"]).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        output.assert_error(fragments);
        output.assert_error(&["hint:"]);
        assert!(!stage.home().exists(), "a home was created");
    };
    let file = project(&stage, "budget = 1\nmodle = \"opus\"\n");
    check(&["work/longhaul.toml:2: there is no key `modle`", "did you mean model?"]);
    project(&stage, "budget =\n");
    check(&["work/longhaul.toml:1: "]);
    project(&stage, "max_retries = \"five\"\n");
    check(&["work/longhaul.toml:1: `max_retries` must be a whole number"]);
    project(&stage, "model = \"opus\"\nagent_path = \"./claude\"\n");
    check(&["work/longhaul.toml:2: `agent_path` cannot be set by a project", ".config/longhaul/config.toml"]);
    project(&stage, "dry_run = true\n");
    check(&["`dry_run` cannot be configured: it applies to a single call"]);
    // A project's file cannot make Longhaul print the content of the user's own files.
    let secret = stage.file("secret", "s3cret: [");
    project(&stage, &format!("block_urls_file = \"{}\"\n", secret.display()));
    check(&["longhaul.toml:1: `block_urls_file` is ", "which is not in the project"]);
    symlink(&secret, stage.work().join("list")).expect("the stage is writable");
    project(&stage, "[profile.x]\neffects_file = \"list\"\n");
    check(&["longhaul.toml:2 (profile x): `effects_file` is ", "which is not in the project"]);
    fs::write(&file, b"# caf\xe9\n").expect("the stage is writable");
    check(&["work/longhaul.toml: line 1 is not UTF-8", "iconv"]);
    fs::remove_file(&file).expect("the file exists");
    fs::create_dir(&file).expect("the stage is writable");
    check(&["work/longhaul.toml: Is a directory", "--no-config"]);
    fs::remove_dir(&file).expect("the directory is empty");
    symlink("nowhere", &file).expect("the stage is writable");
    check(&["work/longhaul.toml: No such file", "--no-config"]);
    fs::remove_file(&file).expect("the file exists");
    user(&stage, "budget = \"lots\"\n");
    let message = [".config/longhaul/config.toml:1: `budget` is `lots`: expected an amount in dollars"];
    check(&message);
    for args in [&["simulate", "--runs", "1"][..], &["recover"], &["research", "task"]] {
        let output = stage.longhaul(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(&message);
    }
}

#[test]
fn unreadable_file_is_rejected() {
    let stage = Stage::new();
    let file = project(&stage, "budget = 1\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("the test owns the file");
    if fs::read(&file).is_ok() {
        // Root can read every file.
        return;
    }
    let output = dry_run(&stage, &[]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["work/longhaul.toml: Permission denied", "hint:", "--no-config"]);
}

#[test]
fn project_file_is_searched_from_the_working_directory() {
    let stage = Stage::new();
    let deep = stage.work().join("src/deep");
    fs::create_dir_all(&deep).expect("the stage is writable");
    fs::create_dir(stage.folder().join("other")).expect("the stage is writable");
    let link = stage.folder().join("other/link");
    symlink(&deep, &link).expect("the stage is writable");
    // The link is in one project and its target in another.
    stage.file("other/longhaul.toml", "model = \"of the link\"\n");
    let model_origin = |folder: &PathBuf| {
        let cwd = folder.to_str().expect("a plain name");
        let agent = stage.agent();
        let call = stage.longhaul([
            "run",
            "p",
            "--dry-run",
            "--output-format",
            "json",
            "--cwd",
            cwd,
            "--agent-path",
        ]);
        json(&call.args([agent]).output())["changed"]["model"].as_str().map(str::to_owned)
    };
    assert_eq!(model_origin(&link), None);
    project(&stage, "model = \"of its target\"\n");
    let expected = fs::canonicalize(stage.work()).expect("the file exists").join("longhaul.toml");
    assert_eq!(model_origin(&link), Some(format!("{}:1", expected.display())));
    // Only the nearest file counts.
    stage.file("work/src/longhaul.toml", "max_retries = 2\n");
    assert_eq!(model_origin(&deep), None);
}

#[test]
fn project_cannot_select_a_profile_of_the_user() {
    let stage = Stage::new();
    user(&stage, "[profile.daring]\npermission_mode = \"bypassPermissions\"\n");
    project(&stage, "default_profile = \"daring\"\n");
    let output = dry_run(&stage, &[]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["work/longhaul.toml:1: there is no profile `daring` in this file"]);
    project(&stage, "default_profile = \"daring\"\n[profile.daring]\nmax_retries = 1\n");
    let plan = json(&dry_run(&stage, &[]).output());
    assert_eq!(
        (&plan["changed"]["permission_mode"], &plan["policy"]["retries_max"]),
        (&Value::Null, &1.into())
    );
    let output = dry_run(&stage, &["--profile", "darling"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["--profile: there is no profile `darling`", "did you mean daring?"]);
    let plan = json(&dry_run(&stage, &[]).env("LONGHAUL_PROFILE", "daring").output());
    assert!(plan["changed"]["permission_mode"].is_string(), "{plan}");
}

#[test]
fn error_about_a_configured_setting_names_the_file() {
    let stage = Stage::new();
    let user_file = user(&stage, "wall_limit = \"30m\"\n");
    let output = dry_run(&stage, &["--time-limit", "1h"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&[&format!("`wall_limit` is set by {}:1", user_file.display())]);
    assert!(!output.stderr.contains("`time_limit` is set"), "{output:?}");
    let user_file = user(&stage, "agent_path = \"claude\"\ncheck = [\"frobnicate\"]\n");
    let output = stage.longhaul(["run", "p"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&[
        "there is no program `frobnicate`",
        &format!("`check` is set by {}:2", user_file.display()),
    ]);
    let output = stage.longhaul(["run", "p", "--check", "true"]).output();
    output.envelope(25);
    output
        .assert_error(&["check --agent-path", &format!("`agent_path` is set by {}:1", user_file.display())]);
}

#[test]
fn read_only_commands_ignore_an_invalid_file() {
    let stage = Stage::new();
    user(&stage, "quiet = 3\n");
    let output = stage.longhaul(["drill", "--list"]).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stderr.contains("warning: cannot read ") && output.stderr.contains("continuing without it"),
        "{output:?}"
    );
    let show = stage.longhaul(["config", "show"]).output();
    assert_eq!(show.code, 2, "{show:?}");
    show.assert_error(&["`quiet` must be `true` or `false`"]);
    for args in [&["config", "path"][..], &["completions", "zsh"], &["man"]] {
        let output = stage.longhaul(args).output();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{args:?}: {output:?}");
    }
    user(&stage, "output_format = \"text\"\n");
    let output = stage.longhaul(["simulate", "--runs", "1"]).with_text_output().output();
    assert!(output.stdout.starts_with("Policy:"), "{output:?}");
    let output = stage.longhaul(["config", "path"]).with_text_output().output();
    assert!(output.stdout.starts_with("user  "), "{output:?}");
}

#[test]
fn research_applies_the_users_settings() {
    let stage = Stage::new();
    let task = stage.folder().join("task");
    fs::create_dir(&task).expect("the stage is writable");
    stage.file("task/README.md", "Improve the model.");
    user(
        &stage,
        "model = \"haiku\"\ndeny_tools = [\"WebFetch\"]\nmax_retries = 2\nmax_idle_stops = 5\nbackground_wait = \"1m\"\n\n\
         [research]\nclaude_hours = 2\nhandoff_summary = \"haiku\"\n",
    );
    // The current directory is not the project.
    stage.file("longhaul.toml", "model = \"opus\"\n");
    let call = stage.longhaul(["research", "task", "--dry_run", "--output-format", "json", "--agent-path"]);
    let plan = json(&call.args([stage.agent()]).output());
    assert_eq!(plan["guards"]["deny_tools"], serde_json::json!(["WebFetch"]));
    assert_eq!(plan["policy"]["limits"]["time"], 7_200_000, "{plan}");
    assert_eq!(plan["policy"]["retries_max"], 5);
    assert_eq!(plan["policy"]["keep_going"]["idle_stops_max"], 5);
    assert_eq!(plan["policy"]["background_wait"], 60_000);
    assert_eq!(plan["handoff_summary"]["model"], "haiku");
    let args = plan["command"]["args"].as_array().expect("a list");
    assert!(args.iter().any(|arg| arg == "haiku"), "{args:?}");
}

#[test]
fn config_show_prints_effective_values() {
    let stage = Stage::new();
    let user_file = user(&stage, "preset = \"archon\"\n\n[recover]\nactive_within = \"36h\"\n");
    let show =
        |args: &[&str]| stage.longhaul(["config", "show", "--output-format", "json"]).args(args).output();
    let values = json(&show(&[]));
    assert_eq!((&values["preset"], &values["max_retries"]), (&"archon".into(), &2.into()));
    assert_eq!((&values["recover.active_within"], &values["model"]), (&"36h".into(), &Value::Null));
    let values = json(&show(&["--origin"]));
    assert_eq!(values["preset"]["origin"], format!("{}:1", user_file.display()));
    assert_eq!(values["max_retries"], serde_json::json!({ "value": 2, "origin": "preset archon" }));
    assert_eq!(values["keep_going"], serde_json::json!({ "value": false, "origin": "default" }));
    let text = stage.longhaul(["config", "show", "--origin", "--output-format", "text"]).output().stdout;
    assert!(text.contains(&format!("# {}:1\n", user_file.display())), "{text}");
    assert!(text.contains("\n[recover]\nactive_within = \"36h\""), "{text}");
    let nowhere = show(&["--cwd", "/nowhere"]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    nowhere.assert_error(&["/nowhere", "hint:"]);
}

#[test]
fn config_init_writes_a_file_once() {
    let stage = Stage::new();
    for (args, path) in [
        (&["config", "init"][..], stage.folder().join("longhaul.toml")),
        (&["config", "init", "--user"], stage.user_home().join(".config/longhaul/config.toml")),
    ] {
        let path = path.display().to_string();
        let written = stage.longhaul(args).args(["--output-format", "text"]).output();
        assert_eq!((written.code, written.stdout.trim()), (0, path.as_str()), "{written:?}");
        let second = stage.longhaul(args).output();
        assert_eq!(second.code, 2, "{second:?}");
        second.assert_error(&[&path, "hint: nothing was changed"]);
    }
    // An unedited new file changes no setting.
    let values = json(&stage.longhaul(["config", "show", "--origin", "--output-format", "json"]).output());
    assert!(
        values.as_object().is_some_and(|rows| rows.values().all(|row| row["origin"] == "default")),
        "{values}"
    );
    let path = json(&stage.longhaul(["config", "path", "--output-format", "json"]).output());
    assert_eq!((&path["user"]["exists"], &path["project"]["exists"]), (&true.into(), &true.into()));
}

/// The detached supervisor uses the configuration of the calling command.
#[test]
fn detached_run_has_the_same_configuration() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    user(&stage, "permission_mode = \"bypassPermissions\"\n");
    project(&stage, "max_retries = 9\n");
    let started = stage.run(&stage.agent(), &["p", "--detach"]).against(&server).output();
    assert_eq!(started.code, 0, "{started:?}");
    stage.longhaul(["attach", "@"]).output().envelope(0);
    let run = stage.only_run();
    assert_eq!(run.plan().expect("there is a plan").spec.policy.retries_max, 9);
    assert_eq!(tidy::replayed_outcome(&run).exit_code(), 0);
}

#[test]
fn trust_allows_check_and_permission_mode_until_the_file_changes() {
    let stage = Stage::new();
    let file = project(&stage, "check = [\"true\"]\npermission_mode = \"acceptEdits\"\n");
    let untrusted = dry_run(&stage, &[]).output();
    assert_eq!(untrusted.code, 2, "{untrusted:?}");
    let work = fs::canonicalize(stage.work()).expect("a folder").display().to_string();
    let command = format!("longhaul config trust --cwd {work}");
    untrusted.assert_error(&[
        "longhaul.toml:1",
        "`check` cannot be set yet",
        "you have not trusted this file",
        &command,
    ]);

    let trust =
        |more: &[&str]| stage.longhaul(["config", "trust", "--cwd"]).args([stage.work()]).args(more).output();
    let trusted = json(&trust(&["--output-format", "json"]));
    assert_eq!((&trusted["trusted"], &trusted["settings"]["check"]), (&true.into(), &"[\"true\"]".into()));
    let planned = json(&dry_run(&stage, &[]).output());
    assert_eq!(planned["checks"], serde_json::json!(["true"]));
    assert!(planned["command"]["args"].to_string().contains("acceptEdits"), "{planned}");
    let records = stage.home().join("trusted");
    let record = fs::read_dir(&records).expect("records").next().expect("one").expect("an entry").path();
    let mode = |path: &PathBuf| fs::metadata(path).expect("the file exists").permissions().mode() & 0o777;
    assert_eq!((mode(&record), mode(&records)), (0o600, 0o700));
    // Flags take precedence over it.
    let typed = json(&dry_run(&stage, &["--permission-mode", "plan"]).output());
    assert!(!typed["command"]["args"].to_string().contains("acceptEdits"), "{typed}");

    fs::write(&file, "check = [\"echo more\"]\n").expect("the stage is writable");
    let changed = dry_run(&stage, &[]).output();
    assert_eq!(changed.code, 2, "{changed:?}");
    changed.assert_error(&["the file changed since you trusted it", &command]);
    assert_eq!(trust(&[]).code, 0);
    assert_eq!(dry_run(&stage, &[]).output().code, 0);
    let revoked = trust(&["--revoke", "--output-format", "text"]);
    assert!(revoked.stdout.contains("not trusted"), "{revoked:?}");
    assert_eq!(dry_run(&stage, &[]).output().code, 2);
    // Trust does not allow other settings.
    fs::write(&file, "notify = [\"true\"]\n").expect("the stage is writable");
    let rejected = trust(&[]);
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["`notify` cannot be set by a project"]);
    assert_eq!(stage.longhaul(["config", "trust"]).output().code, 2, "there is no file");
}

#[test]
fn misspelled_variable_is_reported_once() {
    let stage = Stage::new();
    let warned = dry_run(&stage, &[]).env("LONGHAUL_BUGDET", "3").output();
    assert_eq!(warned.code, 0, "{warned:?}");
    assert_eq!(warned.stderr.matches("LONGHAUL_BUGDET").count(), 1, "{warned:?}");
    assert!(warned.stderr.contains("did you mean LONGHAUL_BUDGET?"), "{warned:?}");
    for silent in [dry_run(&stage, &["--quiet"]).env("LONGHAUL_BUGDET", "3"), dry_run(&stage, &[])] {
        let silent = silent.output();
        assert!(!silent.stderr.contains("variable"), "{silent:?}");
    }
}
