//! Which turn a request is for, read from the conversation it carries. There is no counter: retries, resumes and
//! synthetic messages repeat requests, and only the conversation tells them apart.

use serde_json::Value;

/// How the agent words a tool call that did not run to its end. A model would look, and run it again; so does the script.
/// Seen with Claude Code 2.1.330.
const INTERRUPTED: &[&str] = &[
    "[Tool call interrupted:",
    "[Tool result missing due to internal error]",
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Exit code 137",
    "Exit code 143",
];

/// What a request asks the script for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptPosition {
    /// The turn to serve, from 1.
    pub(super) turn: u32,
    /// How often this turn has been served before; it makes the ids of its tool calls new.
    pub(super) repeat: u32,
    /// Which of its calls have their results already, one bit each: they are not made again.
    pub(super) done: u64,
}

impl ScriptPosition {
    /// Whether the call at this place among the turn's has its result.
    pub(super) fn is_done(self, index: usize) -> bool {
        index < 64 && self.done >> index & 1 == 1
    }
}

/// The id of a scripted tool call.
pub(super) fn tool_id(place: ScriptPosition, index: usize) -> String {
    let ScriptPosition { turn, repeat, done: _ } = place;
    if repeat == 0 {
        format!("toolu_drill_{turn}_{index}")
    } else {
        format!("toolu_drill_{turn}_{index}_r{repeat}")
    }
}

