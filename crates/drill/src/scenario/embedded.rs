//! Embeds scenarios in the binary, in the order of `drill --list`.

use std::path::Path;

use super::script::{Scenario, ScenarioError};
use longhaul_agent::did_you_mean;

/// Defines the table of scenario names and texts. A scenario has the name of its file.
macro_rules! scenarios {
    ($($name:literal),+ $(,)?) => {
        const EMBEDDED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),+];
    };
}

scenarios![
    "storm",
    "overload",
    "rate-limit-3",
    "rate-limit-60",
    "rate-limit-61",
    "rate-limit-3600",
    "usage-limit",
    "server-error",
    "connection-refused",
    "stream-cut",
    "silent-pings",
    "agent-killed-before-first-token",
    "agent-killed-mid-stream",
    "agent-killed-mid-tool",
    "agent-frozen",
    "agent-interrupted",
    "background-shell",
    "auth-401",
    "credit",
    "model-missing",
    "prompt-too-long",
    "refusal",
    "empty-result",
    "pause-turn",
    "hook-stopped",
];

/// Returns every embedded scenario.
pub fn all() -> Result<Vec<Scenario>, ScenarioError> {
    EMBEDDED.iter().map(|(name, toml)| Scenario::parse(name, toml)).collect()
}

/// Returns the embedded scenario `name`, or else the scenario in the file at that path.
pub fn find(name: &str) -> Result<Scenario, ScenarioError> {
    if let Some((name, toml)) = EMBEDDED.iter().find(|(embedded, _)| *embedded == name) {
        return Scenario::parse(name, toml);
    }
    if Path::new(name).is_file() {
        return Scenario::load(name);
    }
    let similar = did_you_mean(name, EMBEDDED.iter().map(|(name, _)| *name)).into_iter().next();
    Err(ScenarioError::unknown(name, similar))
}
