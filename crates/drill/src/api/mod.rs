//! A loopback Messages API that answers from a scenario and logs what it billed. It never calls a model,
//! never leaves 127.0.0.1 and never sends a signal: it only announces signal points.

mod conversation;
mod error_responses;
mod faults;
mod listener;
mod request_log;
mod scripted_message;
mod send;
mod send_plan;
mod server;
mod state;
#[cfg(test)]
mod tests;

pub use request_log::{Billed, InjectedFault, LoggedRequest, RequestKind, RequestLog};
pub use server::Api;
pub use state::{DUMMY_KEY, DUMMY_TOKEN};
