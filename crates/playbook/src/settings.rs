//! Who is asked and how, as the environment says. The names and their order are those of the ACE playbook hooks, so that
//! whoever comes from there changes nothing.

use longhaul_agent::claude::environment::CLOUD_VARIABLES;
use std::fmt;

/// The model where nothing names another.
const MODEL: &str = "claude-sonnet-4-5-20250929";
/// The API where nothing names another.
const BASE_URL: &str = "https://api.anthropic.com";

/// Who is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct JudgeSettings {
    /// The API, without a slash at its end.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// What proves who we are; nothing if nothing is set.
    pub credential: Option<Credential>,
    /// The variable that sends the agent's sessions to a cloud provider, where no API of ours is named: what is said in them
    /// goes there, and to nobody else.
    pub cloud: Option<&'static str>,
}

/// What proves who we are. It is in no text, log or file.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// Sent as `x-api-key`.
    Key(String),
    /// Sent as `authorization: Bearer`.
    Token(String),
}

impl JudgeSettings {
    /// What these variables say. A variable that is empty says nothing.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> JudgeSettings {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| {
                variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
            })
        };
        let model = first(&["AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL"]);
        let base_url = first(&["AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL"]);
        let credential = first(&["AGENTIC_CONTEXT_API_KEY"])
            .map(Credential::Key)
            .or_else(|| first(&["ANTHROPIC_AUTH_TOKEN"]).map(Credential::Token))
            .or_else(|| first(&["ANTHROPIC_API_KEY"]).map(Credential::Key));
        // One that is in doubt counts: what is not learnt can be, what is sent is sent.
        let is_on =
            |name: &str| variable(name).is_some_and(|value| !matches!(value.trim(), "" | "0" | "false"));
        let cloud = CLOUD_VARIABLES.into_iter().find(|name| is_on(name));
        JudgeSettings {
            cloud: cloud.filter(|_| first(&["AGENTIC_CONTEXT_BASE_URL"]).is_none()),
            base_url: base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/').to_owned(),
            model: model.unwrap_or_else(|| MODEL.to_owned()),
            credential,
        }
    }
}

impl fmt::Debug for JudgeSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JudgeSettings { base_url, model, credential, cloud } = self;
        let credential = credential.as_ref().map(|_| "…");
        out.debug_struct("JudgeSettings")
            .field("base_url", base_url)
            .field("model", model)
            .field("credential", &credential)
            .field("cloud", cloud)
            .finish()
    }
}

#[cfg(test)]
mod tests;
