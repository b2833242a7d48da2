//! Offers Claude Code the finish tool, with which the agent claims that its work is done. Does not implement
//! the server of the tool.

use crate::Program;
use crate::done_claim::FINISH;
use serde_json::json;

const SERVER: &str = "longhaul";

/// Returns the arguments that offer the tool. They add to the user's own servers and to further flags of the
/// same kind (2.1.330).
pub(super) fn args(program: &Program) -> [String; 2] {
    let server = json!({
        "type": "stdio",
        "command": program.path,
        "args": program.leading_args,
        // Without this, a model finds the tool only by searching for it (2.1.330).
        "alwaysLoad": true,
    });
    let servers = json!({ "mcpServers": { SERVER: server } });
    // The rule applies in every permission mode; in plan mode because the server declares the tool read-only.
    // Both flags take any number of values, so each must be joined to its value.
    [format!("--mcp-config={servers}"), format!("--allowedTools={FINISH}")]
}
