//! Writes the output on a thread of its own once a command supervises runs: a reader that stops reading must not stop
//! the supervisor. Other commands write directly, and wait for their reader.
//!
//! Both outputs share one queue, so that their order stays. A reader of stdout that is behind also delays stderr.

use super::{Stream, record_error};
use crate::signals;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout;

// An agent writes some megabytes an hour. A reader that is further behind has stopped reading.
const QUEUED_BYTES_MAX: usize = 64 << 20;
// Some frames of a full screen. A frame shows only the present state, so that later frames replace it.
const QUEUED_BYTES_MAX_TO_DRAW: usize = 64 << 10;
// The interval for retrying a full non-blocking stream; 20 retries a second cost nothing.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(50);
// How soon a signal ends the wait for a reader that takes nothing.
const FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(50);
// A reader that takes nothing for this long has stopped reading.
const STALLED_AFTER: Duration = Duration::from_secs(2);

static QUEUE: OnceLock<Queue> = OnceLock::new();

struct Queue {
    sender: mpsc::Sender<(Stream, Vec<u8>)>,
    /// Number of bytes that are not written yet.
    queued_bytes: Arc<AtomicUsize>,
    /// Notified after each write.
    written: Arc<Notify>,
}

impl Queue {
    /// Queues bytes without blocking. Returns an error if the reader is too far behind.
    fn push(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if self.len() + bytes.len() > QUEUED_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        self.queued_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        self.sender.send((stream, bytes.to_vec())).map_err(|_| ErrorKind::BrokenPipe.into())
    }

    fn len(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }
}

/// Starts the thread, unless there is one. If it cannot start, output is written directly.
pub fn start() {
    if QUEUE.get().is_some() {
        return;
    }
    let (sender, items) = mpsc::channel::<(Stream, Vec<u8>)>();
    let (queued_bytes, written) = (Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
    let (unwritten, waiting) = (Arc::clone(&queued_bytes), Arc::clone(&written));
    let thread = thread::Builder::new().name("output".to_owned()).spawn(move || {
        for (stream, bytes) in items {
            // An error of stdout is recorded, and one of stderr is ignored.
            let _ = stream.write(&bytes);
            unwritten.fetch_sub(bytes.len(), Ordering::Relaxed);
            waiting.notify_one();
        }
    });
    if thread.is_ok() {
        let _ = QUEUE.set(Queue { sender, queued_bytes, written });
    }
}

pub fn is_flushed() -> bool {
    QUEUE.get().is_none_or(|queue| queue.len() == 0)
}

/// Waits until everything is written. After a signal, it waits no longer for a reader that has stopped reading.
pub async fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (mut left, mut progress_at) = (queue.len(), Instant::now());
    while left > 0 && !(signals::has_received() && progress_at.elapsed() >= STALLED_AFTER) {
        let _ = timeout(FLUSH_POLL_INTERVAL, queue.written.notified()).await;
        if queue.len() != left {
            (left, progress_at) = (queue.len(), Instant::now());
        }
    }
}

pub(super) fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match (QUEUE.get(), stream) {
        (Some(queue), Stream::Stdout) => record_error(queue.push(stream, bytes)),
        (Some(queue), Stream::Stderr) => queue.push(stream, bytes),
        (None, _) => stream.write(bytes),
    }
}

/// Draws on the terminal at stderr. `frame` may move the cursor, so its text must be sanitized. If the reader is behind,
/// it is skipped, unless `clears` says that other text takes its place.
pub fn draw(frame: &str, clears: bool) -> io::Result<()> {
    let is_behind = QUEUE.get().is_some_and(|queue| queue.len() > QUEUED_BYTES_MAX_TO_DRAW);
    if is_behind && !clears { Ok(()) } else { write(Stream::Stderr, frame.as_bytes()) }
}

/// Repeats a call on a full non-blocking stream until there is room.
pub fn wait_for_room<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_RETRY_INTERVAL),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
