//! Sums up usage and cost in the ledger.

use super::entry::{LedgerSpend, Quarter, quarter_of};
use super::query::spend;
use super::row::number;
use super::{Ledger, LedgerError};
use longhaul_core::Moment;
use rusqlite::Row;

/// The key that usage is grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostBy {
    /// Model; empty if it is unknown.
    Model,
    /// Directory that the run works in.
    Project,
    /// Id of the run.
    Run,
    /// Name of the agent.
    Agent,
}

/// The usage of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRow<K> {
    /// The key.
    pub key: K,
    /// Its usage.
    pub spend: LedgerSpend,
}

const SUMS: &str = "sum(cost), sum(estimated_cost), max(unpriced), sum(input), sum(output), sum(cache_read), \
     sum(cache_write), sum(truncated), sum(messages)";

impl Ledger {
    /// Returns the usage since `since` by key, most expensive first.
    ///
    /// # Errors
    /// Returns a [`LedgerError`] if the ledger cannot be read.
    pub fn costs(&self, by: CostBy, since: Option<Moment>) -> Result<Vec<CostRow<String>>, LedgerError> {
        let (key, join) = match by {
            CostBy::Model => ("model", ""),
            CostBy::Project => ("project", "JOIN runs USING (run)"),
            CostBy::Run => ("id", "JOIN runs USING (run)"),
            CostBy::Agent => ("agent", "JOIN runs USING (run)"),
        };
        let order = "sum(cost + estimated_cost) DESC, 1";
        self.sums(&format!("{key}, {SUMS} FROM spend {join}"), order, since, |row| row.get(0))
    }

    /// Returns the usage of each quarter of an hour since `since`, oldest first. A caller that knows the time
    /// zone adds them up to days.
    ///
    /// # Errors
    /// Returns a [`LedgerError`] if the ledger cannot be read.
    pub fn costs_by_quarter(&self, since: Option<Moment>) -> Result<Vec<CostRow<Quarter>>, LedgerError> {
        self.sums(&format!("quarter, {SUMS} FROM spend"), "1", since, |row| number(row, 0))
    }

    fn sums<K>(
        &self,
        columns: &str,
        order: &str,
        since: Option<Moment>,
        key: fn(&Row<'_>) -> rusqlite::Result<K>,
    ) -> Result<Vec<CostRow<K>>, LedgerError> {
        let first = since.map_or(0, |since| quarter_of(since).cast_signed());
        let query = format!("SELECT {columns} WHERE quarter >= ? GROUP BY 1 ORDER BY {order}");
        self.query(|db| {
            let mut statement = db.prepare(&query)?;
            let rows =
                statement.query_map([first], |row| Ok(CostRow { key: key(row)?, spend: spend(row, 1)? }))?;
            rows.collect()
        })
    }
}
