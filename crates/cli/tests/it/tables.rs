//! The user's own tables of prices and side effects. They apply for the whole run, including after a
//! takeover.

use crate::call::{Running, wait_until};
use crate::harness::{Stage, with_each_agent};
use crate::recovering::kill_agent;
use crate::server::Server;
use crate::tidy;
use serde_json::Value;
use std::fs;
use std::path::Path;

const EFFECTS: &str = "[[program]]\nnames = [\"deploy.sh\"]\nstarts_with = [\"prod\"]\n";

/// Returns a table with one model at a dollar per thousand tokens of any kind.
fn prices(model: &str) -> String {
    let rates = ["input", "output", "cache_write", "cache_write_hour", "cache_read"];
    let rates = rates.map(|rate| format!("{rate} = 1000\n")).concat();
    format!("dated = \"2027-01-05\"\n[[model]]\nnames = [\"{model}\"]\n{rates}")
}

#[test]
fn unreadable_table_is_wrong_usage() {
    let stage = Stage::new();
    let agent = stage.agent();
    let check = |flag: &str, text: &str, fragments: &[&str]| {
        let table = stage.file("my.toml", text).display().to_string();
        for options in [&["--dry-run"][..], &[]] {
            let output = stage.run(&agent, &["p", flag, &table]).args(options).output();
            assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
            output.assert_error(fragments);
            output.assert_error(&[&table, "hint:"]);
        }
        assert!(!stage.home().exists(), "{flag} {text}");
    };
    check("--prices-file", "", &["line 1: missing field `dated`", "dollars per million tokens"]);
    check(
        "--prices-file",
        &prices("x").replace("output", "outptu"),
        &["line 5: unknown field `outptu`", "expected one of"],
    );
    check(
        "--prices-file",
        &prices("x").replace("output = 1000", "output = -1"),
        &["line 2: output = -1, expected dollars"],
    );
    check(
        "--effects-file",
        "[[program]]\nname = \"deploy.sh\"",
        &["line 2: unknown field `name`", "expected one of"],
    );
    check("--effects-file", "\ntools = [\"\"]", &["line 2: empty pattern", "hint: for example"]);
    check("--effects-file", "tools = \"x\"", &["line 1: invalid type", "expected a sequence"]);
    for flag in ["--prices-file", "--effects-file"] {
        let output = stage.run(&agent, &["p", flag, "/nowhere/my.toml"]).output();
        assert_eq!(output.code, 2, "{output:?}");
        output.assert_error(&["/nowhere/my.toml", "No such file", &format!("hint: check {flag}")]);
    }
}

/// Runs an agent that dies before it reports the cost of its answer.
fn run_dying_agent(stage: &Stage, args: &[&str]) -> Value {
    let stream = r#"{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11","model":"house-7b","permissionMode":"bypassPermissions"}
{"type":"assistant","message":{"id":"m1","model":"house-7b","role":"assistant","content":[{"type":"text","text":"Hm."}],"usage":{"input_tokens":400,"output_tokens":100}},"session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}
"#;
    let stream = stage.file("stream", stream);
    let call = stage.run(&stage.agent(), &["p", "--max-retries", "0"]).args(args);
    call.env("LONGHAUL_SCRIPTED_REPLAY", stream).env("LONGHAUL_SCRIPTED_EXIT", "1").output().envelope(20)
}

#[test]
fn cost_follows_the_price_table() {
    let stage = Stage::new();
    let unpriced = run_dying_agent(&stage, &[])["usage"].clone();
    assert_eq!((&unpriced["unpriced"], &unpriced["total_cost_usd"]), (&true.into(), &0.0.into()));
    let table = stage.file("prices.toml", prices("house-7b")).display().to_string();
    let priced = run_dying_agent(&stage, &["--prices-file", &table])["usage"].clone();
    let cost = unpriced["input_tokens"].as_f64().zip(unpriced["output_tokens"].as_f64());
    let cost = cost.map(|(input, output)| (input + output) / 1000.0);
    assert!(cost.is_some_and(|cost| cost > 0.1), "the tokens are counted: {unpriced}");
    assert_eq!((&priced["unpriced"], priced["total_cost_usd"].as_f64()), (&false.into(), cost));
    for tokens in ["input_tokens", "output_tokens"] {
        assert_eq!(priced[tokens], unpriced[tokens]);
    }
    // Later calls report the same cost, even though the file is deleted.
    fs::remove_file(table).expect("the test owns the file");
    assert_eq!(stage.longhaul(["attach", "@"]).output().envelope(20)["usage"], priced);
}

/// A step that must not be repeated, and a step in which all processes die.
const DEPLOY: &str = "
I deploy it.
$ ./deploy.sh prod
Now I wait for it.
$ test -e started && exit 0; touch started; sleep 5
It is deployed.
";

/// Kills the supervisor and the agent of a run in its second step.
fn kill_in_mid_tool(stage: &Stage, run: Running) {
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.kill();
    kill_agent(&stage.only_run());
}

fn check_tables_after_takeover(stage: &Stage, agent: &Path) {
    let server = Server::start(DEPLOY);
    stage.script("work/deploy.sh", "echo \"$1\" >> deployed");
    let effects = stage.file("effects.toml", EFFECTS);
    let prices = stage.file("prices.toml", prices("claude-sonnet-4-5"));
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--model", "claude-sonnet-4-5"];
    let call = stage.run(agent, &args).args(["--effects-file".as_ref(), effects.as_os_str()]);
    let call = call.args(["--prices-file".as_ref(), prices.as_os_str()]);
    kill_in_mid_tool(stage, call.against(&server).start());
    for table in [effects, prices] {
        fs::remove_file(table).expect("the test owns the file");
    }
    let output = stage.longhaul(["recover"]).against(&server).output();
    let envelope = output.envelope(0);
    assert_eq!((&envelope["result"], &envelope["run"]["attempts"]), (&"It is deployed.".into(), &2.into()));
    // The user's table prices the unreported usage of the first attempt: hundreds of tokens at least.
    let estimated = envelope["usage"]["estimated_cost_usd"].as_f64();
    assert!(estimated.is_some_and(|estimated| estimated > 0.2), "{envelope}");
    let sessions = tidy::all_paths(&stage.user_home().join(".claude/projects"));
    let is_listed = sessions.iter().filter(|path| path.is_file()).any(|path| {
        let session = fs::read_to_string(path).expect("a session is text");
        let done = session.split("Done already, do not repeat").nth(1);
        done.is_some_and(|done| done.contains("./deploy.sh prod"))
    });
    assert!(is_listed, "no prompt names the deployment: {sessions:?}");
    tidy::check(stage);
}

#[test]
fn tables_apply_after_takeover() {
    with_each_agent("tables of the user", Stage::new, check_tables_after_takeover);
}
