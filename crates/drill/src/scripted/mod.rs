//! A stand-in for Claude Code 2.1.330: it speaks the stream-json and control protocols, requests turns from a
//! Messages API on loopback, and really runs their tools. It starts in milliseconds and needs no
//! installation, key or money. It never decides by itself: the API scripts every turn. With `--acp` it speaks
//! the Agent Client Protocol instead.
//!
//! It reads the real agent's environment variables (`ANTHROPIC_BASE_URL`, `CLAUDE_CODE_MAX_RETRIES`, …) and
//! additionally [`TIME_SCALE`], [`REPLAY`], [`REPLAY_EXIT`], [`FLOOD`] and [`INSTANT`].

mod acp;
mod agent;
mod ask_host;
mod callbacks;
mod cost;
mod emit;
mod environment;
mod exchange;
mod exchange_state;
mod failure;
mod flags;
mod history;
mod hooks;
pub(crate) mod http;
mod inbox;
mod init;
mod mcp_servers;
mod message_builder;
mod model_request;
mod permissions;
mod questions;
mod replay;
mod result;
mod session_file;
mod shell;
mod start;
mod stdout;
mod tool_calls;
mod tool_outcome;
mod tools;

use longhaul_agent::claude::environment::VERSION_TESTED;

pub use replay::{FLOOD, INSTANT, REPLAY, REPLAY_EXIT};
pub use start::main;
pub use stdout::acp::FAILURES as ACP_FAILURES;

/// Divides the agent's inner waits (retry delays, `retry-after`). With 20, a minute lasts three seconds.
pub const TIME_SCALE: &str = "LONGHAUL_DRILL_TIME_SCALE";
/// The version that the agent reports.
pub(crate) const VERSION: &str = VERSION_TESTED;
