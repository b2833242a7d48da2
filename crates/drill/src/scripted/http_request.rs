//! Sends one request to the API. A thread reads the response and posts its chunks to the inbox.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::Value;

use super::http::{self, BaseUrl, ConnectionHandle};
use super::inbox::InboxEvent;

/// Size limit of a body that is not a stream. A longer one is truncated, which makes it malformed.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A chunk of a response, in the order of arrival.
#[derive(Debug)]
pub(super) enum ResponseChunk {
    /// The headers of a successful streamed response.
    Streaming(Vec<(String, String)>),
    /// An SSE event's data. `None` for a comment or invalid JSON.
    Event(Option<Value>),
    /// A complete response that is not a stream.
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The end of a stream; `true` if it ended properly.
    End(bool),
    /// No response arrived.
    Failed(ErrorKind),
}

/// A request to send.
pub(super) struct Request {
    pub base: BaseUrl,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Sends request number `call`. The returned handle aborts it.
pub(super) fn send(request: Request, call: u64, inbox: Sender<InboxEvent>) -> ConnectionHandle {
    let connection = ConnectionHandle::default();
    let thread_connection = connection.clone();
    thread::spawn(move || {
        let emit = |chunk| inbox.send(InboxEvent::Response(call, chunk)).is_ok();
        match http::post(
            &request.base,
            "/v1/messages?beta=true",
            &request.headers,
            &request.body,
            &thread_connection,
        ) {
            Err(error) => emit(ResponseChunk::Failed(error.kind())),
            Ok(answer) => receive(answer, &emit),
        }
    });
    connection
}

fn receive(answer: http::HttpResponse, emit: &dyn Fn(ResponseChunk) -> bool) -> bool {
    let is_stream = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream && answer.status == 200 {
        return emit(ResponseChunk::Streaming(answer.headers)) && read_events(answer.body, emit);
    }
    let mut body = Vec::new();
    match answer.body.take(BODY_BYTES_MAX).read_to_end(&mut body) {
        Ok(_) => emit(ResponseChunk::Whole { status: answer.status, headers: answer.headers, body }),
        Err(error) => emit(ResponseChunk::Failed(error.kind())),
    }
}

fn read_events(body: http::Body, emit: &dyn Fn(ResponseChunk) -> bool) -> bool {
    let mut reader = BufReader::new(body);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => return emit(ResponseChunk::End(true)),
            Err(_) => return emit(ResponseChunk::End(false)),
            Ok(_) => {}
        }
        let is_sent = if let Some(data) = line.strip_prefix("data:") {
            emit(ResponseChunk::Event(serde_json::from_str(data.trim()).ok()))
        } else if line.starts_with(':') {
            emit(ResponseChunk::Event(None))
        } else {
            true
        };
        if !is_sent {
            return false;
        }
    }
}
