//! Determines the turn that a request is for, from the conversation that the request carries. It never counts
//! requests: retries, resumes and synthetic messages repeat them.

use serde_json::Value;

/// The start of the agent's results for a tool call that did not finish. A model would inspect the result and
/// repeat the call. The script repeats it, too. Observed with Claude Code 2.1.330.
const INTERRUPTED: &[&str] = &[
    "[Tool call interrupted:",
    "[Tool result missing due to internal error]",
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Exit code 137",
    "Exit code 143",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptPosition {
    /// The turn to serve, starting at 1.
    pub turn: u32,
    /// How often this turn was served before. It makes the ids of the turn's tool calls unique.
    pub repeat: u32,
    /// Bit set of the turn's calls that already have a result. They are not made again.
    pub done: u64,
}

impl ScriptPosition {
    /// Returns whether the turn's call with this index has a result.
    pub(super) fn is_done(self, index: usize) -> bool {
        index < 64 && self.done >> index & 1 == 1
    }
}

pub(super) fn tool_id(position: ScriptPosition, index: usize) -> String {
    let ScriptPosition { turn, repeat, done: _ } = position;
    if repeat == 0 {
        format!("toolu_drill_{turn}_{index}")
    } else {
        format!("toolu_drill_{turn}_{index}_r{repeat}")
    }
}

/// Returns the position to serve after `messages`, in a script of `turns` turns.
///
/// It is the turn after the last one with results. If a call of that turn was interrupted, the turn is
/// repeated without its finished calls. After the last turn, the last turn is served again.
pub(super) fn next_position(messages: &Value, turns: u32) -> ScriptPosition {
    let mut last = ScriptPosition { turn: 0, repeat: 0, done: 0 };
    let mut interrupted = false;
    let mut calls = Vec::new();
    for block in blocks(messages) {
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => calls.extend(parse_tool_id(block.get("id")).map(|(call, _)| call)),
            Some("tool_result") => {
                let Some((result, index)) = parse_tool_id(block.get("tool_use_id")) else { continue };
                let is_newer = (result.turn, result.repeat) > (last.turn, last.repeat);
                if is_newer {
                    let done = if result.turn == last.turn { last.done } else { 0 };
                    (last, interrupted) = (ScriptPosition { done, ..result }, false);
                }
                if (result.turn, result.repeat) == (last.turn, last.repeat) {
                    if was_interrupted(&block["content"]) {
                        interrupted = true;
                    } else {
                        last.done |= 1_u64.checked_shl(index).unwrap_or(0);
                    }
                }
            }
            _ => {}
        }
    }
    let turn = if interrupted { last.turn } else { last.turn + 1 }.min(turns);
    let repeat = calls.iter().filter(|call| call.turn == turn).map(|call| call.repeat + 1).max().unwrap_or(0);
    ScriptPosition { turn, repeat, done: if interrupted { last.done } else { 0 } }
}

/// Returns the text of the conversation's prompts, without the notes that the agent adds between messages.
pub(super) fn prompt_text(messages: &Value) -> String {
    texts(messages, "user")
}

/// Returns the notes that the agent adds between prompts, such as the output of a hook (Claude Code 2.1.330).
pub(super) fn notes_text(messages: &Value) -> String {
    texts(messages, "system")
}

fn texts(messages: &Value, role: &str) -> String {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = messages.iter().filter(|message| message["role"] == role);
    messages.flat_map(|message| content_texts(&message["content"])).collect::<Vec<_>>().join("\n")
}

fn content_texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the index of the reply that the last prompt selects, and the index of its turn. Returns `None` if
/// no reply matches the last prompt. Each later message of the model completes one turn of the reply.
pub(super) fn reply(messages: &Value, patterns: &[&str]) -> Option<(usize, usize)> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut received = vec![0_usize; patterns.len()];
    let mut selected = None;
    let mut turns_since = 0;
    for message in messages {
        if message["role"] == "assistant" {
            turns_since += 1;
        }
        for prompt in prompts(message) {
            // The first unused reply whose text matches, or the last one that matches.
            let mut matching = (0..patterns.len()).filter(|index| prompt.contains(patterns[*index]));
            let last = matching.clone().next_back();
            selected = matching.find(|index| received[*index] == 0).or(last);
            if let Some(index) = selected {
                received[index] += 1;
            }
            turns_since = 0;
        }
    }
    selected.map(|index| (index, turns_since))
}

/// Returns the user's prompts in a message: texts that neither a tool nor the agent produced.
fn prompts(message: &Value) -> Vec<&str> {
    if message["role"] != "user" {
        return Vec::new();
    }
    let is_prompt = |text: &&str| !text.trim().is_empty() && !text.trim_start().starts_with(['<', '[']);
    content_texts(&message["content"]).into_iter().filter(is_prompt).collect()
}

