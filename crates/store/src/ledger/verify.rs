//! Compares the ledger with the journals. It changes neither.

use super::entry::LedgerEntry;
use super::query::RunFilter;
use super::{Ledger, LedgerError};
use crate::Journal;
use crate::find_run::{days_newest_first, unsorted_runs_of_day};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The runs that a verification found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyStats {
    /// Number of compared runs.
    pub compared: u64,
    /// Number of unfinished runs with a supervisor. They are not compared, because they change all the time.
    pub supervised: u64,
}

impl Ledger {
    /// Compares each run with its journal and reports the differences as text. It changes neither the ledger nor a
    /// run.
    pub fn verify(&self, mut report: impl FnMut(String)) -> Result<VerifyStats, LedgerError> {
        let (mut on_disk, mut stats) = (BTreeSet::new(), VerifyStats::default());
        for day in days_newest_first(&self.home.runs_path())? {
            for dir in unsorted_runs_of_day(&day).filter(|dir| dir.plan_path().exists()) {
                on_disk.insert(dir.id().clone());
                let is_locked = Journal::is_locked(&dir.journal_path()).unwrap_or(false);
                let derived = LedgerEntry::read(&dir);
                if is_locked && derived.run.outcome.is_none() {
                    stats.supervised += 1;
                } else {
                    stats.compared += 1;
                    self.compare(&derived, &mut report)?;
                }
            }
        }
        let recorded = self.stored_runs(&RunFilter::default())?;
        for run in recorded.into_iter().filter(|run| !on_disk.contains(&run.id) && !run.dir.exists()) {
            report(format!("{}: in the ledger, but there is no such run", run.id));
        }
        let orphaned: u64 = self.query(|db| {
            let count = "SELECT count(*) FROM spend WHERE run NOT IN (SELECT run FROM runs)";
            db.query_row(count, [], |row| row.get(0))
        })?;
        if orphaned > 0 {
            report(format!("the ledger has spending of no run ({orphaned} rows)"));
        }
        Ok(stats)
    }

    fn compare(&self, derived: &LedgerEntry, report: &mut impl FnMut(String)) -> Result<(), LedgerError> {
        let run = &derived.run.id;
        let Some(recorded) = self.entry(run)? else {
            report(format!("{run}: not in the ledger"));
            return Ok(());
        };
        for ((part, ledger), (_, journal)) in parts(&recorded).into_iter().zip(parts(derived)) {
            if ledger != journal {
                report(format!("{run}: {part} is {ledger} in the ledger, and {journal} in its journal"));
            }
        }
        Ok(())
    }
}

/// Returns the compared parts of an entry by name. Their values are JSON, which is short and exact and has no
/// type names.
fn parts(entry: &LedgerEntry) -> Map<String, Value> {
    let LedgerEntry { run, attempts, spend, .. } = entry;
    let spend: Vec<_> = spend.iter().collect();
    let other = json!({
        "state": run.state.as_str(),
        "directory": [run.day, run.dir.display().to_string()],
        "journal": run.journal,
        "list of attempts": attempts,
        "spending by model": spend,
    });
    let mut parts = Map::new();
    for value in [json!(run), other] {
        let Value::Object(fields) = value else { continue };
        parts.extend(fields);
    }
    parts
}
