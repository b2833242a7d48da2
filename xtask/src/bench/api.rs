//! A Messages API on loopback that answers at once with one short turn, or with 529 until a wall has
//! passed. It knows no faults but this: everything else is the drill's. One thread a connection.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A running API. Its threads end with the process.
pub struct Api {
    address: SocketAddr,
    asked: Arc<Mutex<RequestStats>>,
}

/// What it has been asked so far.
#[derive(Clone, Default)]
pub struct RequestStats {
    /// The first request for a message: a wall begins with it.
    pub first: Option<Instant>,
    /// Requests refused by the wall.
    pub refused: u32,
    /// The first request that was answered.
    pub answered: Option<Instant>,
}

impl Api {
    /// An API that refuses everything for this long from the first request on.
    pub fn start(wall: Duration) -> io::Result<Api> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(RequestStats::default()));
        let shared = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&shared);
                // A client that hangs up in the middle of a request is its own concern.
                thread::spawn(move || serve(stream, wall, &asked).ok());
            }
        });
        Ok(Api { address, asked })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> RequestStats {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: TcpStream, wall: Duration, asked: &Mutex<RequestStats>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((path, body)) = request(&mut reader)? {
        let path = path.split('?').next().unwrap_or_default();
        let answer = match path {
            "/v1/messages" if refused(wall, asked) => {
                let error = json!({"type": "overloaded_error", "message": "Overloaded"});
                json_answer("529 Overloaded", &json!({"type": "error", "error": error}))
            }
            "/v1/messages" => message(&serde_json::from_slice(&body).unwrap_or_default()),
            "/v1/messages/count_tokens" => json_answer("200 OK", &json!({"input_tokens": 100})),
            _ => json_answer("404 Not Found", &json!({"type": "error"})),
        };
        writer.write_all(answer.as_bytes())?;
    }
    Ok(())
}

fn refused(wall: Duration, asked: &Mutex<RequestStats>) -> bool {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let refused = now - *asked.first.get_or_insert(now) < wall;
    if refused {
        asked.refused += 1;
    } else {
        asked.answered.get_or_insert(now);
    }
    refused
}

/// The path and the body of the next request; none when the connection has ended.
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

fn json_answer(status: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nrequest-id: req_bench\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// One turn: a word, and the end.
fn message(request: &Value) -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 2, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let model = &request["model"];
    let mut message = json!({"id": "msg_bench", "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    if request["stream"] != true {
        message["content"] = json!([{"type": "text", "text": "Done."}]);
        message["stop_reason"] = json!("end_turn");
        return json_answer("200 OK", &message);
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
