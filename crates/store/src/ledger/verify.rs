//! Compares the ledger with the journals. It changes neither.

use super::entry::{LedgerEntry, LedgerSpend, Quarter};
use super::query::RunFilter;
use super::{Ledger, LedgerError};
use crate::RunDir;
use crate::find_run::{days_newest_first, unsorted_runs_of_day};
use longhaul_core::RunId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
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
        part: &'static str,
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
    ///
    /// # Errors
    /// Returns a [`LedgerError`] if the ledger or the home cannot be read.
    pub fn verify(&self, mut report: impl FnMut(Difference)) -> Result<u64, LedgerError> {
        let mut on_disk = BTreeSet::new();
        for day in days_newest_first(&self.home.runs_path())? {
            for dir in unsorted_runs_of_day(&day).filter(|dir| dir.plan_path().exists()) {
                on_disk.insert(dir.id().clone());
                self.compare(&dir, &mut report)?;
            }
        }
        let recorded = self.select(&RunFilter::default())?;
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
        for (part, ledger, journal) in parts(&recorded, &derived) {
            if ledger != journal {
                report(differ(DifferenceKind::Field { part, ledger, journal }));
            }
        }
        Ok(())
    }
}

/// Returns the compared parts, each with its name and both values.
fn parts(ledger: &LedgerEntry, journal: &LedgerEntry) -> Vec<(&'static str, String, String)> {
    let (one, other) = (&ledger.run, &journal.run);
    let mut parts = Vec::new();
    part(&mut parts, "state", &one.state, &other.state);
    part(&mut parts, "outcome", &one.outcome, &other.outcome);
    part(&mut parts, "fault", &one.fault, &other.fault);
    part(&mut parts, "directory", &(&one.day, &one.dir), &(&other.day, &other.dir));
    part(
        &mut parts,
        "task",
        &(&one.name, &one.task, &one.project),
        &(&other.name, &other.task, &other.project),
    );
    part(&mut parts, "agent", &(&one.agent, &one.model), &(&other.agent, &other.model));
    part(&mut parts, "start", &one.started_at, &other.started_at);
    part(
        &mut parts,
        "end",
        &(one.ended_at, one.until, one.retry_at),
        &(other.ended_at, other.until, other.retry_at),
    );
    part(
        &mut parts,
        "time",
        &(one.active, one.waiting, one.downtime),
        &(other.active, other.waiting, other.downtime),
    );
    part(&mut parts, "cost", &(one.cost, one.estimated_cost), &(other.cost, other.estimated_cost));
    part(&mut parts, "tokens", &(one.tokens, one.unpriced), &(other.tokens, other.unpriced));
    part(
        &mut parts,
        "number of attempts",
        &(one.attempts, one.reopen_count),
        &(other.attempts, other.reopen_count),
    );
    part(&mut parts, "error", &one.error, &other.error);
    part(&mut parts, "journal", &one.journal, &other.journal);
    if ledger.attempts != journal.attempts {
        part(&mut parts, "list of attempts", &ledger.attempts, &journal.attempts);
    }
    if ledger.spend != journal.spend {
        let entries = |spend: &BTreeMap<(Quarter, String), LedgerSpend>| {
            spend.iter().map(|(key, spend)| (key.clone(), *spend)).collect::<Vec<_>>()
        };
        part(&mut parts, "spending by model", &entries(&ledger.spend), &entries(&journal.spend));
    }
    parts
}

/// Adds a part with its values as JSON, which is short and exact and has no type names.
fn part(
    parts: &mut Vec<(&'static str, String, String)>,
    name: &'static str,
    one: &impl Serialize,
    other: &impl Serialize,
) {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_else(|error| error.to_string());
    parts.push((name, text(serde_json::to_string(one)), text(serde_json::to_string(other))));
}
