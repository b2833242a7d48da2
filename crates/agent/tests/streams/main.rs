//! Decodes streams that were recorded from the real agent: unchanged, split, damaged and compacted.
#![allow(clippy::disallowed_methods, reason = "tests read the recorded streams")]

mod chunking;
mod compaction;
mod damage;
mod fixtures;
mod messages;
mod models;
mod side_effects;
mod snapshots;
mod usage;
