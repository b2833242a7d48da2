//! Defines the environment of Claude Code: the tested version, and the variables and files for login and
//! retries. Contains names only; never reads or prints a value.

/// The version with which every fact about the agent was tested.
pub const VERSION_TESTED: &str = "2.1.330";

/// The environment of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentEnvironment {
    /// The version with which every fact about the agent was tested.
    pub version_tested: &'static str,
    /// Variables of which one is enough for the agent to log in.
    pub login_variables: [&'static str; 3],
    /// Variables that select a cloud provider, which has its own credentials.
    pub cloud_variables: [&'static str; 3],
    /// The file that the agent's own login writes to its configuration directory.
    pub credentials_file: &'static str,
    /// Number of times the agent retries a request on its own. A run sets it (`--inner-retries`).
    pub max_retries: &'static str,
    /// Makes the agent wait for hours on its own. A run removes it.
    pub retry_watchdog: &'static str,
    /// How long the agent waits for the start of a response, in milliseconds, before it retries. A run leaves
    /// it unchanged.
    pub api_timeout: &'static str,
    /// The default of that variable, in seconds.
    pub api_timeout_seconds: u64,
    /// The arguments that control the session. Only Longhaul may set them.
    pub reserved_args: &'static [&'static str],
}

pub(crate) const ENVIRONMENT: AgentEnvironment = AgentEnvironment {
    version_tested: VERSION_TESTED,
    login_variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    cloud_variables: ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX"],
    // `claude auth login` writes it on Linux.
    credentials_file: ".credentials.json",
    max_retries: "CLAUDE_CODE_MAX_RETRIES",
    retry_watchdog: "CLAUDE_CODE_RETRY_WATCHDOG",
    api_timeout: "API_TIMEOUT_MS",
    api_timeout_seconds: 360,
    reserved_args: RESERVED,
};

/// Flags that select the conversation and its format. Only Longhaul may set them: a second flag would take
/// precedence, and the run would follow another session or none.
const RESERVED: &[&str] = &[
    "-c",
    "--continue",
    "--fork-session",
    "--from-pr",
    "--input-format",
    "--no-session-persistence",
    "--output-format",
    "-r",
    "--resume",
    "--resume-session-at",
    "--session-id",
];

/// Variables that determine the API, the account, the configuration or the permissions of the agent.
const NEEDED: [&str; 13] = [
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    // As root, the agent refuses to bypass permissions without it.
    "IS_SANDBOX",
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
pub(super) fn is_needed(name: &str, is_set: impl Fn(&str) -> bool) -> bool {
    let is_read = |switch: Option<&str>| switch.is_none_or(&is_set);
    NEEDED.contains(&name)
        || NEEDED_PREFIXES.iter().any(|(prefix, switch)| name.starts_with(prefix) && is_read(*switch))
}

#[cfg(test)]
mod tests {
    use super::{ENVIRONMENT, is_needed};

    #[test]
    fn agent_needs_login_proxy_and_cloud_variables() {
        let check = |name: &str, set: &[&str], expected: bool| {
            assert_eq!(is_needed(name, |other| set.contains(&other)), expected, "{name} with {set:?}");
        };
        for name in ENVIRONMENT.login_variables.into_iter().chain(ENVIRONMENT.cloud_variables) {
            check(name, &[], true);
        }
        for name in ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "IS_SANDBOX", "no_proxy"] {
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
            check(name, &ENVIRONMENT.cloud_variables, false);
        }
    }
}
