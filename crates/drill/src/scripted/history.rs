//! Reads a session's file into the conversation to resume. The conversation is the branch of the last row,
//! without the agent's own error messages, and with a result for every tool call. It may also end at a given
//! message. The file is never changed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// The result of a tool call whose process was killed (Claude Code 2.1.330).
const UNKNOWN_OUTCOME: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so \
its outcome is unknown. Check whether it took effect before relying on it or running it again.]";
/// The result of a tool call whose own result was dropped with the rows after it. It is never written to a
/// file, so later resumes find the original result if there was one.
const MISSING_RESULT: &str = "[Tool result missing due to internal error]";
/// The text inserted between an unanswered prompt and the next one.
const NO_RESPONSE: &str = "No response requested.";

#[derive(Debug, Default)]
pub(super) struct History {
    /// The rows, for a fork to copy.
    pub rows: Vec<Value>,
    pub messages: Vec<Value>,
    /// The new rows to write to the file: type and message.
    pub repairs: Vec<(&'static str, Value)>,
    pub leaf: Option<String>,
    pub cost_state: Option<Value>,
}

/// Reads the session in `path`, or its part up to a message of the model. Returns `None` if it contains no
/// conversation or not this message. Skips invalid rows.
pub(super) fn read(path: &Path, until: Option<&str>) -> Option<History> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let leaf = rows.iter().rev().find(|row| is_linked(row))?["uuid"].as_str();
    let cost_state = rows.iter().rev().find(|row| row["type"] == "cost-state").cloned();
    let mut branch = branch(&rows, leaf);
    if let Some(message) = until {
        let index = branch.iter().position(|row| row["type"] == "assistant" && row["uuid"] == message)?;
        branch.truncate(index + 1);
    }
    let after_error = branch.last().is_some_and(|row| row["isApiErrorMessage"] == true);
    let mut messages = branch_messages(&branch, &rows);
    let leaf = until.or(leaf).map(str::to_owned);
    let unanswered_calls = unanswered_calls(&messages);
    let mut repairs = Vec::new();
    if until.is_some() {
        let results: Vec<Value> = unanswered_calls.iter().map(|id| result(id, MISSING_RESULT)).collect();
        if !results.is_empty() {
            messages.push(json!({"role": "user", "content": results}));
        }
        return Some(History { rows, messages, repairs, leaf, cost_state });
    }
    for id in &unanswered_calls {
        repairs.push(("user", json!({"role": "user", "content": [result(id, UNKNOWN_OUTCOME)]})));
    }
    let ends_with_prompt = messages.last().is_some_and(|message| message["role"] == "user") && !after_error;
    if ends_with_prompt || !unanswered_calls.is_empty() {
        let content = json!([{"type": "text", "text": NO_RESPONSE}]);
        repairs.push(("assistant", json!({"role": "assistant", "model": "<synthetic>", "content": content})));
    }
    messages.extend(
        repairs.iter().map(|(_, message)| json!({"role": message["role"], "content": message["content"]})),
    );
    Some(History { rows, messages, repairs, leaf, cost_state })
}

/// Returns the messages on this branch. If another prompt follows a call, the call's result is on another
/// branch.
fn branch_messages(branch: &[&Value], rows: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for row in branch.iter().filter(|row| row["isApiErrorMessage"] != true && row["message"].is_object()) {
        let content = &row["message"]["content"];
        if row["message"]["role"] == "user" && content[0]["type"] != "tool_result" {
            let results: Vec<Value> = unanswered_calls(&messages)
                .iter()
                .map(|id| find_result(rows, id).unwrap_or_else(|| result(id, MISSING_RESULT)))
                .collect();
            if !results.is_empty() {
                messages.push(json!({"role": "user", "content": results}));
            }
        }
        messages.push(json!({"role": row["message"]["role"], "content": content}));
    }
    messages
}

fn find_result(rows: &[Value], id: &str) -> Option<Value> {
    let blocks = rows.iter().filter_map(|row| row["message"]["content"].as_array()).flatten();
    blocks.into_iter().find(|block| block["tool_use_id"] == id).cloned()
}

fn result(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "content": text, "is_error": true, "tool_use_id": id})
}

