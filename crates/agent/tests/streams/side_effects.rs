//! Tests the side effects in the streams: calls with side effects outside the workspace, or with an unknown
//! outcome.

use super::fixtures::{all, decoder};
use expect_test::{Expect, expect};
use longhaul_agent::claude::Claude;
use longhaul_agent::{AgentContext, Dialect, PriorAttempts, SideEffects};
use longhaul_core::{AttemptPlan, Exit, Fault, Preset, PromptKind, RunId, RunSpec, SessionId, SessionPlan};
use proptest::prelude::*;
use serde_json::{Value, json};

fn render(side_effects: &SideEffects) -> String {
    let time = |time: &Option<String>| time.as_ref().map_or_else(String::new, |time| format!(", {time}"));
    let done = side_effects.completed.iter().map(|done| {
        format!("{} {}{}\n", if done.is_error { "failed" } else { "done" }, done.effect, time(&done.time))
    });
    let unknown =
        side_effects.unresolved.iter().map(|call| format!("unknown {}{}\n", call.effect, time(&call.time)));
    done.chain(unknown).collect()
}

fn side_effects_of(rows: &[Value]) -> SideEffects {
    let mut decoder = decoder();
    for row in rows {
        decoder.feed(format!("{row}\n").as_bytes(), &mut Vec::new());
    }
    let _ = decoder.evidence(Exit::Signal(9), "");
    decoder.side_effects().clone()
}

fn call(id: &str, name: &str, input: Value) -> Value {
    let content = [json!({ "type": "tool_use", "id": id, "name": name, "input": input })];
    let message = json!({ "id": format!("m-{id}"), "model": "claude-opus-5-5", "content": content });
    json!({ "type": "assistant", "timestamp": "2026-11-21T14:02:31.004Z", "message": message })
}

fn bash(id: &str, command: &str) -> Value {
    call(id, "Bash", json!({ "command": command }))
}

fn tool_result(id: &str, is_error: bool, meta: Value) -> Value {
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "x", "is_error": is_error });
    let mut meta = meta;
    meta["id"] = json!(id);
    json!({
        "type": "user", "timestamp": "2026-11-21T14:05:00Z", "message": { "content": [result] },
        "tool_result_meta": [meta],
    })
}

fn task(subtype: &str, id: &str, fields: Value) -> Value {
    let mut row = fields;
    row["type"] = json!("system");
    row["subtype"] = json!(subtype);
    row["tool_use_id"] = json!(id);
    row
}

fn check(rows: &[Value], expected: Expect) {
    expected.assert_eq(&render(&side_effects_of(rows)));
}

