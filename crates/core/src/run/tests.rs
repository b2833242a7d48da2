//! One-line traces of runs: what is told to the core on the left, what it writes down and orders on
//! the right. The language of the traces is in `trace.rs`.

mod background;
mod cancels;
mod checks;
mod condensing;
mod conversations;
mod endings;
mod failures;
mod journal;
mod keep_going;
mod ladder;
mod limits;
mod presets;
mod processes;
mod recovery;
mod reopening;
mod servers;
mod silences;
mod trace;
