//! Decodes the stream of one process: line by line into notices, and at the end into evidence.
//!
//! Never fails: lines that are not events are counted. This module dispatches events and tracks whether an
//! exchange is open; its sibling modules interpret them.

use super::SYNTHETIC;
use super::background::Background;
use super::compaction::Deltas;
use super::conversation_reducer::ConversationReducer;
use super::effect_tracker;
use super::exchange::ExchangeState;
use super::guard_hooks::GuardHooks;
use super::startup_error;
use super::tool_calls::ToolCalls;
use super::usage_meter::UsageMeter;
use super::vendor_terms;
use super::wire::{Note, ResultLine, StreamLine, parse};
use crate::activity;
use crate::done_claim::{DoneClaim, FINISH};
use crate::line_splitter::{Line, LineSplitter};
use crate::transcript_message::TranscriptMessage;
use crate::{AttemptSnapshot, Decoder, DoneSignals, EffectRules, Guards, ReviewAnswer, SideEffects, Tables};
use longhaul_core::{
    AgentResult, Evidence, Exit, Moment, Notice, RateLimit, RateLimitStatus, SessionId, Span, StartupError,
    Usage,
};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

const BOM: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Default)]
pub(super) struct ClaudeDecoder {
    lines: LineSplitter,
    /// The bytes of the current line in the stream, with its newline.
    line_range: Range<u64>,
    deltas: Deltas,
    snapshot: AttemptSnapshot,
    usage_meter: UsageMeter,
    tools: ToolCalls,
    effects: Arc<EffectRules>,
    side_effects: SideEffects,
    exchange: ExchangeState,
    result: Option<AgentResult>,
    /// Whether an exchange is open: it started and no result followed.
    exchange_open: bool,
    rate_limit: Option<RateLimit>,
    startup: Option<StartupError>,
    guard_hooks: GuardHooks,
    guard_lapsed: bool,
    /// Whether an exchange or a tool call was completed.
    progressed: bool,
    claim: DoneClaim,
    background: Background,
    messages: Option<ConversationReducer>,
}

impl Decoder for ClaudeDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Notice>) {
        let mut lines = mem::take(&mut self.lines);
        lines.feed(bytes, |line, end| {
            self.line_range = self.line_range.end..end;
            self.line(line, out);
        });
        self.lines = lines;
    }

    fn collect_messages(&mut self, attempt: u32) {
        self.messages = Some(ConversationReducer::new(self.usage_meter.prices.clone(), attempt));
    }

    fn take_messages(&mut self) -> Vec<TranscriptMessage> {
        self.messages.as_mut().map(ConversationReducer::take).unwrap_or_default()
    }

    fn snapshot(&self) -> &AttemptSnapshot {
        &self.snapshot
    }

    fn side_effects(&self) -> &SideEffects {
        &self.side_effects
    }

    fn take_replies(&mut self) -> Vec<Vec<u8>> {
        self.guard_hooks.take_answers()
    }

    fn awaits_reply(&self, replied_bytes: u64) -> bool {
        let calls = &self.tools.open;
        !calls.is_empty() && calls.keys().all(|call| self.guard_hooks.awaits_reply(call, replied_bytes))
    }

    fn usage_by_model(&self) -> Vec<(String, Usage)> {
        self.usage_meter.by_model()
    }

    fn needs_sub_agent_files(&self) -> bool {
        self.usage_meter.has_estimates()
    }

    fn read_sub_agent_file(&mut self, file: &[u8]) {
        for line in file.split(|byte| *byte == b'\n') {
            if let Some(row) = parse::<StreamLine<'_>>(line).filter(|row| row.kind.is("assistant")) {
                self.usage_meter.file_row(&row.message);
            }
        }
    }

    fn evidence(&mut self, exit: Exit, stderr_tail: &str) -> Evidence {
        // The last line may lack its newline and may be truncated. It is kept, because it shows how the stream ended.
        self.line_range = 0..0;
        let mut ignored_notices = Vec::new();
        mem::take(&mut self.lines).finish(|line| self.line(line, &mut ignored_notices));
        self.messages.iter_mut().for_each(ConversationReducer::close);
        self.usage_meter.close_all();
        self.snapshot.usage = self.usage_meter.usage();
        Evidence {
            startup: self.startup.or_else(|| self.startup_by_stderr(exit, stderr_tail)),
            result: self.result,
            exchange_open: self.result.is_some() && self.exchange_open,
            rate_limit: self.rate_limit,
            guard_lapsed: self.guard_lapsed || self.guard_hooks.has_lapsed() || self.hides_lapse(),
            denied_calls: self.guard_hooks.denied,
            questions: self.guard_hooks.questions,
            session: self.snapshot.session.clone(),
            made_progress: self.progressed,
            claimed_done: self.claim.made,
            results: self.snapshot.results,
            background: self.background.count(),
            lost_sub_agents: self.background.has_sub_agents(),
            review: self.snapshot.review.as_ref().map(ReviewAnswer::verdict),
            usage: self.snapshot.usage,
            ..Evidence::from_exit(exit)
        }
    }

    fn droppable(&self) -> Vec<Range<u64>> {
        self.deltas.droppable(&self.usage_meter.truncated)
    }
}