/// The turn to serve after `messages`, in a script of `turns` turns: one more than the last turn with results, or that
/// turn again, without the calls that were not, if one of its calls was interrupted; the final turn for whatever comes
/// after it.
pub(super) fn place(messages: &Value, turns: u32) -> ScriptPosition {
    let mut last = ScriptPosition { turn: 0, repeat: 0, done: 0 };
    let mut interrupted = false;
    let mut called = Vec::new();
    for block in blocks(messages) {
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => called.extend(scripted(block.get("id")).map(|(call, _)| call)),
            Some("tool_result") => {
                let Some((result, index)) = scripted(block.get("tool_use_id")) else { continue };
                let newer = (result.turn, result.repeat) > (last.turn, last.repeat);
                if newer {
                    let done = if result.turn == last.turn { last.done } else { 0 };
                    (last, interrupted) = (ScriptPosition { done, ..result }, false);
                }
                if (result.turn, result.repeat) == (last.turn, last.repeat) {
                    if was_interrupted(block.get("content")) {
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
    let repeat =
        called.iter().filter(|call| call.turn == turn).map(|call| call.repeat + 1).max().unwrap_or(0);
    ScriptPosition { turn, repeat, done: if interrupted { last.done } else { 0 } }
}

/// What the prompts of the conversation say, without what the agent's program says between the model's messages.
pub(super) fn prompt_text(messages: &Value) -> String {
    texts(messages, "user")
}

/// What the agent's program says to the model between the prompts, as what a hook adds (Claude Code 2.1.330).
pub(super) fn notes_text(messages: &Value) -> String {
    texts(messages, "system")
}

fn texts(messages: &Value, role: &str) -> String {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let said = messages.iter().filter(|message| message["role"] == role).map(|message| &message["content"]);
    let texts = said.flat_map(|content| match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Which of the replies to these prompts is asked for, and which of its turns, from 0; nothing where the last prompt is
/// none of them. One turn of it is over for each message of the model's since.
pub(super) fn reply(messages: &Value, to: &[&str]) -> Option<(usize, usize)> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut received = vec![0_usize; to.len()];
    let mut asked = None;
    let mut since = 0;
    for message in messages {
        if message["role"] == "assistant" {
            since += 1;
        }
        for prompt in prompts(message) {
            // The first of those to the same words that has not been used, or the last of them.
            let mut fitting = (0..to.len()).filter(|place| prompt.contains(to[*place]));
            let last = fitting.clone().next_back();
            asked = fitting.find(|place| received[*place] == 0).or(last);
            if let Some(place) = asked {
                received[place] += 1;
            }
            since = 0;
        }
    }
    asked.map(|place| (place, since))
}

/// The prompts in a message: what neither a tool nor the agent's program says.
fn prompts(message: &Value) -> Vec<&str> {
    if message["role"] != "user" {
        return Vec::new();
    }
    let texts = match &message["content"] {
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    };
    let ours = |text: &&str| !text.trim().is_empty() && !text.trim_start().starts_with(['<', '[']);
    texts.into_iter().filter(ours).collect()
}

fn blocks(messages: &Value) -> impl Iterator<Item = &Value> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter_map(|message| message.get("content")?.as_array()).flatten()
}

/// The place that a scripted tool id names, and which of its calls it is; `None` for any other.
fn scripted(id: Option<&Value>) -> Option<(ScriptPosition, u32)> {
    let mut parts = id?.as_str()?.strip_prefix("toolu_drill_")?.split('_');
    let turn = parts.next()?.parse().ok()?;
    let index = parts.next()?.parse().ok()?;
    let repeat = parts.next().and_then(|part| part.strip_prefix('r')?.parse().ok()).unwrap_or(0);
    Some((ScriptPosition { turn, repeat, done: 0 }, index))
}

fn was_interrupted(content: Option<&Value>) -> bool {
    let text = match content {
        Some(Value::String(text)) => text.as_str(),
        Some(Value::Array(parts)) => {
            parts.iter().find_map(|part| part.get("text").and_then(Value::as_str)).unwrap_or_default()
        }
        _ => return false,
    };
    INTERRUPTED.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(messages: Value, turn: u32, repeat: u32) {
        assert_eq!(place(&messages, 3), ScriptPosition { turn, repeat, done: 0 }, "{messages}");
    }

    fn call(id: &str) -> Value {
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
    }

    #[test]
    fn a_later_prompt_is_answered_by_its_reply() {
        let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let model = json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]});
        let check = |messages: Value, expected: Option<(usize, usize)>| {
            assert_eq!(reply(&messages, &["save", "go on", "go on"]), expected, "{messages}");
        };
        check(json!([user("Do it.")]), None);
        check(json!([user("Do it."), user("Now save it.")]), Some((0, 0)));
        check(json!([user("Do it."), user("Now save it."), model]), Some((0, 1)));
        check(json!([user("save"), model, user("<system-reminder>x</system-reminder>")]), Some((0, 1)));
        check(json!([user("save"), model, user("Continue with the task.")]), None);
        check(json!([user("go on"), model, user("go on")]), Some((2, 0)));
        check(json!([user("go on"), model, user("go on"), model, user("go on")]), Some((2, 0)));
    }

    #[test]
    fn the_turn_follows_from_the_results_present() {
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
    fn what_prompts_say_is_told() {
        let parts = json!({"role": "user", "content": [{"type": "text", "text": "Outcome unknown: `make`"}]});
        let said = json!({"role": "assistant", "content": [{"type": "text", "text": "I shall `rm`"}]});
        let messages = json!([{"role": "user", "content": "Build it."}, said, parts, result("a", "`ls`")]);
        assert_eq!(prompt_text(&messages), "Build it.\nOutcome unknown: `make`");
    }

    #[test]
    fn a_call_that_has_its_result_is_not_made_again() {
        let cut = "[Tool call interrupted: x";
        let first =
            [call("toolu_drill_2_0"), result("toolu_drill_2_0", "ok"), result("toolu_drill_2_1", cut)]
                .to_vec();
        let again = place(&json!(first), 3);
        assert_eq!(again, ScriptPosition { turn: 2, repeat: 1, done: 1 });
        assert!(again.is_done(0) && !again.is_done(1) && !again.is_done(64));
        let second = [call("toolu_drill_2_1_r1"), result("toolu_drill_2_1_r1", cut)].to_vec();
        assert_eq!(
            place(&json!([first.clone(), second].concat()), 3),
            ScriptPosition { turn: 2, repeat: 2, done: 1 }
        );
        let second = [call("toolu_drill_2_1_r1"), result("toolu_drill_2_1_r1", "ok")].to_vec();
        assert_eq!(
            place(&json!([first, second].concat()), 3),
            ScriptPosition { turn: 3, repeat: 0, done: 0 }
        );
    }
}
