//! The rows of the [`Ledger`](crate::Ledger), and its errors.
//!
//! The ledger is an index: it can be deleted at any time, and no run depends on it.

pub use longhaul_store::{
    CatchUpStats, CostRow, DatabaseError, JournalPosition, LedgerAttempt, LedgerEntry, LedgerError,
    LedgerSpend, ModelUsage, Quarter, RunState, VerifyStats,
};