impl ClaudeDecoder {
    pub(super) fn new(tables: &Tables, guards: Guards, done_signals: DoneSignals) -> ClaudeDecoder {
        ClaudeDecoder {
            usage_meter: UsageMeter::new(tables.prices.clone()),
            effects: Arc::clone(&tables.effects),
            guard_hooks: GuardHooks::new(guards, done_signals.tool),
            claim: DoneClaim::new(done_signals),
            ..ClaudeDecoder::default()
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<Notice>) {
        let Line::Whole(bytes) = line else { return self.invalid_line(out) };
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii();
        if bytes.is_empty() {
            return;
        }
        match parse::<StreamLine<'_>>(bytes).filter(|event| event.kind.non_empty().is_some()) {
            Some(event) => self.event(&event, bytes, out),
            None => self.invalid_line(out),
        }
    }

    fn invalid_line(&mut self, out: &mut Vec<Notice>) {
        self.snapshot.invalid_lines += 1;
        push_activity(out);
    }

    fn event(&mut self, event: &StreamLine<'_>, line: &[u8], out: &mut Vec<Notice>) {
        self.messages.iter_mut().for_each(|messages| messages.on_event(event));
        // Only the subtype of `system` and of unknown events distinguishes them.
        let subtype = if event.kind.is("result") { "" } else { event.subtype.as_str() };
        self.snapshot.events += 1;
        let notices_before = out.len();
        // The line of a rare event is parsed again, with its own fields.
        let note = || parse::<Note<'_>>(line).unwrap_or_default();
        match (event.kind.as_str(), subtype) {
            ("stream_event", _) => self.stream_event(event, out),
            ("assistant", _) => self.assistant(event, out),
            ("user", _) => {
                self.user(event, out);
                if self.background.awaits_output() {
                    self.background.on_results(&event.message.content.0);
                    self.snapshot.background = self.background.tasks();
                }
            }
            ("result", _) => {
                if let Some(result) = parse::<ResultLine<'_>>(line) {
                    self.messages.iter_mut().for_each(|messages| messages.on_result(&result));
                    self.result(&result, out);
                }
            }
            ("rate_limit_event", _) => self.rate_limit(&note(), out),
            ("control_request", _) => self.control_request(&note()),
            ("control_cancel_request", _) => self.guard_hooks.on_withdrawn(note().request_id.as_str()),
            ("control_response", _) => {
                let response = note().response;
                self.guard_hooks.on_response(&response);
                self.usage_meter.on_usage_report(&response.response.session);
            }
            ("tool_progress" | "command_lifecycle" | "keep_alive", _) => {}
            ("system", "init") => self.init(&note(), out),
            ("system", "status") => self.status(&note()),
            ("system", "api_retry") => self.retry(&note(), out),
            ("system", "session_state_changed") => self.session_state(&note(), out),
            ("system", "background_tasks_changed") => self.background_changed(&note(), out),
            ("system", "task_started") => self.task_started(&note()),
            ("system", "task_notification") => self.task_notification(&note()),
            ("system", "hook_response") => self.guard_hooks.on_project_hook(&note()),
            ("system", "informational") => self.informational(&note()),
            ("system", "notification") => self.notification(&note()),
            ("system", "permission_denied") => self.permission_denied(&note()),
            ("system", "model_fallback") => self.snapshot.model = note().fallback_model.owned(),
            ("system", "compact_boundary") => out.push(Notice::MessageEnded),
            (
                "system",
                "task_progress"
                | "task_updated"
                | "task_summary"
                | "thinking_tokens"
                | "hook_started"
                | "hook_progress"
                | "model_refusal_no_fallback",
            ) => {}
            // New versions add events.
            _ => {
                self.snapshot.unknown_events += 1;
                push_activity(out);
                return;
            }
        }
        // Usage must be reported before the end of the exchange that it belongs to.
        if let Some(usage) = self.usage_meter.take_update() {
            self.snapshot.usage = usage;
            out.insert(notices_before, Notice::UsageUpdated(usage));
        }
        // A ping shows an open connection, not a working API: the agent forwards one about every ten seconds while
        // the API sends nothing else (2.1.330).
        if out.len() == notices_before && !event.event.kind.is("ping") {
            push_activity(out);
        }
    }

    fn control_request(&mut self, note: &Note<'_>) {
        self.guard_hooks.stream_bytes = self.line_range.end;
        let answers = self.guard_hooks.on_request(note.request_id.as_str(), &note.request);
        answers.into_iter().for_each(|answer| self.snapshot.push_answer(answer));
        self.guard_hooks.blocked.take().into_iter().for_each(|call| self.snapshot.push_blocked(call));
    }

    fn stream_event(&mut self, event: &StreamLine<'_>, out: &mut Vec<Notice>) {
        self.usage_meter.stream_event(event);
        self.deltas.add(event, self.line_range.clone());
        match event.event.kind.as_str() {
            "message_start" if event.event.message.id.non_empty().is_some() => {
                self.clear_errors(event.parent_tool_use_id.as_str(), out);
                self.snapshot.set_activity("thinking");
            }
            "content_block_start" => match event.event.content_block.kind.as_str() {
                "text" => self.snapshot.set_activity("writing"),
                "tool_use" => {
                    let name = event.event.content_block.name.as_str();
                    self.snapshot.activity = activity::one_line(&format!("preparing {name}"));
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn init(&mut self, init: &Note<'_>, out: &mut Vec<Notice>) {
        if let Some(id) = init.session_id.non_empty() {
            self.open_session(id, out);
        }
        self.snapshot.model = init.model.owned();
        self.snapshot.version = init.version.owned();
        self.snapshot.permission_mode = init.permission_mode.owned();
        let tools: Vec<&str> = init.tools.0.iter().map(|tool| tool.as_str()).collect();
        self.snapshot.unmatched_tools = self.guard_hooks.unmatched(&tools);
        self.exchange = ExchangeState::default();
        self.on_continue();
        self.start_exchange(out);
    }

    fn open_session(&mut self, id: &str, out: &mut Vec<Notice>) {
        let session = SessionId::from(id);
        // The next attempt receives the id as an argument.
        if session.is_uuid() && self.snapshot.session.as_ref() != Some(&session) {
            self.snapshot.session = Some(session.clone());
            out.push(Notice::SessionOpened(session));
        }
    }

    fn start_exchange(&mut self, out: &mut Vec<Notice>) {
        if !mem::replace(&mut self.exchange_open, true) {
            self.claim.on_exchange_start();
            out.push(Notice::ExchangeStarted);
        }
    }

    /// Handles output of the model. A sub-agent in the background also produces it between exchanges.
    fn clear_errors(&mut self, thread: &str, out: &mut Vec<Notice>) {
        if thread.is_empty() {
            self.exchange.clear_errors();
            self.start_exchange(out);
        }
        // A request succeeded, so the usage window that was rejected is open again.
        if let Some(limit) = &mut self.rate_limit
            && limit.status == RateLimitStatus::Rejected
        {
            limit.status = RateLimitStatus::Warning;
        }
    }

    fn assistant(&mut self, event: &StreamLine<'_>, out: &mut Vec<Notice>) {
        let thread = event.parent_tool_use_id.as_str();
        if event.message.id.non_empty().is_none() {
            return;
        }
        if event.message.model.is(SYNTHETIC) {
            if thread.is_empty() {
                self.exchange.on_synthetic(event);
            }
            return;
        }
        self.on_continue();
        self.clear_errors(thread, out);
        self.usage_meter.row(&event.message, thread);
        for block in event.message.content.0.iter().filter(|block| thread.is_empty() && block.kind.is("text"))
        {
            self.snapshot.set_last_text(&block.text.text().unwrap_or_default());
        }
        for call in event.message.content.0.iter().filter(|block| block.kind.is("tool_use")) {
            let input = call.tool_input();
            let argument = input.argument(call.name.as_str());
            let (side_effects, argument) = (&mut self.side_effects, argument.as_ref());
            effect_tracker::on_call(side_effects, &self.effects, call, &input, argument, event);
            self.background.on_call(call.id.as_str(), &input);
            // After the result, tool calls are those of background sub-agents, which are tracked as
            // background tasks.
            let label = activity::describe_call(call.name.as_str(), argument);
            if self.exchange_open && self.tools.start(call.id.as_str(), &label) {
                self.snapshot.tool = Some(label.clone());
                self.snapshot.activity = label;
                if thread.is_empty() && call.name.is(FINISH) {
                    self.claim.on_call(call.id.as_str());
                }
                out.push(Notice::ToolStarted);
            }
        }
        // A row is one block. For a tool call, `ToolStarted` is enough.
        if out.last() != Some(&Notice::ToolStarted) {
            out.push(Notice::MessageEnded);
        }
    }

    fn user(&mut self, event: &StreamLine<'_>, out: &mut Vec<Notice>) {
        for meta in &event.tool_result_meta.0 {
            self.tools.record_metadata(meta);
            self.guard_hooks.on_result_metadata(meta);
        }
        for block in event.message.content.0.iter().filter(|block| block.kind.is("tool_result")) {
            effect_tracker::on_result(&mut self.side_effects, block, event);
            self.guard_hooks.on_tool_result(block.tool_use_id.as_str(), block.is_error.is_set());
            if self.tools.end(block.tool_use_id.as_str()) {
                self.guard_hooks.on_tool_end(block.tool_use_id.as_str(), block.is_error.is_set());
                self.progressed = true;
                self.snapshot.set_activity("thinking");
                self.snapshot.tool = self.tools.open_label().map(str::to_owned);
                out.push(Notice::ToolEnded);
                if self.claim.on_result(block.tool_use_id.as_str(), block.is_error.is_set()) {
                    out.push(Notice::ClaimedDone);
                }
            }
        }
    }

    fn result(&mut self, line: &ResultLine<'_>, out: &mut Vec<Notice>) {
        let reported = line.session_id.non_empty().map(SessionId::from).filter(SessionId::is_uuid);
        // The result of another session does not concern this one.
        let is_foreign = |current: &SessionId| reported.as_ref().is_some_and(|reported| reported != current);
        if self.snapshot.session.as_ref().is_some_and(is_foreign) {
            return self.invalid_line(out);
        }
        self.on_continue();
        self.usage_meter.on_result(line);
        self.record_startup_error(line);
        let result = self.exchange.result(line, &self.tools);
        if let (None, None, Some(session)) = (self.startup, &self.snapshot.session, reported) {
            // The plain `json` format has no `init`.
            self.snapshot.session = Some(session);
        }
        // An answer that a schema describes is in a field of its own; the text may be empty.
        let structured =
            Some(line.structured_output).filter(|output| output.is_set()).map(|output| output.json());
        self.snapshot.set_result(structured.or(line.result.non_empty()).filter(|_| !result.is_error));
        let answer = structured.and_then(ReviewAnswer::parse);
        self.snapshot.review = answer.filter(|_| !result.is_error);
        for error in line.errors.0.iter().chain(Some(&line.result).filter(|_| result.is_error)) {
            self.snapshot.push_error(error.as_str());
        }
        for denial in &line.permission_denials.0 {
            self.side_effects.on_never_ran(denial.tool_use_id.as_str());
        }
        self.snapshot.results += 1;
        self.show_background_work();
        self.tools.open.clear();
        self.snapshot.tool = None;
        self.guard_hooks.on_exchange_end();
        self.exchange = ExchangeState::default();
        self.exchange_open = false;
        self.progressed |= result.is_progress();
        self.result = Some(result);
        if result.is_progress() && self.claim.on_exchange_end(line.result.as_str()) {
            out.push(Notice::ClaimedDone);
        }
        out.push(Notice::ExchangeEnded(result));
    }

    fn record_startup_error(&mut self, line: &ResultLine<'_>) {
        let by_reason = line.startup_failure_reason.non_empty().map(vendor_terms::startup_failure);
        let failed_before_session = self.snapshot.session.is_none()
            && line.is_error.is_set()
            && line.terminal_reason.non_empty().is_none();
        let by_text = || {
            let mut errors = line.errors.0.iter().filter(|_| failed_before_session);
            errors.find_map(|error| startup_error::from_text(error.as_str()))
        };
        self.startup = by_reason.or_else(by_text);
    }

    /// Classifies a failed start by stderr, if the stream named no session and the process failed on its own.
    fn startup_by_stderr(&self, exit: Exit, stderr_tail: &str) -> Option<StartupError> {
        let failed = match exit {
            Exit::Code(code) => code != 0,
            Exit::Unobserved => true,
            Exit::Signal(_) | Exit::NeverSpawned => false,
        };
        if self.snapshot.session.is_some() {
            return None;
        }
        let refused = failed.then(|| startup_error::from_text(stderr_tail)).flatten();
        // Other programs write something else, or exit silently on their own. An agent exits silently with 0
        // after SIGINT, 143 after SIGTERM and 129 after SIGHUP.
        let has_other_output = self.snapshot.invalid_lines > 0;
        let exited = matches!(exit, Exit::Code(code) if ![0, 129, 143].contains(&code) || has_other_output);
        let is_silent = stderr_tail.trim().is_empty() || has_other_output;
        let is_not_agent = exited && is_silent && self.snapshot.events == 0;
        refused.or_else(|| is_not_agent.then_some(StartupError::NotAnAgent))
    }

    fn retry(&mut self, retry: &Note<'_>, out: &mut Vec<Notice>) {
        let attempt = u32::try_from(retry.attempt.count().unwrap_or_default()).unwrap_or(u32::MAX);
        let status = retry.error_status.count().and_then(|status| u16::try_from(status).ok());
        // `as` saturates, and maps NaN to 0.
        let delay = Span(retry.retry_delay_ms.number().unwrap_or_default() as u64);
        let cause = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let maximum = retry.max_retries.count().map_or_else(String::new, |max| format!(" of {max}"));
        self.snapshot.activity = format!("repeating a request ({cause}), {attempt}{maximum}");
        out.push(Notice::Retrying { attempt, status, delay });
    }

    fn rate_limit(&mut self, note: &Note<'_>, out: &mut Vec<Notice>) {
        self.snapshot.has_usage_window = true;
        let info = &note.rate_limit;
        let Some(status) = vendor_terms::rate_limit_status(info.status.as_str()) else { return };
        // An account with paid overage continues after its usage window is exhausted.
        let uses_overage = status == RateLimitStatus::Rejected && info.is_using_overage.is_set();
        let limit = RateLimit {
            status: if uses_overage { RateLimitStatus::Warning } else { status },
            resets_at: info.resets_at.count().map(Moment::from_unix_seconds),
        };
        self.rate_limit = Some(limit);
        out.push(Notice::RateLimitChanged(limit));
    }

    fn session_state(&mut self, note: &Note<'_>, out: &mut Vec<Notice>) {
        match note.state.as_str() {
            "idle" => out.push(Notice::Idle),
            "running" => self.start_exchange(out),
            _ => {}
        }
    }

    fn informational(&mut self, note: &Note<'_>) {
        self.guard_lapsed |= note.tag.is("hook_no_verdict") || note.tag.is("hook_callback_failed");
        if note.tag.non_empty().is_some() {
            self.snapshot.push_error(note.content.as_str());
        }
    }

    fn notification(&mut self, note: &Note<'_>) {
        if note.key.is("stop-hook-block-cap") {
            self.exchange.stop_hook_capped = true;
            self.snapshot.push_error(note.text.as_str());
        }
    }

    fn permission_denied(&mut self, note: &Note<'_>) {
        self.tools.deny(note.tool_use_id.as_str());
        self.side_effects.on_never_ran(note.tool_use_id.as_str());
        self.snapshot.push_error(note.message.as_str());
    }

    fn background_changed(&mut self, note: &Note<'_>, out: &mut Vec<Notice>) {
        self.background.on_change(note);
        self.snapshot.background = self.background.tasks();
        let count = |tasks: usize| u32::try_from(tasks).unwrap_or(u32::MAX);
        let sub_agents =
            note.tasks.0.iter().filter(|task| vendor_terms::is_sub_agent(task.task_type.as_str())).count();
        out.push(Notice::BackgroundChanged {
            tasks: count(note.tasks.0.len()),
            sub_agents: count(sub_agents),
        });
    }

    fn show_background_work(&mut self) {
        let tasks: Vec<&str> = self.snapshot.background.iter().map(|task| task.command.as_str()).collect();
        let label = (!tasks.is_empty()).then(|| format!("waiting for background work: {}", tasks.join("; ")));
        self.snapshot.activity = label.map_or_else(String::new, |label| activity::one_line(&label));
    }

    fn on_continue(&mut self) {
        if self.background.on_continue() {
            self.snapshot.background = self.background.tasks();
        }
    }

    fn task_started(&mut self, note: &Note<'_>) {
        self.background.on_start(note);
        self.snapshot.background = self.background.tasks();
        if note.is_backgrounded.is_set() {
            self.side_effects.on_backgrounded(note.tool_use_id.as_str());
        }
    }

    /// Records the end of a background call. A stopped call stays unresolved, because the model may never
    /// learn of it.
    fn task_notification(&mut self, note: &Note<'_>) {
        self.background.on_end(note);
        self.snapshot.background = self.background.tasks();
        let failed = note.status.is("failed");
        if failed || note.status.is("completed") {
            self.side_effects.on_end(note.tool_use_id.as_str(), failed, None);
        }
    }

    fn status(&mut self, note: &Note<'_>) {
        if let Some(mode) = note.permission_mode.non_empty() {
            self.snapshot.permission_mode = Some(mode.to_owned());
        }
        match note.status.as_str() {
            "requesting" => self.snapshot.set_activity("waiting for the model"),
            "compacting" => self.snapshot.set_activity("compacting the conversation"),
            _ => {}
        }
    }

    /// Returns whether a successful result hides a lapse: an agent that lost its host cancels its tool calls
    /// and then reports success.
    fn hides_lapse(&self) -> bool {
        self.tools.cancelled && !self.exchange_open && self.result.is_some_and(|result| !result.is_error)
    }
}

fn push_activity(out: &mut Vec<Notice>) {
    if out.last() != Some(&Notice::Activity) {
        out.push(Notice::Activity);
    }
}

#[cfg(test)]
mod tests;
