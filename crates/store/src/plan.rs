//! Stores the plan of a run, fixed when the run is created: its description and the facts of its creation. It
//! names environment variables without their values, and has no field for a secret.

use crate::{EnvNames, OsText, WorkflowPosition};
use longhaul_core::{Moment, Rfc3339, RunSpec, Span, Usd};
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
    pub started_at: Rfc3339,
    /// Description of the run. Its session is set.
    #[serde(flatten)]
    pub spec: RunSpec,
    /// Identity of the agent's program when the run was created. `None` if it could not be inspected.
    #[serde(default)]
    pub binary: Option<Binary>,
    /// Environment variables set for the agent, withheld from it, and needed by it.
    pub env: EnvNames,
    /// Origin of each setting: `stall_timeout` → `flag --stall-timeout`.
    #[serde(default)]
    pub origins: BTreeMap<String, String>,
    /// Random value of the run marker. It distinguishes this run's processes from those of another run with
    /// the same id; an import draws a new one.
    pub marker: String,
    /// Where the run came from. `None` if it was created here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportOrigin>,
    /// Usage of another harness that worked on the same task before this run. The limits of the policy are
    /// the amounts that remained then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inherited>,
    /// Position in the workflow that started the run. `None` if no workflow did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowPosition>,
}

impl Plan {
    /// Creates the plan of a run that is created by this version, without any other fact.
    pub fn new(spec: RunSpec, started_at: Moment, marker: String) -> Plan {
        Plan {
            longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: started_at.into(),
            spec,
            binary: None,
            env: EnvNames::default(),
            origins: BTreeMap::new(),
            marker,
            imported: None,
            inherited: None,
            workflow: None,
        }
    }
}

/// The origin of a run that was imported from another directory or machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportOrigin {
    /// Working directory of the agent before the import, absolute there.
    pub from_cwd: OsText,
    /// Time of the import.
    pub at: Rfc3339,
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

/// The identity of a program's file, to detect an update during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Binary {
    /// Path of the file, with symbolic links resolved.
    pub path: OsText,
    /// Size in bytes.
    pub size: u64,
    /// Modification time.
    pub modified_at: Rfc3339,
    /// SHA-256 of its content in hexadecimal, if it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Binary {
    /// Inspects a program's file without reading it.
    pub fn new(program: &Path) -> io::Result<Binary> {
        let path = fs::canonicalize(program)?;
        let metadata = fs::metadata(&path)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Binary {
            path: path.into(),
            size: metadata.len(),
            modified_at: Moment(u64::try_from(modified.as_millis()).unwrap_or(u64::MAX)).into(),
            sha256: None,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
