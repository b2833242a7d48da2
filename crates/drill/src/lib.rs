//! A loopback Messages API with scripted faults, and a scripted agent that speaks Claude Code's protocol.
//!
//! Both are driven by one [`Scenario`]: a small TOML file that says what the agent does, which faults strike on which
//! turn, and how a run over it must end. Nothing here supervises anything, and nothing here leaves 127.0.0.1.

mod announced_messages;
pub mod api;
mod clock;
pub mod price;
mod rng;
pub mod scenario;
pub mod scripted;
pub mod workspace;

pub use announced_messages::announced;
pub use api::{Api, ApiError, RequestLog, SignalPoint};
pub use price::{Nanodollars, Tokens, price};
pub use scenario::{Scenario, ScenarioError};
