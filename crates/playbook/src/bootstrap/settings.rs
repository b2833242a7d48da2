//! What the environment says of learning from the past. The names and what holds without them are those of the ACE
//! playbook hooks.

use longhaul_core::Span;
use std::path::PathBuf;
use thiserror::Error;

/// Sub-agents' sessions are many, short, and judged by what the session that began them made of them.
const SKIP_SUB_AGENTS: bool = true;
/// Between two sessions, for the sake of the account's rate limit.
const DELAY: Span = Span::from_secs(2);
const TRANSCRIPT_MB_MAX: f64 = 5.0;
const BYTES_PER_MB: f64 = 1024.0 * 1024.0;

/// How the past is learnt from.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSettings {
    /// Where transcripts are, instead of where the agent keeps them.
    pub transcript_dir: Option<PathBuf>,
    /// Whether sub-agents' own transcripts are left out.
    pub skip_sub_agents: bool,
    /// How long to wait between two sessions.
    pub delay: Span,
    /// A larger transcript is left out.
    pub bytes_max: u64,
}

/// A variable that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is `{value}`, and not {expected}")]
pub struct SettingError {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub value: String,
    /// What it may say.
    pub expected: &'static str,
}

impl BootstrapSettings {
    /// What these variables say. A variable that is empty says nothing.
    ///
    /// # Errors
    /// [`SettingError`]: what would be learnt is not what was meant.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<BootstrapSettings, SettingError> {
        let variable =
            |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let number = |name, otherwise: f64, expected| match variable(name) {
            None => Ok(otherwise),
            Some(value) => match value.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
                _ => Err(SettingError { name, value, expected }),
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
