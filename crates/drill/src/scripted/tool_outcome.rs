//! Defines the result of a tool call. It runs no tool.

use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct Outcome {
    /// The result for the model.
    pub content: Value,
    pub is_error: bool,
    /// `tool_use_result` of the event.
    pub detail: Value,
}

impl Outcome {
    pub(super) fn success(content: impl Into<Value>, detail: Value) -> Self {
        Self { content: content.into(), is_error: false, detail }
    }

    pub(super) fn error(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { detail: json!(format!("Error: {content}")), content: content.into(), is_error: true }
    }
}