fn is_linked(row: &Value) -> bool {
    let is_conversation =
        matches!(row["type"].as_str(), Some("user" | "assistant" | "attachment" | "system"));
    is_conversation && row["uuid"].is_string() && row["isSidechain"] != true
}

/// Returns the rows from the first to `leaf`, following their parents.
fn branch<'a>(rows: &'a [Value], leaf: Option<&str>) -> Vec<&'a Value> {
    let rows_by_id: HashMap<&str, &Value> = rows
        .iter()
        .filter(|row| is_linked(row))
        .filter_map(|row| Some((row["uuid"].as_str()?, row)))
        .collect();
    let mut branch = Vec::new();
    let mut next_id = leaf;
    // A row occurs on the path only once; more steps than rows would be a cycle.
    while let Some(row) = next_id.and_then(|id| rows_by_id.get(id)).filter(|_| branch.len() < rows.len()) {
        branch.push(*row);
        next_id = row["parentUuid"].as_str();
    }
    branch.reverse();
    branch
}

fn unanswered_calls(messages: &[Value]) -> Vec<String> {
    let blocks = || messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let answered: HashSet<&str> = blocks().filter_map(|block| block["tool_use_id"].as_str()).collect();
    let calls = blocks().filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str());
    calls.filter(|id| !answered.contains(id)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, uuid: &str, parent: &str, content: Value, error: bool) -> String {
        let row = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "isApiErrorMessage": error,
            "message": {"role": kind, "content": content}});
        format!("{row}\n")
    }

    fn check(rows: &str, expected: &str) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("s.jsonl");
        fs::write(&path, rows).expect("it can be written to");
        let history = read(&path, None).unwrap_or_default();
        let contents: Vec<String> = history
            .messages
            .iter()
            .map(|message| match &message["content"] {
                Value::String(text) => text.clone(),
                blocks => {
                    blocks[0]["type"].as_str().unwrap_or("?").to_owned() + &blocks[0]["is_error"].to_string()
                }
            })
            .collect();
        assert_eq!(contents.join(" "), expected, "{rows}");
    }

    #[test]
    fn history_ends_at_requested_message() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("s.jsonl");
        let call = json!([{"type": "tool_use", "id": "t1"}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
        let first = row("user", "a", "", json!("go"), false) + &row("assistant", "b", "a", call, false);
        let rows =
            first + &row("user", "c", "b", answer, false) + &row("user", "d", "c", json!("save"), false);
        let rows = rows + &row("assistant", "e", "d", json!([{"type": "text", "text": "saved"}]), false);
        let later = row("user", "f", "b", json!("more"), false);
        let later = later + &row("assistant", "g", "f", json!([{"type": "text", "text": "on"}]), false);
        let result = |history: &History| history.messages[2]["content"][0]["content"].clone();
        fs::write(&path, &rows).expect("it can be written to");
        let history = read(&path, Some("b")).expect("the message is there");
        assert_eq!((history.leaf.as_deref(), history.messages.len()), (Some("b"), 3));
        assert_eq!(result(&history), MISSING_RESULT);
        assert!(read(&path, Some("c")).is_none() && read(&path, Some("x")).is_none());
        fs::write(&path, rows + &later).expect("it can be written to");
        let history = read(&path, None).expect("there is a conversation");
        assert_eq!((history.messages.len(), result(&history)), (5, json!("ok")));
    }

    #[test]
    fn killed_session_is_repaired() {
        let prompt = row("user", "a", "", json!("go"), false);
        let call = row("assistant", "b", "a", json!([{"type": "tool_use", "id": "t1"}]), false);
        let result = row(
            "user",
            "c",
            "b",
            json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": false}]),
            false,
        );
        let error = row("assistant", "d", "c", json!([{"type": "text", "text": "529"}]), true);
        check(&prompt, "go textnull");
        check(&format!("{prompt}{call}"), "go tool_usenull tool_resulttrue textnull");
        check(&format!("{prompt}{call}{result}"), "go tool_usenull tool_resultfalse textnull");
        check(&format!("{prompt}{call}{result}{error}"), "go tool_usenull tool_resultfalse");
        check(&format!("{prompt}{{\"type\":\"assis"), "go textnull");
        check("nonsense\n", "");
    }
}
