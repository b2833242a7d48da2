//! The history of a run: its attempts, waits, checks and outages, folded from its journal.
//!
//! [`Journal::load`](crate::files::Journal::load) reads the journal. This module never writes.

pub use longhaul_core::{
    AttemptHistory, CheckHistory, HistoryEvent, HistoryEventKind, OutageHistory, ReviewHistory, RunHistory,
    StopOrder, SummaryHistory, WaitHistory,
};
