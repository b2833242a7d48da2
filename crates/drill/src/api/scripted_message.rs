//! Builds a scripted message, as a list of SSE events and as one JSON object. It is complete before anything
//! is sent, so that the cut and the cost are known.

use serde_json::{Value, json};

use super::conversation::{ScriptPosition, tool_id};
use crate::rng::Rng;
use crate::scenario::{Tool, Turn};
use longhaul_core::Tokens;

/// Characters per token. Four is roughly right for English.
const CHARS_PER_TOKEN: u64 = 4;
/// Length of the prefix that identifies a command. The commands of a scenario differ within it.
const COMMAND_PREFIX_CHARS: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct ScriptedMessage {
    pub id: String,
    pub model: String,
    pub content: Vec<Value>,
    pub stop_reason: &'static str,
    pub tokens: Tokens,
}

#[derive(Debug, Clone)]
pub(super) struct SseEvent {
    pub data: Value,
    /// Characters of the message that this event carries. They determine the bill of a truncated message.
    pub chars: u64,
}

impl SseEvent {
    fn new(data: Value) -> Self {
        Self { data, chars: 0 }
    }

    pub(super) fn ping() -> Self {
        Self::new(json!({"type": "ping"}))
    }

    pub(super) fn name(&self) -> &str {
        self.data["type"].as_str().unwrap_or_default()
    }

    pub(super) fn wire(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.name(), self.data)
    }
}

/// Returns the content of a turn: its text, then its tool calls without a result. `prompts` is the text of
/// the prompts.
pub(super) fn content(turn: &Turn, position: ScriptPosition, prompts: &str) -> Vec<Value> {
    let text =
        turn.text.iter().filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
    let tools =
        turn.tools.iter().enumerate().filter(|(index, _)| !position.is_done(*index)).map(|(index, tool)| {
            let (name, input) = call(tool, |command| position.repeat > 0 || mentions(prompts, command));
            json!({"type": "tool_use", "id": tool_id(position, index), "name": name, "input": input})
        });
    text.chain(tools).collect()
}

/// Returns whether the prompts mention a command. A prompt that lists commands quotes the start of each.
fn mentions(prompts: &str, command: &str) -> bool {
    let prefix: String = command.chars().take(COMMAND_PREFIX_CHARS).collect();
    prompts.contains(&prefix)
}

/// Returns a tool call: the agent's name of the tool and the input. `may_have_run` reports whether a command
/// may have run already.
fn call(tool: &Tool, may_have_run: impl Fn(&str) -> bool) -> (&str, Value) {
    match tool {
        Tool::Write { path, content } => ("Write", json!({"file_path": path, "content": content})),
        Tool::Edit { path, old, new } => {
            ("Edit", json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false}))
        }
        Tool::Read { path } => ("Read", json!({"file_path": path})),
        Tool::Bash { command, unless, run_in_background } => {
            let command = match unless {
                Some(unless) if may_have_run(command) => format!("{unless} || {{ {command}; }}"),
                _ => command.clone(),
            };
            let mut input = json!({"command": command, "description": "Run a step of the drill"});
            if *run_in_background {
                input["run_in_background"] = json!(true);
            }
            ("Bash", input)
        }
        Tool::AskUser { question, options, multiple } => {
            let options: Vec<Value> = options
                .iter()
                .map(|label| json!({"label": label, "description": format!("Take {label}")}))
                .collect();
            let question =
                json!({"question": question, "header": "Drill", "options": options, "multiSelect": multiple});
            ("AskUserQuestion", json!({"questions": [question]}))
        }
        Tool::Call { name, input } => (name, input.clone()),
    }
}

pub(super) fn output_tokens(content: &[Value]) -> u64 {
    (content.iter().map(block_chars).sum::<u64>() / CHARS_PER_TOKEN).max(1)
}

fn block_chars(block: &Value) -> u64 {
    let text = block.get("text").and_then(Value::as_str).map_or(0, |text| text.chars().count());
    let input = block.get("input").map_or(0, |input| input.to_string().chars().count());
    (text + input) as u64
}

impl ScriptedMessage {
    pub(super) fn json(&self) -> Value {
        let mut message = self.head();
        message["content"] = json!(self.content);
        message["stop_reason"] = json!(self.stop_reason);
        message["usage"] = usage(&self.tokens);
        message
    }

