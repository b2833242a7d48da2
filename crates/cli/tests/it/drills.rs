//! Runs every bundled drill with the scripted agent and with the real Claude Code.
//!
//! If Claude Code is not installed, its tests are skipped with a message. See [`claude_code`].

use crate::call::Output;
use crate::harness::{Stage, claude_code};
use serde_json::Value;
use std::collections::BTreeSet;

/// Defines one test per scenario and agent, so that they run in parallel.
macro_rules! drills {
    ($($name:ident),* $(,)?) => {
        const DRILLED: &[&str] = &[$(stringify!($name)),*];

        mod scripted {
            $(#[test] fn $name() { super::passes_with_the_scripted_agent(stringify!($name)) })*
        }

        mod acp {
            $(#[test] fn $name() { super::passes_over_acp(stringify!($name)) })*
        }

        mod claude {
            $(#[test] fn $name() { super::passes_with_claude_code(stringify!($name)) })*
        }
    };
}

drills![
    storm,
    overload,
    rate_limit_3,
    rate_limit_60,
    rate_limit_61,
    rate_limit_3600,
    usage_limit,
    server_error,
    connection_refused,
    stream_cut,
    silent_pings,
    agent_killed_before_first_token,
    agent_killed_mid_stream,
    agent_killed_mid_tool,
    agent_frozen,
    agent_interrupted,
    background_shell,
    auth_401,
    credit,
    model_missing,
    prompt_too_long,
    refusal,
    empty_result,
    pause_turn,
    hook_stopped,
];

fn passes_with_the_scripted_agent(name: &str) {
    let name = name.replace('_', "-");
    assert_passes(&Stage::new(), &["drill", &name]);
}

fn passes_over_acp(name: &str) {
    let name = name.replace('_', "-");
    let args = ["drill", "--agent", "acp", &name];
    if name == "pause-turn" {
        // The protocol has no sign of a pause.
        let card = card(&Stage::new().longhaul(args).output());
        assert_eq!((&card["outcome"]["actual"], &card["passed"]), (&"done".into(), &false.into()), "{card}");
    } else {
        assert_passes(&Stage::new(), &args);
    }
}

fn passes_with_claude_code(name: &str) {
    let name = name.replace('_', "-");
    let Some(claude) = claude_code(&name) else { return };
    let claude = claude.to_str().expect("the path is UTF-8");
    assert_passes(&Stage::new(), &["drill", "--agent", "claude", "--agent-path", claude, &name]);
}

fn assert_passes(stage: &Stage, args: &[&str]) {
    let output = stage.longhaul(args).output();
    let card = card(&output);
    assert_eq!((output.code, &card["passed"]), (0, &true.into()), "{output:?}");
    assert_eq!(card["processes_left"], 0);
}

/// Returns the only printed scorecard.
fn card(output: &Output) -> Value {
    let mut cards: Vec<Value> = serde_json::from_str(&output.stdout).unwrap_or_default();
    assert_eq!(cards.len(), 1, "{output:?}");
    cards.remove(0)
}

#[test]
fn every_scenario_has_a_test() {
    let output = Stage::new().longhaul(["drill", "--list"]).output();
    assert_eq!(output.code, 0, "{output:?}");
    let listed: BTreeSet<String> =
        output.stdout.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert_eq!(listed, DRILLED.iter().map(|name| name.replace('_', "-")).collect());
}

/// A scenario that is not bundled.
const SMALL: &str = r#"
name = "small"
summary = "one file"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
[[turn.tools]]
write = { path = "a.txt", content = "a\n" }
[[turn]]
text = "Done."
[workspace.files]
"a.txt" = "a\n"
"#;

fn drill(toml: &str) -> Output {
    let stage = Stage::new();
    let file = stage.file("own.toml", toml);
    stage.longhaul(["drill"]).args([file]).output()
}

#[test]
fn scenario_from_a_file_is_drilled() {
    let output = drill(SMALL);
    assert_eq!((output.code, &card(&output)["passed"]), (0, &true.into()), "{output:?}");
}

/// The agent compacts the conversation with a request that no stream shows. It reports the usage in its totals.
#[test]
fn compaction_fails_no_drill() {
    let Some(claude) = claude_code("a compaction in a drill") else { return };
    let too_long = r#"
[[fault]]
turn = 2
status = { code = 400, message = "prompt is too long: 250000 tokens > 200000 maximum" }
"#;
    let stage = Stage::new();
    let file = stage.file("own.toml", SMALL.to_owned() + too_long);
    let output = stage.longhaul(["drill", "--agent", "claude", "--agent-path"]).args([claude, file]).output();
    let card = card(&output);
    let tokens = &card["tokens"];
    assert!(tokens["completed_counted"].as_u64() > tokens["completed_billed"].as_u64(), "{card}");
    assert_eq!((output.code, &card["passed"]), (0, &true.into()), "{output:?}");
}

/// Each case expects something that does not happen, so that the drill must fail.
#[test]
fn drill_reports_unmet_expectations() {
    let check = |original: &str, replacement: &str, fragment: &str| {
        let toml = SMALL.replace(original, replacement);
        assert_ne!(toml, SMALL);
        let output = drill(&toml);
        assert_eq!((output.code, &card(&output)["passed"]), (20, &false.into()), "{replacement}: {output:?}");
        let stage = Stage::new();
        let file = stage.file("own.toml", &toml).display().to_string();
        let text = stage.longhaul(["drill", &file, "--output-format", "text"]).output();
        assert!(text.stdout.contains("FAIL") && text.stdout.contains(fragment), "{text:?}");
    };
    check(
        "outcome = \"done\"\nexit = 0",
        "outcome = \"failed\"\nfault = \"auth\"\nexit = 20",
        "outcome done instead of failed",
    );
    check("exit = 0", "exit = 3", "exit code 0 instead of 3");
    check("exit = 0", "exit = 0\nsurvives = [\"overloaded\"]", "faults missing: overloaded");
    check("\"a.txt\" = \"a\\n\"", "\"a.txt\" = \"b\\n\"", "a.txt");
    check("\"a.txt\" = \"a\\n\"", "\"a.txt\" = \"a\\n\"\n\"b.txt\" = \"\"", "b.txt");
}

#[test]
fn invalid_scenario_is_a_usage_error() {
    let check = |output: &Output, fragments: &[&str]| {
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        output.assert_error(fragments);
        output.assert_error(&["hint:", "--list"]);
    };
    check(&Stage::new().longhaul(["drill", "tornado"]).output(), &["tornado"]);
    check(&Stage::new().longhaul(["drill", "strom"]).output(), &["strom", "did you mean storm?"]);
    check(&Stage::new().longhaul(["drill", "/nowhere.toml"]).output(), &["/nowhere.toml"]);
    check(&drill("name = "), &["own.toml", "line 1"]);
    check(&drill(&SMALL.replace("prompt =", "promt =")), &["own.toml", "promt"]);
    check(&drill(&SMALL.replace("\"a.txt\", content", "\"../a.txt\", content")), &["leaves the workspace"]);
}

#[test]
fn random_seed_is_printed() {
    let stage = Stage::new();
    let file = stage.file("own.toml", SMALL).display().to_string();
    let output = stage.longhaul(["drill", &file, "--seed", "random"]).output();
    let seed = card(&output)["seed"].as_u64().expect("the seed is a number");
    assert!(output.stderr.contains(&format!("(seed {seed})")), "{output:?}");
}
