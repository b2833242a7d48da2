//! Watches a run and tells of it. What is decided is told when it is on disk; what the agent says, when it says it.

use crate::context::Trace;
use crate::pipeline::Voice;
use crate::spans::Spans;
use longhaul::{Observer, Untold, View};
use longhaul_agent::dialect;
use longhaul_agent::message::Kind;
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::{Entry, RunDir, read_lines};
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
pub struct Telling<'a> {
    inner: &'a mut dyn Observer,
    /// Nothing where nothing is wanted.
    voice: Option<Voice>,
    /// Nothing before the run has a directory, and for a run whose plan says nothing that we understand.
    spans: Option<Spans>,
    dir: Option<RunDir>,
    /// What is decided, and not on disk yet.
    pending: Vec<(Moment, Vec<Record>)>,
}

impl<'a> Telling<'a> {
    /// Of a run that this process supervises.
    pub fn new(inner: &'a mut dyn Observer, voice: Option<Voice>) -> Telling<'a> {
        Telling { inner, voice, spans: None, dir: None, pending: Vec::new() }
    }

    fn begin(&self, run: &RunId, dir: &RunDir) -> Option<Spans> {
        let voice = self.voice.clone()?;
        let plan = dir.plan().ok()?;
        let dialect = dialect(&plan.agent.name)?;
        // By convention, whoever starts a program names the span that it is a part of so.
        let trace = Trace::of(dir, env::var("TRACEPARENT").ok().as_deref());
        Some(Spans::new(voice, trace, (run, &plan), dialect, known(dir)))
    }

    /// Of an attempt that ended while nobody supervised it, the stream is read when the end is told.
    fn read(&mut self, records: &[Record], at: Moment) {
        let has_ended = records.iter().any(|record| matches!(record, Record::AttemptEnded { .. }));
        let (Some(spans), Some(dir)) = (&mut self.spans, &self.dir) else { return };
        let Some(attempt) = spans.unheard().filter(|_| has_ended) else { return };
        let Ok(mut stream) = File::open(dir.attempt(attempt).stream_path()) else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(bytes @ 1..) = stream.read(&mut chunk) {
            spans.hear(&chunk[..bytes], at);
        }
    }
}

/// What tells which attempt a line of the transcript belongs to.
#[derive(Deserialize)]
struct Sign {
    attempt: u32,
    kind: Kind,
}

/// How many messages of each attempt's stream were heard before: as many as are written down.
fn known(dir: &RunDir) -> BTreeMap<u32, usize> {
    let mut known = BTreeMap::new();
    // Who cannot read it tells a figure twice, not never.
    let _ = read_lines(&dir.transcript_path(), |line| {
        if let Ok(sign) = serde_json::from_slice::<Sign>(line)
            && sign.kind.is_streamed()
        {
            *known.entry(sign.attempt).or_default() += 1;
        }
        ControlFlow::Continue(())
    });
    known
}

impl Observer for Telling<'_> {
    fn began(&mut self, run: &RunId, dir: &Path) {
        self.dir = RunDir::at(dir.to_owned());
        self.spans = self.dir.as_ref().and_then(|dir| self.begin(run, dir));
        self.inner.began(run, dir);
    }

    fn replayed(&mut self, entry: &Entry) {
        if let Some(spans) = &mut self.spans {
            spans.know(entry.at, &entry.records);
        }
        self.inner.replayed(entry);
    }

    fn stepped(&mut self, view: View<'_>, step: &Step) {
        if self.spans.is_some() && !step.records.is_empty() {
            self.pending.push((view.at, step.records.clone()));
        }
        self.inner.stepped(view, step);
    }

    fn synced(&mut self) {
        for (at, records) in mem::take(&mut self.pending) {
            self.read(&records, at);
            if let Some(spans) = &mut self.spans {
                spans.tell(at, &records);
            }
        }
        self.inner.synced();
    }

    fn untold(&mut self, untold: &Untold) {
        self.inner.untold(untold);
    }

    fn streamed(&mut self, bytes: &[u8]) {
        if let Some(spans) = &mut self.spans {
            spans.hear(bytes, now());
        }
        self.inner.streamed(bytes);
    }
}

fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
