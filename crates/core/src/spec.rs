//! Describes a run: its task, agent, rights and policy. Every part of Longhaul uses this one value, from the
//! command line to `plan.json`. It has no field for a secret.

mod changes;
mod error;

pub use changes::SettingChange;
pub use error::SpecError;

use crate::{Policy, SessionPlan, os_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Default length of a handoff prompt in tokens: a few percent of the smallest context window, and ample for
/// recent work.
pub const HANDOFF_TOKENS_MAX: u64 = 12_000;

/// The description of a run. [`RunSpec::new`] creates one, and its fields add to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunSpec {
    /// The user's name for the run. Several runs may share a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user's request.
    pub prompt: String,
    /// Working directory of the agent. In `plan.json`, a directory inside the run's own directory is relative
    /// to it, because the run can move; every other path is absolute.
    #[serde(with = "os_text")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::OsText"))]
    pub cwd: PathBuf,
    /// Session that the run starts with. `None` draws an id for a new session when the run starts.
    #[serde(default)]
    pub session: Option<SessionPlan>,
    /// Requested model. `None` for the user's own setting.
    #[serde(default)]
    pub model: Option<String>,
    /// Requested permission mode. `None` for the user's own setting.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// The agent.
    pub agent: AgentProgram,
    /// Restrictions for the agent.
    #[serde(default, skip_serializing_if = "GuardRules::is_empty")]
    pub guards: GuardRules,
    /// Hosts that the agent's commands may reach. `None` if the user's own settings decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
    /// Shell commands or channels that receive notifications of the outcome and of long waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Prompt for the wrap-up. `None` for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_up_prompt: Option<String>,
    /// How the run uses the playbook. `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learn: Option<LearnOptions>,
    /// Harness that the run is started for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
    /// Limits, schedules, checks and keep-going, resolved.
    pub policy: Policy,
    /// Maximum length of a handoff prompt, in estimated tokens.
    pub handoff_tokens: u64,
    /// Whether partial messages stay in the stream files after the run.
    #[serde(default)]
    pub keep_partial_messages: bool,
    /// Whether each noteworthy event writes a diagnostic text to the run's directory. A file
    /// `.claude/diagnostic_mode` in the project also enables the texts, and then they are also written next to
    /// that file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diagnostic: bool,
    /// JSON schema of the agent's last answer, as JSON text. `None` for an answer in any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<String>,
    /// The user's price table as text, because its file may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// The user's table of side effects as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<String>,
}

impl RunSpec {
    /// Describes a run in which Claude Code (`program`) works on this task under this policy, in a new
    /// session. `cwd` is an absolute directory. The run has no model, permission mode or guard; set the
    /// fields to add them, here or with [`with`](RunSpec::with).
    ///
    /// No user is present to grant permissions. The agent is denied everything that its settings and
    /// [`permission_mode`](RunSpec::permission_mode) do not allow.
    pub fn new(
        program: impl Into<PathBuf>,
        cwd: impl Into<PathBuf>,
        prompt: impl Into<String>,
        policy: Policy,
    ) -> RunSpec {
        RunSpec {
            name: None,
            prompt: prompt.into(),
            cwd: cwd.into(),
            session: None,
            model: None,
            permission_mode: None,
            agent: AgentProgram::new("claude", program),
            guards: GuardRules::default(),
            network: None,
            notify: Vec::new(),
            wrap_up_prompt: None,
            learn: None,
            harness: None,
            policy,
            handoff_tokens: HANDOFF_TOKENS_MAX,
            keep_partial_messages: false,
            diagnostic: false,
            result_schema: None,
            prices: None,
            effects: None,
        }
    }

    /// Returns the description after `edit` changed it.
    #[must_use]
    pub fn with(mut self, edit: impl FnOnce(&mut RunSpec)) -> RunSpec {
        edit(&mut self);
        self
    }

    /// Checks that the description is complete and does not contradict itself. The dialect checks the guards
    /// and the hosts.
    ///
    /// # Errors
    /// Returns the first contradiction.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.prompt.trim().is_empty() {
            return Err(SpecError::EmptyPrompt);
        }
        if self.cwd.is_relative() {
            return Err(SpecError::RelativePath(self.cwd.clone()));
        }
        self.policy.validate()
    }
}

/// The agent CLI of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentProgram {
    /// Name of the agent in Longhaul: `claude` or `acp`.
    pub name: String,
    /// Program, as it is called.
    #[serde(with = "os_text")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::OsText"))]
    pub program: PathBuf,
    /// Arguments before all others, if the agent is part of a larger program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leading_args: Vec<String>,
    /// The user's own arguments for the agent. They come last and so take precedence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

impl AgentProgram {
    /// Describes an agent without further arguments.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> AgentProgram {
        let (leading_args, args) = (Vec::new(), Vec::new());
        AgentProgram { name: name.into(), program: program.into(), leading_args, args }
    }
}

/// The guards of a run, as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct GuardRules {
    /// Patterns of allowed tools. Empty allows all.
    pub allow_tools: Vec<String>,
    /// Patterns of denied tools.
    pub deny_tools: Vec<String>,
    /// Answers to the agent's questions, by key. `None` if the agent may not ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<BTreeMap<String, String>>,
    /// Patterns of blocked URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_urls: Vec<String>,
    /// Blocked paths; relative ones start at the run's working directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_paths: Vec<String>,
    /// The only paths that editing tools may change; relative ones start at the run's working directory. Empty
    /// allows all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edit_paths: Vec<String>,
    /// Home directory for `~` in those paths. `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

impl GuardRules {
    fn is_empty(&self) -> bool {
        *self == GuardRules::default()
    }
}

/// How the sessions of a run receive key points of the playbook, and how a judge finds new ones in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LearnOptions {
    /// Judge of the sessions: `api` or `claude`.
    pub judge: String,
    /// Maximum length of the key points for a session, in estimated tokens. `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
}

impl LearnOptions {
    /// Creates options with key points of the default length.
    pub fn new(judge: impl Into<String>) -> LearnOptions {
        LearnOptions { judge: judge.into(), tokens_max: None }
    }
}

/// A harness that a run is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Harness {
    /// ResearchGym: its variables for the agent, and its files in `logs/`.
    Researchgym,
}

#[cfg(test)]
mod tests;
