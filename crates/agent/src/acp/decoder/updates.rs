//! Reads the session updates of an open exchange: text, thinking, tool calls and costs.

use super::super::content::{chunk_text, message_id, stated_usage};
use super::super::tool_calls::{CallVerdict, has_ended};
use super::AcpDecoder;
use crate::activity::one_line;
use agent_client_protocol_schema::{ContentChunk, SessionUpdate, ToolCallStatus, ToolCallUpdate};
use longhaul_core::Notice;

// A line may be four times as long.
const TEXT_BYTES_MAX: usize = 16 << 20;

impl AcpDecoder {
    pub(super) fn update(&mut self, update: SessionUpdate, out: &mut Vec<Notice>) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.text(&chunk, out),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.usage_meter.on_text(message_id(&chunk), chunk_text(&chunk).len());
                if self.output(out) {
                    self.snapshot.set_activity("thinking");
                }
            }
            SessionUpdate::ToolCall(call) => self.tool_call(&ToolCallUpdate::from(call), out),
            SessionUpdate::ToolCallUpdate(update) => self.tool_call_update(&update, out),
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
            let is_other = self.usage_meter.on_text(message_id(chunk), text.len());
            if self.output(out) {
                self.add_text(text, is_other);
            }
        }
        if let Some(stated) = stated_usage(chunk) {
            self.usage_meter.on_request(&stated);
            out.push(Notice::MessageEnded);
        }
    }

    fn add_text(&mut self, text: &str, is_other_message: bool) {
        if is_other_message {
            self.snapshot.last_text.clear();
        }
        text.clone_into(&mut self.last_chunk);
        if self.snapshot.last_text.len() < TEXT_BYTES_MAX {
            self.snapshot.last_text.push_str(text);
        }
        self.snapshot.set_activity("writing");
    }

    /// Records output of the model. Returns whether it belongs to an exchange.
    fn output(&mut self, out: &mut Vec<Notice>) -> bool {
        if !self.exchange_open && self.handshake.has_sent_prompt(self.prompt_number()) {
            self.exchange_open = true;
            self.claim.on_exchange_start();
            self.snapshot.last_text.clear();
            out.push(Notice::ExchangeStarted);
        }
        self.exchange_open
    }

    fn tool_call_update(&mut self, update: &ToolCallUpdate, out: &mut Vec<Notice>) {
        let id = update.tool_call_id.to_string();
        let is_open = self.calls.open.contains_key(&id);
        let Some(&is_lapse) = self.calls.ended.get(&id).filter(|_| !is_open) else {
            return self.tool_call(update, out);
        };
        // A late statement about a call. If its exchange left it open, this is its end.
        if let Some(status) = update.fields.status.filter(|status| has_ended(*status)) {
            let failed = status == ToolCallStatus::Failed;
            self.permissions.lapsed |= is_lapse && !failed;
            self.side_effects.on_end(&id, failed, None);
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
        let is_in_exchange = self.output(out);
        if !is_known && is_in_exchange {
            self.snapshot.last_text.clear();
        }
        let Some(call) = self.calls.merge(update) else { return };
        if !is_known {
            self.usage_meter.on_call(call.input.len());
        }
        // Some agents state the input only after the start of the call.
        if !call.input.is_empty() || status.is_some_and(|status| status != ToolCallStatus::Pending) {
            if call.start(&id, &mut self.side_effects, &self.effects) && is_in_exchange {
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
        let is_lapse = self.permissions.on_call_end(id, &call);
        self.permissions.lapsed |= is_lapse && !failed;
        self.calls.add_ended(id, is_lapse);
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
