//! Builds a conversation from Claude Code's records: its session file, or the streams of attempts.
//!
//! Fields that the vendor sets identify the author of an entry. Longhaul's prompts are identified by their
//! exact text. Conversations of sub-agents are omitted, because the result of the call that started one
//! contains its outcome.

mod file;
mod session;
mod stream;

use super::activity;
use super::wire::{Block, ToolInput, parse};
use crate::conversation::{Provenance, ToolArgument, ToolCall, ToolResultKind};

pub use file::from_file;
pub use session::from_session;
pub use stream::{AttemptStream, from_attempts};

/// Returns the provenance of a prompt: Longhaul's if it equals one of our prompts.
fn provenance_of_prompt(text: &str, longhaul_prompts: &[String]) -> Provenance {
    if longhaul_prompts.iter().any(|sent| sent == text) { Provenance::Longhaul } else { Provenance::Work }
}

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
