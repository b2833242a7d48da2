//! Parses and validates scenario files. A scenario that parses can be played without further errors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use std::time::Duration;

use serde::Deserialize;

use super::duration::optional_seconds;
use super::fault::{FaultKind, ScriptedFault, Times, When};
use crate::workspace::WorkspaceFiles;

/// One drill, as its TOML file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name on the command line.
    pub name: String,
    /// One sentence for `--list`.
    pub summary: String,
    /// Expected end of a run.
    pub expect: Expect,
    /// How the agent authenticates.
    #[serde(default)]
    pub auth: Auth,
    /// Model that the agent must use.
    #[serde(default = "default_model")]
    pub model: String,
    /// Task of the agent.
    pub prompt: String,
    /// Settings that differ from the supervisor's `drill` preset.
    #[serde(default)]
    pub run: Overrides,
    /// Additional environment variables of the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The model's turns. Every turn but the last uses tools.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
    /// The model's replies to later prompts.
    #[serde(default, rename = "reply")]
    pub replies: Vec<ScriptedReply>,
    /// The answer to a request without tools, such as a title or a summary.
    #[serde(default)]
    pub side: Side,
    /// The faults to inject.
    #[serde(default, rename = "fault")]
    pub faults: Vec<ScriptedFault>,
    /// Expected content of the workspace at the end.
    pub workspace: Option<ScenarioWorkspace>,
}

/// Expected end of a run, in the words of the supervisor's JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub outcome: String,
    /// The deciding fault, for an outcome other than `done`.
    pub fault: Option<String>,
    pub exit: u8,
    /// Faults that the supervisor must recover from. Inner retries of the agent do not count.
    #[serde(default)]
    pub survives: Vec<String>,
}

/// How the agent authenticates. The credentials are dummies that only the loopback API accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// An API key (`x-api-key`).
    #[default]
    Key,
    /// A subscription's OAuth token (`authorization: Bearer`).
    Oauth,
}

/// The supervisor's settings for this scenario. `None` keeps the preset's value.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// The agent's own retries per request.
    pub inner_retries: Option<u32>,
    /// Silence after which the supervisor considers the agent stalled.
    #[serde(rename = "stall_timeout_s", deserialize_with = "optional_seconds")]
    pub stall_timeout: Option<Duration>,
    /// The longest single wait that the supervisor may start.
    #[serde(rename = "max_reset_wait_s", deserialize_with = "optional_seconds")]
    pub max_reset_wait: Option<Duration>,
    /// Factor by which the scripted agent's inner waits are shortened. A real agent's waits cannot be
    /// changed.
    pub time_scale: Option<f64>,
    /// A settings object for the agent (`--settings`), as JSON.
    pub settings: Option<String>,
}

/// One turn of the model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub text: Option<String>,
    #[serde(default)]
    pub tools: Vec<Tool>,
}

/// The model's turns in reply to a later prompt.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// Text that the prompt contains. If several replies have the same text, the first one answers the first
    /// such prompt, and the last one answers all remaining prompts.
    pub to: String,
    /// The turns of the reply. Every turn but the last uses tools.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
}

/// The answer to every request without tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    pub text: String,
    pub fault: Option<FaultKind>,
    /// How many requests the fault strikes, starting with the first. If absent, every one.
    pub times: Times,
}

impl Default for Side {
    fn default() -> Side {
        Side { text: "A drill".to_owned(), fault: None, times: Times::Always }
    }
}

/// One tool call. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tool {
    Write {
        path: String,
        content: String,
    },
    /// Replaces a text that occurs once in a file.
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Read {
        path: String,
    },
    Bash {
        command: String,
        /// A command that succeeds once `command` has run. The model runs it first if the conversation shows
        /// that `command` may have run already: through an earlier call, or because a prompt names it.
        unless: Option<String>,
        /// Whether the agent continues before the command exits.
        #[serde(default)]
        run_in_background: bool,
    },
    AskUser {
        question: String,
        /// Labels of the options: two to four.
        options: Vec<String>,
        #[serde(default)]
        multiple: bool,
    },
    /// Calls any other tool, by the agent's name.
    Call {
        name: String,
        input: serde_json::Value,
    },
}

/// Expected content of the workspace at the end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioWorkspace {
    /// The contents of every file, by path.
    pub files: BTreeMap<String, String>,
    /// The lines of `effects.log`, in any order. Each step of the work writes one line, however often it was
    /// started. If empty, the file is compared like any other.
    #[serde(default)]
    pub effects: Vec<String>,
}

/// Why a scenario could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} scenario {name}: {reason}")]
pub struct ScenarioError {
    action: &'static str,
    name: String,
    reason: String,
    similar: Option<&'static str>,
}

