//! Decodes the stream of one process: message by message into notices, and at the end into evidence.
//!
//! Updates before the session is open repeat its history and are not counted. After that, output of the model
//! shows an open exchange, which ends with the answer to its prompt.

use super::content::chunk_text;
use super::failure_table::{FailureTable, RequestFailure};
use super::handshake::{Handshake, Stage};
use super::permissions::Permissions;
use super::rpc::{self, Incoming};
use super::tool_calls::{AcpCall, AcpCalls, CallVerdict, has_ended};
use super::transcript_decoder::AcpTranscriptDecoder;
use super::usage_meter::AcpUsageMeter;
use crate::line_splitter::{Line, LineSplitter};
use crate::transcript_message::TranscriptMessage;
use crate::{
    AgentRequest, AttemptSnapshot, Decoder, DoneClaim, DoneSignals, EffectRules, EffectScope, Guards, Prices,
    SessionStart, SideEffects, UnresolvedCall, one_line, with_detail,
};
use agent_client_protocol_schema::{
    CLIENT_METHOD_NAMES, ContentChunk, PromptResponse, SessionNotification, SessionUpdate,
    StopReason as AcpStopReason, ToolCallStatus, ToolCallUpdate, Usage as StatedUsage,
};
use longhaul_core::{
    AgentResult, ApiError, Evidence, Exit, Notice, SessionId, StartupError, StopReason, TerminalReason, Usage,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::mem;
use std::sync::Arc;

// A line may be four times as long.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// The decoder of the protocol.
#[derive(Debug)]
pub(super) struct AcpDecoder {
    lines: LineSplitter,
    snapshot: AttemptSnapshot,
    handshake: Handshake,
    permissions: Permissions,
    calls: AcpCalls,
    effects: Arc<EffectRules>,
    side_effects: SideEffects,
    usage_meter: AcpUsageMeter,
    claim: DoneClaim,
    /// A failure that an update of this exchange reported.
    marked: Option<RequestFailure>,
    /// The last result.
    result: Option<AgentResult>,
    /// Whether the agent has opened the session. Earlier updates repeat its history.
    session_open: bool,
    exchange_open: bool,
    startup: Option<StartupError>,
    progressed: bool,
    /// Collects the messages, if a reader wants them.
    transcript: Option<AcpTranscriptDecoder>,
    messages: Vec<TranscriptMessage>,
}

impl Decoder for AcpDecoder {
    fn begin(&mut self, start: SessionStart<'_>) {
        self.permissions.set_dir(&start.spec.cwd.to_string_lossy());
        self.handshake.begin(&start);
    }

    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>) {
        if let Some(transcript) = &mut self.transcript {
            transcript.feed(bytes, &mut self.messages);
        }
        let mut lines = mem::take(&mut self.lines);
        lines.feed(bytes, |line| self.line(line, out));
        self.lines = lines;
        self.snapshot.usage = self.usage();
    }

    fn collect_messages(&mut self, attempt: u32) {
        self.transcript = Some(AcpTranscriptDecoder::new(self.usage_meter.prices().clone(), attempt));
    }

    fn take_messages(&mut self) -> Vec<TranscriptMessage> {
        mem::take(&mut self.messages)
    }

    fn take_replies(&mut self) -> Vec<Vec<u8>> {
        self.permissions.take_answers()
    }

    fn take_requests(&mut self) -> Vec<AgentRequest> {
        self.handshake.take_due().into_iter().collect()
    }

    fn snapshot(&self) -> &AttemptSnapshot {
        &self.snapshot
    }

    fn side_effects(&self) -> &SideEffects {
        &self.side_effects
    }

    fn usage_by_model(&self) -> Vec<(String, Usage)> {
        let usage = self.usage();
        let model = self.snapshot.model.clone().unwrap_or_default();
        if usage == Usage::default() { Vec::new() } else { vec![(model, usage)] }
    }

    fn evidence(&mut self, exit: Exit, _stderr_tail: &str) -> Evidence {
        let mut ignored_notices = Vec::new();
        mem::take(&mut self.lines).finish(|line| self.line(line, &mut ignored_notices));
        if let Some(transcript) = &mut self.transcript {
            transcript.finish(&mut self.messages);
        }
        for (id, call) in &mut self.calls.open {
            start_call(&mut self.side_effects, &self.effects, id, call);
        }
        self.snapshot.usage = self.usage();
        Evidence {
            startup: self.startup.or_else(|| self.startup_by_exit(exit)),
            result: self.result,
            exchange_open: self.result.is_some() && self.exchange_open,
            guard_lapsed: self.permissions.lapsed,
            denied_calls: self.permissions.denied,
            session: self.snapshot.session.clone(),
            session_named_by_agent: true,
            made_progress: self.progressed,
            claimed_done: self.claim.made,
            results: self.snapshot.results,
            usage: self.snapshot.usage,
            ..Evidence::from_exit(exit)
        }
    }

    fn is_compactable(&self) -> bool {
        false
    }

    fn keeps_line(&self, _line: &[u8]) -> bool {
        true
    }
}

