//! Reads the settings of learning from past sessions from the environment. Names and defaults are those of
//! the ACE playbook hooks.

use crate::UserError;
use longhaul_core::Span;
use std::path::PathBuf;

/// Sub-agents' sessions are many and short, and the parent session is judged on how it used their results.
const SKIP_SUB_AGENTS: bool = true;
/// Delay between two sessions, to stay within the account's rate limit.
const DELAY: Span = Span::from_secs(2);
const TRANSCRIPT_MB_MAX: f64 = 5.0;
const BYTES_PER_MB: f64 = 1024.0 * 1024.0;

/// Settings of learning from past sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSettings {
    /// Directory of the transcripts, if not the agent's own.
    pub transcript_dir: Option<PathBuf>,
    /// Whether sub-agents' transcripts are skipped.
    pub skip_sub_agents: bool,
    /// Delay between two sessions.
    pub delay: Span,
    /// Size limit, in bytes. Larger transcripts are skipped.
    pub bytes_max: u64,
}

impl BootstrapSettings {
    /// Reads the settings from these variables. An empty variable counts as unset.
    ///
    /// # Errors
    /// Returns [`UserError`] if a value is invalid, because a default could learn from sessions that the
    /// user excluded.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<BootstrapSettings, UserError> {
        let variable =
            |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let number = |name, default: f64, expected| match variable(name) {
            None => Ok(default),
            Some(value) => match value.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
                _ => Err(UserError::new(
                    format!("{name} is `{value}`, not {expected}"),
                    "correct the variable, or unset it",
                )),
            },
        };
        let skip_sub_agents = match variable("AGENTIC_CONTEXT_BOOTSTRAP_SKIP_SUBAGENTS") {
            None => SKIP_SUB_AGENTS,
            Some(value) => !matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off"),
        };
        let seconds = DELAY.millis() as f64 / 1000.0;
        let seconds = number("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", seconds, "a number of seconds, like 2.0")?;
        let megabytes = number(
            "AGENTIC_CONTEXT_MAX_TRANSCRIPT_MB",
            TRANSCRIPT_MB_MAX,
            "a number of megabytes, like 5.0",
        )?;
        Ok(BootstrapSettings {
            transcript_dir: variable("AGENTIC_CONTEXT_TRANSCRIPT_DIR").map(PathBuf::from),
            skip_sub_agents,
            delay: Span((seconds * 1000.0) as u64),
            bytes_max: (megabytes * BYTES_PER_MB) as u64,
        })
    }
}
