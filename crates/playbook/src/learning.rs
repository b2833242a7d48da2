//! What is to be learnt, what was, and what it cost. All of it is in one SQLite database, each step in one transaction that is
//! on disk before the next one is made.

mod asked;
mod items;
mod open;
mod queue;
mod saves;
mod slices;
mod standing;

pub use asked::Asked;
pub use items::{Item, Next, Silent};
pub use open::{Learning, LearningError};
pub use queue::{Event, JudgeKind, Queued};
pub(crate) use saves::NewSave;
pub use saves::{Cause, Save};
pub use slices::{Part, Slice, SliceState};
pub use standing::{Entry, Judging, Lesson, Paid, Standing};
