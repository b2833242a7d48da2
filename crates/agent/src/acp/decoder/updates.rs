//! Reads the session updates of an open exchange: text, thinking, tool calls and costs.

use super::super::content::{chunk_text, message_id, stated_usage};
use super::super::tool_calls::{CallVerdict, has_ended};
use super::AcpDecoder;
use crate::activity::one_line;
use agent_client_protocol_schema::{ContentChunk, SessionUpdate, ToolCallStatus, ToolCallUpdate};
use longhaul_core::Notice;
use std::mem;

// A line may be four times as long.
const TEXT_BYTES_MAX: usize = 16 << 20;

impl AcpDecoder {
    pub(super) fn update(&mut self, update: SessionUpdate, out: &mut Vec<Notice>) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.text(&chunk, out),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.output(out);
                self.usage_meter.on_text(message_id(&chunk), chunk_text(&chunk).len());
                self.snapshot.set_activity("thinking");
            }
            SessionUpdate::ToolCall(call) => self.tool_call(&ToolCallUpdate::from(call), out),
            SessionUpdate::ToolCallUpdate(update) => self.tool_call(&update, out),
            SessionUpdate::UsageUpdate(update) => self.usage_meter.on_session_usage(&update),
            SessionUpdate::CurrentModeUpdate(update) => {
                self.snapshot.permission_mode = Some(update.current_mode_id.to_string());
            }
            _ => {}
        }
    }

    fn text(&mut self, chunk: &ContentChunk, out: &mut Vec<Notice>) {
        let text = chunk_text(chunk);
        if !text.is_empty() {
            self.output(out);
            if self.usage_meter.on_text(message_id(chunk), text.len()) {
                self.snapshot.last_text.clear();
            }
            text.clone_into(&mut self.last_chunk);
            if self.snapshot.last_text.len() < TEXT_BYTES_MAX {
                self.snapshot.last_text.push_str(text);
            }
            self.snapshot.set_activity("writing");
        }
        if let Some(stated) = stated_usage(chunk) {
            self.usage_meter.on_request(&stated);
            out.push(Notice::MessageEnded);
        }
    }

    /// Records output of the model, which shows an open exchange.
    fn output(&mut self, out: &mut Vec<Notice>) {
        if !mem::replace(&mut self.exchange_open, true) {
            self.claim.on_exchange_start();
            self.snapshot.last_text.clear();
            out.push(Notice::ExchangeStarted);
        }
    }

    fn tool_call(&mut self, update: &ToolCallUpdate, out: &mut Vec<Notice>) {
        let id = update.tool_call_id.to_string();
        let status = update.fields.status;
        let is_known = self.calls.open.contains_key(&id);
        if !is_known && status.is_none() {
            // A statement about a call that has ended.
            return;
        }
        if !is_known {
            self.output(out);
            self.snapshot.last_text.clear();
        }
        let Some(call) = self.calls.merge(update) else { return };
        if !is_known {
            self.usage_meter.on_call(call.input.len());
        }
        // Some agents state the input only after the start of the call.
        if !call.input.is_empty() || status.is_some_and(|status| status != ToolCallStatus::Pending) {
            if call.start(&id, &mut self.side_effects, &self.effects) {
                out.push(Notice::ToolStarted);
            }
            self.snapshot.tool = Some(one_line(&call.label()));
            self.snapshot.activity = one_line(&call.label());
        }
        if status.is_some_and(has_ended) {
            self.end_call(&id, status == Some(ToolCallStatus::Failed), out);
        }
    }

    fn end_call(&mut self, id: &str, failed: bool, out: &mut Vec<Notice>) {
        let Some(call) = self.calls.open.remove(id) else { return };
        self.permissions.on_call_end(id, &call, failed);
        if failed && call.verdict.is_some_and(|verdict| verdict != CallVerdict::Allowed) {
            self.side_effects.on_never_ran(id);
        } else {
            self.side_effects.on_end(id, failed, None);
            self.progressed = true;
        }
        self.usage_meter.on_message_end();
        self.snapshot.set_activity("thinking");
        self.snapshot.tool = self.calls.open_label().map(|label| one_line(&label));
        out.push(Notice::ToolEnded);
    }
}
