//! Defines the parts of the API's wire format that this client uses.

use super::{ANSWER_TOKENS_MAX, Answer};
use longhaul_core::Tokens;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Message {
    model: String,
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

pub(super) fn request(model: &str, prompt: &str) -> String {
    let messages = [json!({ "role": "user", "content": prompt })];
    json!({ "model": model, "max_tokens": ANSWER_TOKENS_MAX, "messages": messages }).to_string()
}

/// Parses the message of a response, or returns what is wrong with it. A message without text is valid.
pub(super) fn answer(body: &[u8]) -> Result<Answer, String> {
    if body.len() > super::ANSWER_BYTES_MAX {
        return Err(format!("it is longer than {} bytes", super::ANSWER_BYTES_MAX));
    }
    // Serde's error may quote the text, and a page from a captive portal or proxy may contain anything.
    let message: Message = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("it is not a message of the API (line {line}, column {column})")
    })?;
    let texts = message.content.into_iter().filter(|block| block.kind == "text").map(|block| block.text);
    let usage = message.usage;
    Ok(Answer {
        text: texts.collect(),
        model: message.model,
        tokens: Tokens {
            input: usage.input_tokens.unwrap_or(0),
            output: usage.output_tokens.unwrap_or(0),
            cache_read: usage.cache_read_input_tokens.unwrap_or(0),
            cache_write: usage.cache_creation_input_tokens.unwrap_or(0),
        },
        is_refused: message.stop_reason.as_deref() == Some("refusal"),
    })
}

/// Returns the kind and the message of an error, each in one line of any length. `None` if the response is
/// not from the API.
pub(super) fn refusal(body: &[u8]) -> Option<(String, String)> {
    let response: Value = serde_json::from_slice(body).ok()?;
    let error = response.get("error")?.as_object()?;
    let one_line = |key: &str| {
        let text = error.get(key).and_then(Value::as_str).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    Some((one_line("type"), one_line("message")))
}
