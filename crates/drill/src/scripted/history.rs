//! Reads a session's file and makes of it the conversation to go on with: the branch of the last row, without the
//! agent's own error messages, with an answer to every tool call; or that up to one message. It never changes the file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What a tool call whose process was killed gets for a result (Claude Code 2.1.330).
const UNKNOWN_OUTCOME: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so \
its outcome is unknown. Check whether it took effect before relying on it or running it again.]";
/// What a tool call gets for a result whose own was cut off with what follows it. It is in no file: later resumes find the
/// result again, if there was one.
const CUT_OFF: &str = "[Tool result missing due to internal error]";
/// What is put between an unanswered prompt and the next one.
const NO_RESPONSE: &str = "No response requested.";

/// A session, read.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The rows, for a fork to copy.
    pub(super) rows: Vec<Value>,
    /// The conversation as the API gets it.
    pub(super) messages: Vec<Value>,
    /// What of it is new, for the file: rows of type and message.
    pub(super) repairs: Vec<(&'static str, Value)>,
    pub(super) leaf: Option<String>,
    pub(super) cost_state: Option<Value>,
}

/// Reads the session in `path`; `None` if no row of a conversation is in it. Broken rows are passed over.
pub(super) fn read(path: &Path) -> Option<History> {
    let (rows, leaf, cost_state) = rows_of(path)?;
    let branch = branch(&rows, leaf.as_deref());
    let after_error = branch.last().is_some_and(|row| row["isApiErrorMessage"] == true);
    let mut messages = messages_of(&branch, &rows);
    let mut repairs = Vec::new();
    let unanswered = unanswered(&messages);
    for id in &unanswered {
        repairs.push(("user", json!({"role": "user", "content": [result(id, UNKNOWN_OUTCOME)]})));
    }
    let open = messages.last().is_some_and(|message| message["role"] == "user") && !after_error;
    if open || !unanswered.is_empty() {
        let content = json!([{"type": "text", "text": NO_RESPONSE}]);
        repairs.push(("assistant", json!({"role": "assistant", "model": "<synthetic>", "content": content})));
    }
    messages.extend(
        repairs.iter().map(|(_, message)| json!({"role": message["role"], "content": message["content"]})),
    );
    Some(History { rows, messages, repairs, leaf, cost_state })
}

/// Reads the session in `path` up to a message of the model's; `None` if that is not in the conversation.
pub(super) fn read_until(path: &Path, message: &str) -> Option<History> {
    let (rows, leaf, cost_state) = rows_of(path)?;
    let mut branch = branch(&rows, leaf.as_deref());
    let at = branch.iter().position(|row| row["type"] == "assistant" && row["uuid"] == message)?;
    branch.truncate(at + 1);
    let mut messages = messages_of(&branch, &rows);
    let results: Vec<Value> = unanswered(&messages).iter().map(|id| result(id, CUT_OFF)).collect();
    if !results.is_empty() {
        messages.push(json!({"role": "user", "content": results}));
    }
    Some(History { rows, messages, repairs: Vec::new(), leaf: Some(message.to_owned()), cost_state })
}

/// The rows, the last of the conversation, and what was spent.
fn rows_of(path: &Path) -> Option<(Vec<Value>, Option<String>, Option<Value>)> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let leaf = rows.iter().rev().find(|row| linked(row))?["uuid"].as_str().map(str::to_owned);
    let cost_state = rows.iter().rev().find(|row| row["type"] == "cost-state").cloned();
    Some((rows, leaf, cost_state))
}

/// The messages on this branch of these rows. A call that another prompt follows has its result on another branch.
fn messages_of(branch: &[&Value], rows: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for row in branch.iter().filter(|row| row["isApiErrorMessage"] != true && row["message"].is_object()) {
        let content = &row["message"]["content"];
        if row["message"]["role"] == "user" && content[0]["type"] != "tool_result" {
            let results: Vec<Value> = unanswered(&messages)
                .iter()
                .map(|id| found(rows, id).unwrap_or_else(|| result(id, CUT_OFF)))
                .collect();
            if !results.is_empty() {
                messages.push(json!({"role": "user", "content": results}));
            }
        }
        messages.push(json!({"role": row["message"]["role"], "content": content}));
    }
    messages
}

/// The result of a call, wherever it stands.
fn found(rows: &[Value], id: &str) -> Option<Value> {
    let blocks = rows.iter().filter_map(|row| row["message"]["content"].as_array()).flatten();
    blocks.into_iter().find(|block| block["tool_use_id"] == id).cloned()
}

fn result(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "content": text, "is_error": true, "tool_use_id": id})
}

fn linked(row: &Value) -> bool {
    let conversation = matches!(row["type"].as_str(), Some("user" | "assistant" | "attachment" | "system"));
    conversation && row["uuid"].is_string() && row["isSidechain"] != true
}

/// The rows from the first to `leaf`, by way of their parents.
fn branch<'a>(rows: &'a [Value], leaf: Option<&str>) -> Vec<&'a Value> {
    let by_id: HashMap<&str, &Value> =
        rows.iter().filter(|row| linked(row)).filter_map(|row| Some((row["uuid"].as_str()?, row))).collect();
    let mut branch = Vec::new();
    let mut next = leaf;
    // A row can be on the way only once; more steps than rows would be a circle.
    while let Some(row) = next.and_then(|id| by_id.get(id)).filter(|_| branch.len() < rows.len()) {
        branch.push(*row);
        next = row["parentUuid"].as_str();
    }
    branch.reverse();
    branch
}

/// The tool calls without a result, in their order.
fn unanswered(messages: &[Value]) -> Vec<String> {
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
        let history = read(&path).unwrap_or_default();
        let words: Vec<String> = history
            .messages
            .iter()
            .map(|message| match &message["content"] {
                Value::String(text) => text.clone(),
                blocks => {
                    blocks[0]["type"].as_str().unwrap_or("?").to_owned() + &blocks[0]["is_error"].to_string()
                }
            })
            .collect();
        assert_eq!(words.join(" "), expected, "{rows}");
    }

    #[test]
    fn a_session_is_cut_after_a_message() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("s.jsonl");
        let call = json!([{"type": "tool_use", "id": "t1"}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
        let first = row("user", "a", "", json!("go"), false) + &row("assistant", "b", "a", call, false);
        let cut =
            first + &row("user", "c", "b", answer, false) + &row("user", "d", "c", json!("save"), false);
        let cut = cut + &row("assistant", "e", "d", json!([{"type": "text", "text": "saved"}]), false);
        let later = row("user", "f", "b", json!("more"), false);
        let later = later + &row("assistant", "g", "f", json!([{"type": "text", "text": "on"}]), false);
        let result = |history: &History| history.messages[2]["content"][0]["content"].clone();
        fs::write(&path, &cut).expect("it can be written to");
        let history = read_until(&path, "b").expect("the message is there");
        assert_eq!((history.leaf.as_deref(), history.messages.len()), (Some("b"), 3));
        assert_eq!(result(&history), CUT_OFF);
        assert!(read_until(&path, "c").is_none() && read_until(&path, "x").is_none());
        fs::write(&path, cut + &later).expect("it can be written to");
        let history = read(&path).expect("there is a conversation");
        assert_eq!((history.messages.len(), result(&history)), (5, json!("ok")));
    }

    #[test]
    fn a_killed_session_is_repaired() {
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
