//! What the agent says on stdout: one JSON object a line, with its session and an id of its own. A reader that has gone
//! away stops nothing, as with the real agent. The one place here that writes to stdout.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::flags::Output;
use crate::clock;
use crate::rng::Rng;

/// The writer of events.
#[derive(Debug)]
pub(super) struct EventWriter {
    pub(super) format: Output,
    pub(super) session_id: String,
    pub(super) rng: Rng,
    /// The last result, for the formats that print it alone.
    last: Option<Value>,
}

impl EventWriter {
    pub(super) fn new(format: Output, session_id: String, rng: Rng) -> Self {
        Self { format, session_id, rng, last: None }
    }

    /// An event of this type with these further fields. Messages say when they were told, nothing else does (2.1.330).
    pub(super) fn event(&mut self, kind: &str, mut fields: Value) {
        if self.format == Output::Stream {
            if matches!(kind, "assistant" | "user") {
                fields["timestamp"] = json!(clock::rfc3339(clock::unix_ms()));
            }
            let identity = self.identity();
            write(&format!("{{\"type\":\"{kind}\"{}{}}}", inner(&fields), inner(&identity)));
        }
    }

    /// A `system` event of this subtype.
    pub(super) fn system(&mut self, subtype: &str, fields: Value) {
        if self.format == Output::Stream {
            let identity = self.identity();
            let (fields, identity) = (inner(&fields), inner(&identity));
            write(&format!("{{\"type\":\"system\",\"subtype\":\"{subtype}\"{fields}{identity}}}"));
        }
    }

    /// An answer to the host; it carries no session.
    pub(super) fn answer(&mut self, response: Value) {
        if self.format == Output::Stream {
            write(&json!({"type": "control_response", "response": response}).to_string());
        }
    }

    /// A question to the host.
    pub(super) fn ask(&mut self, id: &str, request: &Value) {
        if self.format == Output::Stream {
            write(&json!({"type": "control_request", "request_id": id, "request": request}).to_string());
        }
    }

    /// No longer waits for the answer to a question.
    pub(super) fn cancel(&mut self, id: &str) {
        if self.format == Output::Stream {
            write(&json!({"type": "control_cancel_request", "request_id": id}).to_string());
        }
    }

    /// The result of a turn; `type` is not its first key, as with the real agent.
    pub(super) fn result(&mut self, mut fields: Value) {
        let identity = self.identity();
        fields["uuid"] = identity["uuid"].clone();
        fields["session_id"] = identity["session_id"].clone();
        fields["type"] = json!("result");
        if self.format == Output::Stream {
            write(&fields.to_string());
        }
        self.last = Some(fields);
    }

    /// Prints what the other formats print at the end.
    pub(super) fn close(&self) {
        let Some(result) = &self.last else { return };
        match self.format {
            Output::Stream => {}
            Output::Json => write(&result.to_string()),
            Output::Text => write(result["result"].as_str().unwrap_or("Execution error")),
        }
    }

    fn identity(&mut self) -> Value {
        json!({"uuid": self.rng.uuid(), "session_id": self.session_id})
    }
}

/// Writes one line and flushes it.
pub(super) fn write(line: &str) {
    let mut stdout = io::stdout().lock();
    // Without a reader the agent works on to its end (2.1.330 does).
    let _ = stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
}

/// Says something on stderr.
pub(super) fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The fields of an object, each behind a comma.
fn inner(object: &Value) -> String {
    let text = object.to_string();
    match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        None | Some("") => String::new(),
        Some(fields) => format!(",{fields}"),
    }
}
