//! Learns from past sessions: selects the sessions of a project that are worth judging and estimates the
//! cost.
//!
//! Selected sessions go through the same queue as new ones, so that nothing is judged twice. A small file in
//! the project records the progress.

mod estimate;
mod past_sessions;
mod plan;
mod settings;
mod state;

#[cfg(test)]
mod tests;

pub use estimate::{Estimate, Estimator};
pub use past_sessions::{PastSession, folder_sessions, project_sessions};
pub use plan::{BootstrapPlan, PlannedSession, SessionFilter, SkipReason, plan, result_of, spent_since};
pub use settings::BootstrapSettings;
pub use state::BootstrapState;
