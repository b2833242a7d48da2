//! What a run's records tell a person: its attempts one by one, its course as a timeline, and what to type next.
//!
//! Everything in here is said by the journal, or by a file of the attempt that it belongs to. What neither says is left
//! out. Nothing decides, and only [`facts`] reads files.

mod attempts;
mod entry;
mod facts;
mod next;
mod timeline;

pub use attempts::{AttemptHistory, RecordAt, attempts_of};
pub use entry::{AttemptEnded, TimelineEntry, TimelineEvent, WorkDone};
pub use facts::{AttemptFiles, read_attempt_files, tool_calls_of};
pub use next::{NextStep, RunStatus, next};
pub use timeline::{ending, timeline};

#[cfg(test)]
mod tests;
