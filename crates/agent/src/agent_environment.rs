//! The environment of the default agent: its tested version, the variables and files for login and retries, and
//! its reserved arguments. Contains names only; never reads or prints a value.

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
