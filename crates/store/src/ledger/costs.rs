//! Sums up usage and cost in the ledger.

use super::entry::{LedgerSpend, Quarter};
use super::query::spend;
use super::{Ledger, LedgerError};
use longhaul_core::Moment;
use rusqlite::{Connection, Result};

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
    /// Id of the workflow; empty for runs that no workflow started.
    Workflow,
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
    pub fn costs(
        &self,
        by: CostBy,
        since: Option<Moment>,
    ) -> std::result::Result<Vec<CostRow<String>>, LedgerError> {
        self.query(|db| costs(db, by, first_quarter(since)))
    }

    /// Returns the usage of each quarter of an hour since `since`, oldest first. A caller that knows the time
    /// zone adds them up to days.
    pub fn costs_by_quarter(
        &self,
        since: Option<Moment>,
    ) -> std::result::Result<Vec<CostRow<Quarter>>, LedgerError> {
        self.query(|db| {
            let query = format!("SELECT quarter, {SUMS} FROM spend WHERE quarter >= ? GROUP BY quarter");
            let mut statement = db.prepare(&query)?;
            let rows = statement.query_map([first_quarter(since)], |row| {
                Ok(CostRow { key: row.get(0)?, spend: spend(row, 1)? })
            })?;
            rows.collect()
        })
    }
}

fn costs(db: &Connection, by: CostBy, since: i64) -> Result<Vec<CostRow<String>>> {
    let (key, from) = match by {
        CostBy::Model => ("model", "spend"),
        // The usage of each run is added up before its names are joined.
        CostBy::Project => ("runs.project", ""),
        CostBy::Run => ("runs.id", ""),
        CostBy::Agent => ("runs.agent", ""),
        CostBy::Workflow => ("runs.workflow", ""),
    };
    let from = if from.is_empty() {
        "(SELECT run, sum(cost) AS cost, sum(estimated_cost) AS estimated_cost, max(unpriced) AS unpriced,
             sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
             sum(cache_write) AS cache_write, sum(truncated) AS truncated, sum(messages) AS messages
          FROM spend WHERE quarter >= ?1 GROUP BY run) AS spent JOIN runs USING (run)"
    } else {
        "(SELECT * FROM spend WHERE quarter >= ?1) AS spent"
    };
    let sums = SUMS.replace('(', "(spent.");
    let query = format!(
        "SELECT {key}, {sums} FROM {from} GROUP BY {key} ORDER BY sum(spent.cost + spent.estimated_cost) DESC, {key}"
    );
    let mut statement = db.prepare(&query)?;
    let rows = statement.query_map([since], |row| Ok(CostRow { key: row.get(0)?, spend: spend(row, 1)? }))?;
    rows.collect()
}

/// Returns the quarter of an hour that contains `since`, or 0 without it.
fn first_quarter(since: Option<Moment>) -> i64 {
    since.map_or(0, |since| super::entry::quarter_of(since).cast_signed())
}
