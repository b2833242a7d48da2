//! What a run's records tell a person: its attempts one by one, its course as a timeline, and what to type next.
//!
//! Everything in here is said by the journal, or by a file of the attempt that it belongs to. What neither says is left
//! out. Nothing decides, and only [`facts`] reads files.

mod attempt_files;
mod attempts;
mod entry;
mod next_step;
mod timeline;

pub use attempt_files::{AttemptFiles, read_attempt_files, tool_calls_of};
pub use attempts::{AttemptHistory, RecordAt, attempts_of};
pub use entry::{AttemptEnded, TimelineEntry, TimelineEvent, WorkDone};
pub use next_step::{NextStep, RunStatus, next_step};
pub use timeline::{ending, timeline};

#[cfg(test)]
mod tests;
