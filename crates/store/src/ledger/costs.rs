//! Adding up what was spent.

use super::entry::{LedgerSpend, Quarter};
use super::query::spend;
use super::row::number;
use super::{Ledger, LedgerError};
use longhaul_core::Moment;
use rusqlite::{Connection, Result};

/// By what the spending is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostBy {
    /// The model; empty where nobody said which one.
    Model,
    /// The directory that the run works in.
    Project,
    /// The run.
    Run,
    /// The agent.
    Agent,
}

/// What was spent on one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRow<K> {
    /// On what.
    pub key: K,
    /// What was used.
    pub spend: LedgerSpend,
}

const SUMS: &str = "sum(cost), sum(cost_estimated), max(unpriced), sum(input), sum(output), sum(cache_read), \
     sum(cache_write), sum(cut), sum(messages)";

impl Ledger {
    /// What was spent since then, the most expensive first.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn costs(
        &self,
        by: CostBy,
        since: Option<Moment>,
    ) -> std::result::Result<Vec<CostRow<String>>, LedgerError> {
        self.query(|db| costs(db, by, first_quarter(since)))
    }

    /// The same for each quarter of an hour in which something was spent, the first one first: whoever knows the time
    /// zone makes days of them.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn costs_by_quarter(
        &self,
        since: Option<Moment>,
    ) -> std::result::Result<Vec<CostRow<Quarter>>, LedgerError> {
        self.query(|db| {
            let query = format!("SELECT quarter, {SUMS} FROM spend WHERE quarter >= ? GROUP BY quarter");
            let mut statement = db.prepare(&query)?;
            let rows = statement.query_map([first_quarter(since)], |row| {
                Ok(CostRow { key: number(row, 0)?, spend: spend(row, 1)? })
            })?;
            rows.collect()
        })
    }
}

fn costs(db: &Connection, by: CostBy, since: i64) -> Result<Vec<CostRow<String>>> {
    let (key, from) = match by {
        CostBy::Model => ("model", "spend"),
        // What a run spent is added up before its names are looked for.
        CostBy::Project => ("runs.project", ""),
        CostBy::Run => ("runs.id", ""),
        CostBy::Agent => ("runs.agent", ""),
    };
    let from = if from.is_empty() {
        "(SELECT run, sum(cost) AS cost, sum(cost_estimated) AS cost_estimated, max(unpriced) AS unpriced,
             sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
             sum(cache_write) AS cache_write, sum(cut) AS cut, sum(messages) AS messages
          FROM spend WHERE quarter >= ?1 GROUP BY run) AS spent JOIN runs USING (run)"
    } else {
        "(SELECT * FROM spend WHERE quarter >= ?1) AS spent"
    };
    let sums = SUMS.replace('(', "(spent.");
    let query = format!(
        "SELECT {key}, {sums} FROM {from} GROUP BY {key} ORDER BY sum(spent.cost + spent.cost_estimated) DESC, {key}"
    );
    let mut statement = db.prepare(&query)?;
    let rows = statement.query_map([since], |row| Ok(CostRow { key: row.get(0)?, spend: spend(row, 1)? }))?;
    rows.collect()
}

/// The quarter of an hour in which that moment is.
fn first_quarter(since: Option<Moment>) -> i64 {
    since.map_or(0, |since| super::entry::quarter_of(since).cast_signed())
}