    /// Returns the message as SSE events. `rng` chooses where the text is split.
    pub(super) fn events(&self, rng: &mut Rng) -> Vec<SseEvent> {
        let mut head = self.head();
        head["usage"] = usage(&Tokens { output: 1, ..self.tokens });
        let mut events = vec![SseEvent::new(json!({"type": "message_start", "message": head}))];
        for (index, block) in self.content.iter().enumerate() {
            let (start, kind, field, text) = block_parts(block);
            events.push(SseEvent::new(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            ));
            if index == 0 {
                events.push(SseEvent::ping());
            }
            for piece in pieces(&text, rng) {
                let delta = json!({"type": kind, field: piece});
                let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
                events.push(SseEvent { data, chars: piece.chars().count() as u64 });
            }
            events.push(SseEvent::new(json!({"type": "content_block_stop", "index": index})));
        }
        let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
        let usage = usage(&self.tokens);
        events.push(SseEvent::new(json!({"type": "message_delta", "delta": delta, "usage": usage})));
        events.push(SseEvent::new(json!({"type": "message_stop"})));
        events
    }

    /// Returns the output tokens sent with the first `chars` characters of the message. The minimum is 1,
    /// because the start of a message announces one token.
    pub(super) fn output_sent(&self, chars: u64) -> u64 {
        let whole = self.content.iter().map(block_chars).sum::<u64>().max(1);
        (self.tokens.output * chars.min(whole) / whole).max(1)
    }

    fn head(&self) -> Value {
        json!({"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": null})
    }
}

/// Returns the start of a block, the kind and field of its deltas, and the text that the deltas carry.
fn block_parts(block: &Value) -> (Value, &'static str, &'static str, String) {
    if block["type"] == "tool_use" {
        let mut start = block.clone();
        start["input"] = json!({});
        (start, "input_json_delta", "partial_json", block["input"].to_string())
    } else {
        let text = block["text"].as_str().unwrap_or_default().to_owned();
        (json!({"type": "text", "text": ""}), "text_delta", "text", text)
    }
}

/// Splits `text` into pieces of 8 to 23 characters. There are at least two, so that there is a middle to cut
/// at.
fn pieces(text: &str, rng: &mut Rng) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let piece_chars_max = (chars.len().div_ceil(2)).max(1);
    let mut pieces = Vec::new();
    let mut rest = chars.as_slice();
    while !rest.is_empty() {
        let (piece, rest_of_text) =
            rest.split_at(rest.len().min(piece_chars_max).min(8 + rng.below(16) as usize));
        pieces.push(piece.iter().collect());
        rest = rest_of_text;
    }
    pieces
}

fn usage(tokens: &Tokens) -> Value {
    json!({"input_tokens": tokens.input, "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read, "output_tokens": tokens.output, "service_tier": "standard"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_command_checks_for_earlier_execution() {
        let turn: Turn = toml::from_str(
            "tools = [{ bash = { command = \"make; echo made >> log\", unless = \"grep -q made log\" } }]",
        )
        .expect("a turn");
        let command = |repeat, prompts: &str| {
            let position = ScriptPosition { turn: 1, repeat, done: 0 };
            content(&turn, position, prompts)[0]["input"]["command"].clone()
        };
        let checked_first = "grep -q made log || { make; echo made >> log; }";
        assert_eq!(command(0, "Build it."), "make; echo made >> log");
        assert_eq!(command(1, "Build it."), checked_first);
        assert_eq!(command(0, "Outcome unknown, check first:\n- `make; echo made >> log`"), checked_first);
    }

    #[test]
    fn events_carry_every_character_once() {
        let content = vec![
            json!({"type": "text", "text": "Grüße, and a longer text that is split"}),
            json!({"type": "tool_use", "id": "toolu_drill_1_0", "name": "Bash", "input": {"command": "true"}}),
        ];
        let tokens = Tokens { output: output_tokens(&content), ..Tokens::default() };
        let answer =
            ScriptedMessage { id: "m".into(), model: "x".into(), content, stop_reason: "tool_use", tokens };
        let events = answer.events(&mut Rng::new(1));
        let sent: u64 = events.iter().map(|event| event.chars).sum();
        assert_eq!(answer.output_sent(sent), tokens.output);
        assert_eq!(answer.output_sent(0), 1);
        let text: String = events.iter().filter_map(|event| event.data["delta"]["text"].as_str()).collect();
        assert_eq!(text, "Grüße, and a longer text that is split");
        assert_eq!(events.last().map(SseEvent::name), Some("message_stop"));
    }
}
