//! Defines the environment of Claude Code: the tested version, and the variables and files for login and
//! retries. Contains names only; never reads or prints a value.

/// The version with which every fact about the agent was tested.
pub const VERSION_TESTED: &str = "2.1.330";

/// Variables of which one is enough for the agent to log in.
pub const LOGIN_VARIABLES: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Variables that select a cloud provider, which has its own credentials.
pub const CLOUD_VARIABLES: [&str; 3] =
    ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX"];

/// Variables that determine the API, the account or the configuration of the agent.
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

/// Prefixes of more such variables. Some apply only if the variable next to them is set.
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

/// The file that `claude auth login` writes to its configuration directory on Linux.
pub const CREDENTIALS_FILE: &str = ".credentials.json";

/// Number of times the agent retries a request on its own. A run sets it (`--inner-retries`).
pub const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// Makes the agent wait for hours on its own. A run removes it.
pub const RETRY_WATCHDOG: &str = "CLAUDE_CODE_RETRY_WATCHDOG";

/// How long the agent waits for the start of a response, in milliseconds, before it retries. A run leaves it
/// unchanged.
pub const API_TIMEOUT: &str = "API_TIMEOUT_MS";

/// The default of [`API_TIMEOUT`], in seconds.
pub const API_TIMEOUT_SECONDS: u64 = 360;

/// The directory of the agent's sessions, below its configuration directory.
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
        // Many shells set these for other programs.
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
