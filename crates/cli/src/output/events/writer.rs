//! A bounded queue between a run and the reader of its events, and the thread that empties it.
//! Never makes the run wait. Dropped events are counted and reported in a line of their own.

use super::line::gap_line;
use super::sink::Sink;
use crate::args::EventsDestination;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

// A run of a week decides about 4 MB; a reader that is four times as far behind has stopped reading.
const QUEUED_BYTES_MAX: usize = 16 << 20;
// The run is finished; an active reader takes the last events within this time.
const FLUSH: Duration = Duration::from_secs(2);

/// Consecutive events of a run.
pub struct QueuedEvents {
    pub run: String,
    pub first: u64,
    /// The events as lines, each with its newline.
    pub lines: Vec<Vec<u8>>,
    /// Whether the events are from before this process and may have been written already.
    pub known: bool,
}

impl QueuedEvents {
    fn bytes(&self) -> usize {
        self.lines.iter().map(Vec::len).sum()
    }

    fn last(&self) -> u64 {
        self.first + self.lines.len() as u64 - 1
    }
}

/// The sending side of the queue. It never blocks.
#[derive(Clone)]
pub struct Queue {
    sender: mpsc::Sender<QueuedEvents>,
    shared: Arc<Shared>,
    /// Whether earlier events are needed, to write those that the destination lacks.
    pub continues: bool,
}

#[derive(Default)]
struct Shared {
    queued_bytes: AtomicUsize,
    /// The last dropped event of each run.
    lost: Mutex<BTreeMap<String, u64>>,
}

impl Shared {
    fn mark_lost(&self, item: &QueuedEvents) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.insert(item.run.clone(), item.last());
    }
}

impl Queue {
    /// Queues events without blocking. Events that do not fit are dropped.
    pub fn push(&self, item: QueuedEvents) {
        let bytes = item.bytes();
        let queued = self.shared.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if queued + bytes > QUEUED_BYTES_MAX {
            self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.mark_lost(&item);
        } else if let Err(mpsc::SendError(item)) = self.sender.send(item) {
            self.shared.mark_lost(&item);
        }
    }
}

/// The thread that writes events, until it is closed.
pub struct Writer {
    destination: EventsDestination,
    queue: Queue,
    result: mpsc::Receiver<DroppedEvents>,
}

#[derive(Default)]
struct DroppedEvents {
    events: u64,
    reason: Option<String>,
}

impl Writer {
    pub fn start(destination: &EventsDestination, sink: Sink) -> Writer {
        let (sender, items) = mpsc::channel();
        let (result_sender, result) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let continues = matches!(sink, Sink::File(_));
        let queue = Queue { sender, shared: Arc::clone(&shared), continues };
        // If the thread cannot start, all events count as dropped.
        let _ = thread::Builder::new().name("events".to_owned()).spawn(move || {
            let sink = sink.prepared();
            let thread =
                WriterThread { sink, last_written: BTreeMap::new(), dropped: DroppedEvents::default() };
            let _ = result_sender.send(thread.write_all(&items, &shared));
        });
        Writer { destination: destination.clone(), queue, result }
    }

    pub fn is_on_stdout(&self) -> bool {
        self.destination == EventsDestination::Stdout
    }

    /// Returns a queue for a run's events. All queues must be dropped before the writer is closed.
    pub fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Waits until an active reader has taken the queued events. Returns a warning if some were lost.
    pub fn close(self) -> Option<String> {
        let Writer { destination: name, queue, result } = self;
        drop(queue);
        let hint = "the run's journal.jsonl has them all";
        match result.recv_timeout(FLUSH) {
            Ok(DroppedEvents { events: 0, .. }) => None,
            Ok(DroppedEvents { events, reason }) => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Some(format!("{events} events of the run could not be written to {name}{reason}; {hint}"))
            }
            Err(_) => Some(format!("the last events of the run could not be written to {name}; {hint}")),
        }
    }
}

struct WriterThread {
    sink: Sink,
    /// The last event of each run that is written or counted as dropped.
    last_written: BTreeMap<String, u64>,
    dropped: DroppedEvents,
}

impl WriterThread {
    fn write_all(mut self, items: &mpsc::Receiver<QueuedEvents>, shared: &Shared) -> DroppedEvents {
        for item in items {
            shared.queued_bytes.fetch_sub(item.bytes(), Ordering::Relaxed);
            if let Err(error) = self.write(&item) {
                self.dropped.reason.get_or_insert_with(|| error.to_string());
                shared.mark_lost(&item);
            }
        }
        let lost = std::mem::take(&mut *shared.lost.lock().unwrap_or_else(PoisonError::into_inner));
        for (run, last) in lost {
            let last_written = self.last_written.get(&run).copied().unwrap_or_default();
            if last_written < last {
                let gap = gap_line(&run, last_written + 1, last);
                self.dropped.events += last - last_written;
                let _ = self.sink.add(&gap);
            }
        }
        self.dropped
    }

    fn write(&mut self, item: &QueuedEvents) -> std::io::Result<()> {
        let sink = &self.sink;
        let last_written = self.last_written.entry(item.run.clone());
        let last_written = last_written.or_insert_with(|| match item.known {
            true => sink.last_of(&item.run),
            false => item.first - 1,
        });
        let mut text = Vec::new();
        if *last_written + 1 < item.first {
            text = gap_line(&item.run, *last_written + 1, item.first - 1);
        }
        let written_count = (*last_written + 1).saturating_sub(item.first);
        text.extend(item.lines.iter().skip(written_count as usize).flatten());
        if !text.is_empty() {
            self.sink.add(&text)?;
            self.dropped.events += item.first.saturating_sub(*last_written + 1);
            *last_written = item.last();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