impl AcpDecoder {
    pub(super) fn new(
        prices: Prices,
        effects: Arc<EffectRules>,
        guards: Guards,
        done_signals: DoneSignals,
    ) -> AcpDecoder {
        AcpDecoder {
            lines: LineSplitter::default(),
            snapshot: AttemptSnapshot::default(),
            handshake: Handshake::default(),
            permissions: Permissions::new(guards),
            calls: AcpCalls::default(),
            effects,
            side_effects: SideEffects::default(),
            usage_meter: AcpUsageMeter::new(prices),
            claim: DoneClaim::new(done_signals),
            marked: None,
            result: None,
            session_open: false,
            exchange_open: false,
            startup: None,
            progressed: false,
            transcript: None,
            messages: Vec::new(),
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<Notice>) {
        let Line::Whole(bytes) = line else { return self.invalid_line(out) };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let Some(incoming) = rpc::parse(bytes) else { return self.invalid_line(out) };
        let notices_before = out.len();
        match incoming {
            Incoming::Answer { id, result } => match Stage::of(&id) {
                Some(stage) => self.answer(stage, result, out),
                None => self.snapshot.unknown_events += 1,
            },
            Incoming::Request { id, method, params } => {
                self.snapshot.events.count("request");
                if method == CLIENT_METHOD_NAMES.session_request_permission {
                    self.permissions.on_request(&id, &params, &mut self.calls);
                } else {
                    self.permissions.refuse(&id);
                }
            }
            Incoming::Update { update: Some(update), raw } if self.is_ours(&update, out) => {
                self.snapshot.events.count("update");
                self.marked = self.find_failure(&json!({ "update": raw })).or(self.marked);
                self.update(update.update, out);
            }
            Incoming::Update { update: Some(update), .. } => {
                self.snapshot.events.count("history");
                // The cost of a session before its prompt is that of earlier attempts.
                if let SessionUpdate::UsageUpdate(update) = update.update {
                    self.usage_meter.on_cost(&update);
                }
            }
            Incoming::Update { update: None, .. } => self.snapshot.unknown_events += 1,
            Incoming::Other(method) => self.snapshot.events.count_unknown(&method),
        }
        // Usage must be reported before the end of the exchange that it belongs to.
        if self.usage_meter.take_update() {
            out.insert(notices_before, Notice::UsageUpdated(self.usage()));
        }
        if out.len() == notices_before && out.last() != Some(&Notice::Activity) {
            out.push(Notice::Activity);
        }
    }

    /// Returns whether an update is new work in the session. Learns the id of a resumed session from it if the
    /// stream is read without its settings.
    fn is_ours(&mut self, update: &SessionNotification, out: &mut Vec<Notice>) -> bool {
        if self.session_open && self.snapshot.session.is_none() {
            self.open_session(SessionId::from(&*update.session_id.0), out);
        }
        self.session_open
            && self.snapshot.session.as_ref().is_some_and(|id| id.as_str() == &*update.session_id.0)
    }

    fn open_session(&mut self, session: SessionId, out: &mut Vec<Notice>) {
        self.snapshot.session = Some(session.clone());
        out.push(Notice::SessionOpened(session));
    }

    fn invalid_line(&mut self, out: &mut Vec<Notice>) {
        self.snapshot.invalid_lines += 1;
        out.push(Notice::Activity);
    }

    fn usage(&self) -> Usage {
        self.usage_meter.usage(self.snapshot.model.as_deref())
    }

    fn find_failure(&self, facts: &Value) -> Option<RequestFailure> {
        FailureTable::bundled().find(&self.handshake.agent_name, facts)
    }

    fn answer(&mut self, stage: Stage, result: Result<Value, Value>, out: &mut Vec<Notice>) {
        self.snapshot.events.count("answer");
        match (stage, result) {
            (Stage::Prompt, Ok(result)) => self.turn_ended(&result, out),
            (Stage::Prompt, Err(error)) => {
                let failure = self.find_failure(&json!({ "error": error }));
                self.push_error(&error);
                self.end_exchange(failure.unwrap_or_default().result(), None, out);
            }
            (_, Ok(result)) => {
                let can_continue = self.handshake.on_answer(stage, &result);
                self.show_handshake(stage, &result, out);
                if !can_continue {
                    self.reject_start(stage, None, out);
                }
            }
            (_, Err(error)) => {
                self.push_error(&error);
                let failure = self.find_failure(&json!({ "error": error }));
                self.reject_start(stage, failure, out);
            }
        }
    }

    fn push_error(&mut self, error: &Value) {
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        let details = error.pointer("/data/details").and_then(Value::as_str);
        self.snapshot.push_error(details.unwrap_or(message));
    }

    fn show_handshake(&mut self, stage: Stage, result: &Value, out: &mut Vec<Notice>) {
        self.snapshot.version.clone_from(&self.handshake.agent_version);
        self.snapshot.model.clone_from(&self.handshake.model);
        if stage != Stage::Session {
            return;
        }
        let mode = result.pointer("/modes/currentModeId").and_then(Value::as_str);
        self.snapshot.permission_mode = mode.map(str::to_owned);
        self.usage_meter.on_session(result.get("sessionId").is_some());
        self.session_open = true;
        if let Some(session) = self.handshake.session.clone() {
            self.open_session(session, out);
        }
    }

    /// Ends an attempt whose session could not be opened. The agent waits for another request.
    fn reject_start(&mut self, stage: Stage, failure: Option<RequestFailure>, out: &mut Vec<Notice>) {
        let has_history = self.handshake.has_history();
        self.startup = match (stage, failure) {
            // The API refused the agent, or the agent lacks a login.
            (Stage::Initialize | Stage::Session, Some(_)) => None,
            // An agent that can neither resume nor load cannot continue the session.
            (Stage::Initialize | Stage::Session, None) if has_history => Some(StartupError::SessionUnknown),
            (Stage::Initialize | Stage::Session, None) => Some(StartupError::Unusable),
            (Stage::Mode, _) => Some(StartupError::UnknownPermissionMode),
            (Stage::Model | Stage::Prompt, _) => None,
        };
        let failure = match stage {
            Stage::Mode | Stage::Model => RequestFailure::UNKNOWN_MODEL,
            Stage::Initialize | Stage::Session | Stage::Prompt => failure.unwrap_or_default(),
        };
        self.end_exchange(failure.result(), None, out);
    }

    fn update(&mut self, update: SessionUpdate, out: &mut Vec<Notice>) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.text(&chunk, out),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.output(out);
                self.usage_meter.on_text(chunk_text(&chunk).len());
                self.set_activity("thinking");
            }
            SessionUpdate::ToolCall(call) => self.tool_call(&ToolCallUpdate::from(call), out),
            SessionUpdate::ToolCallUpdate(update) => self.tool_call(&update, out),
            SessionUpdate::UsageUpdate(update) => self.usage_meter.on_cost(&update),
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
            self.usage_meter.on_text(text.len());
            if self.snapshot.last_text.len() < TEXT_BYTES_MAX {
                self.snapshot.last_text.push_str(text);
            }
            self.set_activity("writing");
        }
        let stated = chunk.meta.as_ref().and_then(|meta| meta.get("usage"));
        if let Some(stated) = stated.and_then(|usage| StatedUsage::deserialize(usage).ok()) {
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
            self.usage_meter.on_call();
            self.snapshot.last_text.clear();
        }
        let Some(call) = self.calls.merge(update) else { return };
        // Some agents state the input only after the start of the call.
        if !call.input.is_empty() || status.is_some_and(|status| status != ToolCallStatus::Pending) {
            if start_call(&mut self.side_effects, &self.effects, &id, call) {
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
        self.set_activity("thinking");
        self.snapshot.tool = self.calls.open_label().map(|label| one_line(&label));
        out.push(Notice::ToolEnded);
    }

    /// Ends an exchange whose prompt has a result.
    fn turn_ended(&mut self, result: &Value, out: &mut Vec<Notice>) {
        let Ok(response) = PromptResponse::deserialize(result) else {
            return self.end_exchange(RequestFailure::default().result(), None, out);
        };
        let facts = json!({ "result": result, "text": self.snapshot.last_text });
        let failure = self.marked.take().or_else(|| self.find_failure(&facts));
        let ended = failure.map_or_else(|| self.result_of(response.stop_reason), RequestFailure::result);
        self.end_exchange(ended, response.usage.as_ref(), out);
    }

    fn result_of(&self, reason: AcpStopReason) -> AgentResult {
        let failed = AgentResult { is_error: true, stop_reason: StopReason::Other, ..AgentResult::COMPLETED };
        match reason {
            AcpStopReason::EndTurn => AgentResult {
                empty: self.snapshot.last_text.trim().is_empty(),
                denials: self.permissions.not_allowed,
                ..AgentResult::COMPLETED
            },
            AcpStopReason::MaxTokens => AgentResult { api_error: Some(ApiError::MaxOutputTokens), ..failed },
            AcpStopReason::MaxTurnRequests => {
                AgentResult { terminal_reason: TerminalReason::MaxTurns, ..failed }
            }
            AcpStopReason::Refusal => AgentResult { stop_reason: StopReason::Refusal, ..failed },
            AcpStopReason::Cancelled => AgentResult { terminal_reason: TerminalReason::Aborted, ..failed },
            _ => AgentResult { terminal_reason: TerminalReason::Other, ..failed },
        }
    }

    fn end_exchange(&mut self, result: AgentResult, stated: Option<&StatedUsage>, out: &mut Vec<Notice>) {
        self.usage_meter.on_result(stated, self.snapshot.model.as_deref());
        let text = mem::take(&mut self.snapshot.last_text);
        self.snapshot.set_result(Some(text.as_str()).filter(|_| !result.is_error && !result.empty));
        self.snapshot.results += 1;
        for (id, call) in mem::take(&mut self.calls.open) {
            // How far it got is unknown.
            let mut call = call;
            start_call(&mut self.side_effects, &self.effects, &id, &mut call);
        }
        self.snapshot.tool = None;
        self.snapshot.activity.clear();
        self.permissions.on_exchange_end();
        self.exchange_open = false;
        self.marked = None;
        self.progressed |= result.is_progress();
        self.result = Some(result);
        if result.is_progress() && self.claim.on_exchange_end(&text) {
            out.push(Notice::ClaimedDone);
        }
        self.snapshot.last_text = text;
        out.push(Notice::ExchangeEnded(result));
        out.push(Notice::Idle);
    }

    /// Returns whether the program is no agent: it failed without a message.
    fn startup_by_exit(&self, exit: Exit) -> Option<StartupError> {
        let failed = match exit {
            Exit::Code(code) => ![129, 143].contains(&code) && (code != 0 || self.snapshot.invalid_lines > 0),
            Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => false,
        };
        (failed && self.snapshot.events.is_empty()).then_some(StartupError::NotAnAgent)
    }

    fn set_activity(&mut self, activity: &str) {
        if self.snapshot.activity != activity {
            activity.clone_into(&mut self.snapshot.activity);
        }
    }
}

/// Records the start of a call, once. Returns whether this was the start.
fn start_call(side_effects: &mut SideEffects, effects: &EffectRules, id: &str, call: &mut AcpCall) -> bool {
    if mem::replace(&mut call.started, true) {
        return false;
    }
    if !effects.is_read_only(call.tool()) {
        let scope = effects.scope(call.tool(), &call.command);
        let effect = match &scope {
            EffectScope::Workspace | EffectScope::Tool => call.label(),
            EffectScope::Commands(commands) => with_detail(call.tool(), &commands.join("; ")),
        };
        side_effects.on_start(UnresolvedCall {
            id: id.to_owned(),
            effect,
            is_outside: scope != EffectScope::Workspace,
            in_background: false,
            is_subagent: false,
            time: None,
        });
    }
    true
}

#[cfg(test)]
mod tests;
