//! Writes the output on a thread of its own while runs are supervised: a reader that stops reading must not stop the
//! supervisor. Other commands write directly, and wait for their reader.
//!
//! Both outputs share one queue, so that their order stays. A reader of stdout that is behind also delays stderr.

use super::{Stream, record_error};
use crate::signals;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

// An agent writes some megabytes an hour. A reader that is further behind has stopped reading.
const QUEUED_BYTES_MAX: usize = 64 << 20;
// Some frames of a full screen. A frame shows only the present state, so that later frames replace it.
const QUEUED_BYTES_MAX_TO_DRAW: usize = 64 << 10;
// The interval for retrying a full non-blocking stream; 20 retries a second cost nothing.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(50);
// After a signal, an active reader takes the rest within this time.
const FLUSH: Duration = Duration::from_secs(2);

/// The queue of the thread, while there is one.
static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);

enum Item {
    Output(Stream, Vec<u8>),
    /// Nothing follows that must be written.
    End,
}

#[derive(Clone)]
struct Queue {
    sender: mpsc::Sender<Item>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Queue {
    /// Queues bytes without blocking. Returns an error if the reader is too far behind.
    fn push(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if self.queued_bytes.load(Ordering::Relaxed) + bytes.len() > QUEUED_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        self.queued_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let sent = self.sender.send(Item::Output(stream, bytes.to_vec()));
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

/// The thread that writes.
pub struct Background {
    /// Receives a message when everything is written.
    ended: oneshot::Receiver<()>,
}

impl Background {
    /// Starts the thread. If it cannot start, output is written directly.
    pub fn start() -> Background {
        let (sender, items) = mpsc::channel();
        let (end_sender, ended) = oneshot::channel();
        let queue = Queue { sender, queued_bytes: Arc::default() };
        let queued_bytes = Arc::clone(&queue.queued_bytes);
        let thread = thread::Builder::new().name("output".to_owned()).spawn(move || {
            while let Ok(Item::Output(stream, bytes)) = items.recv() {
                // An error of stdout is recorded, and one of stderr is ignored.
                let _ = stream.write(&bytes);
                queued_bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            let _ = end_sender.send(());
        });
        set_queue(thread.is_ok().then_some(queue));
        Background { ended }
    }

    /// Waits until everything is written. After a signal it waits only a moment, and later output is lost.
    pub async fn finish(self) {
        let Some(queue) = queue() else { return };
        let _ = queue.sender.send(Item::End);
        let stopped = async {
            signals::received().await;
            tokio::time::sleep(FLUSH).await;
        };
        tokio::select! {
            _ = self.ended => set_queue(None),
            () = stopped => {}
        }
    }
}

fn queue() -> Option<Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set_queue(queue: Option<Queue>) {
    *QUEUE.lock().unwrap_or_else(PoisonError::into_inner) = queue;
}

pub(super) fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match (queue(), stream) {
        (Some(queue), Stream::Stdout) => record_error(queue.push(stream, bytes)),
        (Some(queue), Stream::Stderr) => queue.push(stream, bytes),
        (None, _) => stream.write(bytes),
    }
}

/// Writes a frame to stderr. If the reader is behind, the frame is skipped, unless other text takes its place.
pub(super) fn draw(frame: &[u8], clears: bool) -> io::Result<()> {
    let queued = queue().map_or(0, |queue| queue.queued_bytes.load(Ordering::Relaxed));
    if queued > QUEUED_BYTES_MAX_TO_DRAW && !clears { Ok(()) } else { write(Stream::Stderr, frame) }
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
