//! What is to be learnt, what was, and what it cost. All of it is in one SQLite database, each step in one transaction that is
//! on disk before the next one is made.

mod open;
mod queue;

pub use open::{Learning, LearningError};
pub use queue::{Event, JudgeKind, Queued};
