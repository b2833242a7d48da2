//! Between a run and whoever is told its events: a queue that has an end, and a thread that empties it. Neither ever makes
//! the run wait; what does not get through is counted, and said in a line of its own.

use super::destination::OpenedDestination;
use super::line::left_out;
use super::sink::Sink;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

// A run of a week decides about 4 MB; who has not read four times as much by now, does not read.
const QUEUED_BYTES_MAX: usize = 16 << 20;
// Whoever reads, has read by then what came last; the run is over and its outcome is told.
const FLUSH: Duration = Duration::from_secs(2);

/// Some events of a run that follow each other.
pub struct QueuedEvents {
    pub run: String,
    /// The number of the first of them.
    pub first: u64,
    /// Each with its newline.
    pub lines: Vec<Vec<u8>>,
    /// Whether they are from before, so that they may be told already.
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

/// Where a run puts its events.
#[derive(Clone)]
pub struct Queue {
    sender: mpsc::Sender<QueuedEvents>,
    shared: Arc<Shared>,
    /// Whether events from before are wanted: those that are not told yet.
    pub continues: bool,
}

#[derive(Default)]
struct Shared {
    queued_bytes: AtomicUsize,
    /// The last event of each run that could not be told.
    owed: Mutex<BTreeMap<String, u64>>,
}

impl Shared {
    fn owe(&self, item: &QueuedEvents) {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        owed.insert(item.run.clone(), item.last());
    }
}

impl Queue {
    /// Takes events in, at once.
    pub fn put(&self, item: QueuedEvents) {
        let bytes = item.bytes();
        let queued = self.shared.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if queued + bytes > QUEUED_BYTES_MAX {
            self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.owe(&item);
        } else if let Err(mpsc::SendError(item)) = self.sender.send(item) {
            self.shared.owe(&item);
        }
    }
}

/// The thread that writes, until it is closed.
pub struct Writer {
    name: String,
    is_on_stdout: bool,
    queue: Queue,
    ended: mpsc::Receiver<DroppedEvents>,
}

/// What did not get through.
#[derive(Default)]
struct DroppedEvents {
    events: u64,
    reason: Option<String>,
}

impl Writer {
    /// Begins to write to a destination of this name, which may be our stdout.
    pub fn start(name: String, is_on_stdout: bool, opened: OpenedDestination) -> Writer {
        let (sender, items) = mpsc::channel();
        let (over, ended) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let continues = matches!(opened, OpenedDestination::File(_));
        let queue = Queue { sender, shared: Arc::clone(&shared), continues };
        // A thread that cannot be started is a destination that nobody reads.
        let _ = thread::Builder::new().name("events".to_owned()).spawn(move || {
            let missed = WriterThread::new(Sink::new(opened)).all(&items, &shared);
            let _ = over.send(missed);
        });
        Writer { name, is_on_stdout, queue, ended }
    }

    /// Whether stdout is for events alone.
    pub fn is_on_stdout(&self) -> bool {
        self.is_on_stdout
    }

    /// Where a run puts its events. All of them are dropped before the writer is closed.
    pub fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Has what is queued written, for as long as a reader needs that reads. Returns what a person is to know.
    pub fn close(self) -> Option<String> {
        let Writer { name, queue, ended, .. } = self;
        drop(queue);
        let kept = "the run's journal.jsonl has them all";
        match ended.recv_timeout(FLUSH) {
            Ok(DroppedEvents { events: 0, .. }) => None,
            Ok(DroppedEvents { events, reason }) => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Some(format!("{events} of the run's events did not get to {name}{reason}; {kept}"))
            }
            Err(_) => Some(format!("the last of the run's events were not taken by {name}; {kept}")),
        }
    }
}

/// The thread's own: what is told so far.
struct WriterThread {
    sink: Sink,
    /// The last event of each run that is accounted for.
    print_labeled: BTreeMap<String, u64>,
    missed: DroppedEvents,
}

impl WriterThread {
    fn new(sink: Sink) -> WriterThread {
        WriterThread { sink, print_labeled: BTreeMap::new(), missed: DroppedEvents::default() }
    }

    fn all(mut self, items: &mpsc::Receiver<QueuedEvents>, shared: &Shared) -> DroppedEvents {
        for item in items {
            shared.queued_bytes.fetch_sub(item.bytes(), Ordering::Relaxed);
            if let Err(error) = self.write(&item) {
                self.missed.reason.get_or_insert_with(|| error.to_string());
                shared.owe(&item);
            }
        }
        let owed = std::mem::take(&mut *shared.owed.lock().unwrap_or_else(PoisonError::into_inner));
        for (run, last) in owed {
            let told = self.print_labeled.get(&run).copied().unwrap_or_default();
            if told < last {
                let gap = left_out(&run, (told + 1, last));
                self.missed.events += last - told;
                let _ = self.sink.add(&gap);
            }
        }
        self.missed
    }

    fn write(&mut self, item: &QueuedEvents) -> std::io::Result<()> {
        let sink = &self.sink;
        let told = self.print_labeled.entry(item.run.clone());
        let told = told.or_insert_with(|| match item.known {
            true => sink.last_of(&item.run),
            false => item.first - 1,
        });
        let mut text = Vec::new();
        if *told + 1 < item.first {
            text = left_out(&item.run, (*told + 1, item.first - 1));
        }
        let already = (*told + 1).saturating_sub(item.first);
        text.extend(item.lines.iter().skip(already as usize).flatten());
        if !text.is_empty() {
            self.sink.add(&text)?;
            self.missed.events += item.first.saturating_sub(*told + 1);
            *told = item.last();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
