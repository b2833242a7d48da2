//! TOML tables in the order of the file, and their values without positions.

use crate::WorkflowFileError;
use crate::error::SourceText;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};

/// Returns the entries of a table in file order, so that the first of several errors is reported.
pub fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<(&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Returns a value of the file without positions.
pub fn plain_value(
    source: &SourceText,
    value: &Spanned<DeValue<'_>>,
) -> Result<toml::Value, WorkflowFileError> {
    serde::Deserialize::deserialize(ValueDeserializer::from(value.clone()))
        .map_err(|error: toml::de::Error| source.error(value.span(), error.message(), "write a TOML value"))
}

/// Returns a TOML value as JSON. Dates become texts.
pub fn to_json(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(is_true) => is_true.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(values) => values.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, to_json(value))).collect(),
    }
}
