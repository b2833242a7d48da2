//! Writes the output on a thread of its own while runs are supervised: a reader that stops reading must not stop the
//! supervisor. Other commands write directly, and wait for their reader.

use super::{Stream, record_error};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

// The agent's events of some hours. A reader that is further behind has stopped reading.
const QUEUED_BYTES_MAX: usize = 64 << 20;
// A frame shows only the present state, so that later frames replace it.
const QUEUED_BYTES_MAX_TO_DRAW: usize = 4 << 10;
// The interval for retrying a full non-blocking stream; 20 retries a second cost nothing.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The queue of the thread, while there is one.
static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);

#[derive(Clone)]
struct Queue {
    sender: mpsc::Sender<(Stream, Vec<u8>)>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Queue {
    /// Queues bytes without blocking. Returns an error if the reader is too far behind.
    fn push(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if self.queued_bytes.load(Ordering::Relaxed) + bytes.len() > QUEUED_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        self.queued_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        self.sender.send((stream, bytes.to_vec())).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

/// The thread that writes. Dropping it waits until everything is written.
pub struct Background(Option<JoinHandle<()>>);

impl Background {
    /// Starts the thread. If it cannot start, output is written directly.
    pub fn start() -> Background {
        let (sender, items) = mpsc::channel::<(Stream, Vec<u8>)>();
        let queue = Queue { sender, queued_bytes: Arc::default() };
        let queued_bytes = Arc::clone(&queue.queued_bytes);
        let thread = thread::Builder::new().name("output".to_owned()).spawn(move || {
            for (stream, bytes) in items {
                // An error of stdout is recorded, and one of stderr is ignored.
                let _ = stream.write(&bytes);
                queued_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
        });
        *QUEUE.lock().unwrap_or_else(PoisonError::into_inner) = thread.is_ok().then_some(queue);
        Background(thread.ok())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        QUEUE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.0.take().map(JoinHandle::join);
    }
}

fn queue() -> Option<Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

pub(super) fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match (queue(), stream) {
        (Some(queue), Stream::Stdout) => record_error(queue.push(stream, bytes)),
        (Some(queue), Stream::Stderr) => queue.push(stream, bytes),
        (None, _) => stream.write(bytes),
    }
}

/// Writes a frame to stderr, unless the reader is behind.
pub(super) fn draw(frame: &[u8]) -> io::Result<()> {
    let queue = queue();
    let queued = queue.map_or(0, |queue| queue.queued_bytes.load(Ordering::Relaxed));
    if queued > QUEUED_BYTES_MAX_TO_DRAW { Ok(()) } else { write(Stream::Stderr, frame) }
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
