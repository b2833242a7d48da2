//! Renders a run's history as spans. The run, each attempt, each wait and each check have a span, and so
//! does each turn and tool call of an attempt.
//!
//! Records of an earlier supervisor are only replayed, because it has sent their spans. Two supervisors may
//! send the same turn twice, as the same span, but its usage is counted once.

mod span_data;

use crate::attributes::{self, attribute};
use crate::context::{Trace, context_of};
use crate::conversation::{CompletedSpan, ConversationSpans};
use crate::exporter::Exporter;
use crate::metrics::Metrics;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{
    Fault, HistoryEvent, HistoryEventKind, Moment, Outcome, OutcomeKind, Record, RunHistory, RunId,
    WaitHistory,
};
use longhaul_store::Plan;
use opentelemetry::KeyValue;
use opentelemetry::trace::{Event, Span as _, SpanBuilder, SpanId, SpanKind, Status, TraceId, Tracer as _};
use opentelemetry_sdk::trace::Span;
use span_data::{RunInfo, SpanData, call_span_key, span_key, system_time, usage_attributes};
use std::collections::BTreeMap;

pub(crate) struct SpanRecorder {
    exporter: Exporter,
    trace: Trace,
    info: RunInfo,
    history: RunHistory,
    /// Span of the run, created with its first child span.
    run: Option<Span>,
    attempt: Option<OpenAttempt>,
    /// Number of messages of each attempt that an earlier supervisor has reported.
    reported: BTreeMap<u32, usize>,
}

struct OpenAttempt {
    number: u32,
    conversation: ConversationSpans,
    events: Vec<Event>,
}

impl SpanRecorder {
    /// Creates the recorder of a run. `reported` is the number of messages of each attempt that an earlier
    /// supervisor has reported.
    pub(crate) fn new(
        exporter: Exporter,
        trace: Trace,
        run: &RunId,
        plan: &Plan,
        reported: BTreeMap<u32, usize>,
    ) -> SpanRecorder {
        let info = RunInfo { run: run.to_string(), plan: plan.clone() };
        let history = RunHistory::default();
        SpanRecorder { exporter, trace, info, history, run: None, attempt: None, reported }
    }

    /// Applies records of an earlier supervisor without sending spans.
    pub(crate) fn replay(&mut self, at: Moment, records: &[Record]) {
        let exporter = std::mem::take(&mut self.exporter);
        self.record(at, records);
        self.exporter = exporter;
    }

    pub(crate) fn record(&mut self, at: Moment, records: &[Record]) {
        records.iter().for_each(|record| self.apply(at, record));
    }

    pub(crate) fn on_messages(&mut self, messages: &[TranscriptMessage], now: Moment) {
        let Some(mut attempt) = self.attempt.take() else { return };
        let completed = attempt.conversation.add(messages, now);
        self.send_conversation(attempt.number, &completed);
        self.attempt = Some(attempt);
    }

    fn apply(&mut self, at: Moment, record: &Record) {
        let wait = self.history.current_wait();
        let event = self.history.apply(at, record).cloned();
        if let Some(wait) = wait.filter(|wait| self.history.current_wait() != Some(*wait)) {
            self.end_wait(wait, at);
        }
        if let Some(event) = event {
            self.on_event(event);
        }
    }

