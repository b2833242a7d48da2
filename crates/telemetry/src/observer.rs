//! Observes a run and records its spans. It exports decisions once they are on disk, and output as it
//! arrives.

use crate::context::Trace;
use crate::exporter::Exporter;
use crate::spans::SpanRecorder;
use longhaul::{Observer, StepView};
use longhaul_agent::transcript_message::{MessageHeader, TranscriptMessage};
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::{JournalEntry, RunDir, read_lines};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, mem};

/// Records the spans of one run.
pub struct TelemetryObserver {
    exporter: Exporter,
    /// `None` before the run has a directory, and for a run whose plan this version cannot read.
    spans: Option<SpanRecorder>,
    /// Records that are not on disk yet.
    pending: Vec<(Moment, Vec<Record>)>,
}

impl TelemetryObserver {
    /// Creates the observer of a run that this process supervises.
    pub fn new(exporter: Exporter) -> TelemetryObserver {
        TelemetryObserver { exporter, spans: None, pending: Vec::new() }
    }

    fn start(&self, run: &RunId, dir: &RunDir) -> Option<SpanRecorder> {
        let plan = dir.plan().ok()?;
        // By convention, this variable names the span that the process is part of.
        let trace = Trace::new(dir, env::var("TRACEPARENT").ok().as_deref());
        Some(SpanRecorder::new(self.exporter.clone(), trace, run, &plan, reported_messages(dir)))
    }
}

/// Returns the number of each attempt's messages that the transcript contains. They were reported before.
fn reported_messages(dir: &RunDir) -> BTreeMap<u32, usize> {
    let mut reported = BTreeMap::new();
    // If the transcript is unreadable, usage is reported twice rather than never.
    let _ = read_lines(&dir.transcript_path(), |line| {
        if let Some(header) = MessageHeader::parse(line)
            && header.kind.comes_from_stream()
        {
            *reported.entry(header.attempt).or_default() += 1;
        }
        ControlFlow::Continue(())
    });
    reported
}

impl Observer for TelemetryObserver {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.spans = RunDir::from_path(dir.to_owned()).and_then(|dir| self.start(run, &dir));
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        if let Some(spans) = &mut self.spans {
            spans.replay(entry.at, &entry.records);
        }
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        if self.spans.is_some() && !step.records.is_empty() {
            self.pending.push((view.at, step.records.clone()));
        }
    }

    fn on_sync(&mut self) {
        for (at, records) in mem::take(&mut self.pending) {
            if let Some(spans) = &mut self.spans {
                spans.record(at, &records);
            }
        }
    }

    fn on_messages(&mut self, messages: &[TranscriptMessage]) {
        if let Some(spans) = self.spans.as_mut().filter(|_| !messages.is_empty()) {
            spans.on_messages(messages, now());
        }
    }
}

fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
