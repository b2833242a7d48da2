//! Records how one attempt's process ended: `attempts/NNN/exit.json`, written by the supervisor that observed
//! it. The core classifies the exit; this module does not.

use crate::rfc3339;
use longhaul_core::{Exit, Moment, ProcessId};
use serde::{Deserialize, Serialize};

/// The end of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptExit {
    /// Exit status or signal.
    pub exit: Exit,
    /// When the exit was observed.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub ended_at: Moment,
    /// The process. `None` if it was never started.
    #[serde(default)]
    pub process: Option<ProcessId>,
    /// Whether there was evidence that the kernel or a memory limit of Longhaul killed it.
    #[serde(default)]
    pub oom_killed: bool,
}
