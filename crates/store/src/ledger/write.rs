//! Writes entries. Each entry replaces the stored one completely, in one transaction.

use super::entry::LedgerEntry;
use super::row::Number;
use super::{Ledger, LedgerError};
use crate::Home;
use longhaul_core::{Fault, OutcomeKind, RunId};
use rusqlite::{Connection, OptionalExtension, Result, named_params, params};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Ledger {
    /// Writes the entry of a run, unless the ledger has a newer one.
    ///
    /// # Errors
    /// Returns a [`LedgerError`] if the ledger cannot be written. Nothing of the entry is then written.
    pub fn upsert(&mut self, entry: &LedgerEntry) -> Result<(), LedgerError> {
        self.upsert_all(std::slice::from_ref(entry))
    }

    /// Writes several entries in one transaction.
    pub(super) fn upsert_all(&mut self, entries: &[LedgerEntry]) -> Result<(), LedgerError> {
        let home = self.home.clone();
        self.transaction(|db| entries.iter().try_for_each(|entry| upsert(db, &home, entry)))
    }

    /// Removes these runs from the ledger.
    pub(super) fn remove(&mut self, ids: &[RunId]) -> Result<(), LedgerError> {
        self.transaction(|db| {
            for id in ids {
                let run = db.prepare_cached("DELETE FROM runs WHERE id = ? RETURNING run")?;
                let run: Option<i64> = { run }.query_row([id.as_str()], |row| row.get(0)).optional()?;
                run.map_or(Ok(()), |run| delete_parts(db, run))?;
            }
            Ok(())
        })
    }
}

fn upsert(db: &Connection, home: &Home, entry: &LedgerEntry) -> Result<()> {
    let Some(run) = upsert_run(db, home, entry)? else { return Ok(()) };
    delete_parts(db, run)?;
    let mut insert_attempt = db.prepare_cached(
        "INSERT OR REPLACE INTO attempts (run, number, session, started_at, ended_at, fault, waited, cost, estimated_cost)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for attempt in &entry.attempts {
        insert_attempt.execute(params![
            run,
            attempt.number,
            attempt.session.as_str(),
            Number::from(attempt.started_at),
            attempt.ended_at.map(Number::from),
            attempt.fault.map(Fault::as_str),
            Number::from(attempt.waited),
            Number::from(attempt.cost),
            Number::from(attempt.estimated_cost),
        ])?;
    }
    let mut insert_spend = db.prepare_cached(
        "INSERT INTO spend (quarter, run, model, cost, estimated_cost, unpriced, input, output, cache_read,
             cache_write, truncated, messages)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for ((quarter, model), usage) in &entry.spend {
        insert_spend.execute(params![
            Number(*quarter),
            run,
            model,
            Number::from(usage.cost),
            Number::from(usage.estimated_cost),
            usage.unpriced,
            Number(usage.tokens.input),
            Number(usage.tokens.output),
            Number(usage.tokens.cache_read),
            Number(usage.tokens.cache_write),
            Number(usage.truncated),
            Number(usage.messages),
        ])?;
    }
    Ok(())
}

/// Writes the run itself and returns its row id, or `None` if the stored entry is newer and stays.
fn upsert_run(db: &Connection, home: &Home, entry: &LedgerEntry) -> Result<Option<i64>> {
    let mut statement = db.prepare_cached(
        "INSERT INTO runs (id, day, dir, name, agent, model, project, task, state, outcome, fault, until, retry_at,
             started_at, ended_at, active, waiting, downtime, attempts, reopen_count, cost, estimated_cost, unpriced, tokens,
             error, journal_bytes, journal_modified)
         VALUES (:id, :day, :dir, :name, :agent, :model, :project, :task, :state, :outcome, :fault, :until, :retry_at,
             :started_at, :ended_at, :active, :waiting, :downtime, :attempts, :reopen_count, :cost, :estimated_cost,
             :unpriced, :tokens, :error, :journal_bytes, :journal_modified)
         ON CONFLICT (id) DO UPDATE SET day = :day, dir = :dir, name = :name, agent = :agent, model = :model,
             project = :project, task = :task, state = :state, outcome = :outcome, fault = :fault, until = :until,
             retry_at = :retry_at, started_at = :started_at, ended_at = :ended_at, active = :active, waiting = :waiting,
             downtime = :downtime, attempts = :attempts, reopen_count = :reopen_count, cost = :cost,
             estimated_cost = :estimated_cost, unpriced = :unpriced, tokens = :tokens, error = :error,
             journal_bytes = :journal_bytes, journal_modified = :journal_modified
         WHERE :journal_modified >= journal_modified
         RETURNING run",
    )?;
    let run = &entry.run;
    let values = named_params! {
        ":id": run.id.as_str(),
        ":day": run.day,
        ":dir": stored_dir(home, &run.dir).as_os_str().as_bytes(),
        ":name": run.name,
        ":agent": run.agent,
        ":model": run.model,
        ":project": run.project,
        ":task": run.task,
        ":state": run.state.as_str(),
        ":outcome": run.outcome.map(OutcomeKind::as_str),
        ":fault": run.fault.map(Fault::as_str),
        ":until": run.until.map(Number::from),
        ":retry_at": run.retry_at.map(Number::from),
        ":started_at": Number::from(run.started_at),
        ":ended_at": run.ended_at.map(Number::from),
        ":active": run.active.map(Number::from),
        ":waiting": Number::from(run.waiting),
        ":downtime": Number::from(run.downtime),
        ":attempts": run.attempts,
        ":reopen_count": run.reopen_count,
        ":cost": Number::from(run.cost),
        ":estimated_cost": Number::from(run.estimated_cost),
        ":unpriced": run.unpriced,
        ":tokens": Number(run.tokens),
        ":error": run.error,
        ":journal_bytes": Number(run.journal.bytes),
        ":journal_modified": run.journal.modified,
    };
    statement.query_row(values, |row| row.get(0)).optional()
}

/// Returns the path of a run as the ledger stores it: relative to the home's directory of runs if it is
/// inside.
fn stored_dir<'a>(home: &Home, dir: &'a Path) -> &'a Path {
    let runs = home.runs_path();
    // A run that was found by its directory has a path without links.
    let real_runs = || fs::canonicalize(&runs).ok();
    let relative = dir.strip_prefix(&runs).ok();
    relative.or_else(|| dir.strip_prefix(real_runs()?).ok()).unwrap_or(dir)
}

fn delete_parts(db: &Connection, run: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM attempts WHERE run = ?")?.execute([run])?;
    db.prepare_cached("DELETE FROM spend WHERE run = ?")?.execute([run])?;
    Ok(())
}
