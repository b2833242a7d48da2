//! Everything that happens to the agent, in one queue: lines from its host, signals, pieces of an answer, ends of tools.
//! One thread reads it; the others only put things in.

use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::http_request::ResponseChunk;

/// Something that happened.
#[derive(Debug)]
pub(super) enum InboxEvent {
    /// A line from the host.
    Line(String),
    /// The host closed stdin.
    InputEnded,
    /// A signal.
    Signal(i32),
    /// A piece of the answer to request number `.0`.
    Answered(u64, ResponseChunk),
    /// Shell command number `.0` ended; its exit code, or 128 + the signal that ended it.
    Ended(u64, i32),
}

/// The queue.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) sender: Sender<InboxEvent>,
    pub(super) receiver: Receiver<InboxEvent>,
}

impl Inbox {
    /// A queue that signals are put into.
    pub(super) fn open() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let to = sender.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                if to.send(InboxEvent::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { sender, receiver })
    }

    /// Puts every line of stdin in, from now on.
    pub(super) fn listen(&self) {
        let to = self.sender.clone();
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).into_owned();
                if to.send(InboxEvent::Line(text)).is_err() {
                    return;
                }
                line.clear();
            }
            // The main thread is gone only when the process is.
            let _ = to.send(InboxEvent::InputEnded);
        });
    }
}
