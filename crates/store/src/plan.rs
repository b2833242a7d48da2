//! Stores the plan of a run, fixed when the run is created: everything needed to run it. It names environment
//! variables without their values, and has no field for a secret.

use crate::{EnvNames, Harness, OsText, rfc3339};
use longhaul_core::{Moment, Policy, SessionPlan, Span, Usd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// `plan.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Version of Longhaul that wrote the file, so that another version can name it in an error.
    pub longhaul_version: String,
    /// When the run was created.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: Moment,
    /// The user's name for the run. Several runs may share a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user's request.
    pub prompt: PlanPrompt,
    /// Working directory of the agent. In the file, a directory inside the run's own directory is relative to
    /// it, because the run can move; every other path is absolute.
    pub cwd: OsText,
    /// Session that the run starts with.
    #[serde(default)]
    pub session: Option<SessionPlan>,
    /// Requested model. `None` for the user's own setting.
    #[serde(default)]
    pub model: Option<String>,
    /// Requested permission mode. `None` for the user's own setting.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// The agent.
    pub agent: PlanAgent,
    /// Arguments of the agent that are the same in every attempt, including the user's own. Those that differ
    /// between attempts (session, prompt) are in `attempts/NNN/argv.json`.
    pub argv: Vec<OsText>,
    /// Restrictions for the agent.
    #[serde(default, skip_serializing_if = "PlanGuards::is_empty")]
    pub guards: PlanGuards,
    /// Commands that check the work, in shell syntax.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Commands that receive notifications of the outcome and of long waits, in shell syntax.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Whether the agent gets a tool to claim that the work is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finish_tool: bool,
    /// Last line of an answer with which the agent claims that the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
    /// Prompt for the wrap-up. `None` for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_up_prompt: Option<String>,
    /// Hosts that the agent's commands may reach. `None` if the user's own settings decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
    /// How the run uses the playbook. `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learn: Option<PlanLearn>,
    /// Environment variables set for the agent, withheld from it, and needed by it.
    pub env: EnvNames,
    /// Harness that the run is started for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
    /// Limits and schedules, resolved.
    pub policy: Policy,
    /// Maximum length of a handoff prompt, in estimated tokens.
    #[serde(default = "handoff_tokens")]
    pub handoff_tokens: u64,
    /// Model that summarizes older work for a handoff prompt. `None` if there is no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_summary: Option<String>,
    /// Whether partial messages stay in the stream files after the run.
    #[serde(default)]
    pub keep_partial_messages: bool,
    /// Whether each noteworthy event writes a diagnostic file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diagnostic: bool,
    /// The user's price table as text, because its file may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// The user's table of side effects as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<String>,
    /// Origin of each setting: `stall_timeout` → `flag --stall-timeout`.
    #[serde(default)]
    pub origins: BTreeMap<String, String>,
    /// Random value of the run marker. It distinguishes this run's processes from those of another run with
    /// the same id; an import draws a new one. `None` in plans whose marker is the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Where the run came from. `None` if it was created here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportOrigin>,
    /// Usage of another harness that worked on the same task before this run. The limits of the policy are
    /// the amounts that remained then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inherited>,
}

/// How the sessions of a run receive key points of the playbook, and how a judge finds new ones in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanLearn {
    /// Judge of the sessions: `api` or `claude`.
    pub judge: String,
    /// Maximum length of the key points for a session, in estimated tokens. `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
}

/// The guards of a run, as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanGuards {
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
    /// Home directory for `~` in those paths. `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

impl PlanGuards {
    fn is_empty(&self) -> bool {
        *self == PlanGuards::default()
    }
}

/// Returns the default for plans of older versions.
fn handoff_tokens() -> u64 {
    12_000
}

/// The user's request. The text is stored even if it came from a file, which may have changed when the run is
/// recovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanPrompt {
    /// Text of the request.
    pub text: String,
    /// Absolute path of the file that the text came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<OsText>,
}

/// The origin of a run that was imported from another directory or machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportOrigin {
    /// Working directory of the agent before the import, absolute there.
    pub from_cwd: OsText,
    /// Time of the import.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
}

/// Usage of another harness's run when this run took over its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inherited {
    /// Absolute directory of the other run.
    pub from: OsText,
    /// Cost of the other run and of those before it.
    pub cost: Usd,
    /// Its active time, without waits.
    pub active: Span,
    /// Its total time, with waits.
    pub wall: Span,
}

/// The agent CLI of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAgent {
    /// Name of the agent in Longhaul: `claude` or `acp`.
    pub name: String,
    /// Program, as it is called.
    pub program: OsText,
    /// Arguments before all others, if the agent is part of a larger program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leading_args: Vec<String>,
    /// Version as the agent reports it, if known.
    #[serde(default)]
    pub version: Option<String>,
    /// Identity of the program's file when the run was created. `None` if it could not be inspected.
    #[serde(default)]
    pub binary: Option<Binary>,
}

/// The identity of a program's file, to detect an update during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Binary {
    /// Path of the file, with symbolic links resolved.
    pub path: OsText,
    /// Size in bytes.
    pub size: u64,
    /// Modification time.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub modified_at: Moment,
    /// SHA-256 of its content in hexadecimal, if it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Binary {
    /// Inspects a program's file without reading it.
    ///
    /// # Errors
    /// Returns the error of the system if the file cannot be inspected.
    pub fn new(program: &Path) -> io::Result<Binary> {
        let path = fs::canonicalize(program)?;
        let metadata = fs::metadata(&path)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Binary {
            path: path.into(),
            size: metadata.len(),
            modified_at: Moment(u64::try_from(modified.as_millis()).unwrap_or(u64::MAX)),
            sha256: None,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
