//! A Messages API on loopback that answers at once with one short turn, or with 529 until an outage has
//! passed. It simulates no other fault. It uses one thread per connection.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A running API. Its threads end with the process.
pub struct BenchApi {
    address: SocketAddr,
    stats: Arc<Mutex<RequestStats>>,
}

/// The requests received so far.
#[derive(Clone, Default)]
pub struct RequestStats {
    /// First request for a message. The outage starts with it.
    pub first: Option<Instant>,
    /// Number of requests refused because of the outage.
    pub refused: u32,
    /// First request that was answered.
    pub answered: Option<Instant>,
}

impl BenchApi {
    /// Starts an API that refuses everything for this long after the first request.
    pub fn start(outage: Duration) -> io::Result<BenchApi> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let stats = Arc::new(Mutex::new(RequestStats::default()));
        let shared = Arc::clone(&stats);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stats = Arc::clone(&shared);
                // A client may disconnect in the middle of a request.
                thread::spawn(move || serve(stream, outage, &stats).ok());
            }
        });
        Ok(BenchApi { address, stats })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn stats(&self) -> RequestStats {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: TcpStream, outage: Duration, stats: &Mutex<RequestStats>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((path, body)) = request(&mut reader)? {
        let path = path.split('?').next().unwrap_or_default();
        let response = match path {
            "/v1/messages" if record_request(outage, stats) => {
                let error = json!({"type": "overloaded_error", "message": "Overloaded"});
                json_response("529 Overloaded", &json!({"type": "error", "error": error}))
            }
            "/v1/messages" => message(&serde_json::from_slice(&body).unwrap_or_default()),
            "/v1/messages/count_tokens" => json_response("200 OK", &json!({"input_tokens": 100})),
            _ => json_response("404 Not Found", &json!({"type": "error"})),
        };
        writer.write_all(response.as_bytes())?;
    }
    Ok(())
}

/// Records a request and returns whether it is refused.
fn record_request(outage: Duration, stats: &Mutex<RequestStats>) -> bool {
    let mut stats = stats.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let refused = now - *stats.first.get_or_insert(now) < outage;
    if refused {
        stats.refused += 1;
    } else {
        stats.answered.get_or_insert(now);
    }
    refused
}

/// Reads the path and the body of the next request. Returns `None` when the connection has ended.
fn request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, body)))
}

fn json_response(status: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nrequest-id: req_bench\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a response with one short turn.
fn message(request: &Value) -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 2, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let model = &request["model"];
    let mut message = json!({"id": "msg_bench", "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    if request["stream"] != true {
        message["content"] = json!([{"type": "text", "text": "Done."}]);
        message["stop_reason"] = json!("end_turn");
        return json_response("200 OK", &message);
    }
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    let body: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nrequest-id: req_bench\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
