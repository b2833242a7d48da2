//! Watches a run and tells of it. What is decided is told when it is on disk; what the agent says, when it says it.

use crate::context::Trace;
use crate::exporter::Exporter;
use crate::spans::SpanRecorder;
use longhaul::{NotifyFailure, Observer, StepView};
use longhaul_agent::dialect_for;
use longhaul_agent::transcript_message::EventKind;
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::{JournalEntry, RunDir, read_lines};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, mem};

/// Of a stream that is read as a whole.
const CHUNK_BYTES: usize = 64 << 10;

/// Tells of one run, and passes everything on.
pub struct TelemetryObserver<'a> {
    inner: &'a mut dyn Observer,
    /// Nothing where nothing is wanted.
    voice: Option<Exporter>,
    /// Nothing before the run has a directory, and for a run whose plan says nothing that we understand.
    spans: Option<SpanRecorder>,
    dir: Option<RunDir>,
    /// What is decided, and not on disk yet.
    pending: Vec<(Moment, Vec<Record>)>,
}

impl<'a> TelemetryObserver<'a> {
    /// Of a run that this process supervises.
    pub fn new(inner: &'a mut dyn Observer, voice: Option<Exporter>) -> TelemetryObserver<'a> {
        TelemetryObserver { inner, voice, spans: None, dir: None, pending: Vec::new() }
    }

    fn begin(&self, run: &RunId, dir: &RunDir) -> Option<SpanRecorder> {
        let voice = self.voice.clone()?;
        let plan = dir.plan().ok()?;
        let dialect = dialect_for(&plan.agent.name)?;
        // By convention, whoever starts a program names the span that it is a part of so.
        let trace = Trace::new(dir, env::var("TRACEPARENT").ok().as_deref());
        Some(SpanRecorder::new(voice, trace, (run, &plan), dialect, known(dir)))
    }

    /// Of an attempt that ended while nobody supervised it, the stream is read when the end is told.
    fn read(&mut self, records: &[Record], at: Moment) {
        let has_ended = records.iter().any(|record| matches!(record, Record::AttemptEnded { .. }));
        let (Some(spans), Some(dir)) = (&mut self.spans, &self.dir) else { return };
        let Some(attempt) = spans.attempt_without_output().filter(|_| has_ended) else { return };
        let Ok(mut stream) = File::open(dir.attempt(attempt).stream_path()) else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(bytes @ 1..) = stream.read(&mut chunk) {
            spans.on_output(&chunk[..bytes], at);
        }
    }
}

/// What tells which attempt a line of the transcript belongs to.
#[derive(Deserialize)]
struct MessageHeader {
    attempt: u32,
    kind: EventKind,
}

/// How many messages of each attempt's stream were heard before: as many as are written down.
fn known(dir: &RunDir) -> BTreeMap<u32, usize> {
    let mut known = BTreeMap::new();
    // Who cannot read it tells a figure twice, not never.
    let _ = read_lines(&dir.transcript_path(), |line| {
        if let Ok(sign) = serde_json::from_slice::<MessageHeader>(line)
            && sign.kind.comes_from_stream()
        {
            *known.entry(sign.attempt).or_default() += 1;
        }
        ControlFlow::Continue(())
    });
    known
}

impl Observer for TelemetryObserver<'_> {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.dir = RunDir::at(dir.to_owned());
        self.spans = self.dir.as_ref().and_then(|dir| self.begin(run, dir));
        self.inner.on_start(run, dir);
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        if let Some(spans) = &mut self.spans {
            spans.replay(entry.at, &entry.records);
        }
        self.inner.on_replay(entry);
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        if self.spans.is_some() && !step.records.is_empty() {
            self.pending.push((view.at, step.records.clone()));
        }
        self.inner.on_step(view, step);
    }

    fn on_sync(&mut self) {
        for (at, records) in mem::take(&mut self.pending) {
            self.read(&records, at);
            if let Some(spans) = &mut self.spans {
                spans.record(at, &records);
            }
        }
        self.inner.on_sync();
    }

    fn on_notify_failure(&mut self, untold: &NotifyFailure) {
        self.inner.on_notify_failure(untold);
    }

    fn on_output(&mut self, bytes: &[u8]) {
        if let Some(spans) = &mut self.spans {
            spans.on_output(bytes, now());
        }
        self.inner.on_output(bytes);
    }
}

fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
