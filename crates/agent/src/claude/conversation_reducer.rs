//! Reduces the events of a stream to the messages of its conversation.
//!
//! The agent writes each block of a message as a separate event, and the message's usage after the last one
//! (`message_delta`, 2.1.330). Blocks wait a few milliseconds for it, because the last block carries the
//! usage. Events in between wait too, so that the order is kept.

use super::usage_meter::billed;
use super::wire::{Block, Raw, ResultLine, StreamLine};
use super::{SYNTHETIC, vendor_terms};
use crate::Prices;
use crate::prices::{BilledTokens, usd_from_nano};
use crate::snapshot::truncate_to_bytes;
use crate::transcript_message::{EventKind, MessageOrigin, ResultDetails, TranscriptMessage};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::mem;

/// Limit of a result: as much as a person reads.
const RESULT_BYTES_MAX: usize = 16 << 10;
/// The end of a result shows its outcome.
const RESULT_END_BYTES: usize = 4 << 10;
/// A call that writes a file has the whole content in its arguments, but the file has it too.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// Limit of one text in such arguments.
const INPUT_TEXT_BYTES_MAX: usize = 8 << 10;

#[derive(Debug, Default)]
pub(super) struct ConversationReducer {
    prices: Prices,
    attempt: u32,
    session: Option<String>,
    /// The last message whose deltas started, so that its end will follow.
    started_message: String,
    /// Its usage at the start. The end may omit the input.
    started_usage: BilledTokens,
    /// The message whose end is pending.
    open: Option<PendingMessage>,
    /// Messages since the pending one started.
    queue: Vec<TranscriptMessage>,
    /// Whether the conversation was just compacted, so that its summary follows.
    compacted: bool,
    /// Calls without a result whose tasks run in the foreground. The agent also announces the end of such a task, with
    /// its command as the summary (2.1.330), but the result states all of it.
    foreground: Vec<String>,
    complete: Vec<TranscriptMessage>,
}

#[derive(Debug)]
struct PendingMessage {
    id: String,
    model: String,
    /// Its usage and stop reason, if its blocks state them because there are no deltas.
    usage: Option<(BilledTokens, String)>,
}

impl ConversationReducer {
    pub(super) fn new(prices: Prices, attempt: u32) -> ConversationReducer {
        ConversationReducer { prices, attempt, ..ConversationReducer::default() }
    }

    pub(super) fn take(&mut self) -> Vec<TranscriptMessage> {
        mem::take(&mut self.complete)
    }

    /// Records an event of any type except a result.
    pub(super) fn on_event(&mut self, event: &StreamLine<'_>) {
        match event.kind.as_str() {
            "stream_event" => self.stream_event(event),
            "assistant" | "user" | "system" => self.row(event),
            _ => {}
        }
    }

    pub(super) fn on_result(&mut self, line: &ResultLine<'_>) {
        self.close();
        self.complete.push(self.result(line));
    }

    fn stream_event(&mut self, event: &StreamLine<'_>) {
        if event.parent_tool_use_id.non_empty().is_some() {
            return;
        }
        match event.event.kind.as_str() {
            "message_start" => {
                self.close();
                event.event.message.id.as_str().clone_into(&mut self.started_message);
                self.started_usage = billed(&event.event.message.usage);
            }
            "message_delta" => {
                let stop_reason = event.event.delta.stop_reason.as_str();
                if let Some(open) = self.open.as_mut().filter(|_| !stop_reason.is_empty()) {
                    let usage = self.started_usage.max_with(billed(&event.event.usage));
                    open.usage = Some((usage, stop_reason.to_owned()));
                }
                self.close();
            }
            _ => {}
        }
    }

    fn row(&mut self, event: &StreamLine<'_>) {
        if let Some(session) = event.session_id.non_empty().filter(|id| self.session.as_deref() != Some(id)) {
            self.session = Some(session.to_owned());
        }
        match (event.kind.as_str(), event.subtype.as_str()) {
            ("assistant", _) => self.assistant(event),
            ("user", _) => self.user(event),
            ("system", "compact_boundary") => self.compacted = true,
            ("system", "task_started") if !event.is_backgrounded.is_set() => {
                self.foreground.extend(event.tool_use_id.owned());
            }
            ("system", "task_notification") if !self.is_foreground(event.tool_use_id.as_str()) => {
                let text = event.summary.text().filter(|text| !text.trim().is_empty());
                let status = event.status.as_str();
                self.push(TranscriptMessage {
                    content: Some(text.unwrap_or(Cow::Borrowed(status)).into_owned()),
                    tool_use_id: event.tool_use_id.owned(),
                    is_error: Some(status == "failed"),
                    // A stopped task may have ended with the process.
                    interrupted: !matches!(status, "completed" | "failed"),
                    ..self.message(event, EventKind::Note, MessageOrigin::Tool)
                });
            }
            _ => {}
        }
    }

