//! A loopback Messages API that answers as a scenario says and keeps its own account of what it billed.
//! It never calls a model, never leaves 127.0.0.1 and never sends a signal: it only says when the moment has come.

mod account;
mod answer;
mod conversation;
mod doorway;
mod faults;
mod plan;
mod play;
mod refusals;
mod server;
mod stage;
#[cfg(test)]
mod tests;

pub use account::{RequestLog, LoggedRequest, Billed, InjectedFault, RequestKind};
pub use server::{Api, ApiError, DUMMY_KEY, DUMMY_TOKEN, SignalPoint};
