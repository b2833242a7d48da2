//! The ledger: an index of all runs in SQLite, for whoever looks for one, counts or sums. It is derived from the run
//! directories, decides nothing, and can be deleted at any time.
//!
//! Supervisors write down their own run as it goes on ([`Ledger::put`]). Whoever reads brings it up to date first
//! ([`Ledger::catch_up`]): runs that it does not know, runs that are gone, runs that were going on, and those for which
//! it could not be written. So nothing that a supervisor leaves undone is missing for long, and no supervisor ever
//! waits for the ledger, or fails for it.

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
