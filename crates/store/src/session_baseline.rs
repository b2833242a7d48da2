//! The state of an attempt's session file when the attempt started, to compare with the file later.

use crate::OsText;
use longhaul_core::SessionId;
use serde::{Deserialize, Serialize};

/// `attempts/NNN/session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionBaseline {
    /// Session that the attempt writes to.
    pub session: SessionId,
    /// Path of the agent's session file.
    pub file: OsText,
    /// File with the history that the session starts with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<OsText>,
    /// Length of that history in bytes; 0 for a new session.
    pub bytes: u64,
    /// The agent's id of the last row of that history, to detect another file of the same length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_row: Option<String>,
    /// Message of that history to resume at, if that is not its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<String>,
    /// Whether the file existed. Only then can it be missing later.
    pub existed: bool,
}
