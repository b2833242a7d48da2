//! Decodes the stream of one process: message by message into notices, and at the end into evidence.
//!
//! Updates before the session is open repeat its history and are not counted. After that, output of the model
//! shows an open exchange if a prompt was sent. The exchange ends with the answer to this prompt. Later output counts,
//! but opens no exchange: agents send updates late, and some work in the background.

mod answers;
mod updates;

use super::failure_table::FailureTable;
use super::handshake::{Handshake, Stage, prompt_id};
use super::permissions::Permissions;
use super::rpc::{self, Incoming};
use super::tool_calls::AcpCalls;
use super::transcript::AcpTranscript;
use super::usage_meter::AcpUsageMeter;
use crate::done_claim::DoneClaim;
use crate::line_splitter::{Line, LineSplitter};
use crate::transcript_message::TranscriptMessage;
use crate::{
    AgentRequest, AttemptSnapshot, Decoder, DoneSignals, EffectRules, Guards, SessionStart, SideEffects,
    Tables,
};
use agent_client_protocol_schema::{CLIENT_METHOD_NAMES, SessionNotification, SessionUpdate};
use longhaul_core::{AgentResult, Evidence, Exit, Notice, SessionId, StartupError, Usage};
use serde_json::{Value, json};
use std::mem;
use std::sync::Arc;

#[derive(Debug, Default)]
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
    marked: Option<AgentResult>,
    /// The last text that the agent sent in this exchange: a part of the last message, or all of it.
    last_chunk: String,
    result: Option<AgentResult>,
    /// Whether the agent has opened the session. Earlier updates repeat its history.
    session_open: bool,
    exchange_open: bool,
    startup: Option<StartupError>,
    progressed: bool,
    transcript: Option<AcpTranscript>,
}

impl Decoder for AcpDecoder {
    fn begin(&mut self, start: SessionStart<'_>) {
        self.permissions.set_dir(&start.spec.cwd.to_string_lossy());
        self.handshake.begin(&start);
    }

    fn add_sent(&mut self, requests: Vec<String>) {
        self.handshake.add_sent(requests);
    }

    fn add_prompt(&mut self) -> Option<String> {
        let id = prompt_id(self.prompt_number());
        self.handshake.add_sent(vec![id.clone()]);
        Some(id)
    }

    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>) {
        let mut lines = mem::take(&mut self.lines);
        lines.feed(bytes, |line, _| self.line(line, out));
        self.lines = lines;
        self.snapshot.usage = self.usage();
    }

    fn collect_messages(&mut self, attempt: u32) {
        self.transcript = Some(AcpTranscript::new(self.usage_meter.prices.clone(), attempt));
    }

    fn take_messages(&mut self) -> Vec<TranscriptMessage> {
        self.transcript.as_mut().map(AcpTranscript::take).unwrap_or_default()
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
        self.transcript.iter_mut().for_each(AcpTranscript::flush);
        for (id, call) in &mut self.calls.open {
            call.start(id, &mut self.side_effects, &self.effects);
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
}

impl AcpDecoder {
    pub(super) fn new(tables: &Tables, guards: Guards, done_signals: DoneSignals) -> AcpDecoder {
        AcpDecoder {
            permissions: Permissions::new(guards),
            effects: Arc::clone(&tables.effects),
            usage_meter: AcpUsageMeter::new(tables.prices.clone()),
            claim: DoneClaim::new(done_signals),
            ..AcpDecoder::default()
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<Notice>) {
        let Line::Whole(bytes) = line else { return self.invalid_line(out) };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let Some(incoming) = rpc::parse(bytes) else { return self.invalid_line(out) };
        let notices_before = out.len();
        self.snapshot.events += 1;
        match incoming {
            Incoming::Answer { id, result } => match Stage::of(&id) {
                // A second answer to a prompt ends no exchange.
                Some(Stage::Prompt) if id != prompt_id(self.prompt_number()) => {
                    self.snapshot.unknown_events += 1;
                }
                Some(stage) => self.answer(stage, result, out),
                None => self.snapshot.unknown_events += 1,
            },
            Incoming::Request { id, method, params } => {
                if method == CLIENT_METHOD_NAMES.session_request_permission {
                    self.permissions.on_request(&id, &params, &mut self.calls);
                } else {
                    self.permissions.refuse(&id);
                }
            }
            Incoming::Update { update: Some(update), raw } if self.is_ours(&update, out) => {
                self.marked = self.find_failure(&json!({ "update": raw })).or(self.marked);
                if let Some(transcript) = &mut self.transcript {
                    transcript.on_update(&update.update, &self.snapshot);
                }
                self.update(update.update, out);
            }
            Incoming::Update { update: Some(update), .. } => {
                // The cost of a session before its prompt is that of earlier attempts.
                if let SessionUpdate::UsageUpdate(update) = update.update {
                    self.usage_meter.on_session_usage(&update);
                }
            }
            Incoming::Update { update: None, .. } => self.snapshot.unknown_events += 1,
            Incoming::Other => {}
        }
        // Usage must be reported before the end of the exchange that it belongs to.
        if self.usage_meter.take_update() {
            out.insert(notices_before, Notice::UsageUpdated(self.usage()));
        }
        if out.len() == notices_before && out.last() != Some(&Notice::Activity) {
            out.push(Notice::Activity);
        }
    }

    /// Returns the number of the first prompt without an answer, whether it was sent or not.
    fn prompt_number(&self) -> u32 {
        self.snapshot.results + 1
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

    fn find_failure(&self, facts: &Value) -> Option<AgentResult> {
        FailureTable::bundled().find(&self.handshake.agent_name, facts)
    }

    /// Returns whether the program is no agent: it exited on its own without a message.
    fn startup_by_exit(&self, exit: Exit) -> Option<StartupError> {
        let exited = matches!(exit, Exit::Code(code) if ![129, 143].contains(&code));
        (exited && self.snapshot.events == 0).then_some(StartupError::NotAnAgent)
    }
}

#[cfg(test)]
mod tests;
