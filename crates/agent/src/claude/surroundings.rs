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
