//! What is to be learnt, what was, and what it cost. All of it is in one SQLite database, each step in one transaction that is
//! on disk before the next one is made.

mod items;
mod judge_requests;
mod open;
mod queue;
mod revisions;
mod slices;
mod status;

pub use items::{Item, JudgeBackoff, NextItem};
pub use judge_requests::JudgeRequest;
pub use open::{LearningDb, LearningError};
pub use queue::{JudgeKind, Queued, QueuedEvent};
pub(crate) use revisions::NewRevision;
pub use revisions::{Revision, RevisionCause};
pub use slices::{ByteRange, Slice, SliceState};
pub use status::{JudgeCost, Lesson, QueueEntry, QueueStatus, SliceInProgress};
