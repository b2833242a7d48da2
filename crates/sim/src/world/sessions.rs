//! The true state of the agent's sessions on disk, which the supervisor may not know.

use longhaul_core::SessionId;
use std::collections::BTreeMap;

pub(crate) type Sessions = BTreeMap<SessionId, Session>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    /// Whether it exceeds the model's context.
    pub full: bool,
    /// Whether the API rejects its content.
    pub rejected: bool,
    /// Whether its file is missing.
    pub lost: bool,
    /// Whether its file is not where the agent expects it.
    pub elsewhere: bool,
    /// Whether parts of its file are invalid.
    pub damaged: bool,
    /// Whether its file lacks the agent's last messages.
    pub stale: bool,
    pub has_content: bool,
}
