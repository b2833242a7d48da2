//! Builds a conversation from Claude Code's records: its session file, or the streams of attempts.
//!
//! Fields that the vendor sets identify the author of an entry. Conversations of sub-agents are omitted, because the result of the call that started one
//! contains its outcome.

mod file;
mod session;
mod stream;

use super::activity;
use super::wire::{Block, ToolInput, parse};
use crate::conversation::{ToolArgument, ToolCall, ToolResultKind};

pub(super) use file::from_file;
pub(super) use stream::from_attempts;

fn tool_call_from_block(block: &Block<'_>) -> ToolCall {
    tool_call(block.id.as_str(), block.name.as_str(), block.input.json())
}

/// Returns a call of one of the agent's tools, with its arguments as JSON.
pub(crate) fn tool_call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: input.to_owned(),
        argument: argument(name, input),
    }
}

fn argument(name: &str, input: &str) -> Option<ToolArgument> {
    let input: ToolInput<'_> = parse(input.as_bytes())?;
    let text = Some(activity::main_argument(&input)).filter(|text| !text.is_empty())?.to_owned();
    let changes = matches!(name, "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
    Some(match input.command.non_empty() {
        Some(_) => ToolArgument::Command(text),
        None if changes => ToolArgument::ChangedFile(text),
        None => ToolArgument::Other(text),
    })
}

fn tool_result_kind(is_error: bool, interrupted: bool) -> ToolResultKind {
    match (interrupted, is_error) {
        (true, _) => ToolResultKind::Unknown,
        (false, true) => ToolResultKind::Error,
        (false, false) => ToolResultKind::Ok,
    }
}

/// Returns the text of some content, one paragraph per block. Other blocks are named.
pub(super) fn content_text(content: &[Block<'_>]) -> String {
    let texts: Vec<String> = content
        .iter()
        .filter_map(|block| match block.kind.as_str() {
            "text" => block.text.text(),
            "tool_result" | "tool_use" | "thinking" | "redacted_thinking" | "" => None,
            kind => Some(format!("[{kind}]")),
        })
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
