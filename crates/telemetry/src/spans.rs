//! A run's records as spans. The run has one, and within it each attempt, wait and check; within an attempt each turn and call.
//!
//! What happened under an earlier supervisor is only taken in: that one told of it. Two of them may tell of a turn twice, as the
//! same span, but never is its use counted twice.

mod done;

use crate::context::{Trace, within};
use crate::conversation::{Conversation, Told};
use crate::moments::system_time;
use crate::names;
use crate::pipeline::Voice;
use done::{About, Done, EndedAttempt, Note, called, called_call, used, word};
use longhaul_agent::Dialect;
use longhaul_core::{
    Fault, Moment, Next, Outcome, OutcomeKind, Phase, Record, Run, RunId, Rung, SessionId, Tally,
};
use longhaul_store::Plan;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceId, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span;
use std::collections::BTreeMap;

/// A run that is being told.
pub(crate) struct Spans {
    voice: Voice,
    trace: Trace,
    dialect: Box<dyn Dialect>,
    about: About,
    state: Run,
    /// When the run began, or was last let go on.
    began: Moment,
    /// How often it was let go on after it had been over.
    reopened: u32,
    /// Its span, begun with the first of it that is to be told.
    run: Option<Span>,
    attempt: Option<Attempt>,
    pause: Option<Pause>,
    /// How many messages of each attempt an earlier supervisor has told of.
    known: BTreeMap<u32, usize>,
    used: Tally,
}

/// An attempt that is under way.
struct Attempt {
    number: u32,
    began: Moment,
    session: SessionId,
    rung: Option<Rung>,
    conversation: Conversation,
    /// Whether this supervisor reads its stream.
    is_heard: bool,
    notes: Vec<Note>,
}

/// A time without an agent.
enum Pause {
    Wait { since: Moment, until: Moment, after: Option<Fault> },
    Check { since: Moment },
}

impl Spans {
    /// The run of this plan. Of its attempts so many messages are `known`: an earlier supervisor has told of them.
    pub(crate) fn new(
        voice: Voice,
        trace: Trace,
        (run, plan): (&RunId, &Plan),
        dialect: Box<dyn Dialect>,
        known: BTreeMap<u32, usize>,
    ) -> Spans {
        let about = About::of(run.to_string(), plan);
        Spans {
            voice,
            trace,
            dialect,
            about,
            state: Run::new(),
            began: plan.started_at,
            reopened: 0,
            run: None,
            attempt: None,
            pause: None,
            known,
            used: Tally::default(),
        }
    }

    /// Takes in what an earlier supervisor decided at `at`.
    pub(crate) fn know(&mut self, at: Moment, records: &[Record]) {
        let voice = std::mem::replace(&mut self.voice, Voice::silent());
        records.iter().for_each(|record| self.take(at, record));
        self.voice = voice;
    }

    /// Tells what was decided at `at`.
    pub(crate) fn tell(&mut self, at: Moment, records: &[Record]) {
        records.iter().for_each(|record| self.take(at, record));
    }

    /// Tells what the agent's stream says, at `now`.
    pub(crate) fn hear(&mut self, bytes: &[u8], now: Moment) {
        let Some(mut attempt) = self.attempt.take() else { return };
        attempt.is_heard = true;
        let told = attempt.conversation.feed(bytes, now);
        self.converse(attempt.number, &told);
        self.attempt = Some(attempt);
    }

    /// The attempt under way, if nothing was heard of it.
    pub(crate) fn unheard(&self) -> Option<u32> {
        self.attempt.as_ref().filter(|attempt| !attempt.is_heard).map(|attempt| attempt.number)
    }

