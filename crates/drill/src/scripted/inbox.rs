//! Queues all events of the agent: lines from its host, signals, chunks of a response, and ends of commands.
//! One thread receives them; the others only send.

use std::io::{self, BufRead, ErrorKind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use axum::http::HeaderMap;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

#[derive(Debug)]
pub(super) enum InboxEvent {
    Line(String),
    InputEnded,
    Signal(i32),
    /// A chunk of the response to request number `.0`.
    Response(u64, ResponseChunk),
    /// Shell command number `.0` exited, with this exit code, or 128 + the signal that killed it.
    CommandEnded(u64, i32),
}

/// A chunk of a response, in the order of arrival.
#[derive(Debug)]
pub(super) enum ResponseChunk {
    /// The headers of a successful streamed response.
    Streaming(HeaderMap),
    /// An SSE event's data. `None` for a comment or invalid JSON.
    Event(Option<Value>),
    /// A complete response that is not a stream.
    Whole {
        status: u16,
        headers: HeaderMap,
        body: Vec<u8>,
    },
    /// The end of a stream; `true` if it ended properly.
    End(bool),
    Failed(ErrorKind),
}

#[derive(Debug)]
pub(super) struct Inbox {
    pub sender: Sender<InboxEvent>,
    pub receiver: Receiver<InboxEvent>,
}

impl Inbox {
    /// Opens a queue that receives signals.
    pub(super) fn open() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let inbox = sender.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                if inbox.send(InboxEvent::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { sender, receiver })
    }

    pub(super) fn listen(&self) {
        let inbox = self.sender.clone();
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).into_owned();
                if inbox.send(InboxEvent::Line(text)).is_err() {
                    return;
                }
                line.clear();
            }
            // The receiver exists until the process exits.
            let _ = inbox.send(InboxEvent::InputEnded);
        });
    }
}
