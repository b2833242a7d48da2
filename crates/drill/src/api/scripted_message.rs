//! A scripted message: as the list of SSE events that carry it and as one JSON object. It is built whole, before
//! anything is sent, so that what to cut and what it costs are known.

use serde_json::{Value, json};

use super::conversation::{ScriptPosition, tool_id};
use crate::price::Tokens;
use crate::rng::Rng;
use crate::scenario::{Tool, Turn};

/// Characters per token, about what English has.
const CHARS_PER_TOKEN: u64 = 4;
/// By how much of it a command is known; those of a scenario differ earlier.
const NAMED_CHARS: usize = 32;

/// A message, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct ScriptedMessage {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) content: Vec<Value>,
    pub(super) stop_reason: String,
    /// The whole message's tokens.
    pub(super) tokens: Tokens,
}

/// One SSE event.
#[derive(Debug, Clone)]
pub(super) struct SseEvent {
    pub(super) name: &'static str,
    pub(super) data: Value,
    /// The part of the message's characters that this event carries, for the account of a cut one.
    pub(super) chars: u64,
}

impl SseEvent {
    fn new(name: &'static str, data: Value) -> Self {
        Self { name, data, chars: 0 }
    }

    /// What keeps a client waiting without telling it anything.
    pub(super) fn ping() -> Self {
        Self::new("ping", json!({"type": "ping"}))
    }

    pub(super) fn error(kind: &str, message: &str) -> Self {
        Self::new("error", json!({"type": "error", "error": {"type": kind, "message": message}}))
    }

    /// The event as it goes over the wire.
    pub(super) fn wire(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.name, self.data)
    }
}

/// The content of a turn: its text, then its tools but those that have their results. `told` is what the prompts say.
pub(super) fn content(turn: &Turn, place: ScriptPosition, told: &str) -> Vec<Value> {
    let text =
        turn.text.iter().filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
    let tools =
        turn.tools.iter().enumerate().filter(|(index, _)| !place.is_done(*index)).map(|(index, tool)| {
            let (name, input) = call(tool, |command| place.repeat > 0 || names(told, command));
            json!({"type": "tool_use", "id": tool_id(place, index), "name": name, "input": input})
        });
    text.chain(tools).collect()
}

/// Whether prompts name a command: lists of commands quote the beginning of each.
fn names(told: &str, command: &str) -> bool {
    let beginning: String = command.chars().take(NAMED_CHARS).collect();
    told.contains(&beginning)
}

/// A tool call by the agent's name for the tool and with its input. `perhaps_run` tells of commands that may have been
/// run already.
fn call(tool: &Tool, perhaps_run: impl Fn(&str) -> bool) -> (&str, Value) {
    match tool {
        Tool::Write { path, content } => ("Write", json!({"file_path": path, "content": content})),
        Tool::Edit { path, old, new } => {
            ("Edit", json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false}))
        }
        Tool::Read { path } => ("Read", json!({"file_path": path})),
        Tool::Bash { command, unless, run_in_background } => {
            let command = match unless {
                Some(unless) if perhaps_run(command) => format!("{unless} || {{ {command}; }}"),
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
            let asked =
                json!({"question": question, "header": "Drill", "options": options, "multiSelect": multiple});
            ("AskUserQuestion", json!({"questions": [asked]}))
        }
        Tool::Call { name, input } => (name, input.clone()),
    }
}

/// The output tokens of a message with this content.
pub(super) fn output_tokens(content: &[Value]) -> u64 {
    (content.iter().map(block_chars).sum::<u64>() / CHARS_PER_TOKEN).max(1)
}

fn block_chars(block: &Value) -> u64 {
    let text = block.get("text").and_then(Value::as_str).map_or(0, |text| text.chars().count());
    let input = block.get("input").map_or(0, |input| input.to_string().chars().count());
    (text + input) as u64
}

impl ScriptedMessage {
    /// The message as one JSON object.
    pub(super) fn json(&self) -> Value {
        let mut message = self.head();
        message["content"] = json!(self.content);
        message["stop_reason"] = json!(self.stop_reason);
        message["usage"] = usage(&self.tokens);
        message
    }

