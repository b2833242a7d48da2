use super::result;
use crate::args::{CeilingArgs, ModeCeiling};
use crate::commands::mcp::call::Finished;
use crate::commands::mcp::ceilings::Ceilings;
use crate::commands::mcp::served::served;
use serde_json::{Map, Value, json};

/// Returns the last text of the result of a call whose command, `longhaul TYPED`, printed this.
fn last_text(tool: &str, printed: &Value) -> String {
    let stdout = printed.to_string();
    last_text_of(tool, &Finished { is_success: true, is_killed: false, stdout, messages: Vec::new() })
}

fn last_text_of(tool: &str, finished: &Finished) -> String {
    let max_permission_mode = ModeCeiling::BypassPermissions;
    let args = CeilingArgs { allow_dir: Vec::new(), max_permission_mode, max_budget: None };
    let ceilings = Ceilings::new(&args).unwrap_or_else(|failure| panic!("{}", failure.error));
    let tools = served(&ceilings);
    let tool = tools.iter().find(|served| served.name == tool).expect("there is such a tool");
    let answer = serde_json::to_value(result(tool, "TYPED", finished)).expect("a result is JSON");
    let last = answer["content"].as_array().and_then(|content| content.last());
    last.and_then(|last| last["text"].as_str()).expect("a result has texts").to_owned()
}

#[test]
fn a_shortened_result_names_a_command_that_only_reads() {
    let text = "x".repeat(100_000);
    let of_run = json!({ "result": text, "run": { "id": "kmzxqp" } });
    let of_workflow = json!({ "errors": [text], "workflow": { "id": "kmzxqp" } });
    let attach = "shortened; `longhaul attach kmzxqp --json` prints all of it";
    for tool in ["run", "resume", "recover", "cancel", "gsd_plan_phase"] {
        assert_eq!(last_text(tool, &of_run), attach, "{tool}");
    }
    for tool in ["loop", "resume", "recover", "cancel"] {
        assert_eq!(last_text(tool, &of_workflow), attach, "{tool}");
    }
    for tool in ["attach", "show", "why"] {
        assert_eq!(last_text(tool, &of_run), "shortened; `longhaul TYPED` prints all of it", "{tool}");
    }
    let without_run = json!({ "result": text, "run": { "id": null } });
    assert_eq!(last_text("gsd_plan_phase", &without_run), "shortened");
}

#[test]
fn a_killed_command_is_an_error_that_says_so() {
    let check_ended = |is_killed, tool, messages: &[&str], expected: &str| {
        let messages = messages.iter().map(ToString::to_string).collect();
        let finished = Finished { is_success: false, is_killed, stdout: String::new(), messages };
        assert_eq!(last_text_of(tool, &finished), expected);
    };
    let check = |tool, messages: &[&str], expected: &str| check_ended(true, tool, messages, expected);
    let killed =
        "longhaul was killed before the run finished; the run may be orphaned: call `status`, then `recover`";
    check("run", &[], killed);
    check("run", &["warning: no price"], &format!("{killed}\nwarning: no price"));
    check_ended(false, "run", &["no price", "error: no agent"], "no price\nerror: no agent");
    check("logs", &[], "longhaul was killed; repeat the call");
}

#[test]
fn a_started_run_passes_its_warnings_on() {
    let lines =
        ["warning: it ends with another run", "  hint: wait for it", "follow it with `longhaul attach`"];
    let messages = lines.iter().map(ToString::to_string).collect();
    let finished = Finished { is_success: true, is_killed: false, stdout: "{}".to_owned(), messages };
    assert_eq!(last_text_of("run", &finished), lines[..2].join("\n"));
    assert_eq!(last_text_of("show", &finished), "{}");
}

#[test]
fn a_result_that_is_too_long_names_a_command_that_only_reads() {
    let keys = (0..9_000).map(|number| (format!("key {number}"), json!(number)));
    let mut wide: Map<String, Value> = keys.collect();
    let too_long = "the result is too long, even with short texts and lists";
    assert_eq!(last_text("run", &Value::Object(wide.clone())), too_long);
    wide.insert("run".to_owned(), json!({ "id": "kmzxqp" }));
    let wide = Value::Object(wide);
    assert_eq!(last_text("run", &wide), format!("{too_long}; `longhaul attach kmzxqp --json` prints it"));
    assert_eq!(last_text("show", &wide), format!("{too_long}; `longhaul TYPED` prints it"));
}