    fn is_foreground(&self, call: &str) -> bool {
        self.foreground.iter().any(|foreground| foreground == call)
    }

    fn assistant(&mut self, event: &StreamLine<'_>) {
        let message = &event.message;
        let synthetic = message.model.is(SYNTHETIC) || event.is_api_error_message.is_set();
        // The stream contains only the input tokens of sub-agents.
        if event.parent_tool_use_id.non_empty().is_none() && !synthetic {
            if self.open.as_ref().is_none_or(|open| !message.id.is(&open.id)) {
                self.close();
            }
            let stop_reason = message.stop_reason.non_empty();
            // The usage of other messages will never arrive.
            let is_ending = stop_reason.is_some() || message.id.is(&self.started_message);
            self.open = is_ending.then(|| PendingMessage {
                id: message.id.as_str().to_owned(),
                model: message.model.as_str().to_owned(),
                usage: stop_reason.map(|reason| (billed(&message.usage), reason.to_owned())),
            });
        }
        let origin = if synthetic { MessageOrigin::Agent } else { MessageOrigin::Model };
        for block in &message.content.0 {
            let part = model_part(block, |kind| TranscriptMessage {
                id: message.id.owned(),
                model: message.model.owned(),
                ..self.message(event, kind, origin)
            });
            part.into_iter().for_each(|part| self.push(part));
        }
    }

    fn user(&mut self, event: &StreamLine<'_>) {
        for block in event.message.content.0.iter().filter(|block| block.kind.is("tool_result")) {
            let call = block.tool_use_id.as_str();
            self.foreground.retain(|foreground| foreground != call);
            let meta = event.tool_result_meta.0.iter().find(|meta| meta.id.is(call));
            let result = &event.tool_use_result;
            self.push(TranscriptMessage {
                background: result.is_async.is_set() || result.background_task_id.non_empty().is_some(),
                denied: meta.is_some_and(|meta| meta.permission_decision.decision.is("reject")),
                interrupted: meta.is_some_and(|meta| {
                    vendor_terms::is_interrupted(meta.non_execution_kind.as_str(), meta.has_decision())
                }),
                ..tool_result(block, self.message(event, EventKind::ToolResult, MessageOrigin::Tool))
            });
        }
        // The stream does not repeat prompts, so all other text is from the agent program.
        let is_summary = event.is_synthetic.is_set() && mem::take(&mut self.compacted);
        let kind = if is_summary { EventKind::Summary } else { EventKind::Note };
        self.note(event, content_text(&event.message.content.0), kind, MessageOrigin::Agent);
    }

    fn note(&mut self, event: &StreamLine<'_>, text: String, kind: EventKind, origin: MessageOrigin) {
        if !text.trim().is_empty() {
            self.push(TranscriptMessage { content: Some(text), ..self.message(event, kind, origin) });
        }
    }

    fn message(&self, event: &StreamLine<'_>, kind: EventKind, origin: MessageOrigin) -> TranscriptMessage {
        TranscriptMessage {
            timestamp: event.timestamp.owned(),
            session_id: self.session.clone(),
            parent_tool_use_id: event.parent_tool_use_id.owned(),
            ..TranscriptMessage::new(kind, origin, self.attempt)
        }
    }

    fn result(&self, line: &ResultLine<'_>) -> TranscriptMessage {
        let since_last = line.since_last.as_ref();
        let cost =
            since_last.map(|models| models.0.iter().filter_map(|(_, model)| model.cost.number()).sum());
        let outcome = ResultDetails {
            subtype: line.subtype.as_str().to_owned(),
            terminal_reason: line.terminal_reason.owned(),
            result: line.result.owned(),
            errors: line.errors.0.iter().map(|error| error.as_str().to_owned()).collect(),
            duration_ms: line.duration_ms.count(),
            duration_api_ms: line.duration_api_ms.count(),
            num_turns: line.num_turns.count(),
            cost_usd: cost,
            total_cost_usd: line.total_cost_usd.number(),
        };
        TranscriptMessage {
            session_id: line.session_id.owned().or_else(|| self.session.clone()),
            is_error: Some(line.is_error.is_set()),
            outcome: Some(outcome),
            ..TranscriptMessage::new(EventKind::Result, MessageOrigin::Agent, self.attempt)
        }
    }

    /// Emits a message, or queues it until the end of the message in progress.
    fn push(&mut self, mut message: TranscriptMessage) {
        bound(&mut message);
        if self.open.is_some() {
            self.queue.push(message);
        } else {
            self.complete.push(message);
        }
    }

