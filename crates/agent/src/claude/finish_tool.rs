//! Our tool, by which the agent says that its work is finished: how Claude Code is offered it. Who serves it is not
//! for this module to say.

use crate::Program;
use serde_json::json;

/// The tool as Claude Code calls it: that of our server.
pub const FINISH: &str = "mcp__longhaul__finish";
const SERVER: &str = "longhaul";

/// The user's own servers stay, and more of these flags may follow: both add up (2.1.330).
pub(super) fn args(program: &Program) -> [String; 2] {
    let server = json!({
        "type": "stdio",
        "command": program.path,
        "args": program.leading_args,
        // Else a model finds the tool only by a search for it (2.1.330).
        "alwaysLoad": true,
    });
    let servers = json!({ "mcpServers": { SERVER: server } });
    // The rule holds in every permission mode; in that of plans because the server calls the tool read-only. Both
    // flags take any number of values, so that each must be joined to its own.
    [format!("--mcp-config={servers}"), format!("--allowedTools={FINISH}")]
}
