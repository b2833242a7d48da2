//! A scenario: the file format, read once and checked, so that whoever plays it meets no surprise.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Deserialize;

use super::duration::maybe_seconds;
use super::fault::{Fault, FaultKind, Times, When};
use crate::workspace::Files;

/// Bytes a scenario file may have: it is written by hand.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// One drill, as its TOML file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called on the command line.
    pub name: String,
    /// One sentence for `--list`.
    pub summary: String,
    /// How a run over it must end.
    pub expect: Expect,
    /// How the agent logs in.
    #[serde(default)]
    pub auth: Auth,
    /// The model the agent is told to use.
    #[serde(default = "default_model")]
    pub model: String,
    /// What the agent is asked to do.
    pub prompt: String,
    /// What the supervisor does differently from its `drill` preset.
    #[serde(default)]
    pub run: Overrides,
    /// Further environment of the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The agent's side of the conversation; every turn but the last uses tools.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
    /// What it says and does when a later prompt asks for something else.
    #[serde(default, rename = "reply")]
    pub replies: Vec<Reply>,
    /// How a request without tools is answered: for a title, or a summary.
    #[serde(default)]
    pub side: Side,
    /// What goes wrong.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    /// What the workspace must hold in the end.
    #[serde(default)]
    pub workspace: Option<Workspace>,
}

/// How a run must end. The words are those of the supervisor's JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The outcome, such as `done`.
    pub outcome: String,
    /// The deciding fault, for an outcome other than `done`.
    pub fault: Option<String>,
    /// The supervisor's exit code.
    pub exit: u8,
    /// Faults that the supervisor itself must meet and survive (inner retries of the agent do not count).
    #[serde(default)]
    pub survives: Vec<String>,
}

/// How the agent logs in; the credentials are dummies that only the loopback API accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// An API key (`x-api-key`).
    #[default]
    Key,
    /// A subscription's OAuth token (`authorization: Bearer`).
    Oauth,
}

/// What the supervisor does differently in this scenario. `None` leaves the preset's value.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// The supervisor's preset; `drill` if absent.
    pub preset: Option<String>,
    /// The agent's own retries per request.
    pub inner_retries: Option<u32>,
    /// Attempts without progress before the supervisor gives up.
    pub max_retries: Option<u32>,
    /// Silence after which the supervisor takes the agent for hung.
    #[serde(rename = "stall_timeout_s", deserialize_with = "maybe_seconds")]
    pub stall_timeout: Option<Duration>,
    /// The longest single wait the supervisor may enter.
    #[serde(rename = "max_wait_s", deserialize_with = "maybe_seconds")]
    pub max_reset_wait: Option<Duration>,
    /// The longest one attempt may take.
    #[serde(rename = "attempt_timeout_s", deserialize_with = "maybe_seconds")]
    pub attempt_timeout: Option<Duration>,
    /// The agent's permission mode; `bypassPermissions` if absent.
    pub permission_mode: Option<String>,
    /// How many times faster the scripted agent's inner waits pass (a real agent's cannot be changed).
    pub time_scale: Option<f64>,
    /// A settings object for the agent (`--settings`), as JSON.
    pub settings: Option<String>,
    /// Further arguments of the agent.
    pub agent_args: Vec<String>,
    /// Further flags of the supervisor.
    pub flags: Vec<String>,
}

/// One answer of the model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What it says.
    #[serde(default)]
    pub text: Option<String>,
    /// What it does.
    #[serde(default)]
    pub tools: Vec<Tool>,
    /// Why it stops; `tool_use` with tools, else `end_turn`.
    pub stop_reason: Option<String>,
    /// The output tokens it announces; a quarter of what it sends, in characters, if absent.
    pub output_tokens: Option<u64>,
}

/// What the model says and does in answer to a later prompt.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What such a prompt holds. Where several replies are to the same, the first one answers the first such prompt,
    /// and the last one all that are left.
    pub to: String,
    /// Its answers; every one but the last uses tools.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
}

