//! Compares the ledger with the journals. It changes neither.

use super::entry::LedgerEntry;
use super::query::RunFilter;
use super::{Ledger, LedgerError};
use crate::RunDir;
use crate::find_run::{days_newest_first, unsorted_runs_of_day};
use longhaul_core::RunId;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// A difference between the ledger and the journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Id of the run.
    pub run: RunId,
    /// Kind of difference.
    pub kind: DifferenceKind,
}

/// The kind of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The run is not in the ledger.
    Missing,
    /// The run is in the ledger, but does not exist.
    Gone,
    /// A part of the entry differs.
    Field {
        /// Name of the part.
        part: String,
        /// Value in the ledger.
        ledger: String,
        /// Value derived from the journal.
        journal: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { run, kind } = self;
        match kind {
            DifferenceKind::Missing => write!(out, "{run}: not in the ledger"),
            DifferenceKind::Gone => write!(out, "{run}: in the ledger, but there is no such run"),
            DifferenceKind::Field { part, ledger, journal } => {
                write!(out, "{run}: {part} is {ledger} in the ledger, and {journal} in its journal")
            }
        }
    }
}

impl Ledger {
    /// Compares each run with its journal, reports the differences and returns the number of runs. It changes
    /// neither the ledger nor a run.
    pub fn verify(&self, mut report: impl FnMut(Difference)) -> Result<u64, LedgerError> {
        let mut on_disk = BTreeSet::new();
        for day in days_newest_first(&self.home.runs_path())? {
            for dir in unsorted_runs_of_day(&day).filter(|dir| dir.plan_path().exists()) {
                on_disk.insert(dir.id().clone());
                self.compare(&dir, &mut report)?;
            }
        }
        let recorded = self.stored_runs(&RunFilter::default())?;
        for run in recorded.into_iter().filter(|run| !on_disk.contains(&run.id) && !run.dir.exists()) {
            report(Difference { run: run.id, kind: DifferenceKind::Gone });
        }
        Ok(on_disk.len() as u64)
    }

    fn compare(&self, dir: &RunDir, report: &mut impl FnMut(Difference)) -> Result<(), LedgerError> {
        let derived = LedgerEntry::read(dir);
        let differ = |kind| Difference { run: dir.id().clone(), kind };
        let Some(recorded) = self.entry(dir.id())? else {
            report(differ(DifferenceKind::Missing));
            return Ok(());
        };
        for ((part, ledger), (_, journal)) in parts(&recorded).into_iter().zip(parts(&derived)) {
            if ledger != journal {
                let (ledger, journal) = (ledger.to_string(), journal.to_string());
                report(differ(DifferenceKind::Field { part, ledger, journal }));
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
