//! Converts a stream into transcript messages as it arrives. Text arrives in chunks and is complete when
//! something else follows.

use super::content::{chunk_text, content_text, message_id};
use super::handshake::{Handshake, Stage};
use super::rpc::{self, Incoming};
use super::tool_calls::{has_ended, tool_name};
use super::usage_meter::tokens;
use crate::Prices;
use crate::line_splitter::{Line, LineSplitter};
use crate::snapshot::truncate_to_bytes;
use crate::transcript_message::{EventKind, MessageOrigin, MessageUsage, ResultDetails, TranscriptMessage};
use agent_client_protocol_schema::{
    ContentChunk, PromptResponse, SessionUpdate, ToolCall as StartedCall, ToolCallStatus, ToolCallUpdate,
    Usage as StatedUsage,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::mem;

/// Limit of a result: as much as a person reads.
const RESULT_BYTES_MAX: usize = 16 << 10;
/// Limit of one text of the model.
const TEXT_BYTES_MAX: usize = 1 << 20;
// More open calls than this indicate a damaged stream.
const OPEN_CALLS_MAX: usize = 1024;

/// The transcript decoder of the protocol.
#[derive(Debug)]
pub(super) struct AcpTranscriptDecoder {
    prices: Prices,
    attempt: u32,
    lines: LineSplitter,
    /// Names the session and its model.
    handshake: Handshake,
    session_open: bool,
    session: Option<String>,
    /// The text in progress, with its kind.
    text: Option<TranscriptMessage>,
    /// The id of its message, if the agent states ids.
    text_id: Option<String>,
    /// Messages of the response in progress, whose usage may follow.
    queue: Vec<TranscriptMessage>,
    open_calls: BTreeSet<String>,
    /// Whether the agent states usage per request in this exchange.
    has_usage: bool,
}

impl AcpTranscriptDecoder {
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<TranscriptMessage>) {
        let mut lines = mem::take(&mut self.lines);
        lines.feed(bytes, |line| self.line(line, out));
        self.lines = lines;
    }

    /// Emits pending messages at the end of the stream.
    pub(super) fn finish(&mut self, out: &mut Vec<TranscriptMessage>) {
        mem::take(&mut self.lines).finish(|line| self.line(line, out));
        self.flush(out);
    }

    pub(super) fn new(prices: Prices, attempt: u32) -> AcpTranscriptDecoder {
        AcpTranscriptDecoder {
            prices,
            attempt,
            lines: LineSplitter::default(),
            handshake: Handshake::default(),
            session_open: false,
            session: None,
            text: None,
            text_id: None,
            queue: Vec::new(),
            open_calls: BTreeSet::new(),
            has_usage: false,
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<TranscriptMessage>) {
        let Line::Whole(bytes) = line else { return };
        match rpc::parse(bytes) {
            Some(Incoming::Answer { id, result }) => match (Stage::of(&id), result) {
                (Some(Stage::Prompt), result) => self.result(&result, out),
                (Some(stage), Ok(result)) => {
                    self.handshake.on_answer(stage, &result);
                    self.session_open |= stage == Stage::Session;
                    self.session = self.handshake.session.as_ref().map(ToString::to_string);
                }
                _ => {}
            },
            Some(Incoming::Update { update: Some(update), .. }) if self.session_open => {
                self.session.get_or_insert_with(|| update.session_id.to_string());
                self.update(update.update, out);
            }
            _ => {}
        }
    }

    fn update(&mut self, update: SessionUpdate, out: &mut Vec<TranscriptMessage>) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.chunk(EventKind::Text, &chunk, out),
            SessionUpdate::AgentThoughtChunk(chunk) => self.chunk(EventKind::Thinking, &chunk, out),
            SessionUpdate::ToolCall(call) => self.call(call, out),
            SessionUpdate::ToolCallUpdate(update) => self.call_update(update, out),
            _ => {}
        }
    }

    fn chunk(&mut self, kind: EventKind, chunk: &ContentChunk, out: &mut Vec<TranscriptMessage>) {
        let text = chunk_text(chunk);
        if !text.is_empty() {
            let id = message_id(chunk);
            let is_same = self.text.as_ref().is_some_and(|message| message.kind == kind);
            if !is_same || self.text_id.as_deref() != id {
                self.close_text();
                self.text_id = id.map(str::to_owned);
                self.text = Some(self.message(kind, MessageOrigin::Model));
            }
            if let Some(message) = &mut self.text {
                let content = message.content.get_or_insert_default();
                if content.len() < TEXT_BYTES_MAX {
                    content.push_str(text);
                }
            }
        }
        let stated = chunk.meta.as_ref().and_then(|meta| meta.get("usage"));
        if let Some(stated) = stated.and_then(|usage| StatedUsage::deserialize(usage).ok()) {
            self.has_usage = true;
            self.close_text();
            let (usage, cost) = self.priced(&stated);
            if let Some(last) = self.queue.last_mut() {
                (last.usage, last.estimated_cost_usd) = (Some(usage), cost);
            }
            out.append(&mut self.queue);
        }
    }

    fn call(&mut self, call: StartedCall, out: &mut Vec<TranscriptMessage>) {
        let id = call.tool_call_id.to_string();
        if self.open_calls.len() < OPEN_CALLS_MAX && self.open_calls.insert(id.clone()) {
            self.close_text();
            let input =
                call.raw_input.as_ref().and_then(|input| RawValue::from_string(input.to_string()).ok());
            let message = TranscriptMessage {
                tool: Some(tool_name(call.kind).to_owned()),
                content: Some(call.title.clone()).filter(|_| input.is_none()),
                tool_use_id: Some(id),
                input,
                ..self.message(EventKind::ToolCall, MessageOrigin::Model)
            };
            self.queue.push(message);
        }
        self.call_update(ToolCallUpdate::from(call), out);
    }

    fn call_update(&mut self, update: ToolCallUpdate, out: &mut Vec<TranscriptMessage>) {
        let id = update.tool_call_id.to_string();
        let Some(status) = update.fields.status.filter(|status| has_ended(*status)) else { return };
        if !self.open_calls.remove(&id) {
            return;
        }
        self.flush(out);
        let text = update.fields.content.as_deref().map(content_text).unwrap_or_default();
        let shown = truncate_to_bytes(&text, RESULT_BYTES_MAX);
        out.push(TranscriptMessage {
            content: Some(shown.to_owned()),
            truncated_bytes: (text.len() - shown.len()) as u64,
            tool_use_id: Some(id),
            is_error: Some(status == ToolCallStatus::Failed),
            ..self.message(EventKind::ToolResult, MessageOrigin::Tool)
        });
    }

    fn result(&mut self, result: &Result<Value, Value>, out: &mut Vec<TranscriptMessage>) {
        self.close_text();
        let text = self.queue.last().and_then(|message| message.content.clone());
        self.flush(out);
        self.open_calls.clear();
        let response = result.as_ref().ok().and_then(|result| PromptResponse::deserialize(result).ok());
        let error = result.as_ref().err().and_then(|error| error.get("message")).and_then(Value::as_str);
        let stop_reason =
            result.as_ref().ok().and_then(|result| result.get("stopReason")).and_then(Value::as_str);
        let stated = response.and_then(|response| response.usage).filter(|_| !mem::take(&mut self.has_usage));
        let priced = stated.map(|stated| self.priced(&stated));
        out.push(TranscriptMessage {
            is_error: Some(result.is_err()),
            usage: priced.map(|(usage, _)| usage),
            estimated_cost_usd: priced.and_then(|(_, cost)| cost),
            outcome: Some(ResultDetails {
                subtype: stop_reason.unwrap_or("error").to_owned(),
                terminal_reason: stop_reason.map(str::to_owned),
                result: text,
                errors: error.into_iter().map(str::to_owned).collect(),
                duration_ms: None,
                num_turns: None,
                cost_usd: None,
                total_cost_usd: None,
            }),
            ..self.message(EventKind::Result, MessageOrigin::Agent)
        });
    }

    fn priced(&self, stated: &StatedUsage) -> (MessageUsage, Option<f64>) {
        let tokens = tokens(stated);
        let usage = MessageUsage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_input_tokens: tokens.cache_read,
            cache_creation_input_tokens: tokens.cache_write,
        };
        let cost = self.prices.cost(self.handshake.model.as_deref().unwrap_or_default(), tokens);
        (usage, cost.map(|cost| cost.as_dollars()))
    }

    fn message(&self, kind: EventKind, origin: MessageOrigin) -> TranscriptMessage {
        let model = self.handshake.model.clone().filter(|_| origin == MessageOrigin::Model);
        TranscriptMessage {
            session_id: self.session.clone(),
            model,
            ..TranscriptMessage::new(kind, origin, self.attempt)
        }
    }

    /// Queues the text in progress, unless it is blank.
    fn close_text(&mut self) {
        let text = self.text.take();
        self.queue
            .extend(text.filter(|text| text.content.as_ref().is_some_and(|text| !text.trim().is_empty())));
    }

    fn flush(&mut self, out: &mut Vec<TranscriptMessage>) {
        self.close_text();
        out.append(&mut self.queue);
    }
}
