//! The tables of a workflow file as they are written: known keys, and values of the right type. Never compares two
//! values.

use super::Isolation;
use crate::WorkflowFileError;
use crate::archon::Stage;
use crate::error::{SourceText, suggestion};
use longhaul_core::Reaction;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// Each run is an agent with about 200 MB of memory, so that more is a typing error.
const PARALLEL_MAX: u32 = 1000;
/// More directories in one day slow down every listing of runs.
pub const ITEMS_MAX: u32 = 10_000;
/// Even iterations of one minute take a week.
const ITERATIONS_MAX: u32 = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FileTable {
    pub description: Option<Text>,
    pub archon_files: Option<Spanned<Text>>,
    pub max_parallel: Option<Count<PARALLEL_MAX>>,
    pub budget: Option<Spanned<Value>>,
    pub time_limit: Option<Spanned<Value>>,
    pub memory_reserve: Option<Spanned<Value>>,
    pub start_gap: Option<Spanned<Value>>,
    #[serde(default)]
    pub parameters: BTreeMap<Spanned<String>, String>,
    pub repeat: Option<RepeatTable>,
    #[serde(default)]
    pub phase: Vec<Spanned<PhaseTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct RepeatTable {
    pub iterations: Option<Count<ITERATIONS_MAX>>,
    pub until: Option<Spanned<UntilTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, like { command = \"make check\" }")]
pub struct UntilTable {
    pub after: Option<Spanned<Text>>,
    pub command: Option<Spanned<Text>>,
    pub file: Option<Spanned<Text>>,
    pub matches: Option<Spanned<Text>>,
    pub phase: Option<Spanned<Text>>,
    pub pointer: Option<Spanned<Text>>,
    pub equals: Option<Value>,
    pub progress: Option<Spanned<Text>>,
    pub stage: Option<Stage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PhaseTable {
    pub name: Spanned<Text>,
    #[serde(default)]
    pub needs: Vec<Spanned<Text>>,
    pub prompt: Option<Spanned<Text>>,
    pub prompt_file: Option<Spanned<Text>>,
    pub fan_out: Option<Spanned<FanOutTable>>,
    pub max_parallel: Option<Count<PARALLEL_MAX>>,
    pub max_objectives: Option<Spanned<Count<ITEMS_MAX>>>,
    #[serde(default)]
    pub isolation: Isolation,
    pub edit_paths: Option<Spanned<Vec<Spanned<Text>>>>,
    pub schema: Option<Spanned<Value>>,
    pub schema_file: Option<Spanned<Text>>,
    #[serde(default)]
    pub on: BTreeMap<Spanned<String>, Spanned<Reaction>>,
    #[serde(default)]
    pub run: BTreeMap<Spanned<String>, Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, like { list = [\"a\", \"b\"] }")]
pub struct FanOutTable {
    pub list: Option<Spanned<Vec<Value>>>,
    pub command: Option<Spanned<Text>>,
    pub glob: Option<Spanned<Text>>,
    pub objectives: Option<Spanned<Text>>,
    pub phase: Option<Spanned<Text>>,
    pub pointer: Option<Spanned<Text>>,
}

/// A text that is not blank.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct Text(pub String);

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Text, &'static str> {
        if text.trim().is_empty() {
            Err("the text is empty, expected a text between the quotes")
        } else {
            Ok(Text(text))
        }
    }
}

/// A whole number from 1 to `MAX`.
#[derive(Clone, Copy)]
pub struct Count<const MAX: u32>(pub u32);

impl<'de, const MAX: u32> Deserialize<'de> for Count<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count<MAX>, D::Error> {
        let number = i64::deserialize(deserializer)?;
        let expected = format!("a whole number from 1 to {MAX}");
        match u32::try_from(number) {
            Ok(count) if (1..=MAX).contains(&count) => Ok(Count(count)),
            Ok(_) | Err(_) => Err(D::Error::invalid_value(Unexpected::Signed(number), &expected.as_str())),
        }
    }
}

/// The words of TOML for those of serde.
const WORDS: [(&str, &str); 6] = [
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("unknown variant", "unknown value"),
    ("unit variant", "a word"),
    ("sequence", "a list"),
    ("map", "a table"),
];

/// Returns an error of serde at its position. The end of its message, what it expected, becomes the hint.
pub fn serde_error(source: &SourceText, error: &toml::de::Error) -> WorkflowFileError {
    let (message, expected) = error.message().rsplit_once(", expected ").unwrap_or((error.message(), ""));
    let name = message.split('`').nth(1).unwrap_or_default();
    let span = error.span().unwrap_or_default();
    let before = source.text[..span.start].rsplit('\n').next().unwrap_or_default();
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let hint = match expected {
        _ if message.starts_with("unknown field") => suggestion("keys", name, &known),
        _ if message.starts_with("unknown variant") => suggestion("values", name, &known),
        _ if message.starts_with("missing field") => format!("add `{name} = \"…\"`"),
        "i64" | "u32" => "write a whole number".to_owned(),
        "a map" => "write a table, like { key = \"value\" }".to_owned(),
        // Serde takes a list for the fields of a table.
        "a sequence" if before.trim_start().starts_with("fan_out") => {
            "write { list = [\"a\", \"b\"] }".to_owned()
        }
        "a sequence" => "write a list, like [\"a\", \"b\"]; phases start with `[[phase]]`".to_owned(),
        "newtype variant" => "write { retry = 2 }".to_owned(),
        "" => "write a word in quotes; a number of retries is { retry = 2 }".to_owned(),
        expected => format!("write {expected}"),
    };
    let is_serde = |(word, _): &&(&str, &str)| {
        message.starts_with(word) || message.strip_prefix("invalid type: ").is_some_and(|kind| kind == *word)
    };
    let message = WORDS
        .iter()
        .find(is_serde)
        .map_or_else(|| message.to_owned(), |(word, ours)| message.replacen(word, ours, 1));
    source.error(span, message, hint)
}

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
