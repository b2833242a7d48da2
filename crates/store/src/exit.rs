//! How one attempt's process ended: `attempts/NNN/exit.json`, written by the supervisor that saw
//! it. What the ending means is not said here: the core classifies it.

use crate::rfc3339;
use longhaul_core::{Exit, Moment, ProcessId};
use serde::{Deserialize, Serialize};

/// The ending of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptExit {
    /// How.
    pub exit: Exit,
    /// When it was seen.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub ended_at: Moment,
    /// Which process it was; nothing if it was never started.
    #[serde(default)]
    pub process: Option<ProcessId>,
    /// Whether there was evidence that the kernel or a limit of ours killed it for its memory.
    #[serde(default)]
    pub oom_killed: bool,
}
