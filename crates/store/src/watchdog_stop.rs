//! Records that the watchdog stopped the agent of an orphaned run: `attempts/NNN/watchdog.json`, written by
//! the watchdog. The watchdog never writes the journal: the supervisor that recovers the run decides what the
//! stop means.

use longhaul_core::{Rfc3339, Span};
use serde::{Deserialize, Serialize};

/// A stop of the agent by the watchdog. No supervisor observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchdogStop {
    /// When the watchdog started to stop the agent.
    pub at: Rfc3339,
    /// How long the agent had been silent by then, in milliseconds without the machine's sleep.
    pub silent_ms: Span,
    /// Number of stopped processes. `None` if the watchdog died before they had exited.
    pub processes_stopped: Option<u32>,
}
