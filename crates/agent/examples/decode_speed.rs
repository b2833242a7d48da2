//! Measures the decoder on a million events of about 1.2 kB, from a model that writes text and tool input:
//! `cargo run --release --example decode_speed [EVENTS]`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use longhaul_agent::dialect_for;
use longhaul_core::Exit;
use serde_json::Value;

const PIECE_BYTES: usize = 64 << 10;
const DELTAS_PER_MESSAGE: usize = 100;

fn main() {
    let events = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let (stream, messages) = stream();
    let stream_events = stream.iter().filter(|byte| **byte == b'\n').count();
    for (name, piece_bytes) in [("64 KiB pieces", PIECE_BYTES), ("1 kB pieces", 1000)] {
        let mut decoder = dialect_for("claude")
            .map(|claude| {
                claude.decoder(&longhaul_agent::Guards::default(), &longhaul_agent::DoneSignals::default())
            })
            .into_iter()
            .next();
        let Some(decoder) = decoder.as_mut() else { return };
        let mut notices = Vec::new();
        let (mut event_count, mut byte_count) = (0, 0);
        let started = cpu_seconds();
        while event_count < events {
            for piece in stream.chunks(piece_bytes) {
                decoder.feed(piece, &mut notices);
                notices.clear();
            }
            event_count += stream_events;
            byte_count += stream.len();
        }
        let seconds = cpu_seconds() - started;
        let evidence = decoder.evidence(Exit::Code(0), "");
        println!(
            "{name}: {event_count} events of {} bytes: {:.3} µs an event, {:.0} MB/s; {} messages each time, peak {} kB",
            byte_count / event_count,
            seconds * 1e6 / event_count as f64,
            byte_count as f64 / seconds / 1e6,
            messages,
            peak_kb(),
        );
        assert_eq!(evidence.usage.messages as usize, messages, "repeated messages count once");
        assert_eq!(decoder.snapshot().invalid_lines + decoder.snapshot().unknown_events, 0);
    }
}

/// Returns a stream of a few messages with text and tool input, and the number of messages.
fn stream() -> (Vec<u8>, usize) {
    let text = "The parser reads one token at a time and keeps no state between them. ".repeat(12);
    // A tool input that contains a file: JSON inside a JSON string.
    let code = "    let line = \"value\";\n    assert_eq!(line, 7);\n".repeat(14);
    let input = Value::from(Value::from(code).to_string()).to_string();
    let mut lines = vec![init()];
    let messages = 20;
    for message in 0..messages {
        let id = format!("msg_01ABCDEFGHIJKLMNOPQRST{message}");
        lines.push(event(&id, &start(&id)));
        for delta in 0..DELTAS_PER_MESSAGE {
            lines.push(event(&id, &if delta % 2 == 0 {
                format!(r#"{{"index":0,"delta":{{"type":"text_delta","text":"{text}"}},"type":"content_block_delta"}}"#)
            } else {
                format!(r#"{{"index":1,"delta":{{"type":"input_json_delta","partial_json":{input}}},"type":"content_block_delta"}}"#)
            }));
        }
        lines.push(event(&id, &end()));
        lines.push(event(&id, r#"{"type":"message_stop"}"#));
    }
    (lines.concat().into_bytes(), messages)
}

fn init() -> String {
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"2692ea9c-dfaa-4752-96ba-8bc8fe35e9c1\"}\n"
        .to_owned()
}

fn event(id: &str, event: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{event},"session_id":"2692ea9c-dfaa-4752-96ba-8bc8fe35e9c1","parent_tool_use_id":null,"uuid":"b382bee7-09d2-4b11-a459-020e59de74c6","api_message_id":"{id}"}}"#
    ) + "\n"
}

fn start(id: &str) -> String {
    format!(
        r#"{{"type":"message_start","message":{{"id":"{id}","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"usage":{{"input_tokens":1000,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}}}}}"#
    )
}

fn end() -> String {
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":50}}"#.to_owned()
}

/// Returns the processor time of this process if the system reports it. Other processes may run at the same
/// time.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

/// Returns the peak memory of this process if the system reports it.
fn peak_kb() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |line| line.trim().trim_end_matches(" kB").to_owned())
}
