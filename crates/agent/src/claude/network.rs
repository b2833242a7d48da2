//! Configures the agent's own sandbox to restrict the network access of commands (2.1.330).

use serde_json::{Value, json};

/// Disables the agent's own web tools, which run outside the sandbox.
pub(super) const NO_WEB_TOOLS: &str = "--disallowedTools=WebFetch,WebSearch";

/// Returns the `sandbox` object of the settings. Every command then reaches only these hosts, through the
/// agent's proxy.
pub(super) fn sandbox(hosts: &[String]) -> Value {
    // Denials override allowances in other settings, but `*` would also deny the requested hosts.
    let denied: &[&str] = if hosts.is_empty() { &["*"] } else { &[] };
    json!({
        "enabled": true,
        // An agent that cannot enforce the restriction must not start.
        "failIfUnavailable": true,
        "allowUnsandboxedCommands": false,
        // The permission mode still applies.
        "autoAllowBashIfSandboxed": false,
        // Files are controlled by the permission mode. The agent's settings stay protected, because write
        // access to them could open the network.
        "filesystem": { "allowWrite": ["/"] },
        // Without `strictAllowlist`, a mode that asks no person allows every host.
        "network": { "allowedDomains": hosts, "deniedDomains": denied, "strictAllowlist": true },
    })
}
