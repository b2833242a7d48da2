//! A row of a session's conversation, with the facts that a resume depends on.

use crate::claude::wire::Row;

#[derive(Debug)]
pub(super) struct SessionRow {
    /// Offset of its line in bytes.
    pub(super) start: usize,
    /// Offset of the end of its line, without the newline.
    pub(super) end: usize,
    pub(super) uuid: String,
    /// The previous row of the conversation.
    pub(super) parent: Option<String>,
    /// The previous row before a compaction, after which the rows start again.
    logical_parent: Option<String>,
    pub(super) kind: RowKind,
    pub(super) has_text: bool,
    pub(super) calls: Vec<String>,
    /// Ids of the tool calls whose results it contains. The placeholder for an interrupted call is none.
    pub(super) answered: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A block of this message, of the model or of the agent program.
    Message(String),
    /// An error report of the agent program, in place of this message.
    ErrorReport(String),
    ToolResult,
    Prompt,
    Addition,
}

impl SessionRow {
    pub(super) fn new(row: &Row<'_>, start: usize, length: usize) -> SessionRow {
        let (mut has_text, mut has_results) = (false, false);
        let (mut calls, mut answered) = (Vec::new(), Vec::new());
        for part in &row.message.content.0 {
            match part.kind.as_str() {
                "text" => has_text = true,
                "tool_use" => calls.push(part.id.as_str().to_owned()),
                "tool_result" => {
                    has_results = true;
                    if !row.is_interrupted() {
                        answered.push(part.tool_use_id.as_str().to_owned());
                    }
                }
                _ => {}
            }
        }
        let message = || row.message.id.as_str().to_owned();
        let kind = match row.kind.as_str() {
            "assistant" if row.is_api_error_message.is_set() => RowKind::ErrorReport(message()),
            "assistant" => RowKind::Message(message()),
            "user" if has_results => RowKind::ToolResult,
            "user" => RowKind::Prompt,
            _ => RowKind::Addition,
        };
        SessionRow {
            start,
            end: start + length,
            uuid: row.uuid.as_str().to_owned(),
            parent: row.parent.owned(),
            logical_parent: row.logical_parent.owned(),
            kind,
            has_text,
            calls,
            answered,
        }
    }

    /// Returns the previous row, also across a compaction.
    pub(super) fn ancestor(&self) -> Option<&str> {
        self.parent.as_deref().or(self.logical_parent.as_deref())
    }
}
