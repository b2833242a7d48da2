//! Speaks the Agent Client Protocol (ACP, version 1) instead of Claude Code's own protocol: the same agent,
//! turns and tools, with another input and output.
//!
//! Sessions are in a store of their own. The agent chooses their ids; `session/load` repeats the history as
//! updates, `session/resume` does not. With [`FAILURES`], the agent reports failed requests as one of the
//! measured agents does.

mod failures;
mod input;
mod output;
mod replay;

pub(super) use output::AcpOutput;

/// How the agent reports a request that failed for good: see [`failures::Shape`].
pub const FAILURES: &str = "LONGHAUL_SCRIPTED_ACP_FAILURES";
/// The store of the sessions, below the configuration directory.
const STORE: &str = "acp";
