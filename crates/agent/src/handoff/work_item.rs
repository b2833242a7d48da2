//! One step of the work that a handoff prompt describes.

use crate::conversation::{ToolCall, ToolResult};

/// One step of the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkItem<'a> {
    /// Text of the model.
    ModelText(&'a str),
    /// A note from the agent program to the model.
    Note(&'a str),
    /// A tool call with its result.
    Call(&'a ToolCall, Option<&'a ToolResult>),
    /// The result of a call that is not in the record.
    OrphanResult(&'a ToolResult),
}