impl ScenarioError {
    fn new(action: &'static str, name: &str, reason: impl ToString) -> ScenarioError {
        ScenarioError { action, name: name.to_owned(), reason: reason.to_string(), similar: None }
    }

    /// Creates the error for a name that neither an embedded scenario nor a file has.
    pub(super) fn unknown(name: &str, similar: Option<&'static str>) -> ScenarioError {
        ScenarioError { similar, ..ScenarioError::new("find", name, "no such scenario and no such file") }
    }

    /// Returns the embedded scenario with the most similar name.
    pub fn did_you_mean(&self) -> Option<&str> {
        self.similar
    }
}

impl Scenario {
    /// Parses a scenario from TOML. Errors call it `name`.
    pub fn parse(name: &str, toml: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(toml).map_err(|error| ScenarioError::new("parse", name, error))?;
        match scenario.problem() {
            None => Ok(scenario),
            Some(problem) => Err(ScenarioError::new("play", name, problem)),
        }
    }

    /// Reads a scenario from a file.
    pub(super) fn load(name: &str) -> Result<Self, ScenarioError> {
        let toml = fs::read_to_string(name).map_err(|error| ScenarioError::new("read", name, error))?;
        Self::parse(name, &toml)
    }

    /// Returns how long the API refuses all requests, or `None` if it does not.
    pub fn outage(&self) -> Option<Duration> {
        self.faults.iter().find_map(|fault| match (&fault.kind, fault.times) {
            (FaultKind::UsageLimit { reset }, _) => Some(*reset),
            (_, Times::Outage(duration)) => Some(duration),
            _ => None,
        })
    }

    /// Returns the expected files of the workspace, or `None` if the scenario does not check the workspace.
    pub fn expected_files(&self) -> Option<WorkspaceFiles> {
        let workspace = self.workspace.as_ref()?;
        Some(workspace.files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect())
    }

    /// Returns the expected lines of `effects.log`.
    pub fn expected_effects(&self) -> &[String] {
        self.workspace.as_ref().map(|workspace| workspace.effects.as_slice()).unwrap_or_default()
    }

    /// Returns why the scenario cannot be played, or `None` if it can.
    fn problem(&self) -> Option<String> {
        let replies = self.replies.iter().map(|reply| reply.turns.as_slice());
        let scripts = || replies.clone().chain([self.turns.as_slice()]);
        if let Some(problem) = scripts().find_map(problem_in_turns) {
            return Some(problem);
        }
        if self.replies.iter().any(|reply| reply.to.trim().is_empty()) {
            return Some("a [[reply]] has an empty `to`".to_owned());
        }
        let count = self.turns.len() as u32;
        for fault in &self.faults {
            let turns = match &fault.when {
                When::Turn(turn) => std::slice::from_ref(turn),
                When::OneOf(turns) if turns.is_empty() => {
                    return Some("a fault has an empty list of turns".to_owned());
                }
                When::OneOf(turns) => turns.as_slice(),
                When::Always => continue,
            };
            let first = if self.replies.is_empty() { 1 } else { 0 };
            if let Some(turn) = turns.iter().find(|turn| !(first..=count).contains(*turn)) {
                return Some(format!("a fault strikes turn {turn}, but there are {count} turns"));
            }
        }
        let mut paths = scripts().flatten().flat_map(|turn| &turn.tools).filter_map(Tool::path);
        if let Some(path) = paths.find(|path| !stays_inside(path)) {
            return Some(format!("path `{path}` leaves the workspace"));
        }
        if self.run.time_scale.is_some_and(|scale| !(0.01..=10_000.0).contains(&scale)) {
            return Some("time_scale must lie between 0.01 and 10000".to_owned());
        }
        None
    }
}

/// Returns why these turns cannot be played, or `None` if they can.
fn problem_in_turns(turns: &[Turn]) -> Option<String> {
    let Some((last, earlier)) = turns.split_last() else {
        return Some("it has no [[turn]]".to_owned());
    };
    if !last.tools.is_empty() {
        return Some("the last turn uses tools; it must be the final text".to_owned());
    }
    let first_without_tools = earlier.iter().position(|turn| turn.tools.is_empty())?;
    Some(format!("turn {} uses no tool, but is not the last", first_without_tools + 1))
}

impl Tool {
    fn path(&self) -> Option<&str> {
        match self {
            Self::Write { path, .. } | Self::Edit { path, .. } | Self::Read { path } => Some(path),
            Self::Bash { .. } | Self::AskUser { .. } | Self::Call { .. } => None,
        }
    }
}

fn stays_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn default_model() -> String {
    "claude-sonnet-4-5".to_owned()
}
