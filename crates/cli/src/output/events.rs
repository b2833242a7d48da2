//! `--events`: a run's decisions for other programs, one line of JSON each, sent once they are on disk.
//! Never fails or delays the run.

mod destination;
pub mod line;
mod sink;
mod writer;

pub use writer::{Queue, Writer};

use crate::args::{EventsArgs, GlobalArgs};
use crate::failure::Failure;
use longhaul::{Observer, StepView};
use longhaul_core::{Moment, Record, RunId, Step};
use longhaul_store::JournalEntry;
use std::path::Path;
use writer::QueuedEvents;

/// Events that are queued together at most: `attach` sends those of a long run at once.
const PART_LINES: usize = 256;

/// Opens the destination that the flag names. A destination that cannot be written to is rejected.
pub fn open(args: &EventsArgs, global: &GlobalArgs) -> Result<Option<Writer>, Failure> {
    let Some(destination) = &args.events else { return Ok(None) };
    let opened = destination::open(destination, global)?;
    Ok(Some(Writer::start(destination, opened)))
}

/// Rejects a destination that [`open`] would reject, and creates no file.
pub fn check(args: &EventsArgs, global: &GlobalArgs) -> Result<(), Failure> {
    args.events.as_ref().map_or(Ok(()), |destination| destination::check(destination, global))
}

/// Writes the remaining events and warns of lost ones.
pub fn close(writer: Option<Writer>) {
    if let Some(warning) = writer.and_then(Writer::close) {
        super::print_status(&format!("warning: {warning}"));
    }
}

/// Sends the events of one run.
pub struct Events {
    queue: Queue,
    /// Whether another process supervises the run and may have written its events already.
    follows: bool,
    run: String,
    /// Number of records so far.
    seq: u64,
    /// Events that are decided but not on disk yet.
    pending: Vec<Vec<u8>>,
}

impl Events {
    /// Creates the observer of a run that this process supervises.
    pub fn new(queue: Queue) -> Events {
        Events { queue, follows: false, run: String::new(), seq: 0, pending: Vec::new() }
    }

    pub fn following(queue: Queue) -> Events {
        Events { follows: true, ..Events::new(queue) }
    }

    fn add(&mut self, at: Moment, records: &[Record]) {
        for record in records {
            self.seq += 1;
            self.pending.push(line::record_line(None, &self.run, self.seq, at, record));
        }
    }

    fn enqueue_pending(&mut self, known: bool) {
        let mut lines = std::mem::take(&mut self.pending);
        // Part by part, because a full queue drops what does not fit.
        while !lines.is_empty() {
            let first = self.seq + 1 - lines.len() as u64;
            let rest = lines.split_off(lines.len().min(PART_LINES));
            self.queue.push(QueuedEvents { run: self.run.clone(), first, lines, known });
            lines = rest;
        }
    }
}

impl Observer for Events {
    fn on_start(&mut self, run: &RunId, _dir: &Path) {
        self.run = run.to_string();
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        self.add(entry.at, &entry.records);
        if self.queue.continues {
            self.enqueue_pending(true);
        } else {
            self.pending.clear();
        }
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        self.add(view.at, &step.records);
    }

    fn on_sync(&mut self) {
        self.enqueue_pending(self.follows);
    }
}

#[cfg(test)]
mod tests {
    use super::sink::Sink;
    use super::{Events, Writer};
    use crate::args::EventsDestination;
    use longhaul::{Observer, StepView};
    use longhaul_core::{Event, Moment, Now, Preset, Run, SessionId, SessionPlan};
    use std::fs::{self, File};
    use std::path::Path;

    #[test]
    fn writes_events_only_after_sync() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let written = |is_synced: bool| {
            let opened = File::options().read(true).append(true).open(&file);
            let opened = Sink::File(opened.expect("it exists"));
            let writer = Writer::start(&EventsDestination::File("events".into()), opened);
            let (mut run, policy) = (Run::new(), Preset::Default.policy());
            let mut events = Events::new(writer.queue());
            events.on_start(&"kmzxqp".into(), Path::new("/run"));
            let now = Now { at: Moment(5), roll: 0 };
            let step = run.step(&policy, now, Event::Started(SessionPlan::New(SessionId::from("s"))));
            events.on_step(StepView { run: &run, policy: &policy, at: now.at, snapshot: None }, &step);
            if is_synced {
                events.on_sync();
            }
            drop(events);
            assert_eq!(writer.close(), None);
            (fs::read_to_string(&file).expect("text").lines().count(), step.records.len())
        };
        assert_eq!(written(false).0, 0);
        let (lines, records) = written(true);
        assert_eq!(lines, records);
    }
}
