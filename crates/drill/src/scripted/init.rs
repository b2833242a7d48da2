//! Builds the event that opens every exchange and the answer to `initialize`, reduced to the fields that
//! hosts use.

use std::path::Path;

use serde_json::{Value, json};

use super::VERSION;
use super::flags::Flags;

/// The names of all tools. The first is offered only to a host that answers permission prompts.
const TOOLS: [&str; 9] =
    ["AskUserQuestion", "Task", "Bash", "Edit", "Monitor", "Read", "WebFetch", "WebSearch", "Write"];

/// The tool with which the model returns its result if there is a schema.
pub(super) const STRUCTURED_OUTPUT: &str = "StructuredOutput";

pub(super) fn tools(flags: &Flags) -> Vec<&'static str> {
    let all = if flags.prompts_host { &TOOLS[..] } else { &TOOLS[1..] };
    let is_offered =
        |tool: &&str| flags.tools.as_ref().is_none_or(|names| names.iter().any(|name| name == tool));
    let structured = flags.json_schema.as_ref().map(|_| STRUCTURED_OUTPUT);
    all.iter().copied().filter(is_offered).chain(structured).collect()
}

pub(super) fn event(cwd: &Path, tools: &[&str], model: &str, mode: &str) -> Value {
    json!({"cwd": cwd, "tools": tools, "mcp_servers": [], "model": model, "permissionMode": mode,
        "claude_code_version": VERSION})
}

pub(super) fn answer(mode: &str) -> Value {
    json!({"claude_code_version": VERSION, "current_permission_mode": mode, "hooks_applied": true})
}

/// Returns the definitions of these tools, without the details that only a model reads.
pub(super) fn tool_definitions(tools: &[&str]) -> Vec<Value> {
    let definition = |name: &&str| json!({"name": name, "description": format!("The {name} tool."), "input_schema": {"type": "object"}});
    tools.iter().map(definition).collect()
}