    fn take(&mut self, at: Moment, record: &Record) {
        self.state.apply(record);
        match record {
            Record::RunStarted { at } => self.began = *at,
            Record::RunReopened { at, .. } => {
                self.began = *at;
                self.reopened += 1;
                self.used = Tally::default();
                self.run = None;
            }
            Record::AttemptStarted { at, plan } => {
                self.resume(*at);
                let known = self.known.get(&plan.attempt).copied().unwrap_or_default();
                self.attempt = Some(Attempt {
                    number: plan.attempt,
                    began: *at,
                    session: plan.session.id().clone(),
                    rung: plan.rung,
                    conversation: Conversation::new(self.dialect.scribe(plan.attempt), *at, known),
                    is_heard: false,
                    notes: Vec::new(),
                });
            }
            Record::RungTaken { rung, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.rung = Some(*rung);
                }
            }
            Record::AttemptSpawned { at, .. } | Record::Said { at, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.conversation.told(*at);
                }
            }
            Record::SessionOpened { session, .. } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.session = session.clone();
                }
            }
            Record::StopOrdered { at, why, level, .. } => {
                let why = [KeyValue::new(names::WHY, word(why)), KeyValue::new(names::LEVEL, word(level))];
                self.note("longhaul.stop", *at, why.to_vec());
            }
            Record::Recovered { at, remains, .. } => {
                self.note("longhaul.recovered", *at, vec![KeyValue::new(names::WHY, word(remains))]);
            }
            Record::SilenceExcused { at, .. } => self.note("longhaul.silence_excused", *at, Vec::new()),
            Record::LimitReached { at, limit, .. } => {
                self.note("longhaul.limit", *at, vec![KeyValue::new(names::WHY, limit.word())]);
            }
            Record::Downtime { .. } => self.note("longhaul.downtime", at, Vec::new()),
            Record::CancelOrdered { at, .. } => self.note("longhaul.cancel", *at, Vec::new()),
            Record::SuspendOrdered { at, .. } => self.note("longhaul.suspend", *at, Vec::new()),
            Record::Condensed { tally, .. } => self.spend(tally),
            Record::AttemptEnded { at, fault, tally, next, .. } => self.end_attempt(*at, *fault, tally, next),
            Record::CheckOrdered { at } => self.pause = Some(Pause::Check { since: *at }),
            Record::Checked { at, result } => self.end_check(*at, word(result)),
            Record::RunFinished { at, outcome } => self.end_run(*at, outcome),
            Record::Swept { .. }
            | Record::CondenseOrdered { .. }
            | Record::CondenseStopped { .. }
            | Record::Progressed { .. }
            | Record::Stopped { .. }
            | Record::Suspended { .. }
            | Record::InputEnded { .. }
            | Record::CheckStopped { .. } => {}
        }
        if let Phase::Waiting { since, until, .. } = self.state.state().phase
            && self.pause.is_none()
        {
            self.pause = Some(Pause::Wait { since, until, after: self.state.state().fault });
        }
    }

    /// Something happened in the attempt, or in the run.
    fn note(&mut self, name: &'static str, at: Moment, attributes: Vec<KeyValue>) {
        match &mut self.attempt {
            Some(attempt) => attempt.notes.push(Note { name, at, attributes }),
            None => {
                if let Some(run) = self.run() {
                    run.add_event_with_timestamp(name, system_time(at), attributes);
                }
            }
        }
    }

    fn end_attempt(&mut self, at: Moment, fault: Option<Fault>, tally: &Tally, next: &Next) {
        let Some(mut attempt) = self.attempt.take() else { return };
        let told = attempt.conversation.end(at);
        self.converse(attempt.number, &told);
        let remedy = match next {
            Next::Attempt { remedy, .. } => Some(remedy),
            Next::Check | Next::Finish(_) => None,
        };
        let ended = EndedAttempt {
            number: attempt.number,
            began: attempt.began,
            ended: at,
            session: &attempt.session,
            rung: attempt.rung,
            fault,
            tally,
            remedy,
        };
        self.over(Done::attempt(&self.about, &ended, attempt.notes));
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.attempt(fault, tally, &common);
        }
        self.used = self.used.plus(*tally);
    }

    /// What was used between attempts.
    fn spend(&mut self, tally: &Tally) {
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.spent(tally, &common);
        }
        self.used = self.used.plus(*tally);
    }

    /// A wait is over, if there was one.
    fn resume(&mut self, at: Moment) {
        let Some(Pause::Wait { since, until, after }) = self.pause.take() else { return };
        self.over(Done::wait((since, at), until, after));
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.waited(after, at.since(since), &common);
        }
    }

    fn end_check(&mut self, at: Moment, result: String) {
        let Some(Pause::Check { since }) = self.pause.take() else { return };
        self.over(Done::check((since, at), result));
    }

    fn end_run(&mut self, at: Moment, outcome: &Outcome) {
        self.resume(at);
        let attempts = self.state.state().plan.as_ref().map_or(0, |plan| plan.attempt);
        let mut attributes = used(&self.used);
        attributes.push(KeyValue::new(names::OUTCOME, outcome.kind.word()));
        attributes.push(KeyValue::new(names::ATTEMPTS, i64::from(attempts)));
        attributes.extend(outcome.fault.map(|fault| KeyValue::new(names::FAULT, fault.word())));
        if let Some(run) = self.run() {
            run.set_attributes(attributes);
            if outcome.kind != OutcomeKind::Done {
                let kind = outcome.kind.word();
                let error = outcome.fault.map_or(kind, Fault::word);
                run.set_attribute(KeyValue::new(names::ERROR, error));
                run.set_status(Status::error(kind));
            }
            run.end_with_timestamp(system_time(at));
        }
        let common = self.about.common();
        if let Some(figures) = self.voice.figures() {
            figures.run(outcome, &common);
        }
    }

    fn converse(&mut self, attempt: u32, told: &[Told]) {
        for told in told {
            match told {
                Told::Turn(turn) => {
                    let common = self.about.common();
                    if let Some(figures) = self.voice.figures().filter(|_| !turn.is_known) {
                        figures.turn(turn, &common);
                    }
                    let done = Done::turn(&self.about, attempt, turn);
                    self.over_within(attempt, turn.within.as_deref(), done);
                }
                Told::Call(call) => {
                    self.over_within(attempt, call.within.as_deref(), Done::call(attempt, call));
                }
            }
        }
    }

    /// A part of an attempt, or of a sub-agent in it.
    fn over_within(&mut self, attempt: u32, call: Option<&str>, done: Done) {
        let parent = call.map_or_else(|| called(attempt), |call| called_call(attempt, call));
        let ids = self.trace.span(&parent);
        self.end(Some(ids), done);
    }

    /// A part of the run.
    fn over(&mut self, done: Done) {
        self.end(None, done);
    }

    fn end(&mut self, parent: Option<(TraceId, SpanId)>, done: Done) {
        let Some(run) = self.run().map(|run| run.span_context().clone()) else { return };
        let Some(tracer) = self.voice.tracer() else { return };
        let mut attributes = done.attributes;
        attributes.push(KeyValue::new(names::RUN, self.about.run.clone()));
        attributes.push(KeyValue::new(names::PROVIDER, self.about.provider));
        attributes.extend(done.error.clone().map(|error| KeyValue::new(names::ERROR, error)));
        let builder = SpanBuilder::from_name(done.name)
            .with_kind(done.kind)
            .with_start_time(system_time(done.began))
            .with_attributes(attributes);
        self.voice.settle(self.trace.span(&done.called));
        let mut span = tracer.build_with_context(builder, &context(&run, parent));
        for Note { name, at, attributes } in done.notes {
            span.add_event_with_timestamp(name, system_time(at), attributes);
        }
        if let Some(error) = done.error {
            span.set_status(Status::error(error));
        }
        span.end_with_timestamp(system_time(done.ended.max(done.began)));
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
            attributes.push(KeyValue::new(names::OPERATION, "invoke_workflow"));
            attributes.push(KeyValue::new(names::RUN, self.about.run.clone()));
            if let Some(name) = &self.about.name {
                attributes.push(KeyValue::new(names::WORKFLOW, name.clone()));
                attributes.push(KeyValue::new(names::RUN_NAME, name.clone()));
            }
            attributes
                .extend(self.about.model.clone().map(|model| KeyValue::new(names::REQUEST_MODEL, model)));
            let name = self
                .about
                .name
                .as_ref()
                .map_or("invoke_workflow".to_owned(), |name| format!("invoke_workflow {name}"));
            let builder = SpanBuilder::from_name(name)
                .with_kind(SpanKind::Internal)
                .with_start_time(system_time(self.began))
                .with_attributes(attributes);
            self.voice.settle(self.trace.span(&called));
            tracer.build_with_context(builder, &self.trace.outside())
        }))
    }
}

/// Within the run, or within a part of it.
fn context(run: &SpanContext, parent: Option<(TraceId, SpanId)>) -> Context {
    let (trace, span) = parent.unwrap_or((run.trace_id(), run.span_id()));
    within(trace, span, run.is_sampled(), false)
}
