//! Encodes and parses the lines of the protocol: JSON-RPC messages, one per line.

use crate::json_line::json_line;
use agent_client_protocol_schema::{CLIENT_METHOD_NAMES, RequestId, SessionNotification};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request of ours: its result or its error.
    Answer { id: String, result: Result<Value, Value> },
    /// A request that the agent waits for.
    Request { id: RequestId, method: String, params: Value },
    /// A session update, also as the agent wrote it. `None` if its kind is unknown.
    Update { update: Option<Box<SessionNotification>>, raw: Value },
    /// A notification without meaning for us.
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Value,
    result: Option<Value>,
    error: Option<Value>,
}

pub(super) fn parse(line: &[u8]) -> Option<Incoming> {
    let Message { id, method, params, result, error } = serde_json::from_slice(line).ok()?;
    match (method, id) {
        (None, Some(id)) => {
            let result = error.map_or(Ok(result.unwrap_or_default()), Err);
            Some(Incoming::Answer { id: id.as_str().unwrap_or_default().to_owned(), result })
        }
        (Some(method), Some(id)) => {
            Some(Incoming::Request { id: serde_json::from_value(id).ok()?, method, params })
        }
        (Some(method), None) if method == CLIENT_METHOD_NAMES.session_update => {
            let update = SessionNotification::deserialize(&params).ok().map(Box::new);
            let raw = params.get("update").cloned().unwrap_or_default();
            Some(Incoming::Update { update, raw })
        }
        (Some(_), None) => Some(Incoming::Other),
        (None, None) => None,
    }
}

pub(super) fn request(id: &str, method: &str, params: &impl Serialize) -> Vec<u8> {
    json_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

pub(super) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    json_line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

pub(super) fn answer(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    json_line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Refuses a request whose method we do not offer.
pub(super) fn method_not_found(id: &RequestId) -> Vec<u8> {
    let error = json!({ "code": -32_601, "message": "Method not found" });
    json_line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}
