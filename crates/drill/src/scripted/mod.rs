//! The scripted agent: a stand-in for Claude Code 2.1.330 that speaks its stream-json and control protocol, asks a
//! Messages API on loopback for its turns and really runs their tools. It starts in milliseconds and needs no install,
//! key or money. It has no mind of its own: it does what the API says.
//!
//! Its environment is the real agent's (`ANTHROPIC_BASE_URL`, `CLAUDE_CODE_MAX_RETRIES`, …) and, of its own,
//! [`TIME_SCALE`], [`SEED`], [`REPLAY`], [`REPLAY_EXIT`], [`FLOOD`] and [`INSTANT`].

mod agent;
mod callbacks;
mod control;
mod cost;
mod emit;
mod environment;
mod exchange;
mod failure;
mod flags;
mod history;
mod hooks;
pub(crate) mod http;
mod http_request;
mod inbox;
mod init;
mod mcp_servers;
mod message_builder;
mod model_request;
mod permissions;
mod questions;
mod replay;
mod result;
mod retry;
mod session_file;
mod shell;
mod start;
mod stdout;
mod tool_calls;
mod tools;

use longhaul_agent::claude::environment::VERSION_TESTED;

pub use replay::{FLOOD, INSTANT, REPLAY, REPLAY_EXIT};
pub use start::main;

/// Divides the agent's inner waits (retry delays, `retry-after`, timeouts): 20 makes a minute three seconds.
pub const TIME_SCALE: &str = "LONGHAUL_DRILL_TIME_SCALE";
/// Makes the agent's ids and jitter repeatable; without it they differ from run to run.
pub const SEED: &str = "LONGHAUL_DRILL_SEED";
/// The version it claims to be.
pub(crate) const VERSION: &str = VERSION_TESTED;
