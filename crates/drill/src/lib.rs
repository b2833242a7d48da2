//! A loopback Messages API with scripted faults, and a scripted agent that speaks Claude Code's protocol.
//!
//! One [`Scenario`] drives both: a small TOML file with the agent's turns, the faults of each turn, and the
//! expected outcome of a run. This crate never supervises an agent and never leaves 127.0.0.1.

mod announced_messages;
pub mod api;
mod clock;
pub mod price;
mod rng;
pub mod scenario;
pub mod scripted;
pub mod workspace;

pub use announced_messages::announced_message_ids;
pub use api::{Api, RequestLog};
pub use price::{Nanodollars, price};
pub use scenario::{Scenario, ScenarioError};