    /// The message as SSE events; the dice choose where the text is split.
    pub(super) fn events(&self, rng: &mut Rng) -> Vec<SseEvent> {
        let mut head = self.head();
        head["usage"] = usage(&Tokens { output: 1, ..self.tokens });
        let mut events =
            vec![SseEvent::new("message_start", json!({"type": "message_start", "message": head}))];
        for (index, block) in self.content.iter().enumerate() {
            let (start, kind, field, text) = opened(block);
            events.push(SseEvent::new(
                "content_block_start",
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            ));
            if index == 0 {
                events.push(SseEvent::ping());
            }
            for piece in pieces(&text, rng) {
                let mut delta = json!({"type": kind});
                delta[field] = json!(piece);
                let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
                let chars = piece.chars().count() as u64;
                events.push(SseEvent { chars, ..SseEvent::new("content_block_delta", data) });
            }
            events.push(SseEvent::new(
                "content_block_stop",
                json!({"type": "content_block_stop", "index": index}),
            ));
        }
        let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
        events.push(SseEvent::new(
            "message_delta",
            json!({"type": "message_delta", "delta": delta, "usage": usage(&self.tokens)}),
        ));
        events.push(SseEvent::new("message_stop", json!({"type": "message_stop"})));
        events
    }

    /// The output sent when `chars` of the message's characters have been: its share, but never none, since the start
    /// of a message announces one token.
    pub(super) fn output_sent(&self, chars: u64) -> u64 {
        let whole = self.content.iter().map(block_chars).sum::<u64>().max(1);
        (self.tokens.output * chars.min(whole) / whole).max(1)
    }

    fn head(&self) -> Value {
        json!({"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": null})
    }
}

/// The start of a block, the kind and field of its deltas, and the text these carry.
fn opened(block: &Value) -> (Value, &'static str, &'static str, String) {
    if block["type"] == "tool_use" {
        let mut start = block.clone();
        start["input"] = json!({});
        (start, "input_json_delta", "partial_json", block["input"].to_string())
    } else {
        let text = block["text"].as_str().unwrap_or_default().to_owned();
        (json!({"type": "text", "text": ""}), "text_delta", "text", text)
    }
}

/// `text` in pieces of 8 to 23 characters, and in at least two, so that there is a middle to cut at.
fn pieces(text: &str, rng: &mut Rng) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let longest = (chars.len().div_ceil(2)).max(1);
    let mut pieces = Vec::new();
    let mut rest = chars.as_slice();
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(rest.len().min(longest).min(8 + rng.below(16) as usize));
        pieces.push(piece.iter().collect());
        rest = others;
    }
    pieces
}

fn usage(tokens: &Tokens) -> Value {
    json!({"input_tokens": tokens.input, "cache_creation_input_tokens": tokens.cache_creation,
        "cache_read_input_tokens": tokens.cache_read, "output_tokens": tokens.output, "service_tier": "standard"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_may_have_been_run_is_looked_for_first() {
        let turn: Turn = toml::from_str(
            "tools = [{ bash = { command = \"make; echo made >> log\", unless = \"grep -q made log\" } }]",
        )
        .expect("a turn");
        let command = |repeat, told: &str| {
            let place = ScriptPosition { turn: 1, repeat, done: 0 };
            content(&turn, place, told)[0]["input"]["command"].clone()
        };
        let looks = "grep -q made log || { make; echo made >> log; }";
        assert_eq!(command(0, "Build it."), "make; echo made >> log");
        assert_eq!(command(1, "Build it."), looks);
        assert_eq!(command(0, "Outcome unknown, check first:\n- `make; echo made >> log`"), looks);
    }

    #[test]
    fn the_events_carry_every_character_once() {
        let content = vec![
            json!({"type": "text", "text": "Grüße, and a longer text that is split"}),
            json!({"type": "tool_use", "id": "toolu_drill_1_0", "name": "Bash", "input": {"command": "true"}}),
        ];
        let tokens = Tokens { output: output_tokens(&content), ..Tokens::default() };
        let answer = ScriptedMessage {
            id: "m".into(),
            model: "x".into(),
            content,
            stop_reason: "tool_use".into(),
            tokens,
        };
        let events = answer.events(&mut Rng::new(1));
        let sent: u64 = events.iter().map(|event| event.chars).sum();
        assert_eq!(answer.output_sent(sent), tokens.output);
        assert_eq!(answer.output_sent(0), 1);
        let text: String = events.iter().filter_map(|event| event.data["delta"]["text"].as_str()).collect();
        assert_eq!(text, "Grüße, and a longer text that is split");
        assert_eq!(events.last().map(|event| event.name), Some("message_stop"));
    }
}
