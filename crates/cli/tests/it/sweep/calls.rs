//! Finds repeated tool calls, and the knowledge that the agent had of the earlier calls.
//!
//! Its sources are the notes that the commands write, which no kill can lose, and the session files, which
//! only grow.

use super::SweepAgent;
use super::work::{Step, Work};
use crate::harness::Stage;
use crate::tidy;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The agent's texts for a call that was interrupted.
const INTERRUPTED: &[&str] =
    &["[Tool call interrupted", "The user doesn't want to", "Exit code 137", "Exit code 143"];

/// Numbers of repeated calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// Calls whose result was in the session.
    pub completed: u64,
    /// Calls that the agent knew of, from its prompt or from a result that reports an interruption.
    pub named: u64,
    /// Calls that the agent did not know of.
    pub unnamed: u64,
}

/// Counts the repeated calls of the work on this stage.
pub fn count_repeated(stage: &Stage, work: &Work) -> Repeated {
    let notes = fs::read_to_string(stage.folder().join("calls")).unwrap_or_default();
    let sessions = sessions(stage);
    let mut repeated = Repeated::default();
    for Step { name, command, prompt } in &work.steps {
        let repetitions = (notes.lines().filter(|note| note == name).count() as u64).saturating_sub(1);
        let rows = rows(sessions.iter().filter(|session| session.contains(prompt)));
        match knowledge(&rows, command) {
            Knowledge::Completed => repeated.completed += repetitions,
            Knowledge::Named => repeated.named += repetitions,
            Knowledge::None => repeated.unnamed += repetitions,
        }
    }
    repeated
}

/// The agent's knowledge of a call before its last repetition, from the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    Completed,
    Named,
    None,
}

fn knowledge(rows: &[Value], command: &str) -> Knowledge {
    let mut knowledge = Knowledge::None;
    let mut at_last_call = Knowledge::None;
    let mut calls = BTreeSet::new();
    for row in rows {
        // Each session has its own ids of calls.
        let id = |id: &Value| (row["sessionId"].as_str().map(str::to_owned), id.as_str().map(str::to_owned));
        for block in blocks(row) {
            if text(&block["input"]["command"]).starts_with(command) {
                calls.insert(id(&block["id"]));
                at_last_call = knowledge;
            } else if calls.contains(&id(&block["tool_use_id"])) {
                let content = text(&block["content"]);
                let was_interrupted = INTERRUPTED.iter().any(|words| content.starts_with(words));
                knowledge = if was_interrupted { Knowledge::Named } else { Knowledge::Completed };
            } else if knowledge == Knowledge::None && text(&block["text"]).contains(command) {
                knowledge = Knowledge::Named;
            }
        }
    }
    at_last_call
}

/// Returns the texts of all session files, the oldest file first.
fn sessions(stage: &Stage) -> Vec<String> {
    let mut files = session_files(stage);
    files.sort_by_key(|file| fs::metadata(file).and_then(|found| found.modified()).ok());
    files.iter().map(|file| fs::read_to_string(file).unwrap_or_default()).collect()
}

fn rows<'a>(sessions: impl Iterator<Item = &'a String>) -> Vec<Value> {
    sessions.flat_map(|text| text.lines()).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the blocks of a row's message. A text is one block.
fn blocks(row: &Value) -> Vec<Value> {
    match &row["message"]["content"] {
        Value::String(text) => vec![serde_json::json!({ "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn text(content: &Value) -> &str {
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

/// Counts rows that two messages of the model follow, as when two processes resume a session at once. The
/// rows of one message and the results of its calls branch in every session.
pub fn count_branches(stage: &Stage) -> u64 {
    let mut branches = 0;
    for file in session_files(stage) {
        let text = fs::read_to_string(file).expect("a session is text");
        let mut followers: BTreeMap<String, String> = BTreeMap::new();
        for row in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let (Some(parent), Some(message)) = (row["parentUuid"].as_str(), row["message"]["id"].as_str())
            {
                let first = followers.entry(parent.to_owned()).or_insert_with(|| message.to_owned());
                branches += u64::from(first != message);
            }
        }
    }
    branches
}

fn session_files(stage: &Stage) -> Vec<PathBuf> {
    let files = tidy::all_paths(&stage.user_home()).into_iter();
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

/// Proves that the check can fail.
#[test]
fn repeated_calls_are_counted() {
    let prompt = |text: &str| serde_json::json!({"message": {"content": text}});
    let call = || {
        let input = serde_json::json!({ "command": "echo two >> ../calls; true" });
        let block = serde_json::json!({ "type": "tool_use", "id": "toolu_drill_2_0", "input": input });
        serde_json::json!({ "message": { "content": [block] } })
    };
    let result = |text: &str| {
        let content =
            serde_json::json!([{"type": "tool_result", "tool_use_id": "toolu_drill_2_0", "content": text}]);
        serde_json::json!({"message": {"content": content}})
    };
    let check =
        |rows: &[Value], expected: Knowledge| assert_eq!(knowledge(rows, "echo two >> ../calls"), expected);
    let named = "The work was interrupted. Check: `echo two >> ../calls`";
    check(&[prompt("p"), call(), result("")], Knowledge::None);
    check(&[prompt("p"), call(), prompt("continue"), call()], Knowledge::None);
    check(&[prompt("p"), call(), prompt(named), call(), result("")], Knowledge::Named);
    check(&[prompt("p"), call(), result("[Tool call interrupted: x"), call(), result("")], Knowledge::Named);
    check(&[prompt("p"), call(), result(""), prompt("continue"), call(), result("")], Knowledge::Completed);

    let stage = Stage::new();
    stage.file("calls", "one\ntwo\ntwo\n");
    assert_eq!(
        count_repeated(&stage, &Work::of(&SweepAgent::Scripted)),
        Repeated { unnamed: 1, ..Repeated::default() }
    );
}
