//! Tables of the user's own: prices that make a cost known, calls that are not repeated, and both for as long as the run
//! lasts, whoever supervises it.

use crate::call::{Started, until};
use crate::harness::{Stage, claude_code};
use crate::server::Server;
use crate::tidy;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;

const EFFECTS: &str = "[[program]]\nnames = [\"deploy.sh\"]\nbegins = [\"prod\"]\n";

/// A model at a dollar for a thousand tokens, whatever they are.
fn prices(model: &str) -> String {
    let rates = ["input", "output", "cache_write", "cache_write_hour", "cache_read"];
    let rates = rates.map(|rate| format!("{rate} = 1000\n")).concat();
    format!("dated = \"2027-01-05\"\n[[model]]\nnames = [\"{model}\"]\n{rates}")
}

#[test]
fn a_table_that_cannot_be_read_is_wrong_usage() {
    let stage = Stage::new();
    let agent = stage.agent();
    let check = |flag: &str, text: &str, words: &[&str]| {
        let table = stage.file("my.toml", text).display().to_string();
        for more in [&["--dry-run"][..], &[]] {
            let ended = stage.run(&agent, &["p", flag, &table]).args(more).end();
            assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
            ended.says(words);
            ended.says(&[&table, "hint:"]);
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
        let ended = stage.run(&agent, &["p", flag, "/nowhere/my.toml"]).end();
        assert_eq!(ended.code, 2, "{ended:?}");
        ended.says(&["/nowhere/my.toml", "No such file", &format!("hint: check {flag}")]);
    }
}

/// An agent that dies without a statement of what its answer cost.
fn dies(stage: &Stage, args: &[&str]) -> Value {
    let stream = r#"{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11","model":"house-7b","permissionMode":"bypassPermissions"}
{"type":"assistant","message":{"id":"m1","model":"house-7b","role":"assistant","content":[{"type":"text","text":"Hm."}],"usage":{"input_tokens":400,"output_tokens":100}},"session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}
"#;
    let stream = stage.file("stream", stream);
    let call = stage.run(&stage.agent(), &["p", "--max-retries", "0"]).args(args);
    call.env("LONGHAUL_SCRIPTED_REPLAY", stream).env("LONGHAUL_SCRIPTED_EXIT", "1").end().envelope(20)
}

#[test]
fn a_price_makes_a_cost_known() {
    let stage = Stage::new();
    let unknown = dies(&stage, &[])["usage"].clone();
    assert_eq!((&unknown["unpriced"], &unknown["total_cost_usd"]), (&true.into(), &0.0.into()));
    let table = stage.file("prices.toml", prices("house-7b")).display().to_string();
    let known = dies(&stage, &["--prices-file", &table])["usage"].clone();
    let cost = unknown["input_tokens"].as_f64().zip(unknown["output_tokens"].as_f64());
    let cost = cost.map(|(input, output)| (input + output) / 1000.0);
    assert!(cost.is_some_and(|cost| cost > 0.1), "the tokens are kept: {unknown}");
    assert_eq!((&known["unpriced"], known["total_cost_usd"].as_f64()), (&false.into(), cost));
    for tokens in ["input_tokens", "output_tokens"] {
        assert_eq!(known[tokens], unknown[tokens]);
    }
    // Whoever looks later sees the same, though the file is gone.
    fs::remove_file(table).expect("the file is ours");
    assert_eq!(stage.longhaul(["attach", "@"]).end().envelope(20)["usage"], known);
}

/// A step that must not be done twice, and one in which everything dies.
const DEPLOY: &str = r#"
name = "deploy"
summary = "a deployment, and a step that takes long enough to be interrupted in"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I deploy it."
[[turn.tools]]
bash = { command = "./deploy.sh prod" }
[[turn]]
text = "Now I wait for it."
[[turn.tools]]
bash = { command = "test -e begun && exit 0; touch begun; sleep 5" }
[[turn]]
text = "It is deployed."
"#;

/// A run whose supervisor and agent died in the second step.
fn dead_in_mid_tool(stage: &Stage, run: Started) {
    until("the tool runs", || stage.work().join("begun").exists());
    run.kill();
    let pid = stage.only_run().status().expect("a status").pid.expect("there is an agent");
    let agent = Pid::from_raw(pid.cast_signed()).expect("a process has a number");
    kill_process(agent, Signal::KILL).expect("it was started by this test");
    until("the agent is gone", || test_kill_process(agent).is_err());
}

fn tables_outlive_their_supervisor(agent: &Path, stage: &Stage) {
    let server = Server::plays(DEPLOY);
    stage.script("work/deploy.sh", "echo \"$1\" >> deployed");
    let effects = stage.file("effects.toml", EFFECTS);
    let prices = stage.file("prices.toml", prices("claude-sonnet-4-5"));
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--model", "claude-sonnet-4-5"];
    let call = stage.run(agent, &args).args(["--effects-file".as_ref(), effects.as_os_str()]);
    let call = call.args(["--prices-file".as_ref(), prices.as_os_str()]);
    dead_in_mid_tool(stage, call.against(&server).start());
    for table in [effects, prices] {
        fs::remove_file(table).expect("the file is ours");
    }
    let ended = stage.longhaul(["recover"]).against(&server).end();
    let envelope = ended.envelope(0);
    assert_eq!((&envelope["result"], &envelope["run"]["attempts"]), (&"It is deployed.".into(), &2.into()));
    // What the first attempt did not live to state is priced by the user's table: hundreds of tokens at least.
    let estimated = envelope["usage"]["estimated_cost_usd"].as_f64();
    assert!(estimated.is_some_and(|estimated| estimated > 0.2), "{envelope}");
    let sessions = tidy::everything(&stage.user_home().join(".claude/projects"));
    let told = sessions.iter().filter(|path| path.is_file()).any(|path| {
        let session = fs::read_to_string(path).expect("a session is text");
        let done = session.split("Done already, do not repeat").nth(1);
        done.is_some_and(|done| done.contains("./deploy.sh prod"))
    });
    assert!(told, "the agent was not told of its deployment: {sessions:?}");
    tidy::check(stage);
}

#[test]
fn the_tables_of_a_run_outlive_its_supervisor() {
    let stage = Stage::new();
    tables_outlive_their_supervisor(&stage.agent(), &stage);
    if let Some(claude) = claude_code("tables of one's own") {
        tables_outlive_their_supervisor(&claude, &Stage::new());
    }
}
