//! Streams recorded from the real agent, decoded: alone, cut anywhere, damaged, compacted.
#![allow(clippy::disallowed_methods, reason = "tests read the recorded streams")]

mod chunking;
mod compaction;
mod damage;
mod deeds;
mod fixtures;
mod messages;
mod models;
mod snapshots;
mod spending;
