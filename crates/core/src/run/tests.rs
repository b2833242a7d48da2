//! Traces of runs: each line has an event on the left, and the resulting records and actions on the right.
//! Actions start with `>`. `trace.rs` defines the language of the traces.

mod background;
mod cancels;
mod checks;
mod conversations;
mod endings;
mod failures;
mod journal;
mod keep_going;
mod limits;
mod presets;
mod processes;
mod recovery;
mod reopening;
mod resume_strategies;
mod reviews;
mod servers;
mod silences;
mod summaries;
mod trace;
