//! Observes a run and records its spans. It exports decisions once they are on disk, and output as it
//! arrives.

use crate::context::Trace;
use crate::exporter::Exporter;
use crate::spans::SpanRecorder;
use longhaul::{NotifyFailure, Observer, StepView};
use longhaul_agent::transcript_message::{EventKind, TranscriptMessage};
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::{JournalEntry, RunDir, read_lines};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, mem};

/// Records the spans of one run, and forwards every call to the inner observer.
pub struct TelemetryObserver<'a> {
    inner: &'a mut dyn Observer,
    /// `None` if telemetry is disabled.
    exporter: Option<Exporter>,
    /// `None` before the run has a directory, and for a run whose plan this version cannot read.
    spans: Option<SpanRecorder>,
    /// Records that are not on disk yet.
    pending: Vec<(Moment, Vec<Record>)>,
}

impl<'a> TelemetryObserver<'a> {
    /// Creates the observer of a run that this process supervises.
    pub fn new(inner: &'a mut dyn Observer, exporter: Option<Exporter>) -> TelemetryObserver<'a> {
        TelemetryObserver { inner, exporter, spans: None, pending: Vec::new() }
    }

    fn start(&self, run: &RunId, dir: &RunDir) -> Option<SpanRecorder> {
        let exporter = self.exporter.clone()?;
        let plan = dir.plan().ok()?;
        // By convention, this variable names the span that the process is part of.
        let trace = Trace::new(dir, env::var("TRACEPARENT").ok().as_deref());
        Some(SpanRecorder::new(exporter, trace, run, &plan, reported_messages(dir)))
    }
}

/// The fields that assign a line of the transcript to an attempt.
#[derive(Deserialize)]
struct MessageHeader {
    attempt: u32,
    kind: EventKind,
}

/// Returns the number of each attempt's messages that the transcript contains. They were reported before.
fn reported_messages(dir: &RunDir) -> BTreeMap<u32, usize> {
    let mut reported = BTreeMap::new();
    // If the transcript is unreadable, usage is reported twice rather than never.
    let _ = read_lines(&dir.transcript_path(), |line| {
        if let Ok(header) = serde_json::from_slice::<MessageHeader>(line)
            && header.kind.comes_from_stream()
        {
            *reported.entry(header.attempt).or_default() += 1;
        }
        ControlFlow::Continue(())
    });
    reported
}

impl Observer for TelemetryObserver<'_> {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.spans = RunDir::from_path(dir.to_owned()).and_then(|dir| self.start(run, &dir));
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
            if let Some(spans) = &mut self.spans {
                spans.record(at, &records);
            }
        }
        self.inner.on_sync();
    }

    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.inner.on_notify_failure(failure);
    }

    fn on_output(&mut self, bytes: &[u8], messages: &[TranscriptMessage]) {
        if let Some(spans) = self.spans.as_mut().filter(|_| !messages.is_empty()) {
            spans.on_messages(messages, now());
        }
        self.inner.on_output(bytes, messages);
    }
}

fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
