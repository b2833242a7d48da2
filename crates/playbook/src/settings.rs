//! Reads the settings of the judge from the environment. The names and their priority are those of the ACE
//! playbook hooks, so that their users need not change anything.

use longhaul_agent::default_environment;
use std::fmt;

const MODEL: &str = "claude-sonnet-4-5-20250929";
const BASE_URL: &str = "https://api.anthropic.com";

/// The settings of the judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSettings {
    /// Address of the API, without a trailing slash.
    pub base_url: String,
    /// Model.
    pub model: String,
    /// Credential, or `None` if none is set.
    pub credential: Option<Credential>,
    /// Variable that routes the agent's sessions to a cloud provider, unless an API is set for the judge.
    /// Session content may be sent only to that provider.
    pub cloud: Option<&'static str>,
}

/// A credential. It never appears in a message, log or file.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// Sent as `x-api-key`.
    Key(String),
    /// Sent as `authorization: Bearer`.
    Token(String),
}

impl JudgeSettings {
    /// Reads the settings from these variables. An empty variable counts as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> JudgeSettings {
        let first = |names: &[&str]| first(names, &variable);
        let base_url = first(&["AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL"]);
        let credential = first(&["AGENTIC_CONTEXT_API_KEY"])
            .map(Credential::Key)
            .or_else(|| first(&["ANTHROPIC_AUTH_TOKEN"]).map(Credential::Token))
            .or_else(|| first(&["ANTHROPIC_API_KEY"]).map(Credential::Key));
        // An unclear value counts as set: learning can be repeated, but sending cannot be undone.
        let is_on =
            |name: &str| variable(name).is_some_and(|value| !matches!(value.trim(), "" | "0" | "false"));
        let cloud = default_environment().cloud_variables.into_iter().find(|name| is_on(name));
        JudgeSettings {
            cloud: cloud.filter(|_| first(&["AGENTIC_CONTEXT_BASE_URL"]).is_none()),
            base_url: base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/').to_owned(),
            model: model(&variable).unwrap_or_else(|| MODEL.to_owned()),
            credential,
        }
    }
}

/// Returns the model that these variables name. An empty variable counts as unset.
pub fn model(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    first(&["AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL"], variable)
}

fn first(names: &[&str], variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut values = names.iter().filter_map(|name| variable(name)).map(|value| value.trim().to_owned());
    values.find(|value| !value.is_empty())
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", "…")
    }
}

#[cfg(test)]
mod tests;
