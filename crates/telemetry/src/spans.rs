//! A run's records as spans. The run has one, and within it each attempt, wait and check; within an attempt each turn and call.
//!
//! What happened under an earlier supervisor is only taken in: that one told of it. Two of them may tell of a turn twice, as the
//! same span, but never is its use counted twice.

mod span_data;

use crate::attributes;
use crate::context::{Trace, within};
use crate::conversation::{CompletedSpan, ConversationSpans};
use crate::exporter::Exporter;
use crate::time::system_time;
use longhaul_agent::Dialect;
use longhaul_core::{
    AfterAttempt, Fault, Moment, Outcome, OutcomeKind, Phase, Record, ResumeStrategy, Run, RunId, SessionId,
    Usage,
};
use longhaul_store::Plan;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceId, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span;
use span_data::{AttemptSpan, RunInfo, SpanData, SpanEvent, called, called_call, strategy_name, used};
use std::collections::BTreeMap;

/// A run that is being told.
pub(crate) struct SpanRecorder {
    voice: Exporter,
    trace: Trace,
    dialect: Box<dyn Dialect>,
    about: RunInfo,
    state: Run,
    /// When the run began, or was last let go on.
    started_at: Moment,
    /// How often it was let go on after it had been over.
    reopened: u32,
    /// Its span, begun with the first of it that is to be told.
    run: Option<Span>,
    attempt: Option<OpenAttempt>,
    pause: Option<OpenInterval>,
    /// How many messages of each attempt an earlier supervisor has told of.
    known: BTreeMap<u32, usize>,
    used: Usage,
}

/// An attempt that is under way.
struct OpenAttempt {
    number: u32,
    started_at: Moment,
    session: SessionId,
    strategy: Option<ResumeStrategy>,
    conversation: ConversationSpans,
    /// Whether this supervisor reads its stream.
    is_heard: bool,
    notes: Vec<SpanEvent>,
}

/// A time without an agent.
enum OpenInterval {
    Wait { since: Moment, until: Moment, after: Option<Fault> },
    Check { since: Moment },
}

impl SpanRecorder {
    /// The run of this plan. Of its attempts so many messages are `known`: an earlier supervisor has told of them.
    pub(crate) fn new(
        voice: Exporter,
        trace: Trace,
        (run, plan): (&RunId, &Plan),
        dialect: Box<dyn Dialect>,
        known: BTreeMap<u32, usize>,
    ) -> SpanRecorder {
        let about = RunInfo::new(run.to_string(), plan);
        SpanRecorder {
            voice,
            trace,
            dialect,
            about,
            state: Run::new(),
            started_at: plan.started_at,
            reopened: 0,
            run: None,
            attempt: None,
            pause: None,
            known,
            used: Usage::default(),
        }
    }

    /// Takes in what an earlier supervisor decided at `at`.
    pub(crate) fn replay(&mut self, at: Moment, records: &[Record]) {
        let voice = std::mem::replace(&mut self.voice, Exporter::disabled());
        records.iter().for_each(|record| self.take(at, record));
        self.voice = voice;
    }

    /// Tells what was decided at `at`.
    pub(crate) fn record(&mut self, at: Moment, records: &[Record]) {
        records.iter().for_each(|record| self.take(at, record));
    }

    /// Tells what the agent's stream says, at `now`.
    pub(crate) fn on_output(&mut self, bytes: &[u8], now: Moment) {
        let Some(mut attempt) = self.attempt.take() else { return };
        attempt.is_heard = true;
        let told = attempt.conversation.feed(bytes, now);
        self.converse(attempt.number, &told);
        self.attempt = Some(attempt);
    }

    /// The attempt under way, if nothing was heard of it.
    pub(crate) fn attempt_without_output(&self) -> Option<u32> {
        self.attempt.as_ref().filter(|attempt| !attempt.is_heard).map(|attempt| attempt.number)
    }

