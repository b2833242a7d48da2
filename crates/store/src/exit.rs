//! Records how one attempt's process ended: `attempts/NNN/exit.json`, written by the supervisor that observed
//! it. The core classifies the exit; this module does not.

use longhaul_core::{Exit, ProcessId, Rfc3339};
use serde::{Deserialize, Serialize};

/// The end of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptExit {
    /// Exit status or signal.
    pub exit: Exit,
    /// When the exit was observed.
    pub ended_at: Rfc3339,
    /// The process. `None` if it was never started.
    #[serde(default)]
    pub process: Option<ProcessId>,
    /// Whether there was evidence that the kernel or a memory limit of Longhaul killed it.
    #[serde(default)]
    pub oom_killed: bool,
}
