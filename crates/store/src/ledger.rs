//! The ledger: an index of all runs in SQLite, to search, count and sum them up. It is derived from the
//! run directories and can be deleted at any time. No decision depends on it.
//!
//! Each supervisor writes the entry of its own run while it runs ([`Ledger::upsert`]). Readers first bring
//! the ledger up to date ([`Ledger::catch_up`]): they add missing runs, remove deleted ones, and update
//! unfinished runs and those whose entry could not be written. So a reader soon adds an entry that a
//! supervisor did not write. A supervisor never fails because of the ledger.

mod catch_up;
mod costs;
mod entry;
mod open;
mod query;
mod stale;
mod verify;
mod write;

pub use catch_up::CatchUpStats;
pub use costs::{CostBy, CostRow};
pub use entry::{
    JournalPosition, LedgerAttempt, LedgerEntry, LedgerRun, LedgerSpend, QUARTER_MS, Quarter, RunState,
    spend_by_model,
};
pub use open::{Ledger, LedgerError};
pub use query::RunFilter;
pub use verify::VerifyStats;

#[cfg(test)]
mod tests;