    /// Ends the message in progress, complete or truncated.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let is_part = |message: &&mut TranscriptMessage| message.id.as_deref() == Some(open.id.as_str());
        if let Some((billed, stop_reason)) = open.usage
            && let Some(last) = self.queue.iter_mut().rev().find(is_part)
        {
            last.usage = Some(billed.tokens.into());
            let price = self.prices.price(&open.model, billed);
            last.estimated_cost_usd = price.map(|nano| usd_from_nano(nano).as_dollars());
            last.stop_reason = Some(stop_reason);
        }
        self.complete.append(&mut self.queue);
    }
}

/// Returns the message of a block of the model, or `None` if it has no content.
pub(super) fn model_part(
    block: &Block<'_>,
    base: impl Fn(EventKind) -> TranscriptMessage,
) -> Option<TranscriptMessage> {
    let text = |kind: EventKind, text: Raw<'_>| {
        let content = text.text().filter(|text| !text.trim().is_empty())?;
        Some(TranscriptMessage { content: Some(content.into_owned()), ..base(kind) })
    };
    match block.kind.as_str() {
        "text" => text(EventKind::Text, block.text),
        "thinking" => text(EventKind::Thinking, block.thinking),
        "tool_use" => Some(TranscriptMessage {
            tool: Some(block.name.as_str().to_owned()),
            // The older name is still in use (2.1.330).
            subagent: matches!(block.name.as_str(), "Agent" | "Task"),
            tool_use_id: Some(block.id.as_str().to_owned()),
            input: block.input.to_owned(),
            ..base(EventKind::ToolCall)
        }),
        _ => None,
    }
}

pub(super) fn tool_result(block: &Block<'_>, base: TranscriptMessage) -> TranscriptMessage {
    let text = block.content.text().map(Cow::into_owned);
    TranscriptMessage {
        content: text.or_else(|| Some(content_text(&block.content.blocks()))),
        tool_use_id: Some(block.tool_use_id.as_str().to_owned()),
        is_error: Some(block.is_error.is_set()),
        ..base
    }
}

/// Returns the text of some content, one paragraph per block. Other blocks are named.
pub(super) fn content_text(content: &[Block<'_>]) -> String {
    let mut texts = content.iter().filter_map(|block| match block.kind.as_str() {
        "text" => block.text.text(),
        "tool_result" | "tool_use" | "thinking" | "redacted_thinking" | "" => None,
        kind => Some(format!("[{kind}]").into()),
    });
    let mut joined = texts.next().unwrap_or_default().into_owned();
    for text in texts {
        joined.push('\n');
        joined.push_str(&text);
    }
    joined
}

fn bound(message: &mut TranscriptMessage) {
    if message.kind == EventKind::ToolResult && message.text().len() > RESULT_BYTES_MAX {
        let (content, omitted) = bounded_result(message.text());
        (message.content, message.truncated_bytes) = (Some(content), omitted);
    }
    if let Some(input) = message.input.take_if(|input| input.get().len() > INPUT_BYTES_MAX) {
        (message.input, message.truncated_bytes) = bounded_input(input.get());
    }
}

/// Replaces the middle of a long result with a marker. Returns the number of omitted bytes, too.
fn bounded_result(text: &str) -> (String, u64) {
    let head = truncate_to_bytes(text, RESULT_BYTES_MAX - RESULT_END_BYTES);
    let tail_start =
        (text.len() - RESULT_END_BYTES..).find(|offset| text.is_char_boundary(*offset)).unwrap_or(text.len());
    let omitted = tail_start - head.len();
    (format!("{head}\n[{omitted} bytes omitted]\n{}", &text[tail_start..]), omitted as u64)
}

/// Truncates each long text in very long arguments. Arguments that are still too long are omitted.
fn bounded_input(json: &str) -> (Option<Box<RawValue>>, u64) {
    let mut omitted = 0;
    let bounded = serde_json::from_str::<Value>(json).ok().and_then(|mut input| {
        truncate_texts(&mut input, &mut omitted);
        serde_json::value::to_raw_value(&input).ok().filter(|input| input.get().len() <= INPUT_BYTES_MAX)
    });
    if bounded.is_none() {
        omitted = json.len() as u64;
    }
    (bounded, omitted)
}

/// Truncates each long text in a value. The parser limits the depth of the value to 128.
fn truncate_texts(value: &mut Value, omitted: &mut u64) {
    match value {
        Value::String(text) if text.len() > INPUT_TEXT_BYTES_MAX => {
            let retained = truncate_to_bytes(text, INPUT_TEXT_BYTES_MAX).len();
            let bytes = text.len() - retained;
            text.truncate(retained);
            text.push_str(&format!("\n[{bytes} bytes omitted]"));
            *omitted += bytes as u64;
        }
        Value::Array(values) => values.iter_mut().for_each(|value| truncate_texts(value, omitted)),
        Value::Object(values) => values.values_mut().for_each(|value| truncate_texts(value, omitted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
