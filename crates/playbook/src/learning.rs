//! What is to be learnt, what was, and what it cost. All of it is in one SQLite database, each step in one transaction that is
//! on disk before the next one is made.

mod asked;
mod items;
mod open;
mod queue;
mod saves;
mod slices;
mod standing;

pub use asked::JudgeRequest;
pub use items::{Item, NextItem, JudgeBackoff};
pub use open::{LearningDb, LearningError};
pub use queue::{QueuedEvent, JudgeKind, Queued};
pub(crate) use saves::NewRevision;
pub use saves::{RevisionCause, Revision};
pub use slices::{ByteRange, Slice, SliceState};
pub use standing::{QueueEntry, SliceInProgress, Lesson, JudgeCost, QueueStatus};