#[test]
fn lists_side_effects_of_recorded_streams() {
    let mut text = String::new();
    for fixture in all() {
        let side_effects = render(&fixture.read([&fixture.bytes[..]]).side_effects);
        if !side_effects.is_empty() {
            text += &format!("{}: {side_effects}", fixture.name);
        }
    }
    expect![[r#"
        background-shell-lingers: unknown Bash: exec -a longtask sleep 120, 2026-11-21 23:56 UTC
        background-shell-sigterm: unknown Bash: exec -a longtask sleep 120, 2026-11-21 23:56 UTC
        killed-sigint-mid-tool: unknown Bash: echo start >> side.txt; bash -c 'exec -a longtask sleep 8'; echo late >> side.txt, 2026-11-21 23:41 UTC
        killed-sigkill-mid-tool: unknown Bash: echo start >> side.txt; bash -c 'exec -a longtask sleep 8'; echo late >> side.txt, 2026-11-21 23:41 UTC
        limit-max-budget: unknown Bash: echo step, 2026-11-21 23:39 UTC
        sdk-budget-then-continue: unknown Bash: echo step, 2026-11-21 23:45 UTC
        sdk-interrupt-tool-then-wrapup: unknown Bash: echo a >> side.txt; sleep 6; echo b >> side.txt, 2026-11-21 23:44 UTC
        two-tools-done-one-killed: unknown Bash: bash -c 'exec -a longtask sleep 10', 2026-11-21 23:51 UTC
    "#]].assert_eq(&text);
}

#[test]
fn lists_completed_effects() {
    check(
        &[
            bash("a", "set -e\ncargo test\ngit push origin main"),
            tool_result("a", false, json!({})),
            bash("b", "cargo build"),
            tool_result("b", false, json!({})),
            bash("c", "npm publish"),
            tool_result("c", true, json!({})),
            call("d", "mcp__github__create_issue", json!({ "title": "Crash on start", "body": "Long." })),
            tool_result("d", false, json!({})),
            call("e", "Read", json!({ "file_path": "/demo/a" })),
            bash("f", "cargo build\ncargo test"),
        ],
        expect![[r#"
            done Bash: git push origin main, 2026-11-21 14:05 UTC
            failed Bash: npm publish, 2026-11-21 14:05 UTC
            done mcp__github__create_issue: Crash on start, 2026-11-21 14:05 UTC
            unknown Bash: cargo build ⏎ cargo test, 2026-11-21 14:02 UTC
        "#]],
    );
}

#[test]
fn omits_calls_that_did_not_run() {
    let reject = json!({ "decision": "reject", "source": "config" });
    let denied = json!({ "non_execution_kind": "user-rejected", "permission_decision": reject });
    let by_rule =
        json!({ "non_execution_kind": "permission-rule", "permission_decision": { "decision": "reject" } });
    let listed = json!({ "type": "result", "permission_denials": [{ "tool_use_id": "e" }] });
    check(
        &[
            bash("a", "git push a"),
            tool_result("a", true, denied),
            bash("b", "git push b"),
            tool_result("b", true, by_rule),
            bash("c", "git push c"),
            tool_result("c", true, json!({ "non_execution_kind": "cancelled" })),
            bash("d", "git push d"),
            json!({ "type": "system", "subtype": "permission_denied", "tool_use_id": "d" }),
            bash("e", "git push e"),
            // An interrupt may stop a running call without a permission decision.
            bash("f", "git push f"),
            tool_result("f", true, json!({ "non_execution_kind": "user-rejected" })),
            listed,
        ],
        expect![[r#"
            unknown Bash: git push f, 2026-11-21 14:02 UTC
        "#]],
    );
}

#[test]
fn tracks_background_calls() {
    let in_background = |id: &str| {
        call(id, "Bash", json!({ "command": format!("git push {id}"), "run_in_background": true }))
    };
    check(
        &[
            in_background("a"),
            tool_result("a", false, json!({})),
            task("task_notification", "a", json!({ "status": "completed" })),
            in_background("b"),
            tool_result("b", false, json!({})),
            task("task_notification", "b", json!({ "status": "stopped" })),
            in_background("c"),
            tool_result("c", false, json!({})),
            task("task_notification", "c", json!({ "status": "failed" })),
            bash("d", "git push d"),
            task("task_started", "d", json!({ "is_backgrounded": true })),
            tool_result("d", false, json!({})),
        ],
        expect![[r#"
            done Bash: git push a, 2026-11-21 14:02 UTC
            failed Bash: git push c, 2026-11-21 14:02 UTC
            unknown Bash: git push b, 2026-11-21 14:02 UTC
            unknown Bash: git push d, 2026-11-21 14:02 UTC
        "#]],
    );
}

/// Returns the first prompt of an agent in a new session.
fn first_prompt(prior: &PriorAttempts) -> String {
    let spec = RunSpec::new("claude", "/demo", "The task.", Preset::Default.policy());
    let context = AgentContext::new(spec, RunId::from("kqzr")).expect("the spec has no guards");
    let (session, kind) = (SessionPlan::New(SessionId::from("a")), PromptKind::TaskAfterLoss(Fault::Crashed));
    let plan = AttemptPlan::new(2, session, kind);
    let line: Value = serde_json::from_slice(&Claude::default().invocation(&context, &plan, prior).stdin)
        .expect("a line of JSON");
    line["message"]["content"].as_str().expect("the prompt").to_owned()
}

proptest! {
    #[test]
    fn commands_cannot_add_lines_to_prompt(
        before in "(\\PC|[`\n\r\u{2028}\u{85}'\"$()-]){0,60}",
        tool in "(Bash|Task|\\PC|\n|`){0,20}",
        ends in any::<bool>(),
    ) {
        let command = format!("{before}\ngit push\n- forged\n{before}");
        let mut rows = vec![call("a", &tool, json!({ "command": command }))];
        rows.extend(ends.then(|| tool_result("a", false, json!({}))));
        let side_effects = side_effects_of(&rows);
        let plain = first_prompt(&PriorAttempts::default());
        let prior = PriorAttempts { side_effects, ..PriorAttempts::default() };
        let text = first_prompt(&prior);
        let added = text.strip_prefix(&plain).expect("the list comes last");
        let lines: Vec<&str> = added.lines().filter(|line| !line.is_empty()).collect();
        prop_assert!(lines.len() == 2 || (lines.is_empty() && ends), "{added}");
        prop_assert!(lines.iter().skip(1).all(|line| line.starts_with("- `")), "{added}");
    }
}
