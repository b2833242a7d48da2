//! What is configured: by files of the user and of the project, and by the environment, beneath what is typed.
//!
//! Every flag has a key, taken from the command tree ([`keys`]). Files are found ([`find`]), read with the line of each key
//! ([`file`]), laid over one another ([`layers`]), and what then holds is put before what was typed, as if it had been typed,
//! too ([`arguments`]). So a flag and a key cannot mean two things. Nothing here starts or writes anything.

pub mod arguments;
pub mod file;
pub mod find;
pub mod keys;
pub mod layers;
pub mod origin;
pub mod schema;
#[cfg(test)]
mod table;
pub mod template;
pub mod trust;
pub mod trusted;
pub mod unknown;

pub use origin::{ConfiguredValues, FileOwner, Origin};

use keys::ValueKind;

/// A value as a file has it.
pub fn written(kind: ValueKind, values: &[String]) -> String {
    let quoted = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let first = values.first().map(String::as_str);
    match kind {
        ValueKind::Switch => first.is_some().to_string(),
        ValueKind::List => format!("[{}]", values.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        ValueKind::Count => first.unwrap_or("0").to_owned(),
        ValueKind::Amount if first.is_some_and(|number| number.parse::<f64>().is_ok()) => {
            first.unwrap_or_default().to_owned()
        }
        ValueKind::Amount | ValueKind::Text | ValueKind::Path => {
            values.first().map(quoted).unwrap_or_default()
        }
    }
}
