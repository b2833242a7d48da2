//! Compares the ledger with the journals. It changes neither.

use super::entry::LedgerEntry;
use super::query::RunFilter;
use super::{Ledger, LedgerError};
use crate::RunDir;
use crate::find_run::{days_newest_first, unsorted_runs_of_day};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

impl Ledger {
    /// Compares each run with its journal, reports the differences as text and returns the number of runs. It
    /// changes neither the ledger nor a run.
    pub fn verify(&self, mut report: impl FnMut(String)) -> Result<u64, LedgerError> {
        let mut on_disk = BTreeSet::new();
        for day in days_newest_first(&self.home.runs_path())? {
            for dir in unsorted_runs_of_day(&day).filter(|dir| dir.plan_path().exists()) {
                on_disk.insert(dir.id().clone());
                self.compare(&dir, &mut report)?;
            }
        }
        let recorded = self.stored_runs(&RunFilter::default())?;
        for run in recorded.into_iter().filter(|run| !on_disk.contains(&run.id) && !run.dir.exists()) {
            report(format!("{}: in the ledger, but there is no such run", run.id));
        }
        Ok(on_disk.len() as u64)
    }

    fn compare(&self, dir: &RunDir, report: &mut impl FnMut(String)) -> Result<(), LedgerError> {
        let derived = LedgerEntry::read(dir);
        let run = dir.id();
        let Some(recorded) = self.entry(run)? else {
            report(format!("{run}: not in the ledger"));
            return Ok(());
        };
        for ((part, ledger), (_, journal)) in parts(&recorded).into_iter().zip(parts(&derived)) {
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
