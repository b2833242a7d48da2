//! Stores the learning queue, the results and their cost in one SQLite database. Each step is one
//! transaction, which is on disk before the next step starts.

mod items;
mod judge_requests;
mod open;
mod queue;
mod revisions;
mod slices;
mod status;

pub use items::{Item, JudgeBackoff, NextItem};
pub use judge_requests::JudgeRequest;
pub use open::LearningDb;
pub use queue::{JudgeKind, Queued, QueuedEvent};
pub(crate) use revisions::NewRevision;
pub use revisions::{Revision, RevisionCause};
pub use slices::{ByteRange, Slice, SliceState};
pub use status::{JudgeCost, Lesson, QueueEntry, QueueStatus, SliceInProgress};
