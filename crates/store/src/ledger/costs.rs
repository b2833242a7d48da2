//! Sums up usage and cost in the ledger.

use super::entry::{LedgerSpend, Quarter};
use super::query::{SPEND, spend};
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
            let sums = sums();
            let query = format!("SELECT quarter, {sums} FROM spend WHERE quarter >= ? GROUP BY quarter");
            let mut statement = db.prepare(&query)?;
            let rows = statement.query_map([first_quarter(since)], |row| {
                Ok(CostRow { key: row.get(0)?, spend: spend(row, 1)? })
            })?;
            rows.collect()
        })
    }
}

fn costs(db: &Connection, by: CostBy, since: i64) -> Result<Vec<CostRow<String>>> {
    let key = match by {
        CostBy::Model => "model",
        CostBy::Project => "runs.project",
        CostBy::Run => "runs.id",
        CostBy::Agent => "runs.agent",
        CostBy::Workflow => "runs.workflow",
    };
    let sums = sums();
    let from = if by == CostBy::Model {
        "spend WHERE quarter >= ?1".to_owned()
    } else {
        // The usage of each run is added up before its names are joined.
        let by_run = format!("SELECT run, {sums} FROM spend WHERE quarter >= ?1 GROUP BY run");
        format!("({by_run}) AS spend JOIN runs USING (run)")
    };
    let query = format!(
        "SELECT {key}, {sums} FROM {from} GROUP BY {key} ORDER BY sum(spend.cost + spend.estimated_cost) DESC, {key}"
    );
    let mut statement = db.prepare(&query)?;
    let rows = statement.query_map([since], |row| Ok(CostRow { key: row.get(0)?, spend: spend(row, 1)? }))?;
    rows.collect()
}

/// Returns SQL that adds up the columns [`SPEND`]. A sum of flags is true if one of them is.
fn sums() -> String {
    SPEND.split(", ").map(|column| format!("sum({column}) AS {column}")).collect::<Vec<_>>().join(", ")
}

/// Returns the quarter of an hour that contains `since`, or 0 without it.
fn first_quarter(since: Option<Moment>) -> i64 {
    since.map_or(0, |since| super::entry::quarter_of(since).cast_signed())
}
