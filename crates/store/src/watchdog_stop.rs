//! That an attempt's agent was ended because its supervisor had died and nobody had come back:
//! `attempts/NNN/orphaned.json`, written by the run's watchdog. The journal is not the watchdog's to
//! write: whoever recovers the run decides what the ending means.

use crate::rfc3339;
use longhaul_core::{Moment, Span};
use serde::{Deserialize, Serialize};

/// An ending that nobody saw but the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchdogStop {
    /// When the watchdog began to end it.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
    /// For how long nothing had been written by then, in milliseconds in which the machine was awake.
    pub silent_ms: Span,
    /// How many processes were ended; nothing if the watchdog did not live to see them gone.
    pub processes_stopped: Option<u32>,
}
