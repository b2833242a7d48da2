//! Stores the learning queue, the results and their cost in one SQLite database. Each step is one
//! transaction, which is on disk before the next step starts.

mod items;
mod judge_requests;
mod open;
mod queue;
mod revisions;
mod slices;
mod status;

pub use items::{Item, NextItem};
pub use judge_requests::{JudgeCost, JudgeRequest};
pub use open::LearningDb;
pub use queue::{JudgeKind, Queued, QueuedEvent};
pub use revisions::{Revision, RevisionCause};
pub use slices::LearnResult;
pub(crate) use slices::{ByteRange, Slice, SliceState};
pub use status::{Lesson, PausedJudge, QueueEntry, QueueStatus, SliceInProgress};

use longhaul_core::Moment;
use rusqlite::Row;
use std::path::PathBuf;

/// Condition of slices whose judging was started but not finished.
const UNFINISHED: &str = "state IN ('started', 'reflected', 'curated')";

fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(i64::cast_unsigned)
}

fn moment(row: &Row<'_>, index: usize) -> rusqlite::Result<Moment> {
    number(row, index).map(Moment)
}

fn path(row: &Row<'_>, index: usize) -> rusqlite::Result<PathBuf> {
    row.get::<_, String>(index).map(PathBuf::from)
}

/// Reads the word of a judge. A judge that only a later version knows counts as `Api`.
fn judge(row: &Row<'_>, index: usize) -> rusqlite::Result<JudgeKind> {
    row.get::<_, String>(index).map(|word| word.parse().unwrap_or(JudgeKind::Api))
}
