//! Converts TOML values to JSON. Never fails.

use toml::Value;

/// Returns a TOML value as JSON. Dates become texts.
pub fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(is_true) => (*is_true).into(),
        Value::Datetime(date) => date.to_string().into(),
        Value::Array(values) => values.iter().map(to_json).collect(),
        Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), to_json(value))).collect(),
    }
}
