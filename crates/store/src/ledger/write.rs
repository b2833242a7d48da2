//! Writing a run down. What is written replaces all that was known of it, in one transaction.

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
    /// Writes down what is known of a run, unless something newer is known.
    ///
    /// # Errors
    /// [`LedgerError`]; nothing of it is then written.
    pub fn upsert(&mut self, entry: &LedgerEntry) -> Result<(), LedgerError> {
        self.put_all(std::slice::from_ref(entry))
    }

    /// The same for several, in one transaction.
    pub(super) fn put_all(&mut self, entries: &[LedgerEntry]) -> Result<(), LedgerError> {
        let home = self.home.clone();
        self.transaction(|db| entries.iter().try_for_each(|entry| upsert(db, &home, entry)))
    }

    /// Forgets these runs.
    pub(super) fn remove(&mut self, ids: &[RunId]) -> Result<(), LedgerError> {
        self.transaction(|db| {
            for id in ids {
                let run = db.prepare_cached("DELETE FROM runs WHERE id = ? RETURNING run")?;
                let run: Option<i64> = { run }.query_row([id.as_str()], |row| row.get(0)).optional()?;
                run.map_or(Ok(()), |run| forget_parts(db, run))?;
            }
            Ok(())
        })
    }
}

fn upsert(db: &Connection, home: &Home, entry: &LedgerEntry) -> Result<()> {
    let Some(run) = put_run(db, home, entry)? else { return Ok(()) };
    forget_parts(db, run)?;
    let mut attempt = db.prepare_cached(
        "INSERT OR REPLACE INTO attempts (run, number, session, began_at, ended_at, fault, waited, cost, cost_estimated)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for one in &entry.attempts {
        attempt.execute(params![
            run,
            one.number,
            one.session.as_str(),
            Number::from(one.started_at),
            one.ended_at.map(Number::from),
            one.fault.map(Fault::word),
            Number::from(one.waited),
            Number::from(one.cost),
            Number::from(one.estimated_cost),
        ])?;
    }
    let mut spend = db.prepare_cached(
        "INSERT INTO spend (quarter, run, model, cost, cost_estimated, unpriced, input, output, cache_read,
             cache_write, cut, messages)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for ((quarter, model), spent) in &entry.spend {
        spend.execute(params![
            Number(*quarter),
            run,
            model,
            Number::from(spent.cost),
            Number::from(spent.estimated_cost),
            spent.unpriced,
            Number(spent.tokens.input),
            Number(spent.tokens.output),
            Number(spent.tokens.cache_read),
            Number(spent.tokens.cache_write),
            Number(spent.truncated),
            Number(spent.messages),
        ])?;
    }
    Ok(())
}

/// Writes the run itself and returns its number; nothing if what is known of it stays.
fn put_run(db: &Connection, home: &Home, entry: &LedgerEntry) -> Result<Option<i64>> {
    let mut statement = db.prepare_cached(
        "INSERT INTO runs (id, day, dir, name, agent, model, project, task, state, outcome, fault, until, retry_at,
             began_at, ended_at, active, waiting, downtime, attempts, reopened, cost, cost_estimated, unpriced, tokens,
             complaint, journal_bytes, journal_modified)
         VALUES (:id, :day, :dir, :name, :agent, :model, :project, :task, :state, :outcome, :fault, :until, :retry_at,
             :began_at, :ended_at, :active, :waiting, :downtime, :attempts, :reopened, :cost, :cost_estimated,
             :unpriced, :tokens, :complaint, :journal_bytes, :journal_modified)
         ON CONFLICT (id) DO UPDATE SET day = :day, dir = :dir, name = :name, agent = :agent, model = :model,
             project = :project, task = :task, state = :state, outcome = :outcome, fault = :fault, until = :until,
             retry_at = :retry_at, began_at = :began_at, ended_at = :ended_at, active = :active, waiting = :waiting,
             downtime = :downtime, attempts = :attempts, reopened = :reopened, cost = :cost,
             cost_estimated = :cost_estimated, unpriced = :unpriced, tokens = :tokens, complaint = :complaint,
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
        ":fault": run.fault.map(Fault::word),
        ":until": run.until.map(Number::from),
        ":retry_at": run.retry_at.map(Number::from),
        ":began_at": Number::from(run.started_at),
        ":ended_at": run.ended_at.map(Number::from),
        ":active": run.active.map(Number::from),
        ":waiting": Number::from(run.waiting),
        ":downtime": Number::from(run.downtime),
        ":attempts": run.attempts,
        ":reopened": run.reopen_count,
        ":cost": Number::from(run.cost),
        ":cost_estimated": Number::from(run.estimated_cost),
        ":unpriced": run.unpriced,
        ":tokens": Number(run.tokens),
        ":complaint": run.error,
        ":journal_bytes": Number(run.journal.bytes),
        ":journal_modified": run.journal.modified,
    };
    statement.query_row(values, |row| row.get(0)).optional()
}

/// The path of a run as the ledger stores it: without the part that changes when the home moves.
fn stored_dir<'a>(home: &Home, dir: &'a Path) -> &'a Path {
    let runs = home.runs_path();
    // A run that was named by its directory has a path without links.
    let real = || fs::canonicalize(&runs).ok();
    let below = dir.strip_prefix(&runs).ok();
    below.or_else(|| dir.strip_prefix(real()?).ok()).unwrap_or(dir)
}

fn forget_parts(db: &Connection, run: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM attempts WHERE run = ?")?.execute([run])?;
    db.prepare_cached("DELETE FROM spend WHERE run = ?")?.execute([run])?;
    Ok(())
}
