//! Sends one HTTP/1.1 request per connection, in plain text, and posts the response to the inbox. It never
//! retries, never follows a redirect and never uses TLS.

use std::io::ErrorKind;
use std::sync::mpsc::Sender;
use std::{mem, thread};

use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::inbox::{InboxEvent, ResponseChunk};

/// A request in progress. Its connection closes when this is dropped.
pub(super) type PendingRequest = oneshot::Sender<()>;

/// Returns the address of an endpoint below the API's base, or `None` for anything but plain HTTP.
pub(super) fn endpoint(base: &Uri, path: &str) -> Option<Uri> {
    if base.scheme_str() != Some("http") {
        return None;
    }
    format!("{}{path}", base.to_string().trim_end_matches('/')).parse().ok()
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Starts sending request number `call`.
pub(super) fn send(request: Request<String>, call: u64, inbox: Sender<InboxEvent>) -> PendingRequest {
    let (pending, aborted) = oneshot::channel();
    thread::spawn(move || {
        let post = |chunk| {
            // The receiver exists until the process exits.
            let _ = inbox.send(InboxEvent::Response(call, chunk));
        };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return post(ResponseChunk::Failed(ErrorKind::Other));
        };
        runtime.block_on(async {
            tokio::select! {
                last = receive(request, &post) => post(last),
                _ = aborted => {}
            }
        });
    });
    pending
}

/// Sends a request and returns its response, whose body is unread.
pub(crate) async fn exchange(mut request: Request<String>) -> Result<Response<Incoming>, ErrorKind> {
    // Whatever hyper reports, the connection is of no more use.
    let reset = |_| ErrorKind::ConnectionReset;
    let uri = mem::take(request.uri_mut()).into_parts();
    let authority = uri.authority.ok_or(ErrorKind::InvalidInput)?;
    *request.uri_mut() = uri.path_and_query.ok_or(ErrorKind::InvalidInput)?.into();
    let host = HeaderValue::from_str(authority.as_str()).map_err(|_| ErrorKind::InvalidInput)?;
    request.headers_mut().insert(header::HOST, host);
    let address = (authority.host(), authority.port_u16().unwrap_or(80));
    let socket = TcpStream::connect(address).await.map_err(|error| error.kind())?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await.map_err(reset)?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(reset)
}

/// Posts the response to a request, except for its last chunk, which it returns.
async fn receive(request: Request<String>, post: &impl Fn(ResponseChunk)) -> ResponseChunk {
    let (head, body) = match exchange(request).await {
        Ok(response) => response.into_parts(),
        Err(error) => return ResponseChunk::Failed(error),
    };
    let is_stream =
        text(&head.headers, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream && head.status == StatusCode::OK {
        post(ResponseChunk::Streaming(head.headers));
        return ResponseChunk::End(read_events(body, post).await.is_ok());
    }
    match body.collect().await {
        Ok(body) => ResponseChunk::Whole {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes().into(),
        },
        Err(_) => ResponseChunk::Failed(ErrorKind::UnexpectedEof),
    }
}

async fn read_events(mut body: Incoming, post: &impl Fn(ResponseChunk)) -> hyper::Result<()> {
    let mut unread = Vec::new();
    while let Some(frame) = body.frame().await {
        unread.extend(frame?.into_data().unwrap_or_default());
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                post(ResponseChunk::Event(serde_json::from_slice(data).ok()));
            } else if line.starts_with(b":") {
                post(ResponseChunk::Event(None));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_lies_below_the_base() {
        let check = |base: &'static str, expected: Option<&str>| {
            let endpoint = endpoint(&Uri::from_static(base), "/v1/messages").map(|uri| uri.to_string());
            assert_eq!(endpoint.as_deref(), expected, "{base}");
        };
        check("http://127.0.0.1:9", Some("http://127.0.0.1:9/v1/messages"));
        check("http://localhost/r/x/", Some("http://localhost/r/x/v1/messages"));
        check("https://127.0.0.1:9", None);
        check("127.0.0.1:9", None);
    }
}
