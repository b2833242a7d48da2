//! Privacy: no secret is written, no prompt is in an argument list, and files are private. Also the
//! environment that an agent receives.

use crate::harness::{LONGHAUL, Stage};
use crate::tidy;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const KEY: &str = "sk-ant-secret-xyz";
const PASSWORD: &str = "swordfish-5f1c9e";
const PROMPT: &str = "water the petunias";

/// An agent that records its own and its parent's arguments and environment, then acts as the scripted agent.
struct Mirror {
    agent: PathBuf,
    folder: PathBuf,
}

impl Mirror {
    fn new(stage: &Stage) -> Mirror {
        let folder = stage.folder().join("records");
        fs::create_dir(&folder).expect("the stage is new");
        let body = format!(
            "cat /proc/$$/cmdline > '{records}/argv'; cat /proc/$PPID/cmdline > '{records}/parent'\n\
             cat /proc/$$/environ > '{records}/environ'\n\
             tee '{records}/stdin' | '{LONGHAUL}' drill-agent \"$@\"",
            records = folder.display()
        );
        Mirror { agent: stage.script("mirror", &body), folder }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("the mirror was started")
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let environ = self.text("environ");
        let pairs = environ.split('\0').filter_map(|variable| variable.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

fn contains_secret(path: &Path, secret: &str) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
}

#[test]
fn no_secret_is_written() {
    let stage = Stage::new();
    let mirror = Mirror::new(&stage);
    let output = stage
        .run(&mirror.agent, &["p", "--keep-partial-messages", "--verbose"])
        .env("ANTHROPIC_API_KEY", KEY)
        .env("DATABASE_PASSWORD", PASSWORD)
        .env("LONGHAUL_SCRIPTED_INSTANT", "1")
        .output();
    output.envelope(0);
    // The agent must receive the secrets, or the test proves nothing.
    assert_eq!(mirror.environment().get("ANTHROPIC_API_KEY").map(String::as_str), Some(KEY));
    assert_eq!(mirror.environment().get("DATABASE_PASSWORD").map(String::as_str), Some(PASSWORD));
    let files = tidy::all_paths(&stage.home());
    assert!(files.iter().any(|path| path.ends_with("argv.json")), "{files:?}");
    for path in files.iter().filter(|path| path.is_file()) {
        assert!(
            !contains_secret(path, KEY) && !contains_secret(path, PASSWORD),
            "a secret is in {}",
            path.display()
        );
    }
    assert!(
        ![&output.stdout, &output.stderr].iter().any(|text| text.contains(KEY) || text.contains(PASSWORD))
    );
}

#[test]
fn files_are_private_with_any_umask() {
    let stage = Stage::new();
    let call = stage.program("sh").args([
        "-c",
        r#"umask 000; exec "$0" "$@""#,
        LONGHAUL,
        "run",
        "p",
        "--agent-path",
    ]);
    let output = call.args([stage.agent()]).env("LONGHAUL_SCRIPTED_INSTANT", "1").output();
    output.envelope(0);
    // `check` asserts the file modes.
    tidy::check(&stage);
    assert!(tidy::all_paths(&stage.home()).len() > 8);
}

#[test]
fn run_writable_by_others_is_not_executed() {
    let stage = Stage::new();
    let done = stage
        .run(&stage.agent(), &["p", "--run-id", "kmzqbd"])
        .env("LONGHAUL_SCRIPTED_INSTANT", "1")
        .output();
    done.envelope(0);
    let run = stage.only_run();
    for path in [run.path().to_owned(), run.plan_path(), run.journal_path()] {
        let mode = fs::metadata(&path).expect("the file exists").permissions();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode.mode() | 0o002))
            .expect("the test owns the file");
        for command in [&["resume", "kmzqbd", "more"][..], &["rerun", "kmzqbd"]] {
            let output = stage.longhaul(command).output();
            assert_eq!(output.code, 25, "{command:?} with {}: {output:?}", path.display());
            output.assert_error(&["can be written by other users", "chmod go-w"]);
        }
        assert_eq!(stage.longhaul(["show", "kmzqbd"]).output().code, 0, "reading is allowed");
        fs::set_permissions(&path, mode).expect("the test owns the file");
    }
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn prompt_is_not_in_argument_lists() {
    let stage = Stage::new();
    let mirror = Mirror::new(&stage);
    let file = stage.file("task.md", PROMPT).display().to_string();
    let output =
        stage.run(&mirror.agent, &["--prompt-file", &file]).env("LONGHAUL_SCRIPTED_INSTANT", "1").output();
    output.envelope(0);
    assert!(mirror.text("stdin").contains(PROMPT), "the agent received no prompt");
    assert!(mirror.text("argv").contains("--session-id"), "{}", mirror.text("argv"));
    for list in ["argv", "parent", "environ"] {
        assert!(!mirror.text(list).contains("petunias"), "{}", mirror.text(list));
    }
}

#[test]
fn arguments_after_dashes_reach_the_agent() {
    let stage = Stage::new();
    let mirror = Mirror::new(&stage);
    let args =
        ["p", "--model", "opus", "--", "--max-turns", "40", "--append-system-prompt", "be brief -- and kind"];
    stage.run(&mirror.agent, &args).env("LONGHAUL_SCRIPTED_INSTANT", "1").output().envelope(0);
    let argv = mirror.text("argv");
    assert!(argv.contains("--model\0opus\0"), "{argv}");
    assert!(argv.ends_with("--max-turns\x0040\0--append-system-prompt\0be brief -- and kind\0"), "{argv}");
}

#[test]
fn run_inside_claude_code_does_not_pass_its_variables() {
    let stage = Stage::new();
    let mirror = Mirror::new(&stage);
    let inside =
        ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"];
    let call =
        stage.run(&mirror.agent, &["p"]).env("LONGHAUL_SCRIPTED_INSTANT", "1").env("LONGHAUL_RUN", "outer");
    let call = call.env("LONGHAUL_RUN_MARKER", "outer/1");
    let envelope = inside.iter().fold(call, |call, name| call.env(name, "1")).output().envelope(0);
    let environment = mirror.environment();
    for name in inside {
        assert!(!environment.contains_key(name), "{name} reached the agent");
    }
    // The run's own marker, after the marker of the outer run.
    let run = envelope["run"]["id"].as_str().expect("the run has an id");
    assert_eq!(environment.get("LONGHAUL_RUN"), Some(&format!("outer:{run}")));
    let marker = stage.only_run().plan().expect("a plan").marker;
    assert_eq!(environment.get("LONGHAUL_RUN_MARKER"), Some(&format!("outer/1:{run}/{marker}")));
    for (name, value) in
        [("LONGHAUL_ATTEMPT", "1"), ("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_MAX_RETRIES", "4")]
    {
        assert_eq!(environment.get(name).map(String::as_str), Some(value), "{name}");
    }
}
