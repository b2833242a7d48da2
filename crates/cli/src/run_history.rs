//! Converts a run's journal to data for people: its attempts, its timeline, and the next step.
//!
//! All data is from the journal or from the files of an attempt. This module makes no decisions, and only
//! [`attempt_files`] reads files.

mod attempt_files;
mod attempts;
mod entry;
mod next_step;
mod timeline;

pub use attempt_files::{AttemptFiles, read_attempt_files, tool_calls_of};
pub use attempts::{AttemptHistory, RecordAt, attempts_of};
pub use entry::{AttemptsEnded, TimelineEntry, TimelineEvent, WorkDone};
pub use next_step::{NextStep, RunStatus, next_step};
pub use timeline::{attempt_end, timeline};

#[cfg(test)]
mod tests;
