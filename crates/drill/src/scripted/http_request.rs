//! One request to the API and the pieces of its answer, read on a thread of its own and put into the inbox.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::Value;

use super::http::{self, BaseUrl, ConnectionHandle};
use super::inbox::InboxEvent;

/// A body that is not a stream; longer ones are cut, which makes them malformed.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A piece of an answer, in the order of arrival.
#[derive(Debug)]
pub(super) enum ResponseChunk {
    /// The status and headers of a good streamed answer.
    Streaming(Vec<(String, String)>),
    /// An SSE event's data; `None` for a comment or anything that is not JSON.
    Event(Option<Value>),
    /// A whole answer that is no stream.
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The end of a stream; `true` if it came to a proper end.
    End(bool),
    /// No answer came.
    Failed(ErrorKind),
}

/// What to send.
pub(super) struct Request {
    pub(super) base: BaseUrl,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Sends request number `call`; the returned plug ends it.
pub(super) fn send(request: Request, call: u64, to: Sender<InboxEvent>) -> ConnectionHandle {
    let plug = ConnectionHandle::default();
    let held = plug.clone();
    thread::spawn(move || {
        let put = |piece| to.send(InboxEvent::Answered(call, piece)).is_ok();
        match http::post(&request.base, "/v1/messages?beta=true", &request.headers, &request.body, &held) {
            Err(error) => put(ResponseChunk::Failed(error.kind())),
            Ok(answer) => receive(answer, &put),
        }
    });
    plug
}

fn receive(answer: http::HttpResponse, put: &dyn Fn(ResponseChunk) -> bool) -> bool {
    let stream = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if stream && answer.status == 200 {
        return put(ResponseChunk::Streaming(answer.headers)) && read_events(answer.body, put);
    }
    let mut body = Vec::new();
    match answer.body.take(BODY_BYTES_MAX).read_to_end(&mut body) {
        Ok(_) => put(ResponseChunk::Whole { status: answer.status, headers: answer.headers, body }),
        Err(error) => put(ResponseChunk::Failed(error.kind())),
    }
}

fn read_events(body: http::Body, put: &dyn Fn(ResponseChunk) -> bool) -> bool {
    let mut reader = BufReader::new(body);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => return put(ResponseChunk::End(true)),
            Err(_) => return put(ResponseChunk::End(false)),
            Ok(_) => {}
        }
        let told = if let Some(data) = line.strip_prefix("data:") {
            put(ResponseChunk::Event(serde_json::from_str(data.trim()).ok()))
        } else if line.starts_with(':') {
            put(ResponseChunk::Event(None))
        } else {
            true
        };
        if !told {
            return false;
        }
    }
}
