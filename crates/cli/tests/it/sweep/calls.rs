//! Which tool calls were made more than once, and what the agent could know of it: by the commands' own notes, which no
//! kill can lose, and by the session files, which are only ever added to.

use crate::harness::Stage;
use crate::tidy;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Each step with the place of its call in the script.
const STEPS: [(&str, &str); 4] = [("one", "1_0"), ("two", "2_0"), ("three", "2_1"), ("four", "3_0")];
/// How the agent words a call that did not run to its end.
const INTERRUPTED: &[&str] =
    &["[Tool call interrupted", "The user doesn't want to", "Exit code 137", "Exit code 143"];

/// Calls that were made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// Although their result was in the session.
    pub completed: u64,
    /// The agent was told that they were made: by its prompt, or by a result that says they were interrupted.
    pub named: u64,
    /// And nobody told the agent.
    pub unnamed: u64,
}

/// What of the work on this stage was called again.
pub fn repeated(stage: &Stage) -> Repeated {
    let notes = fs::read_to_string(stage.folder().join("calls")).unwrap_or_default();
    let rows = rows(stage);
    let mut repeated = Repeated::default();
    for (step, place) in STEPS {
        let again = (notes.lines().filter(|note| *note == step).count() as u64).saturating_sub(1);
        match known(&rows, step, place) {
            Known::Completed => repeated.completed += again,
            Known::Named => repeated.named += again,
            Known::Nothing => repeated.unnamed += again,
        }
    }
    repeated
}

/// What a session said of a call before it was made for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Completed,
    Named,
    Nothing,
}

fn known(rows: &[Value], step: &str, place: &str) -> Known {
    let mut known = Known::Nothing;
    let mut at_last_call = Known::Nothing;
    for block in rows.iter().flat_map(blocks) {
        let id = |key: &str| block[key].as_str().and_then(|id| id.strip_prefix("toolu_drill_"));
        let is_of_step = |key: &str| id(key).is_some_and(|id| id.starts_with(place));
        if is_of_step("id") {
            at_last_call = known;
        } else if is_of_step("tool_use_id") {
            let was_interrupted = INTERRUPTED.iter().any(|words| text(&block["content"]).starts_with(words));
            known = if was_interrupted { Known::Named } else { Known::Completed };
        } else if known == Known::Nothing
            && text(&block["text"]).contains(&format!("echo {step} >> ../calls"))
        {
            known = Known::Named;
        }
    }
    at_last_call
}

/// The rows of all session files, the oldest file first.
fn rows(stage: &Stage) -> Vec<Value> {
    let mut files = session_files(stage);
    files.sort_by_key(|file| fs::metadata(file).and_then(|found| found.modified()).ok());
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default();
    let texts: Vec<String> = files.iter().map(read).collect();
    texts.iter().flat_map(|text| text.lines()).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The blocks of a row's message; a text is a block of its own.
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

/// How many rows are followed by two messages of the model. Two processes that resume a session at once make its file such
/// a tree. (The rows of one message and the results of its calls branch in any session.)
pub fn branches(stage: &Stage) -> u64 {
    let mut branches = 0;
    for file in session_files(stage) {
        let text = fs::read_to_string(file).expect("a session is text");
        let mut followed_by: BTreeMap<String, String> = BTreeMap::new();
        for row in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let (Some(parent), Some(message)) = (row["parentUuid"].as_str(), row["message"]["id"].as_str())
            {
                let first = followed_by.entry(parent.to_owned()).or_insert_with(|| message.to_owned());
                branches += u64::from(first != message);
            }
        }
    }
    branches
}

fn session_files(stage: &Stage) -> Vec<PathBuf> {
    let files = tidy::everything(&stage.user_home()).into_iter();
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

/// A check that cannot fail proves nothing.
#[test]
fn what_is_called_again_is_seen() {
    let prompt = |text: &str| serde_json::json!({"message": {"content": text}});
    let call =
        || serde_json::json!({"message": {"content": [{"type": "tool_use", "id": "toolu_drill_2_0"}]}});
    let result = |text: &str| {
        let content =
            serde_json::json!([{"type": "tool_result", "tool_use_id": "toolu_drill_2_0", "content": text}]);
        serde_json::json!({"message": {"content": content}})
    };
    let check = |rows: &[Value], expected: Known| assert_eq!(known(rows, "two", "2_0"), expected);
    let named = "The work was interrupted. Check: `echo two >> ../calls`";
    check(&[prompt("p"), call(), result("")], Known::Nothing);
    check(&[prompt("p"), call(), prompt("go on"), call()], Known::Nothing);
    check(&[prompt("p"), call(), prompt(named), call(), result("")], Known::Named);
    check(&[prompt("p"), call(), result("[Tool call interrupted: x"), call(), result("")], Known::Named);
    check(&[prompt("p"), call(), result(""), prompt("go on"), call(), result("")], Known::Completed);

    let stage = Stage::new();
    stage.file("calls", "one\ntwo\ntwo\n");
    assert_eq!(repeated(&stage), Repeated { unnamed: 1, ..Repeated::default() });
}
