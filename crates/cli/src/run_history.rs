//! Renders a run's history as data for people: its timeline and the next step.
//!
//! All data is from the history or from the files of an attempt. This module makes no decisions, and only
//! [`attempt_files`] reads files.

mod attempt_files;
mod entry;
mod next_step;
mod timeline;
pub mod timeline_text;

pub use attempt_files::{AttemptFiles, errors_of, live_usage, read_attempt_files, tool_calls_of};
pub use entry::{AttemptsEnded, TimelineEntry, TimelineEvent, WorkDone};
pub use next_step::{NextStep, RunStatus, next_step};
pub use timeline::{attempt_end, timeline};

#[cfg(test)]
mod tests;
