//! Comparing the ledger with the journals.

use super::entry::{LedgerEntry, LedgerSpend, Quarter};
use super::query::RunFilter;
use super::{Ledger, LedgerError};
use crate::RunDir;
use crate::find_run::{days_newest_first, runs_named_in};
use longhaul_core::RunId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Something that the ledger says otherwise than the journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of which run.
    pub run: RunId,
    /// What.
    pub kind: DifferenceKind,
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The ledger does not have the run.
    Missing,
    /// There is no such run.
    Gone,
    /// A part of it is different.
    Field {
        /// Which one.
        part: &'static str,
        /// What the ledger has.
        ledger: String,
        /// What the journal says.
        journal: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { run, kind: what } = self;
        match what {
            DifferenceKind::Missing => write!(out, "{run}: not in the ledger"),
            DifferenceKind::Gone => write!(out, "{run}: in the ledger, but there is no such run"),
            DifferenceKind::Field { part, ledger, journal } => {
                write!(out, "{run}: {part} is {ledger} in the ledger, and {journal} by its journal")
            }
        }
    }
}

impl Ledger {
    /// Compares each run with its journal, and tells how many there are. Changes nothing.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn verify(&self, mut tell: impl FnMut(Difference)) -> Result<u64, LedgerError> {
        let mut there = BTreeSet::new();
        for day in days_newest_first(&self.home.runs_path())? {
            for dir in runs_named_in(&day).filter(|dir| dir.plan_path().exists()) {
                there.insert(dir.id().clone());
                self.compare(&dir, &mut tell)?;
            }
        }
        let known = self.select(&RunFilter::default())?;
        for run in known.into_iter().filter(|run| !there.contains(&run.id) && !run.dir.exists()) {
            tell(Difference { run: run.id, kind: DifferenceKind::Gone });
        }
        Ok(there.len() as u64)
    }

    fn compare(&self, dir: &RunDir, tell: &mut impl FnMut(Difference)) -> Result<(), LedgerError> {
        let derived = LedgerEntry::read(dir);
        let differ = |what| Difference { run: dir.id().clone(), kind: what };
        let Some(known) = self.entry(dir.id())? else {
            tell(differ(DifferenceKind::Missing));
            return Ok(());
        };
        for (part, ledger, journal) in parts(&known, &derived) {
            if ledger != journal {
                tell(differ(DifferenceKind::Field { part, ledger, journal }));
            }
        }
        Ok(())
    }
}

/// What is compared, as it is told.
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
    part(&mut parts, "begin", &one.started_at, &other.started_at);
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
    part(&mut parts, "complaint", &one.error, &other.error);
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

/// Adds a part in the form of JSON: short, exact, and without names of types.
fn part(
    parts: &mut Vec<(&'static str, String, String)>,
    name: &'static str,
    one: &impl Serialize,
    other: &impl Serialize,
) {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_else(|error| error.to_string());
    parts.push((name, text(serde_json::to_string(one)), text(serde_json::to_string(other))));
}
