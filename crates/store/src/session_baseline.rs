//! The file of an attempt's session, as it was when the attempt was started: what a later look at the
//! session is compared with.

use crate::OsText;
use longhaul_core::SessionId;
use serde::{Deserialize, Serialize};

/// `attempts/NNN/session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionBaseline {
    /// The session that the attempt was to write to.
    pub session: SessionId,
    /// Where the agent keeps it.
    pub file: OsText,
    /// The file whose history the session began with, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<OsText>,
    /// How long that history was, in bytes; 0 for a new session.
    pub bytes: u64,
    /// The agent's name for the last row of that history: another file of the same length is told by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_row: Option<String>,
    /// The message of that history which the session was to go on from, if that is not its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<String>,
    /// Whether the file was seen there: only then it can be missed.
    pub existed: bool,
}
