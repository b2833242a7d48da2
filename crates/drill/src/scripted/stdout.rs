//! Writes the agent's stdout: one JSON object per line, with the session and a unique id. A closed stdout
//! does not stop the agent, as with the real agent. Only this module and `replay` write to stdout.

pub(super) mod acp;

use std::io::{self, Write};

use longhaul_core::Tokens;
use serde_json::{Value, json};

use crate::clock;
use crate::rng::Rng;
use acp::AcpOutput;

#[derive(Debug)]
pub(super) struct EventWriter {
    is_acp: bool,
    pub session_id: String,
    pub rng: Rng,
    pub(super) acp: AcpOutput,
}

impl EventWriter {
    pub(super) fn new(is_acp: bool, session_id: String, rng: Rng) -> Self {
        Self { is_acp, session_id, rng, acp: AcpOutput::new() }
    }

    /// Writes an event with these fields. Only messages have a timestamp (2.1.330).
    pub(super) fn event(&mut self, kind: &str, mut fields: Value) {
        if self.is_acp {
            self.acp.event(&self.session_id, kind, &fields);
        }
        if matches!(kind, "assistant" | "user") {
            fields["timestamp"] = json!(clock::timestamp());
        }
        self.identified(&format!("\"type\":\"{kind}\""), &fields);
    }

    pub(super) fn system(&mut self, subtype: &str, fields: Value) {
        self.identified(&format!("\"type\":\"system\",\"subtype\":\"{subtype}\""), &fields);
    }

    /// Writes an object that starts with `head` and ends with the session and a unique id.
    fn identified(&mut self, head: &str, fields: &Value) {
        if !self.is_acp {
            let identity = self.identity();
            write(&format!("{{{head}{}{}}}", fields_of(fields), fields_of(&identity)));
        }
    }

    /// Reports the usage of message `id`. Claude Code's protocol reports it in other events.
    pub(super) fn usage(&self, id: &str, tokens: &Tokens) {
        if self.is_acp {
            self.acp.usage(&self.session_id, id, tokens);
        }
    }

    /// Reports the size of the context in tokens and the cost of the session so far, in dollars.
    pub(super) fn cost(&self, context: u64, cost: f64) {
        if self.is_acp {
            self.acp.cost(&self.session_id, context, cost);
        }
    }

    /// Writes an answer to the host. The answer contains no session id.
    pub(super) fn answer(&mut self, response: Value) {
        self.stream(&json!({"type": "control_response", "response": response}));
    }

    pub(super) fn request(&mut self, id: &str, request: &Value) {
        if self.is_acp {
            self.acp.ask(&self.session_id, id, request);
        }
        self.stream(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    pub(super) fn withdraw(&self, id: &str) {
        self.stream(&json!({"type": "control_cancel_request", "request_id": id}));
    }

    fn stream(&self, object: &Value) {
        if !self.is_acp {
            write(&object.to_string());
        }
    }

    /// Writes the result of an exchange. As with the real agent, `type` is not its first key.
    pub(super) fn result(&mut self, mut fields: Value) {
        if self.is_acp {
            self.acp.result(&self.session_id, &fields);
        }
        let identity = self.identity();
        fields["uuid"] = identity["uuid"].clone();
        fields["session_id"] = identity["session_id"].clone();
        fields["type"] = json!("result");
        self.stream(&fields);
    }

    fn identity(&mut self) -> Value {
        json!({"uuid": self.rng.uuid(), "session_id": self.session_id})
    }
}

pub(super) fn write(line: &str) {
    let mut stdout = io::stdout().lock();
    // Without a reader, the agent keeps working to its end (as 2.1.330 does).
    let _ = stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
}

pub(super) fn print_error(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Returns the fields of an object, each with a comma before it.
fn fields_of(object: &Value) -> String {
    let text = object.to_string();
    match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        None | Some("") => String::new(),
        Some(fields) => format!(",{fields}"),
    }
}
