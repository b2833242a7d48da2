//! The agent's own sandbox, as far as it holds commands back from the network (2.1.330).

use crate::Network;
use serde_json::{Value, json};

/// Has the tools by which the agent itself reaches out not offered: they run outside of the sandbox.
pub(super) const NOT_OFFERED: &str = "--disallowedTools=WebFetch,WebSearch";

/// What stands behind `sandbox` in settings: every command runs where it reaches these hosts alone, through a proxy of the
/// agent's.
pub(super) fn sandbox(network: &Network) -> Value {
    let hosts = network.hosts();
    // What is denied is denied whatever other settings allow; but it would also deny the hosts that are wanted.
    let denied: &[&str] = if hosts.is_empty() { &["*"] } else { &[] };
    json!({
        "enabled": true,
        // An agent that cannot hold them back must not start.
        "failIfUnavailable": true,
        "allowUnsandboxedCommands": false,
        // What the permission mode asks for, it asks for all the same.
        "autoAllowBashIfSandboxed": false,
        // Files are the business of the permission mode. The agent's settings stay closed all the same: who may write
        // them could open the network.
        "filesystem": { "allowWrite": ["/"] },
        // Where it is not strict, a mode that asks nobody lets everything pass.
        "network": { "allowedDomains": hosts, "deniedDomains": denied, "strictAllowlist": true },
    })
}
