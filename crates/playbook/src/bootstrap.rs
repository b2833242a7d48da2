//! Learning from the past: which of a project's sessions there is something to learn from, and about what that costs. What
//! is found is queued like everything else, so that nothing is judged twice; a small file in the project says how far it has
//! come.

mod estimate;
mod past;
mod plan;
mod settings;
mod state;

#[cfg(test)]
mod tests;

pub use estimate::{Estimate, Estimator};
pub use past::{PastSession, TranscriptSource, sessions};
pub use plan::{SessionResult, SkipReason, BootstrapPlan, PlannedSession, SessionFilter, result_of, plan, spent_since};
pub use settings::{BootstrapSettings, SettingError};
pub use state::{BootstrapState, StateError};
