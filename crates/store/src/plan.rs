//! What was asked for: everything needed to carry a run out again, fixed when it is created.
//! Environment variables are in it by name only; no secret has a field here.

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
    /// The version of longhaul that wrote this, so that another one can say who can read it.
    pub longhaul_version: String,
    /// When the run was created.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub started_at: Moment,
    /// What the user calls the run; several may have one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The request.
    pub prompt: PlanPrompt,
    /// Where the agent works. In the file, a directory in the run's own directory is relative to that, because the run
    /// can move; every other path is absolute.
    pub cwd: OsText,
    /// Which session the run begins with.
    #[serde(default)]
    pub session: Option<SessionPlan>,
    /// The model that was asked for; nothing for the user's own setting.
    #[serde(default)]
    pub model: Option<String>,
    /// The permission mode that was asked for; nothing for the user's own setting.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// Who works.
    pub agent: PlanAgent,
    /// The agent's arguments that are the same in every attempt, the user's own included. What
    /// differs from attempt to attempt (session, prompt) is in `attempts/NNN/argv.json`.
    pub argv: Vec<OsText>,
    /// What the agent may not do.
    #[serde(default, skip_serializing_if = "PlanGuards::is_empty")]
    pub guards: PlanGuards,
    /// The commands that judge the work, as a shell takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The commands that are told of its outcome and of long waits, as a shell takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Whether the agent is offered a tool by which it says that the work is finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finish_tool: bool,
    /// The last line by which it says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
    /// What the agent is told when it is to save its work; nothing for our words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_up_prompt: Option<String>,
    /// The hosts that its commands may reach; nothing where the user's own settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
    /// Whether its sessions are told what earlier ones taught and are learnt from, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learn: Option<PlanLearn>,
    /// The environment variables set for the agent and withheld from it, and those of its environment that it needs.
    pub env: EnvNames,
    /// The harness that the run is carried out for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
    /// Limits and schedules, resolved.
    pub policy: Policy,
    /// How long the seed of a fresh session may be, in estimated tokens.
    #[serde(default = "seed_tokens")]
    pub handoff_tokens: u64,
    /// The model that condenses older work for such a seed; nothing if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_summary: Option<String>,
    /// Whether partial messages stay in the stream files after the run.
    #[serde(default)]
    pub keep_partial_messages: bool,
    /// Whether each noteworthy event leaves a text of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diagnostic: bool,
    /// The user's own table of prices, as it was written: its file may have changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// The user's own table of effects, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<String>,
    /// Where each setting came from: `stall_timeout` → `flag --stall-timeout`.
    #[serde(default)]
    pub origins: BTreeMap<String, String>,
    /// What tells this run's processes from those of another run of its id, drawn for it alone, here and wherever it is
    /// brought. Nothing in plans of older versions: their processes are told by the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Where the run was before it was brought here; nothing if it was begun here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What was used for the same work before this run, by a harness of which it takes that work over. The limits of
    /// the policy are what that had left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inherited>,
}

/// How a run's sessions are told what earlier ones taught, and are learnt from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanLearn {
    /// Who judges them: `api` or `claude`.
    pub judge: String,
    /// How much a session is told at most, in estimated tokens; nothing for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
}

/// The guards of a run, as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanGuards {
    /// Patterns of tools; empty allows all.
    pub allow_tools: Vec<String>,
    /// Patterns of tools.
    pub deny_tools: Vec<String>,
    /// What the agent's questions are answered, by key; nothing if it may ask none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<BTreeMap<String, String>>,
    /// Patterns of URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_urls: Vec<String>,
    /// Paths, from the run's folder on where they are not absolute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub block_paths: Vec<String>,
    /// What `~` means in those; nothing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

impl PlanGuards {
    fn is_empty(&self) -> bool {
        *self == PlanGuards::default()
    }
}

/// What plans of older versions mean.
fn seed_tokens() -> u64 {
    12_000
}

/// The request in the user's words. The text is kept even if it came from a file, which may have
/// changed when the run is recovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanPrompt {
    /// The words.
    pub text: String,
    /// The file they came from, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<OsText>,
}

/// That a run was brought from another directory or machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// Where the agent worked before, absolute there.
    pub from_cwd: OsText,
    /// When it was brought here.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
}

/// What a run of another harness had used when this one took its work over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inherited {
    /// The directory of that run, absolute.
    pub from: OsText,
    /// What it cost, and those before it.
    pub cost: Usd,
    /// How long it had worked, without waits.
    pub active: Span,
    /// How long it had taken, with them.
    pub wall: Span,
}

/// The agent CLI that carries the run out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAgent {
    /// Its name here: `claude`.
    pub name: String,
    /// The program as it is called.
    pub program: OsText,
    /// Arguments that come before all others, where the agent is a part of a larger program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leading_args: Vec<String>,
    /// Its version in its own words, if known.
    #[serde(default)]
    pub version: Option<String>,
    /// Which file the program was when the run was created; nothing if it could not be looked at.
    #[serde(default)]
    pub binary: Option<Binary>,
}

/// The identity of a program's file, so that an update in mid-run can be noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Binary {
    /// The file, symbolic links resolved.
    pub path: OsText,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub modified_at: Moment,
    /// The SHA-256 of its content in hexadecimal, if somebody took the time to compute it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Binary {
    /// Looks at a program's file, without reading it.
    ///
    /// # Errors
    /// What the system says if the file cannot be looked at.
    pub fn new(program: &Path) -> io::Result<Binary> {
        let path = fs::canonicalize(program)?;
        let found = fs::metadata(&path)?;
        let modified = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Binary {
            path: path.into(),
            size: found.len(),
            modified_at: Moment(u64::try_from(modified.as_millis()).unwrap_or(u64::MAX)),
            sha256: None,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
