//! Writes the client's view: session updates, requests for permission, and the answer to each prompt. It
//! translates the events that the agent emits for Claude Code's protocol.

mod failures;

use std::collections::VecDeque;

use longhaul_core::Tokens;
use serde_json::{Value, json};

use super::write;
use crate::scripted::message_builder::tokens_of;
use failures::{FailedRequest, Shape};

pub use failures::FAILURES;

#[derive(Debug, Default)]
pub(in crate::scripted) struct AcpOutput {
    pub(in crate::scripted) shape: Shape,
    /// Ids of the prompts that are not answered.
    pub(in crate::scripted) prompts: VecDeque<Value>,
    /// The failure of the open exchange, if a request failed for good.
    failed: Option<FailedRequest>,
    /// The message whose text was streamed.
    streamed: String,
}

impl AcpOutput {
    pub(in crate::scripted) fn new() -> AcpOutput {
        AcpOutput { shape: Shape::read(), ..AcpOutput::default() }
    }

    pub(in crate::scripted) fn answer(&self, id: &Value, result: Value) {
        write(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }

    pub(in crate::scripted) fn fail(&self, id: &Value, code: i64, message: &str) {
        self.error(id, &json!({"code": code, "message": message}));
    }

    fn error(&self, id: &Value, error: &Value) {
        write(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
    }

    pub(in crate::scripted) fn update(&self, session: &str, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string());
    }

    pub(in crate::scripted) fn event(&mut self, session: &str, kind: &str, fields: &Value) {
        let updates = match kind {
            "stream_event" => self.stream_event(fields).into_iter().collect(),
            "assistant" if fields["is_api_error_message"] == true => {
                self.failed = Some(FailedRequest {
                    error: fields["error"].as_str().unwrap_or_default().to_owned(),
                    status: fields["api_error_status"].as_u64().unwrap_or(0),
                    text: fields["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
                });
                Vec::new()
            }
            "assistant" | "user" => self.message(kind, &fields["message"]),
            _ => Vec::new(),
        };
        updates.iter().for_each(|update| self.update(session, update));
    }

    fn stream_event(&mut self, fields: &Value) -> Option<Value> {
        let delta = &fields["event"]["delta"];
        let id = fields["api_message_id"].as_str().unwrap_or_default();
        let text = delta["text"].as_str()?;
        id.clone_into(&mut self.streamed);
        Some(message_update("agent_message_chunk", id, text))
    }

    fn message(&mut self, kind: &str, message: &Value) -> Vec<Value> {
        let is_streamed = message["id"] == self.streamed.as_str();
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let updates = blocks.iter().filter_map(|block| match block["type"].as_str()? {
            "tool_use" => Some(tool_update(block)),
            "tool_result" => Some(result_update(block)),
            "text" if kind == "assistant" && !is_streamed => {
                let id = message["id"].as_str().unwrap_or_default();
                Some(message_update("agent_message_chunk", id, block["text"].as_str()?))
            }
            _ => None,
        });
        let updates: Vec<Value> = updates.collect();
        if kind == "assistant" {
            // Output of the model shows that the agent recovered from the failure.
            self.failed = None;
        }
        updates
    }

    pub(in crate::scripted) fn usage(&self, session: &str, id: &str, tokens: &Tokens) {
        let mut chunk = message_update("agent_message_chunk", id, "");
        chunk["_meta"] = json!({"usage": usage(tokens)});
        self.update(session, &chunk);
    }

    pub(in crate::scripted) fn cost(&self, session: &str, context: u64, cost: f64) {
        let cost = json!({"amount": cost, "currency": "USD"});
        let update = json!({"sessionUpdate": "usage_update", "used": context, "size": 200_000, "cost": cost});
        self.update(session, &update);
    }

    pub(in crate::scripted) fn ask(&self, session: &str, id: &str, question: &Value) {
        let call =
            json!({"id": question["tool_use_id"], "name": question["tool_name"], "input": question["input"]});
        let mut call = tool_update(&call);
        if let Some(fields) = call.as_object_mut() {
            fields.remove("sessionUpdate");
        }
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options = [
            option("always", "allow_always"),
            option("allow", "allow_once"),
            option("reject", "reject_once"),
        ];
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let method = "session/request_permission";
        write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    /// Answers the open prompts with the result of their exchange.
    pub(in crate::scripted) fn result(&mut self, session: &str, result: &Value) {
        let failed = self.failed.take().filter(|_| result["is_error"] == true);
        if let Some(failed) = &failed {
            self.shape.updates(failed).iter().for_each(|update| self.update(session, update));
        }
        let error = failed.as_ref().filter(|_| stop_reason(result) == "end_turn");
        let error = error.and_then(|failed| self.shape.error(failed));
        let mut answer = json!({"stopReason": stop_reason(result)});
        if failed.is_none() {
            answer["usage"] = usage(&tokens_of(&result["usage"]));
        }
        for id in std::mem::take(&mut self.prompts) {
            match &error {
                Some(error) => self.error(&id, error),
                None => self.answer(&id, answer.clone()),
            }
        }
    }
}

/// Returns the reason why a turn ended. A failed request has none.
fn stop_reason(result: &Value) -> &'static str {
    match (result["terminal_reason"].as_str(), result["stop_reason"].as_str()) {
        (Some("aborted_tools" | "aborted_streaming"), _) => "cancelled",
        (Some("max_turns"), _) => "max_turn_requests",
        (_, Some("refusal")) => "refusal",
        _ => "end_turn",
    }
}

fn usage(tokens: &Tokens) -> Value {
    json!({"totalTokens": tokens.total(), "inputTokens": tokens.input, "outputTokens": tokens.output,
        "cachedReadTokens": tokens.cache_read, "cachedWriteTokens": tokens.cache_write})
}

pub(in crate::scripted) fn text_update(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

fn message_update(kind: &str, id: &str, text: &str) -> Value {
    let mut update = text_update(kind, text);
    update["messageId"] = json!(id);
    update
}

/// Returns the update for a tool call that starts.
pub(in crate::scripted) fn tool_update(call: &Value) -> Value {
    let input = &call["input"];
    let kind = match call["name"].as_str().unwrap_or_default() {
        "Bash" => "execute",
        "Edit" | "Write" => "edit",
        "Read" => "read",
        "WebFetch" => "fetch",
        "WebSearch" => "search",
        _ => "other",
    };
    let title = ["command", "file_path"].iter().find_map(|field| input[*field].as_str());
    json!({"sessionUpdate": "tool_call", "toolCallId": call["id"], "kind": kind, "status": "pending",
        "title": title.or(call["name"].as_str()), "rawInput": input})
}

pub(in crate::scripted) fn result_update(result: &Value) -> Value {
    let status = if result["is_error"] == true { "failed" } else { "completed" };
    let text = result["content"].as_str().unwrap_or_default();
    let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    json!({"sessionUpdate": "tool_call_update", "toolCallId": result["tool_use_id"], "status": status,
        "content": content, "rawOutput": result["content"]})
}
