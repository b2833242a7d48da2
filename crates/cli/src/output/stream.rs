//! `--output-format stream-json`: forwards the agent's events as they arrive and inserts Longhaul's, line by
//! line.

use super::events::line;
use super::out;
use longhaul::{NotifyFailure, Observer, StepView};
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{RunId, Step};
use longhaul_store::JournalEntry;
use std::io::Write;
use std::path::Path;

/// Prints both streams on stdout and forwards everything to `inner`.
pub struct Stream<'a> {
    inner: &'a mut dyn Observer,
    run: String,
    /// Number of records so far.
    seq: u64,
    /// An incomplete line.
    partial: Vec<u8>,
}

impl<'a> Stream<'a> {
    pub fn new(inner: &'a mut dyn Observer) -> Stream<'a> {
        Stream { inner, run: String::new(), seq: 0, partial: Vec::new() }
    }
}

impl Observer for Stream<'_> {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.run = run.to_string();
        self.inner.on_start(run, dir);
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        self.seq += entry.records.len() as u64;
        self.inner.on_replay(entry);
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        let mut stdout = out::printer_of_bytes();
        for record in &step.records {
            self.seq += 1;
            let _ = stdout.write_all(&line::stream_line(&self.run, self.seq, view.at, record));
        }
        self.inner.on_step(view, step);
    }

    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.inner.on_notify_failure(failure);
    }

    fn on_output(&mut self, bytes: &[u8], messages: &[TranscriptMessage]) {
        // Whole lines only, so that Longhaul's lines never end up inside the agent's.
        self.partial.extend_from_slice(bytes);
        if let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') {
            let _ = out::printer_of_bytes().write_all(&self.partial[..=end]);
            self.partial.drain(..=end);
        }
        self.inner.on_output(bytes, messages);
    }
}
