//! Learning from the past: which of a project's sessions there is something to learn from, and about what that costs. What
//! is found is queued like everything else, so that nothing is judged twice; a small file in the project says how far it has
//! come.

mod estimate;
mod past_sessions;
mod plan;
mod settings;
mod state;

#[cfg(test)]
mod tests;

pub use estimate::{Estimate, Estimator};
pub use past_sessions::{PastSession, TranscriptSource, sessions};
pub use plan::{
    BootstrapPlan, PlannedSession, SessionFilter, SessionResult, SkipReason, plan, result_of, spent_since,
};
pub use settings::{BootstrapSettings, SettingError};
pub use state::{BootstrapState, StateError};
