//! Reads the answers to our requests: those of the handshake, and those that end an exchange.

use super::super::content::quota_usage;
use super::super::failure_table::{FAILED, UNKNOWN_MODEL};
use super::super::handshake::Stage;
use super::AcpDecoder;
use agent_client_protocol_schema::{PromptResponse, StopReason as AcpStopReason, Usage as StatedUsage};
use longhaul_core::{AgentResult, ApiError, Notice, StartupError, StopReason, TerminalReason};
use serde::Deserialize;
use serde_json::{Value, json};
use std::mem;

impl AcpDecoder {
    pub(super) fn answer(&mut self, stage: Stage, result: Result<Value, Value>, out: &mut Vec<Notice>) {
        if let Some(transcript) = self.transcript.as_mut().filter(|_| stage == Stage::Prompt) {
            transcript.on_result(&result, &self.snapshot);
        }
        match (stage, result) {
            (Stage::Prompt, Ok(result)) => self.turn_ended(&result, out),
            (Stage::Prompt, Err(error)) => {
                let failure = self.find_failure(&json!({ "error": error }));
                self.push_error(&error);
                self.end_exchange(failure.unwrap_or(FAILED), None, out);
            }
            (_, Ok(result)) => {
                let can_continue = self.handshake.on_answer(stage, &result);
                self.show_handshake(stage, &result, out);
                if !can_continue {
                    // Of an open session, only the model cannot be set.
                    let is_open = self.handshake.session.is_some();
                    self.reject_start(if is_open { Stage::Model } else { stage }, None, out);
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
    fn reject_start(&mut self, stage: Stage, failure: Option<AgentResult>, out: &mut Vec<Notice>) {
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
        let problem = self.handshake.problem.take();
        if let Some(explanation) = problem.or_else(|| self.handshake.choices(stage)) {
            self.snapshot.push_error(&explanation);
        }
        let failure = match stage {
            Stage::Mode | Stage::Model => UNKNOWN_MODEL,
            Stage::Initialize | Stage::Session | Stage::Prompt => failure.unwrap_or(FAILED),
        };
        self.end_exchange(failure, None, out);
    }

    /// Ends an exchange whose prompt has a result.
    fn turn_ended(&mut self, result: &Value, out: &mut Vec<Notice>) {
        let Ok(response) = PromptResponse::deserialize(result) else {
            return self.end_exchange(FAILED, None, out);
        };
        let facts = json!({ "result": result, "text": self.last_chunk });
        let failure = self.marked.take().or_else(|| self.find_failure(&facts));
        let ended = failure.unwrap_or_else(|| self.result_of(response.stop_reason));
        let mut stated = response.usage;
        if let Some((usage, model)) = quota_usage(result) {
            stated = stated.or(Some(usage));
            self.snapshot.model = self.snapshot.model.take().or(model.map(str::to_owned));
        }
        self.end_exchange(ended, stated.as_ref(), out);
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
        let agent = &self.handshake.agent_name;
        self.usage_meter.on_result(stated, agent, self.snapshot.model.as_deref());
        let text = mem::take(&mut self.snapshot.last_text);
        self.snapshot.set_result(Some(text.as_str()).filter(|_| !result.is_error && !result.empty));
        self.snapshot.results += 1;
        // How far they got is unknown.
        for (id, mut call) in mem::take(&mut self.calls.open) {
            call.start(&id, &mut self.side_effects, &self.effects);
            let is_lapse = self.permissions.on_call_end(&id, &call);
            self.calls.add_ended(&id, is_lapse);
        }
        self.snapshot.tool = None;
        self.snapshot.activity.clear();
        self.permissions.on_exchange_end();
        self.exchange_open = false;
        self.marked = None;
        self.last_chunk.clear();
        self.progressed |= result.is_progress();
        self.result = Some(result);
        if result.is_progress() && self.claim.on_exchange_end(&text) {
            out.push(Notice::ClaimedDone);
        }
        self.snapshot.last_text = text;
        out.push(Notice::ExchangeEnded(result));
        out.push(Notice::Idle);
    }
}
