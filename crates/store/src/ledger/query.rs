//! Queries the ledger for runs. A value that this version does not know is reported as damage.

use super::entry::{JournalPosition, LedgerEntry, LedgerRun, LedgerSpend, RunState};
use super::{Ledger, LedgerError};
use crate::RunDir;
use longhaul_core::{Moment, OutcomeKind, RunId, Tokens, Usd, rfc3339};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

// At most this many runs of a list are compared with their journals. The others are listed as stored.
const REFRESHED_MAX: usize = 1_000;

/// Conditions that a run must meet, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// In one of these states; empty for any.
    pub states: Vec<RunState>,
    /// With one of these outcomes; empty for any or none.
    pub outcomes: Vec<OutcomeKind>,
    /// Started at this moment or later.
    pub since: Option<Moment>,
    /// Started or ended at this moment or later, or unfinished.
    pub active_since: Option<Moment>,
    /// Works in this directory or below it.
    pub project: Option<String>,
    /// Uses this agent.
    pub agent: Option<String>,
    /// Used a session whose id starts with this text.
    pub session: Option<String>,
    /// Has this name.
    pub name: Option<String>,
    /// Contains this text in its task or its name, ignoring case.
    pub text: Option<String>,
    /// Maximum number of runs; the newest are returned.
    pub limit: Option<u64>,
}

impl Ledger {
    /// Returns the matching runs, newest first. Entries whose run has changed since, such as a finished run
    /// that was resumed, are updated first.
    pub fn runs(&mut self, filter: &RunFilter) -> std::result::Result<Vec<LedgerRun>, LedgerError> {
        let runs = self.stored_runs(filter)?;
        let outdated: Vec<RunDir> = runs.iter().take(REFRESHED_MAX).filter_map(outdated_dir).collect();
        if outdated.is_empty() {
            return Ok(runs);
        }
        self.derive(outdated)?;
        self.stored_runs(filter)
    }

    /// Returns the matching runs, newest first, as stored. Reads no run directory.
    pub fn stored_runs(&self, filter: &RunFilter) -> std::result::Result<Vec<LedgerRun>, LedgerError> {
        let runs = self.home.runs_path();
        self.query(|db| select(db, &runs, filter))
    }

    /// Returns the directories of at most `limit` runs whose ids start with `id`. With a limit of two, the
    /// caller sees whether `id` is ambiguous.
    pub fn by_prefix(&self, id: &str, limit: u64) -> std::result::Result<Vec<RunDir>, LedgerError> {
        // Greater than every id with this prefix: no character is larger.
        let end = format!("{id}\u{10FFFF}");
        let runs = self.home.runs_path();
        self.query(|db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT {RUN} FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
            ))?;
            let dirs = statement.query_map((id, end, limit), |row| Ok(run(&runs, row)?.run_dir()))?;
            dirs.collect()
        })
    }

    /// Returns the stored entry of a run, or `None` if there is none.
    pub fn entry(&self, id: &RunId) -> std::result::Result<Option<LedgerEntry>, LedgerError> {
        let runs = self.home.runs_path();
        self.query(|db| entry(db, &runs, id))
    }
}

/// Returns the run's directory if its journal differs from the stored position.
pub(super) fn outdated_dir(run: &LedgerRun) -> Option<RunDir> {
    let dir = run.run_dir();
    (JournalPosition::from_run_dir(&dir, run.attempts) != run.journal).then_some(dir)
}

fn select(db: &Connection, runs: &Path, filter: &RunFilter) -> Result<Vec<LedgerRun>> {
    let (conditions, values) = conditions(filter);
    let query = format!("SELECT {RUN} FROM runs {conditions} ORDER BY started_at DESC, id LIMIT ?");
    let limit = filter.limit.map_or(Value::Integer(-1), |limit| Value::Integer(limit.cast_signed()));
    let mut statement = db.prepare(&query)?;
    let rows =
        statement.query_map(params_from_iter(values.into_iter().chain([limit])), |row| run(runs, row))?;
    rows.collect()
}