fn blocks(messages: &Value) -> impl Iterator<Item = &Value> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter_map(|message| message.get("content")?.as_array()).flatten()
}

/// Parses the id of a scripted tool call into its position and its index. Returns `None` for other ids.
fn parse_tool_id(id: Option<&Value>) -> Option<(ScriptPosition, u32)> {
    let mut parts = id?.as_str()?.strip_prefix("toolu_drill_")?.split('_');
    let turn = parts.next()?.parse().ok()?;
    let index = parts.next()?.parse().ok()?;
    let repeat = parts.next().and_then(|part| part.strip_prefix('r')?.parse().ok()).unwrap_or(0);
    Some((ScriptPosition { turn, repeat, done: 0 }, index))
}

fn was_interrupted(content: &Value) -> bool {
    let text = content_texts(content).first().copied().unwrap_or_default();
    INTERRUPTED.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(messages: Value, turn: u32, repeat: u32) {
        assert_eq!(next_position(&messages, 3), ScriptPosition { turn, repeat, done: 0 }, "{messages}");
    }

    fn call(id: &str) -> Value {
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
    }

    #[test]
    fn reply_answers_later_prompt() {
        let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let model = json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]});
        let check = |messages: Value, expected: Option<(usize, usize)>| {
            assert_eq!(reply(&messages, &["save", "continue", "continue"]), expected, "{messages}");
        };
        check(json!([user("Do it.")]), None);
        check(json!([user("Do it."), user("Now save it.")]), Some((0, 0)));
        check(json!([user("Do it."), user("Now save it."), model]), Some((0, 1)));
        check(json!([user("save"), model, user("<system-reminder>x</system-reminder>")]), Some((0, 1)));
        check(json!([user("save"), model, user("Continue with the task.")]), None);
        check(json!([user("continue"), model, user("continue")]), Some((2, 0)));
        check(json!([user("continue"), model, user("continue"), model, user("continue")]), Some((2, 0)));
    }

    #[test]
    fn existing_results_determine_the_turn() {
        let prompt = json!({"role": "user", "content": "go"});
        check(json!([prompt]), 1, 0);
        check(json!([prompt, call("toolu_drill_1_0"), result("toolu_drill_1_0", "ok")]), 2, 0);
        check(json!([call("toolu_drill_1_0"), result("toolu_drill_1_0", "[Tool call interrupted: x")]), 1, 1);
        check(json!([call("toolu_drill_1_0_r1"), result("toolu_drill_1_0_r1", "Exit code 137")]), 1, 2);
        check(json!([call("toolu_drill_2_1"), result("toolu_drill_2_1", "ok"), prompt]), 3, 0);
        check(json!([call("toolu_drill_3_1"), result("toolu_drill_3_1", "ok"), prompt]), 3, 1);
        check(json!([call("toolu_other"), result("toolu_other", "ok")]), 1, 0);
        check(json!("nonsense"), 1, 0);
    }

    #[test]
    fn prompt_text_contains_only_prompts() {
        let parts = json!({"role": "user", "content": [{"type": "text", "text": "Outcome unknown: `make`"}]});
        let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "I shall `rm`"}]});
        let messages = json!([{"role": "user", "content": "Build it."}, answer, parts, result("a", "`ls`")]);
        assert_eq!(prompt_text(&messages), "Build it.\nOutcome unknown: `make`");
    }

    #[test]
    fn finished_call_is_not_repeated() {
        let interruption = "[Tool call interrupted: x";
        let first = [
            call("toolu_drill_2_0"),
            result("toolu_drill_2_0", "ok"),
            result("toolu_drill_2_1", interruption),
        ]
        .to_vec();
        let repeated = next_position(&json!(first), 3);
        assert_eq!(repeated, ScriptPosition { turn: 2, repeat: 1, done: 1 });
        assert!(repeated.is_done(0) && !repeated.is_done(1) && !repeated.is_done(64));
        let second = [call("toolu_drill_2_1_r1"), result("toolu_drill_2_1_r1", interruption)].to_vec();
        assert_eq!(
            next_position(&json!([first.clone(), second].concat()), 3),
            ScriptPosition { turn: 2, repeat: 2, done: 1 }
        );
        let second = [call("toolu_drill_2_1_r1"), result("toolu_drill_2_1_r1", "ok")].to_vec();
        assert_eq!(
            next_position(&json!([first, second].concat()), 3),
            ScriptPosition { turn: 3, repeat: 0, done: 0 }
        );
    }
}
