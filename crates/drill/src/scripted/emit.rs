//! Emits messages: events to the host as they happen, and rows to the session when a message is complete.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::agent::Agent;
use super::exchange_state::Exchange;
use super::failure::{Failure, limit_info};
use super::message_builder::Message;
use longhaul_core::Tokens;

impl Agent {
    /// Emits one complete block of a message. The event contains the usage that the message's start
    /// announced, as with the real agent.
    pub(super) fn emit_block(&mut self, message: &Message, block: &Value) {
        // A message without a stream has its final usage from the start.
        let stop_reason = message.head["stop_reason"].as_str();
        let content = message.with_block(block, &message.head["usage"], stop_reason);
        self.out.event("assistant", json!({"message": content, "parent_tool_use_id": null}));
    }

    /// Ends the stream events of a message whose stream was lost.
    pub(super) fn abandon(&mut self, message: &Message) {
        self.close_open_block(message);
        self.stream_event(message, json!({"type": "message_stop"}));
    }

    fn close_open_block(&mut self, message: &Message) {
        if message.open_text().is_some() {
            let index = message.blocks.len();
            self.stream_event(message, json!({"type": "content_block_stop", "index": index}));
        }
    }

    /// Ends the stream events of an interrupted message. Its text so far is stored.
    pub(super) fn close_interrupted(&mut self, message: &Message) {
        self.close_open_block(message);
        let delta = json!({"stop_reason": null, "stop_sequence": null});
        let usage = &message.head["usage"];
        self.stream_event(message, json!({"type": "message_delta", "delta": delta, "usage": usage}));
        self.stream_event(message, json!({"type": "message_stop"}));
    }

    /// Emits an event of a message's stream if the host requested partial messages.
    pub(super) fn stream_event(&mut self, message: &Message, event: Value) {
        if self.flags.partial_messages && message.has_started() {
            let fields = json!({"event": event, "parent_tool_use_id": null, "api_message_id": message.id});
            self.out.event("stream_event", fields);
        }
    }

    pub(super) fn bill(&mut self, exchange: &mut Exchange, message: &Message) {
        let model = message.head["model"].as_str().unwrap_or_default().to_owned();
        let tokens = message.tokens();
        self.cost_meter.add(&model, tokens);
        exchange.usage += tokens;
        // The final usage of an incomplete message is unknown.
        if message.complete {
            self.out.usage(&message.id, &tokens);
        }
        self.out.cost(tokens.total(), self.cost_meter.dollars());
    }

    /// Writes a message's blocks to the session, with its final usage, and appends it to the conversation.
    pub(super) fn store(&mut self, message: &Message) {
        if message.blocks.is_empty() {
            return;
        }
        for block in &message.blocks {
            let row = message.with_block(block, &message.usage, message.stop_reason.as_deref());
            self.link("assistant", json!({"message": row}));
        }
        self.messages.push(json!({"role": "assistant", "content": message.blocks}));
    }

    /// Writes a row of the conversation to the session.
    pub(super) fn link(&mut self, kind: &str, fields: Value) {
        let uuid = self.out.rng.uuid();
        self.session.link(kind, uuid, fields);
    }

    /// Adds a user message that the agent itself creates. Its event contains `fields`.
    pub(super) fn add_user(&mut self, exchange: &mut Exchange, text: &str, fields: Value) {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        self.emit_user(exchange, message, fields, json!({}));
    }

    /// Emits a user message, writes it to the session and appends it to the conversation.
    pub(super) fn emit_user(
        &mut self,
        exchange: &mut Exchange,
        message: Value,
        mut fields: Value,
        mut row: Value,
    ) {
        exchange.user_events += 1;
        fields["message"] = message.clone();
        fields["parent_tool_use_id"] = Value::Null;
        self.out.event("user", fields);
        row["message"] = message.clone();
        self.link("user", row);
        self.messages.push(message);
    }

    pub(super) fn emit_failure(&mut self, failure: &Failure) {
        let message = self.synthetic(&failure.text, failure.stop_reason());
        let mut fields = json!({"message": message, "parent_tool_use_id": null, "error": failure.error,
            "is_api_error_message": true});
        if let Some(status) = failure.status {
            fields["api_error_status"] = json!(status);
        }
        if let Some(api_error) = failure.api_error {
            fields["api_error"] = json!(api_error);
        }
        self.out.event("assistant", fields);
        let row = json!({"message": message, "error": failure.error, "isApiErrorMessage": true,
            "apiErrorStatus": failure.status});
        self.link("assistant", row);
    }

    pub(super) fn synthetic(&mut self, text: &str, stop_reason: &str) -> Value {
        json!({"id": self.out.rng.uuid(), "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": text}], "stop_reason": stop_reason, "stop_sequence": "",
            "usage": usage(&Tokens::default())})
    }

    /// Reports a subscription's limits if they changed.
    pub(super) fn emit_limits(&mut self, headers: &HeaderMap) {
        let oauth = self.environment.is_oauth();
        let Some(info) = limit_info(headers).filter(|info| oauth && self.limits.as_ref() != Some(info))
        else {
            return;
        };
        self.out.event("rate_limit_event", json!({"rate_limit_info": info}));
        self.limits = Some(info);
    }
}

/// Returns `usage` as results and messages contain it, reduced to the fields that hosts use.
pub(super) fn usage(tokens: &Tokens) -> Value {
    json!({"input_tokens": tokens.input, "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read, "output_tokens": tokens.output})
}
