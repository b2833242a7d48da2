//! Converts session updates into transcript messages. Text arrives in chunks and is complete when something
//! else follows.

use super::content::{chunk_text, content_text, message_id, stated_usage};
use super::tool_calls::{has_ended, tool_name};
use super::usage_meter::tokens;
use crate::snapshot::truncate_to_bytes;
use crate::transcript_message::{EventKind, MessageOrigin, MessageUsage, ResultDetails, TranscriptMessage};
use crate::{AttemptSnapshot, Prices};
use agent_client_protocol_schema::{
    ContentChunk, PromptResponse, SessionUpdate, ToolCall as StartedCall, ToolCallContent, ToolCallId,
    ToolCallStatus, Usage as StatedUsage,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::to_raw_value;
use std::collections::BTreeSet;
use std::mem;

/// Limit of a result: as much as a person reads.
const RESULT_BYTES_MAX: usize = 16 << 10;
/// Limit of one text of the model.
const TEXT_BYTES_MAX: usize = 1 << 20;
// More open calls than this indicate a damaged stream.
const OPEN_CALLS_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct AcpTranscript {
    prices: Prices,
    attempt: u32,
    /// The text in progress, with its kind.
    text: Option<TranscriptMessage>,
    /// The id of its message, if the agent states ids.
    text_id: Option<String>,
    /// Messages of the response in progress, whose usage may follow.
    queue: Vec<TranscriptMessage>,
    open_calls: BTreeSet<String>,
    /// Whether the agent states usage per request in this exchange.
    has_usage: bool,
    complete: Vec<TranscriptMessage>,
}

impl AcpTranscript {
    pub(super) fn new(prices: Prices, attempt: u32) -> AcpTranscript {
        AcpTranscript { prices, attempt, ..AcpTranscript::default() }
    }

    pub(super) fn take(&mut self) -> Vec<TranscriptMessage> {
        mem::take(&mut self.complete)
    }

    pub(super) fn on_update(&mut self, update: &SessionUpdate, snapshot: &AttemptSnapshot) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.chunk(EventKind::Text, chunk, snapshot),
            SessionUpdate::AgentThoughtChunk(chunk) => self.chunk(EventKind::Thinking, chunk, snapshot),
            SessionUpdate::ToolCall(call) => {
                self.start_call(call, snapshot);
                self.end_call(&call.tool_call_id, call.status, &call.content, snapshot);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let status = update.fields.status.unwrap_or_default();
                let content = update.fields.content.as_deref().unwrap_or_default();
                self.end_call(&update.tool_call_id, status, content, snapshot);
            }
            _ => {}
        }
    }

    fn chunk(&mut self, kind: EventKind, chunk: &ContentChunk, snapshot: &AttemptSnapshot) {
        let text = chunk_text(chunk);
        if !text.is_empty() {
            let id = message_id(chunk);
            let is_same = self.text.as_ref().is_some_and(|message| message.kind == kind);
            if !is_same || self.text_id.as_deref() != id {
                self.close_text();
                self.text_id = id.map(str::to_owned);
                self.text = Some(self.message(kind, MessageOrigin::Model, snapshot));
            }
            if let Some(message) = &mut self.text {
                let content = message.content.get_or_insert_default();
                if content.len() < TEXT_BYTES_MAX {
                    content.push_str(text);
                }
            }
        }
        if let Some(stated) = stated_usage(chunk) {
            self.has_usage = true;
            self.close_text();
            let (usage, cost) = self.priced(&stated, snapshot);
            if let Some(last) = self.queue.last_mut() {
                (last.usage, last.estimated_cost_usd) = (Some(usage), cost);
            }
            self.complete.append(&mut self.queue);
        }
    }

    fn start_call(&mut self, call: &StartedCall, snapshot: &AttemptSnapshot) {
        if self.open_calls.len() < OPEN_CALLS_MAX && self.open_calls.insert(call.tool_call_id.to_string()) {
            self.close_text();
            let input = call.raw_input.as_ref().and_then(|input| to_raw_value(input).ok());
            self.queue.push(TranscriptMessage {
                tool: Some(tool_name(call.kind).to_owned()),
                content: Some(call.title.clone()).filter(|_| input.is_none()),
                tool_use_id: Some(call.tool_call_id.to_string()),
                input,
                ..self.message(EventKind::ToolCall, MessageOrigin::Model, snapshot)
            });
        }
    }

    fn end_call(
        &mut self,
        id: &ToolCallId,
        status: ToolCallStatus,
        content: &[ToolCallContent],
        snapshot: &AttemptSnapshot,
    ) {
        if !has_ended(status) || !self.open_calls.remove(&*id.0) {
            return;
        }
        self.flush();
        let text = content_text(content);
        let shown = truncate_to_bytes(&text, RESULT_BYTES_MAX);
        self.complete.push(TranscriptMessage {
            content: Some(shown.to_owned()),
            truncated_bytes: (text.len() - shown.len()) as u64,
            tool_use_id: Some(id.to_string()),
            is_error: Some(status == ToolCallStatus::Failed),
            ..self.message(EventKind::ToolResult, MessageOrigin::Tool, snapshot)
        });
    }

    pub(super) fn on_result(&mut self, result: &Result<Value, Value>, snapshot: &AttemptSnapshot) {
        self.close_text();
        let text = self.queue.last().and_then(|message| message.content.clone());
        self.flush();
        self.open_calls.clear();
        let response = result.as_ref().ok().and_then(|result| PromptResponse::deserialize(result).ok());
        let error = result.as_ref().err().and_then(|error| error.get("message")).and_then(Value::as_str);
        let stop_reason =
            result.as_ref().ok().and_then(|result| result.get("stopReason")).and_then(Value::as_str);
        let stated = response.and_then(|response| response.usage).filter(|_| !mem::take(&mut self.has_usage));
        let priced = stated.map(|stated| self.priced(&stated, snapshot));
        self.complete.push(TranscriptMessage {
            is_error: Some(result.is_err()),
            usage: priced.map(|(usage, _)| usage),
            estimated_cost_usd: priced.and_then(|(_, cost)| cost),
            outcome: Some(ResultDetails {
                subtype: stop_reason.unwrap_or("error").to_owned(),
                terminal_reason: stop_reason.map(str::to_owned),
                result: text,
                errors: error.into_iter().map(str::to_owned).collect(),
                ..ResultDetails::default()
            }),
            ..self.message(EventKind::Result, MessageOrigin::Agent, snapshot)
        });
    }

    fn priced(&self, stated: &StatedUsage, snapshot: &AttemptSnapshot) -> (MessageUsage, Option<f64>) {
        let tokens = tokens(stated);
        let cost = self.prices.cost(snapshot.model.as_deref().unwrap_or_default(), tokens);
        (tokens.into(), cost.map(|cost| cost.as_dollars()))
    }

    fn message(
        &self,
        kind: EventKind,
        origin: MessageOrigin,
        snapshot: &AttemptSnapshot,
    ) -> TranscriptMessage {
        TranscriptMessage {
            session_id: snapshot.session.as_ref().map(ToString::to_string),
            model: snapshot.model.clone().filter(|_| origin == MessageOrigin::Model),
            ..TranscriptMessage::new(kind, origin, self.attempt)
        }
    }

    /// Queues the text in progress, unless it is blank.
    fn close_text(&mut self) {
        self.queue.extend(self.text.take().filter(|text| !text.text().trim().is_empty()));
    }

    pub(super) fn flush(&mut self) {
        self.close_text();
        self.complete.append(&mut self.queue);
    }
}
