//! Encodes the lines that agents read: one JSON value each.

use serde_json::Value;

/// Encodes a value and a newline. JSON escapes every newline, so it is one line whatever its content.
pub(crate) fn json_line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}