/// How requests without tools are answered, each of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// With these words.
    pub text: String,
    /// What happens to them.
    pub fault: Option<FaultKind>,
    /// To how many of them, from the first on; to every one if absent.
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
    /// Writes a file.
    Write {
        /// Which.
        path: String,
        /// With what.
        content: String,
    },
    /// Replaces a text that occurs once in a file.
    Edit {
        /// Which file.
        path: String,
        /// What to replace.
        old: String,
        /// By what.
        new: String,
    },
    /// Reads a file.
    Read {
        /// Which.
        path: String,
    },
    /// Runs a shell command.
    Bash {
        /// Which.
        command: String,
        /// What succeeds once it has been run. The model looks first where the conversation shows that it may have
        /// been run already: it was called there before, or a prompt names it.
        #[serde(default)]
        unless: Option<String>,
        /// Whether the agent goes on before it has ended.
        #[serde(default)]
        run_in_background: bool,
    },
    /// Asks a person.
    AskUser {
        /// What.
        question: String,
        /// What it offers, by label: two to four.
        options: Vec<String>,
        /// Whether more than one may be chosen.
        #[serde(default)]
        multiple: bool,
    },
    /// Calls any other tool.
    Call {
        /// By the agent's name for it.
        name: String,
        /// With what.
        input: serde_json::Value,
    },
}

/// What the workspace must hold in the end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    /// The contents of every file, by path.
    pub files: BTreeMap<String, String>,
    /// The lines of `effects.log`, in any order: what each step of the work leaves once, however often it was begun.
    /// Without any, that file is one like the others.
    #[serde(default)]
    pub effects: Vec<String>,
}

/// Why a scenario could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// No embedded scenario has this name and no such file exists.
    #[error("find scenario {name}: no such scenario and no such file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Embedded ones whose names are like it.
        near: Vec<String>,
    },
    /// Its file could not be read.
    #[error("read scenario {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its file is not TOML of this format.
    #[error("parse scenario {name}: {source}")]
    Parse {
        /// The file or name.
        name: String,
        /// What TOML said, with line and column.
        source: Box<toml::de::Error>,
    },
    /// It says something that cannot be played.
    #[error("check scenario {name}: {problem}")]
    Invalid {
        /// The file or name.
        name: String,
        /// What, and what would be right.
        problem: String,
    },
}

impl ScenarioError {
    /// The name that was probably meant.
    pub fn did_you_mean(&self) -> Option<&str> {
        match self {
            ScenarioError::Unknown { near, .. } => near.first().map(String::as_str),
            ScenarioError::Read { .. } | ScenarioError::Parse { .. } | ScenarioError::Invalid { .. } => None,
        }
    }
}

impl Scenario {
    /// Reads a scenario from TOML; `name` is what errors call it.
    ///
    /// # Errors
    /// If it is not TOML of this format or cannot be played.
    pub fn parse(name: &str, toml: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(toml)
            .map_err(|source| ScenarioError::Parse { name: name.to_owned(), source: Box::new(source) })?;
        match scenario.problem() {
            None => Ok(scenario),
            Some(problem) => Err(ScenarioError::Invalid { name: name.to_owned(), problem }),
        }
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// If the file cannot be read, is over 1 MiB, is not TOML of this format or cannot be played.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let failed = |source| ScenarioError::Read { path: path.to_path_buf(), source };
        let bytes = fs::metadata(path).map_err(failed)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(failed(io::Error::other(format!("{bytes} bytes are more than {FILE_BYTES_MAX}"))));
        }
        let toml = fs::read_to_string(path).map_err(failed)?;
        Self::parse(&path.display().to_string(), &toml)
    }

    /// The files the workspace must hold in the end, if the scenario says so.
    #[must_use]
    pub fn expected_files(&self) -> Option<Files> {
        let workspace = self.workspace.as_ref()?;
        Some(workspace.files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect())
    }

    /// The lines of `effects.log` in the end.
    #[must_use]
    pub fn expected_effects(&self) -> &[String] {
        self.workspace.as_ref().map(|workspace| workspace.effects.as_slice()).unwrap_or_default()
    }

    /// Why it cannot be played, if it cannot.
    fn problem(&self) -> Option<String> {
        let replies = self.replies.iter().map(|reply| reply.turns.as_slice());
        let scripts = || replies.clone().chain([self.turns.as_slice()]);
        if let Some(problem) = scripts().find_map(problem_of) {
            return Some(problem);
        }
        if self.replies.iter().any(|reply| reply.to.trim().is_empty()) {
            return Some("a [[reply]] is to nothing".to_owned());
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
            if let Some(turn) = turns.iter().find(|turn| !(1..=count).contains(*turn)) {
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

/// Why these answers cannot be played, if they cannot.
fn problem_of(turns: &[Turn]) -> Option<String> {
    let Some((last, others)) = turns.split_last() else {
        return Some("it has no [[turn]]".to_owned());
    };
    if !last.tools.is_empty() {
        return Some("the last turn uses tools; it must be the final text".to_owned());
    }
    let idle = others.iter().position(|turn| turn.tools.is_empty())?;
    Some(format!("turn {} uses no tool, but is not the last", idle + 1))
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
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn default_model() -> String {
    "claude-sonnet-4-5".to_owned()
}