pub(super) fn conditions(filter: &RunFilter) -> (String, Vec<Value>) {
    let RunFilter { states, outcomes, since, active_since, project, agent, session, name, text, limit: _ } =
        filter;
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    let mut one_of = |column: &str, words: Vec<&'static str>| {
        if !words.is_empty() {
            parts.push(format!("{column} IN ({})", vec!["?"; words.len()].join(", ")));
            values.extend(words.into_iter().map(|word| Value::Text(word.to_owned())));
        }
    };
    one_of("state", states.iter().map(|state| state.as_str()).collect());
    one_of("outcome", outcomes.iter().map(|outcome| outcome.as_str()).collect());
    // Redundant, so that the partial index of unfinished runs is used.
    if !states.is_empty() && !states.contains(&RunState::Finished) {
        parts.push("state <> 'finished'".to_owned());
    }
    let mut require = |part: &str, value: Value, times: usize| {
        parts.push(part.to_owned());
        values.extend(vec![value; times]);
    };
    if let Some(since) = since {
        require("started_at >= ?", Value::Text(rfc3339(*since)), 1);
    }
    if let Some(since) = active_since {
        let part = "(started_at >= ? OR ended_at >= ? OR state <> 'finished')";
        require(part, Value::Text(rfc3339(*since)), 2);
    }
    if let Some(project) = project {
        require(
            "(project = ? OR substr(project, 1, length(?) + 1) = ? || '/')",
            Value::Text(project.clone()),
            3,
        );
    }
    if let Some(agent) = agent {
        require("agent = ?", Value::Text(agent.clone()), 1);
    }
    if let Some(name) = name {
        require("name = ?", Value::Text(name.clone()), 1);
    }
    if let Some(session) = session {
        let part = "run IN (SELECT run FROM attempts WHERE session >= ? AND session < ? || char(1114111))";
        require(part, Value::Text(session.clone()), 2);
    }
    if let Some(text) = text {
        let part = "(instr(lower(task), lower(?)) OR instr(lower(coalesce(name, '')), lower(?)))";
        require(part, Value::Text(text.clone()), 2);
    }
    let clause = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
    (clause, values)
}

fn entry(db: &Connection, runs: &Path, id: &RunId) -> Result<Option<LedgerEntry>> {
    // One snapshot, so that concurrent writes do not mix into the entry.
    let _snapshot = db.unchecked_transaction()?;
    let mut statement = db.prepare_cached(&format!("SELECT {RUN}, run FROM runs WHERE id = ?"))?;
    let row = statement.query_row([id.as_str()], |row| Ok((run(runs, row)?, row.get::<_, i64>("run")?)));
    let Some((run, rowid)) = row.optional()? else { return Ok(None) };
    let mut attempts = db.prepare_cached("SELECT entry FROM attempts WHERE run = ? ORDER BY number")?;
    let attempts = attempts.query_map([rowid], |row| parsed(row, 0))?.collect::<Result<_>>()?;
    let mut spent = db.prepare_cached(&format!("SELECT quarter, model, {SPEND} FROM spend WHERE run = ?"))?;
    let spent = spent.query_map([rowid], |row| Ok(((row.get(0)?, row.get(1)?), spend(row, 2)?)))?;
    let spent = spent.collect::<Result<BTreeMap<_, _>>>()?;
    Ok(Some(LedgerEntry::from_stored(run, attempts, spent)))
}

/// The columns of usage, in the order in which [`spend`] reads them.
pub(super) const SPEND: &str =
    "cost, estimated_cost, unpriced, input, output, cache_read, cache_write, truncated, messages";

/// Reads usage from the columns [`SPEND`], starting at `from`.
pub(super) fn spend(row: &Row<'_>, from: usize) -> Result<LedgerSpend> {
    Ok(LedgerSpend {
        cost: Usd(row.get(from)?),
        estimated_cost: Usd(row.get(from + 1)?),
        unpriced: row.get(from + 2)?,
        tokens: Tokens {
            input: row.get(from + 3)?,
            output: row.get(from + 4)?,
            cache_read: row.get(from + 5)?,
            cache_write: row.get(from + 6)?,
        },
        truncated: row.get(from + 7)?,
        messages: row.get(from + 8)?,
    })
}

/// The columns of a run, in the order in which [`run`] reads them.
const RUN: &str = "entry, day, dir, state, journal_bytes, journal_modified";

impl FromSql for RunState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<RunState> {
        let word = value.as_str()?;
        let state = RunState::ALL.iter().copied().find(|state| state.as_str() == word);
        state.ok_or(FromSqlError::InvalidType)
    }
}

/// Reads a value from a column with JSON.
fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).map_err(|error| FromSqlError::Other(error.into()))?)
}

/// Reads a run from the columns [`RUN`]. `runs` is the home's directory of runs.
fn run(runs: &Path, row: &Row<'_>) -> Result<LedgerRun> {
    Ok(LedgerRun {
        day: row.get(1)?,
        // Joining replaces the first path if the second is absolute.
        dir: runs.join(OsString::from_vec(row.get(2)?)),
        state: row.get(3)?,
        journal: JournalPosition { bytes: row.get(4)?, modified: row.get(5)? },
        ..parsed(row, 0)?
    })
}
