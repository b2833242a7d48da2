//! Builds the event that opens every exchange and the answer to `initialize`, reduced to the fields that
//! hosts use.

use serde_json::{Value, json};

use super::VERSION;
use super::environment::Environment;
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

pub(super) fn event(environment: &Environment, tools: &[&str], model: &str, mode: &str) -> Value {
    json!({
        "cwd": environment.cwd, "tools": tools, "mcp_servers": [], "model": model, "permissionMode": mode,
        "slash_commands": [], "apiKeySource": environment.key_source(), "claude_code_version": VERSION,
        "output_style": "default", "agents": [], "skills": [], "plugins": [],
        "capabilities": ["interrupt_receipt_v1"], "analytics_disabled": true, "product_feedback_disabled": true,
        "served_by_anthropic": false, "original_cwd": environment.cwd, "additional_directories": [],
        "fast_mode_state": "off",
    })
}

pub(super) fn answer(environment: &Environment, mode: &str, in_exchange: bool) -> Value {
    json!({
        "commands": [], "agents": [], "models": [], "output_style": "default", "available_output_styles": ["default"],
        "account": {"tokenSource": "none", "apiKeySource": environment.key_source(), "apiProvider": "firstParty"},
        "pid": std::process::id(), "claude_code_version": VERSION, "current_permission_mode": mode,
        "hooks_applied": true, "hook_on_failure_supported": true, "hooks_when_unanswered_kept": 0, "analytics_disabled": true,
        "fast_mode_state": "off", "session_state": if in_exchange { "running" } else { "idle" }, "capabilities": [],
    })
}

/// Returns the definitions of these tools, without the details that only a model reads.
pub(super) fn tool_definitions(tools: &[&str]) -> Vec<Value> {
    let definition = |name: &&str| json!({"name": name, "description": format!("The {name} tool."), "input_schema": {"type": "object"}});
    tools.iter().map(definition).collect()
}
