//! What around Claude Code matters to it before it is started: its version, how it is known who pays, and what it repeats by
//! itself. Names alone; nothing is read here, and no value of these is ever told.

/// The version that every fact about the agent was measured with.
pub const VERSION_TESTED: &str = "2.1.330";

/// The variables of which one is enough for the agent to be let in.
pub const LOGIN_VARIABLES: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The variables that send it to a cloud provider, which lets it in by credentials of its own.
pub const CLOUD_VARIABLES: [&str; 3] =
    ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX"];

/// Variables that decide which API, account or configuration the agent uses.
const NEEDED: [&str; 12] = [
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Beginnings of further such variables, each with the variable without which the agent does not read them.
const NEEDED_PREFIXES: [(&str, Option<&str>); 9] = [
    ("ANTHROPIC_", None),
    ("CLAUDE_CODE_SKIP_", None),
    ("CLAUDE_CODE_USE_", None),
    ("AWS_", Some("CLAUDE_CODE_USE_BEDROCK")),
    ("AZURE_", Some("CLAUDE_CODE_USE_FOUNDRY")),
    ("CLOUD_ML_REGION", Some("CLAUDE_CODE_USE_VERTEX")),
    ("GCLOUD_PROJECT", Some("CLAUDE_CODE_USE_VERTEX")),
    ("GOOGLE_", Some("CLAUDE_CODE_USE_VERTEX")),
    ("VERTEX_REGION_", Some("CLAUDE_CODE_USE_VERTEX")),
];

/// Returns whether an agent that was started with this variable works differently, or not at all, without it.
pub fn is_needed(name: &str, is_set: impl Fn(&str) -> bool) -> bool {
    let is_read = |switch: Option<&str>| switch.is_none_or(&is_set);
    NEEDED.contains(&name)
        || NEEDED_PREFIXES.iter().any(|(prefix, switch)| name.starts_with(prefix) && is_read(*switch))
}

/// What `claude auth login` leaves in its configuration directory on Linux.
pub const CREDENTIALS_FILE: &str = ".credentials.json";

/// How often it repeats a request by itself. A run sets it (`--inner-retries`).
pub const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// Has it wait for hours by itself. A run takes it away.
pub const RETRY_WATCHDOG: &str = "CLAUDE_CODE_RETRY_WATCHDOG";

/// How long it waits for an answer to begin, in milliseconds, before it repeats the request. A run leaves it as it is.
pub const API_TIMEOUT: &str = "API_TIMEOUT_MS";

/// How long that is where nothing else is said, in seconds.
pub const API_TIMEOUT_SECONDS: u64 = 360;

/// Where its sessions are, below its configuration directory.
pub const SESSIONS_FOLDER: &str = "projects";

#[cfg(test)]
mod tests {
    use super::{CLOUD_VARIABLES, LOGIN_VARIABLES, is_needed};

    #[test]
    fn agent_needs_login_proxy_and_cloud_variables() {
        let check = |name: &str, set: &[&str], expected: bool| {
            assert_eq!(is_needed(name, |other| set.contains(&other)), expected, "{name} with {set:?}");
        };
        for name in LOGIN_VARIABLES.into_iter().chain(CLOUD_VARIABLES) {
            check(name, &[], true);
        }
        for name in ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "no_proxy"] {
            check(name, &[], true);
        }
        // Many shells have these for other programs.
        for name in ["AWS_PAGER", "GOOGLE_CLOUD_PROJECT"] {
            check(name, &[], false);
        }
        check("AWS_PROFILE", &["CLAUDE_CODE_USE_BEDROCK"], true);
        check("AWS_PROFILE", &["CLAUDE_CODE_USE_VERTEX"], false);
        check("CLOUD_ML_REGION", &["CLAUDE_CODE_USE_VERTEX"], true);
        for name in ["PATH", "HOME", "OPENAI_API_KEY", "CLAUDE_CODE_MAX_RETRIES", "LONGHAUL_HOME"] {
            check(name, &CLOUD_VARIABLES, false);
        }
    }
}
