//! Reads the agent's environment variables and folders, once at the start.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use axum::http::Uri;

use super::TIME_SCALE;
use crate::clock;

/// Default of `CLAUDE_CODE_MAX_RETRIES`.
const RETRIES: u32 = 10;
/// How often the agent reports pings.
const PING_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    Key(String),
    Token(String),
}

#[derive(Debug, Clone)]
pub(super) struct Environment {
    pub base: Option<Uri>,
    pub credential: Option<Credential>,
    /// `$CLAUDE_CONFIG_DIR`, else `$HOME/.claude`.
    pub config: PathBuf,
    pub cwd: PathBuf,
    pub max_retries: u32,
    pub time_scale: f64,
    pub ping_every: Duration,
    /// `CLAUDE_CODE_SDK_READS_SESSION_STATE`.
    pub session_state: bool,
    /// `CLAUDE_CODE_STARTUP_FAILURE_RESULTS`.
    pub startup_results: bool,
    /// `IS_SANDBOX`.
    pub sandbox: bool,
    pub seed: u64,
}

impl Environment {
    pub(super) fn read() -> Self {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let is_set = |name: &str| text(name).is_some_and(|value| value == "1" || value == "true");
        let number = |name: &str| text(name)?.parse::<u64>().ok();
        let time_scale = text(TIME_SCALE).and_then(|value| value.parse().ok());
        let time_scale = time_scale.filter(|scale: &f64| *scale > 0.0).unwrap_or(1.0);
        let key = text("ANTHROPIC_API_KEY").map(Credential::Key);
        let token =
            text("CLAUDE_CODE_OAUTH_TOKEN").or_else(|| text("ANTHROPIC_AUTH_TOKEN")).map(Credential::Token);
        let config = text("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let home = text("HOME").map_or_else(env::temp_dir, PathBuf::from);
        let cwd = env::current_dir().unwrap_or_default();
        Self {
            base: text("ANTHROPIC_BASE_URL").and_then(|url| url.parse().ok()),
            credential: token.or(key),
            config: config.unwrap_or_else(|| home.join(".claude")),
            cwd: fs::canonicalize(&cwd).unwrap_or(cwd),
            max_retries: number("CLAUDE_CODE_MAX_RETRIES").map_or(RETRIES, |retries| retries as u32),
            time_scale,
            ping_every: PING_EVERY.div_f64(time_scale),
            session_state: is_set("CLAUDE_CODE_SDK_READS_SESSION_STATE"),
            startup_results: is_set("CLAUDE_CODE_STARTUP_FAILURE_RESULTS"),
            sandbox: is_set("IS_SANDBOX"),
            seed: clock::unix_ms() ^ (u64::from(std::process::id()) << 40),
        }
    }

    pub(super) fn is_oauth(&self) -> bool {
        matches!(self.credential, Some(Credential::Token(_)))
    }
}