    fn on_event(&mut self, event: HistoryEvent) {
        let HistoryEvent { at, attempt, kind } = event;
        match kind {
            HistoryEventKind::Reopened { .. } => self.run = None,
            HistoryEventKind::AttemptStarted => {
                let reported = self.reported.get(&attempt).copied().unwrap_or_default();
                self.attempt = Some(OpenAttempt {
                    number: attempt,
                    conversation: ConversationSpans::new(at, reported),
                    events: Vec::new(),
                });
            }
            HistoryEventKind::AttemptSpawned | HistoryEventKind::PromptSent(_) => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.conversation.on_prompt(at);
                }
            }
            HistoryEventKind::StopOrdered(stop) => {
                let attributes = [
                    KeyValue::new(attributes::REASON, stop.cause.as_str()),
                    KeyValue::new(attributes::LEVEL, stop.level.as_str()),
                ];
                self.add_event("longhaul.stop", at, attributes.to_vec());
            }
            HistoryEventKind::Recovered { finding, .. } => {
                let finding = KeyValue::new(attributes::REASON, finding.as_str());
                self.add_event("longhaul.recovered", at, vec![finding]);
            }
            HistoryEventKind::StallDeferred(_) => self.add_event("longhaul.stall_deferred", at, Vec::new()),
            HistoryEventKind::LimitReached { limit, .. } => {
                self.add_event("longhaul.limit", at, vec![KeyValue::new(attributes::REASON, limit.as_str())]);
            }
            HistoryEventKind::Downtime { .. } => self.add_event("longhaul.downtime", at, Vec::new()),
            HistoryEventKind::CancelRequested(_) => self.add_event("longhaul.cancel", at, Vec::new()),
            HistoryEventKind::SuspendOrdered(_) => self.add_event("longhaul.suspend", at, Vec::new()),
            HistoryEventKind::SummaryEnded(summary) => {
                self.measure(|metrics, common| metrics.usage(&summary.usage, common));
            }
            HistoryEventKind::AttemptEnded => self.end_attempt(at),
            HistoryEventKind::CheckEnded { result, duration, .. } => {
                let started_at = Moment(at.0.saturating_sub(duration.0));
                self.send(None, SpanData::check(started_at, at, result));
            }
            HistoryEventKind::ReviewEnded { result, duration, usage, .. } => {
                self.measure(|metrics, common| metrics.usage(&usage, common));
                let started_at = Moment(at.0.saturating_sub(duration.0));
                self.send(None, SpanData::review(started_at, at, result.into()));
            }
            HistoryEventKind::Finished { outcome, .. } => self.end_run(at, &outcome),
            HistoryEventKind::AgentStopped { .. } | HistoryEventKind::Suspended { .. } => {}
        }
    }

    /// Adds an event to the span of the current attempt, or else to that of the run.
    fn add_event(&mut self, name: &'static str, at: Moment, attributes: Vec<KeyValue>) {
        match &mut self.attempt {
            Some(attempt) => attempt.events.push(Event::new(name, system_time(at), attributes, 0)),
            None => {
                if let Some(run) = self.run() {
                    run.add_event_with_timestamp(name, system_time(at), attributes);
                }
            }
        }
    }

    fn end_attempt(&mut self, at: Moment) {
        let Some(mut attempt) = self.attempt.take() else { return };
        let completed = attempt.conversation.end(at);
        self.send_conversation(attempt.number, &completed);
        let Some(history) = self.history.attempt(attempt.number) else { return };
        let (fault, usage) = (history.fault(), history.usage());
        let span_data = SpanData::attempt(&self.info, history, at, attempt.events);
        self.send(None, span_data);
        self.measure(|metrics, common| metrics.attempt(fault, &usage, common));
    }

    fn end_wait(&mut self, wait: WaitHistory, at: Moment) {
        self.send(None, SpanData::wait(&wait, at));
        self.measure(|metrics, common| metrics.wait(wait.fault, at.since(wait.from), common));
    }

    fn end_run(&mut self, at: Moment, outcome: &Outcome) {
        let state = self.history.state();
        let attempts = state.attempts().saturating_sub(state.attempts_before);
        let mut attributes = usage_attributes(&self.history.usage_since_reopen());
        attributes.push(KeyValue::new(attributes::OUTCOME, outcome.kind.as_str()));
        attributes.push(KeyValue::new(attributes::ATTEMPTS, i64::from(attempts)));
        attributes.extend(attribute(attributes::FAULT, outcome.fault.map(Fault::as_str)));
        if let Some(run) = self.run() {
            run.set_attributes(attributes);
            if outcome.kind != OutcomeKind::Done {
                let kind = outcome.kind.as_str();
                let error = outcome.fault.map_or(kind, Fault::as_str);
                run.set_attribute(KeyValue::new(attributes::ERROR, error));
                run.set_status(Status::error(kind));
            }
            run.end_with_timestamp(system_time(at));
        }
        self.measure(|metrics, common| metrics.run(outcome, common));
    }

    fn send_conversation(&mut self, attempt: u32, completed: &[CompletedSpan]) {
        for span in completed {
            match span {
                CompletedSpan::Turn(turn) => {
                    if !turn.is_already_sent {
                        self.measure(|metrics, common| metrics.turn(turn, common));
                    }
                    let span_data = SpanData::turn(&self.info, attempt, turn);
                    self.send_child_of_attempt(attempt, turn.parent.as_deref(), span_data);
                }
                CompletedSpan::Call(call) => {
                    let span_data = SpanData::call(attempt, call);
                    self.send_child_of_attempt(attempt, call.parent.as_deref(), span_data);
                }
            }
        }
    }

    /// Sends a child span of an attempt or of a sub-agent's call.
    fn send_child_of_attempt(&mut self, attempt: u32, call: Option<&str>, span_data: SpanData) {
        let parent = call.map_or_else(|| span_key(attempt), |call| call_span_key(attempt, call));
        let ids = self.trace.span(&parent);
        self.send(Some(ids), span_data);
    }

    /// Sends a child span of the run, or of `parent`.
    fn send(&mut self, parent: Option<(TraceId, SpanId)>, span_data: SpanData) {
        let Some(run) = self.run().map(|run| run.span_context().clone()) else { return };
        let Some(tracer) = &self.exporter.tracer else { return };
        let SpanData { key, mut builder, ended_at, error } = span_data;
        let attributes = builder.attributes.get_or_insert_default();
        attributes.extend([KeyValue::new(attributes::RUN, self.info.run.clone()), self.info.provider()]);
        attributes.extend(attribute(attributes::ERROR, error.clone()));
        self.exporter.ids.set(self.trace.span(&key));
        let (trace, parent) = parent.unwrap_or((run.trace_id(), run.span_id()));
        let context = context_of(trace, parent, run.is_sampled(), false);
        let mut span = tracer.build_with_context(builder, &context);
        if let Some(error) = error {
            span.set_status(Status::error(error));
        }
        span.end_with_timestamp(system_time(ended_at));
    }

    fn measure(&self, record: impl FnOnce(&Metrics, &[KeyValue])) {
        if let Some(metrics) = &self.exporter.metrics {
            record(metrics, &self.info.common());
        }
    }

    /// Returns the span of the run, or `None` if traces are disabled or records are being replayed.
    fn run(&mut self) -> Option<&mut Span> {
        let tracer = self.exporter.tracer.as_ref()?;
        Some(self.run.get_or_insert_with(|| {
            let is_reopened = |event: &&HistoryEvent| matches!(event.kind, HistoryEventKind::Reopened { .. });
            let reopened_at = self.history.events().iter().rfind(is_reopened).map(|event| event.at);
            let started_at = reopened_at.or(self.history.started_at()).unwrap_or(self.info.plan.started_at.0);
            let key = match self.history.state().reopen_count {
                0 => "run".to_owned(),
                count => format!("run again {count}"),
            };
            let mut attributes = self.info.common();
            attributes.push(KeyValue::new(attributes::OPERATION, "invoke_workflow"));
            attributes.push(KeyValue::new(attributes::RUN, self.info.run.clone()));
            let name = &self.info.plan.spec.name;
            attributes.extend(attribute(attributes::WORKFLOW, name.clone()));
            attributes.extend(attribute(attributes::RUN_NAME, name.clone()));
            attributes.extend(self.info.requested_model());
            let name = name.as_ref().map_or(String::new(), |name| format!(" {name}"));
            let builder = SpanBuilder::from_name(format!("invoke_workflow{name}"))
                .with_kind(SpanKind::Internal)
                .with_start_time(system_time(started_at))
                .with_attributes(attributes);
            self.exporter.ids.set(self.trace.span(&key));
            tracer.build_with_context(builder, &self.trace.parent_context())
        }))
    }
}

#[cfg(test)]
mod tests;
