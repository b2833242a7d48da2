//! Writes entries. Each entry replaces the stored one completely, in one transaction.

use super::entry::LedgerEntry;
use super::query::SPEND;
use super::{Ledger, LedgerError};
use crate::Home;
use longhaul_core::RunId;
use rusqlite::{Connection, OptionalExtension, Result, params};
use serde::Serialize;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Ledger {
    /// Writes the entry of a run, unless the ledger has a newer one.
    ///
    /// A failure leaves nothing of the entry.
    pub fn upsert(&mut self, entry: &LedgerEntry) -> Result<(), LedgerError> {
        self.upsert_all(std::slice::from_ref(entry))
    }

    pub(super) fn upsert_all(&mut self, entries: &[LedgerEntry]) -> Result<(), LedgerError> {
        let home = self.home.clone();
        self.transaction(|db| entries.iter().try_for_each(|entry| upsert(db, &home, entry)))
    }

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
        "INSERT OR REPLACE INTO attempts (run, number, session, entry) VALUES (?, ?, ?, ?)",
    )?;
    for attempt in &entry.attempts {
        insert_attempt.execute((run, attempt.number, attempt.session.as_str(), json(attempt)))?;
    }
    let mut insert_spend = db.prepare_cached(&format!(
        "INSERT INTO spend (quarter, run, model, {SPEND}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ))?;
    for ((quarter, model), usage) in &entry.spend {
        insert_spend.execute(params![
            *quarter,
            run,
            model,
            usage.cost.0,
            usage.estimated_cost.0,
            usage.unpriced,
            usage.tokens.input,
            usage.tokens.output,
            usage.tokens.cache_read,
            usage.tokens.cache_write,
            usage.truncated,
            usage.messages,
        ])?;
    }
    Ok(())
}

/// Writes the run itself and returns its row id, or `None` if the stored entry is newer and stays. A journal only grows,
/// but its time may be set back with the clock.
fn upsert_run(db: &Connection, home: &Home, entry: &LedgerEntry) -> Result<Option<i64>> {
    let mut statement = db.prepare_cached(
        "INSERT INTO runs (id, day, dir, state, journal_bytes, journal_modified, entry)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (id) DO UPDATE SET day = ?2, dir = ?3, state = ?4, journal_bytes = ?5, journal_modified = ?6,
             entry = ?7
         WHERE ?5 > journal_bytes OR ?6 >= journal_modified
         RETURNING run",
    )?;
    let run = &entry.run;
    let values = params![
        run.id.as_str(),
        run.day,
        stored_dir(home, &run.dir).as_os_str().as_bytes(),
        run.state.as_str(),
        run.journal.bytes,
        run.journal.modified,
        json(run),
    ];
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

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the keys of an entry are strings")
}
