//! The ledger: an index of all runs in SQLite, for searching, counting and adding up. It is derived from the
//! run directories, decides nothing, and can be deleted at any time.
//!
//! Each supervisor writes the entry of its own run while it runs ([`Ledger::upsert`]). Readers first bring the
//! ledger up to date ([`Ledger::catch_up`]): they add missing runs, remove deleted ones, and update unfinished
//! runs and those whose entry could not be written. So an entry that a supervisor did not write is soon added,
//! and no supervisor ever waits for the ledger or fails because of it.

mod catch_up;
mod costs;
mod entry;
mod open;
mod place;
mod query;
mod row;
mod stale;
mod verify;
mod write;

pub use catch_up::CatchUpStats;
pub use costs::{CostBy, CostRow};
pub use entry::{
    JournalPosition, LedgerAttempt, LedgerEntry, LedgerRun, LedgerSpend, RunState, model_usage_of,
};
pub use open::{Ledger, LedgerError};
pub use query::RunFilter;
pub use verify::{Difference, DifferenceKind};

#[cfg(test)]
mod tests;