    fn take(&mut self, at: Moment, record: &Record) {
        self.state.apply(record);
        match record {
            Record::RunStarted { at } => self.started_at = *at,
            Record::RunReopened { at, .. } => {
                self.started_at = *at;
                self.reopened += 1;
                self.used = Usage::default();
                self.run = None;
            }
            Record::AttemptStarted { at, plan } => {
                self.resume(*at);
                let known = self.known.get(&plan.attempt).copied().unwrap_or_default();
                self.attempt = Some(OpenAttempt {
                    number: plan.attempt,
                    started_at: *at,
                    session: plan.session.id().clone(),
                    strategy: plan.strategy,
                    conversation: ConversationSpans::new(
                        self.dialect.transcript_decoder(plan.attempt),
                        *at,
                        known,
                    ),
                    is_heard: false,
                    notes: Vec::new(),
                });
            }
            Record::ResumeStrategyChosen { strategy: rung, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.strategy = Some(*rung);
                }
            }
            Record::AttemptSpawned { at, .. } | Record::PromptSent { at, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.conversation.on_prompt(*at);
                }
            }
            Record::SessionOpened { session, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.session = session.clone();
                }
            }
            Record::StopOrdered { at, cause: why, level, .. } => {
                let why = [
                    KeyValue::new(attributes::WHY, strategy_name(why)),
                    KeyValue::new(attributes::LEVEL, strategy_name(level)),
                ];
                self.note("longhaul.stop", *at, why.to_vec());
            }
            Record::Recovered { at, finding: remains, .. } => {
                self.note(
                    "longhaul.recovered",
                    *at,
                    vec![KeyValue::new(attributes::WHY, strategy_name(remains))],
                );
            }
            Record::StallDeferred { at, .. } => self.note("longhaul.silence_excused", *at, Vec::new()),
            Record::LimitReached { at, limit, .. } => {
                self.note("longhaul.limit", *at, vec![KeyValue::new(attributes::WHY, limit.as_str())]);
            }
            Record::Downtime { .. } => self.note("longhaul.downtime", at, Vec::new()),
            Record::CancelRequested { at, .. } => self.note("longhaul.cancel", *at, Vec::new()),
            Record::SuspendOrdered { at, .. } => self.note("longhaul.suspend", *at, Vec::new()),
            Record::SummaryEnded { usage, .. } => self.spend(usage),
            Record::AttemptEnded { at, fault, usage, next, .. } => self.end_attempt(*at, *fault, usage, next),
            Record::CheckStarted { at } => self.pause = Some(OpenInterval::Check { since: *at }),
            Record::CheckEnded { at, result } => self.end_check(*at, strategy_name(result)),
            Record::RunFinished { at, outcome } => self.end_run(*at, outcome),
            Record::Swept { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::ProgressMade { .. }
            | Record::AgentStopped { .. }
            | Record::Suspended { .. }
            | Record::InputClosed { .. }
            | Record::CheckStopOrdered { .. } => {}
        }
        if let Phase::Waiting { since, until, .. } = self.state.state().phase
            && self.pause.is_none()
        {
            self.pause = Some(OpenInterval::Wait { since, until, after: self.state.state().fault });
        }
    }

    /// Something happened in the attempt, or in the run.
    fn note(&mut self, name: &'static str, at: Moment, attributes: Vec<KeyValue>) {
        match &mut self.attempt {
            Some(attempt) => attempt.notes.push(SpanEvent { name, at, attributes }),
            None => {
                if let Some(run) = self.run() {
                    run.add_event_with_timestamp(name, system_time(at), attributes);
                }
            }
        }
    }

    fn end_attempt(&mut self, at: Moment, fault: Option<Fault>, usage: &Usage, next: &AfterAttempt) {
        let Some(mut attempt) = self.attempt.take() else { return };
        let told = attempt.conversation.end(at);
        self.converse(attempt.number, &told);
        let remedy = match next {
            AfterAttempt::Attempt { remedy, .. } => Some(remedy),
            AfterAttempt::Check | AfterAttempt::Finish(_) => None,
        };
        let ended = AttemptSpan {
            number: attempt.number,
            started_at: attempt.started_at,
            ended_at: at,
            session: &attempt.session,
            strategy: attempt.strategy,
            fault,
            usage,
            remedy,
        };
        self.over(SpanData::attempt(&self.about, &ended, attempt.notes));
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.attempt(fault, usage, &common);
        }
        self.used = self.used.plus(*usage);
    }

    /// What was used between attempts.
    fn spend(&mut self, usage: &Usage) {
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.spent(usage, &common);
        }
        self.used = self.used.plus(*usage);
    }

    /// A wait is over, if there was one.
    fn resume(&mut self, at: Moment) {
        let Some(OpenInterval::Wait { since, until, after }) = self.pause.take() else { return };
        self.over(SpanData::wait((since, at), until, after));
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.waited(after, at.since(since), &common);
        }
    }

    fn end_check(&mut self, at: Moment, result: String) {
        let Some(OpenInterval::Check { since }) = self.pause.take() else { return };
        self.over(SpanData::check((since, at), result));
    }

    fn end_run(&mut self, at: Moment, outcome: &Outcome) {
        self.resume(at);
        let attempts = self.state.state().plan.as_ref().map_or(0, |plan| plan.attempt);
        let mut attributes = used(&self.used);
        attributes.push(KeyValue::new(attributes::OUTCOME, outcome.kind.as_str()));
        attributes.push(KeyValue::new(attributes::ATTEMPTS, i64::from(attempts)));
        attributes.extend(outcome.fault.map(|fault| KeyValue::new(attributes::FAULT, fault.word())));
        if let Some(run) = self.run() {
            run.set_attributes(attributes);
            if outcome.kind != OutcomeKind::Done {
                let kind = outcome.kind.as_str();
                let error = outcome.fault.map_or(kind, Fault::word);
                run.set_attribute(KeyValue::new(attributes::ERROR, error));
                run.set_status(Status::error(kind));
            }
            run.end_with_timestamp(system_time(at));
        }
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.run(outcome, &common);
        }
    }

    fn converse(&mut self, attempt: u32, told: &[CompletedSpan]) {
        for told in told {
            match told {
                CompletedSpan::Turn(turn) => {
                    let common = self.about.common();
                    if let Some(figures) = self.voice.figures().filter(|_| !turn.is_already_sent) {
                        figures.turn(turn, &common);
                    }
                    let done = SpanData::turn(&self.about, attempt, turn);
                    self.over_within(attempt, turn.parent.as_deref(), done);
                }
                CompletedSpan::Call(call) => {
                    self.over_within(attempt, call.parent.as_deref(), SpanData::call(attempt, call));
                }
            }
        }
    }

    /// A part of an attempt, or of a sub-agent in it.
    fn over_within(&mut self, attempt: u32, call: Option<&str>, done: SpanData) {
        let parent = call.map_or_else(|| called(attempt), |call| called_call(attempt, call));
        let ids = self.trace.span(&parent);
        self.end(Some(ids), done);
    }

    /// A part of the run.
    fn over(&mut self, done: SpanData) {
        self.end(None, done);
    }

    fn end(&mut self, parent: Option<(TraceId, SpanId)>, done: SpanData) {
        let Some(run) = self.run().map(|run| run.span_context().clone()) else { return };
        let Some(tracer) = self.voice.tracer() else { return };
        let mut attributes = done.attributes;
        attributes.push(KeyValue::new(attributes::RUN, self.about.run.clone()));
        attributes.push(KeyValue::new(attributes::PROVIDER, self.about.provider));
        attributes.extend(done.error.clone().map(|error| KeyValue::new(attributes::ERROR, error)));
        let builder = SpanBuilder::from_name(done.name)
            .with_kind(done.kind)
            .with_start_time(system_time(done.started_at))
            .with_attributes(attributes);
        self.voice.set_next_ids(self.trace.span(&done.called));
        let mut span = tracer.build_with_context(builder, &context(&run, parent));
        for SpanEvent { name, at, attributes } in done.notes {
            span.add_event_with_timestamp(name, system_time(at), attributes);
        }
        if let Some(error) = done.error {
            span.set_status(Status::error(error));
        }
        span.end_with_timestamp(system_time(done.ended_at.max(done.started_at)));
    }

    /// The span of the run; nothing where no traces are wanted, or only the past is taken in.
    fn run(&mut self) -> Option<&mut Span> {
        let tracer = self.voice.tracer()?;
        Some(self.run.get_or_insert_with(|| {
            let called = match self.reopened {
                0 => "run".to_owned(),
                times => format!("run again {times}"),
            };
            let mut attributes = self.about.common();
            attributes.push(KeyValue::new(attributes::OPERATION, "invoke_workflow"));
            attributes.push(KeyValue::new(attributes::RUN, self.about.run.clone()));
            if let Some(name) = &self.about.name {
                attributes.push(KeyValue::new(attributes::WORKFLOW, name.clone()));
                attributes.push(KeyValue::new(attributes::RUN_NAME, name.clone()));
            }
            attributes.extend(
                self.about.model.clone().map(|model| KeyValue::new(attributes::REQUEST_MODEL, model)),
            );
            let name = self
                .about
                .name
                .as_ref()
                .map_or("invoke_workflow".to_owned(), |name| format!("invoke_workflow {name}"));
            let builder = SpanBuilder::from_name(name)
                .with_kind(SpanKind::Internal)
                .with_start_time(system_time(self.started_at))
                .with_attributes(attributes);
            self.voice.set_next_ids(self.trace.span(&called));
            tracer.build_with_context(builder, &self.trace.parent_context())
        }))
    }
}

/// Within the run, or within a part of it.
fn context(run: &SpanContext, parent: Option<(TraceId, SpanId)>) -> Context {
    let (trace, span) = parent.unwrap_or((run.trace_id(), run.span_id()));
    within(trace, span, run.is_sampled(), false)
}
