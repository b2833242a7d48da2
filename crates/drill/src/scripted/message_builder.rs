//! Assembles a message from its stream, including an incomplete one.

use serde_json::{Value, json};

use longhaul_core::Tokens;

#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    pub id: String,
    /// The message as `message_start` announced it: without content, with its usage.
    pub head: Value,
    pub blocks: Vec<Value>,
    /// The incomplete block, and its text so far.
    open: Option<(Value, String)>,
    pub stop_reason: Option<String>,
    pub usage: Value,
    /// Whether the final usage arrived. It completes the message, even without `message_stop`.
    pub complete: bool,
}

impl Message {
    pub(super) fn from_json(mut body: Value) -> Option<Self> {
        let blocks = body["content"].as_array()?.clone();
        let stop_reason = body["stop_reason"].as_str().map(str::to_owned);
        let id = body["id"].as_str()?.to_owned();
        let usage = body["usage"].clone();
        body["content"] = json!([]);
        Some(Self { id, head: body, blocks, open: None, stop_reason, usage, complete: true })
    }

    /// Applies one event. Returns the block that it completed, if any.
    pub(super) fn feed(&mut self, event: &Value) -> Option<Value> {
        match event["type"].as_str()? {
            "message_start" => {
                self.head = event["message"].clone();
                self.id = self.head["id"].as_str().unwrap_or_default().to_owned();
                self.usage = self.head["usage"].clone();
            }
            "content_block_start" => self.open = Some((event["content_block"].clone(), String::new())),
            "content_block_delta" => {
                let delta = &event["delta"];
                let piece = delta["text"].as_str().or(delta["partial_json"].as_str());
                if let (Some((_, text)), Some(piece)) = (&mut self.open, piece) {
                    text.push_str(piece);
                }
            }
            "content_block_stop" => {
                let (mut block, text) = self.open.take()?;
                if block["type"] == "tool_use" {
                    block["input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                } else {
                    block["text"] = json!(text);
                }
                self.blocks.push(block.clone());
                return Some(block);
            }
            "message_delta" => {
                self.stop_reason = event["delta"]["stop_reason"].as_str().map(str::to_owned);
                if event["usage"].is_object() {
                    self.usage = event["usage"].clone();
                }
                self.complete = self.stop_reason.is_some();
            }
            _ => {}
        }
        None
    }

    pub(super) fn has_started(&self) -> bool {
        !self.id.is_empty()
    }

    pub(super) fn tokens(&self) -> Tokens {
        tokens_of(&self.usage)
    }

    /// Returns the text of the incomplete block, or `None` if it is not a text block or is empty.
    pub(super) fn open_text(&self) -> Option<&str> {
        let (block, text) = self.open.as_ref()?;
        (block["type"] == "text" && !text.is_empty()).then_some(text.as_str())
    }

    pub(super) fn tool_calls(&self) -> impl Iterator<Item = &Value> {
        self.blocks.iter().filter(|block| block["type"] == "tool_use")
    }

    pub(super) fn text(&self) -> String {
        let last = self.blocks.iter().rev().find_map(|block| block["text"].as_str());
        last.unwrap_or_default().to_owned()
    }

    /// Returns the message with only this block, as events and session rows contain it.
    pub(super) fn with_block(&self, block: &Value, usage: &Value, stop_reason: Option<&str>) -> Value {
        let mut message = self.head.clone();
        message["content"] = json!([block]);
        message["usage"] = usage.clone();
        message["stop_reason"] = json!(stop_reason);
        message
    }
}

/// Returns the tokens of a `usage` object, in the API's format.
pub(super) fn tokens_of(usage: &Value) -> Tokens {
    let count = |field: &str| usage[field].as_u64().unwrap_or(0);
    Tokens {
        input: count("input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        output: count("output_tokens"),
    }
}
