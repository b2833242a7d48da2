//! Looking for runs.

use super::entry::{JournalPosition, LedgerAttempt, LedgerEntry, LedgerRun, LedgerSpend, Quarter, RunState};
use super::row::{self, Number, RUN, number, run, some_fault, some_number};
use super::{Ledger, LedgerError};
use crate::RunDir;
use longhaul_core::{Moment, OutcomeKind, RunId, SessionId, Span, Tokens, Usd};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};
use std::collections::BTreeMap;
use std::path::Path;

// As many as somebody looks at are looked at on the disk, too; a longer list is as the ledger has it.
const REFRESHED_MAX: usize = 1_000;

/// Which runs are meant: those of which all of this is true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// One of these states; empty for any.
    pub states: Vec<RunState>,
    /// One of these outcomes; empty for any, and for none.
    pub outcomes: Vec<OutcomeKind>,
    /// Begun at this moment or later.
    pub since: Option<Moment>,
    /// Begun, over, or to go on at this moment or later; or not over.
    pub active_since: Option<Moment>,
    /// Works in this directory or below.
    pub project: Option<String>,
    /// Carried out by this agent.
    pub agent: Option<String>,
    /// Has used a session whose id begins so.
    pub session: Option<String>,
    /// Has this name.
    pub name: Option<String>,
    /// Has this in its task or its name, in any case.
    pub text: Option<String>,
    /// So many at most, the newest.
    pub limit: Option<u64>,
}

impl Ledger {
    /// The runs that are meant, the newest first. Of those that somebody let go on after they had been over, and that
    /// the ledger has not heard of, it is told as it is.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn runs(&mut self, filter: &RunFilter) -> std::result::Result<Vec<LedgerRun>, LedgerError> {
        let runs = self.select(filter)?;
        let behind: Vec<RunDir> = runs.iter().take(REFRESHED_MAX).filter_map(behind).collect();
        if behind.is_empty() {
            return Ok(runs);
        }
        self.derive(behind)?;
        self.select(filter)
    }

    /// The runs that are meant, the newest first, as the ledger has them: no run directory is read.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn known_runs(&self, filter: &RunFilter) -> std::result::Result<Vec<LedgerRun>, LedgerError> {
        self.select(filter)
    }

    /// The runs whose ids begin so, and where they are; two are enough to know that it is not one.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn by_prefix(&self, id: &str, most: u64) -> std::result::Result<Vec<RunDir>, LedgerError> {
        // Behind all that begin so: no character is larger.
        let end = format!("{id}\u{10FFFF}");
        let runs = self.home.runs_path();
        self.query(|db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT {RUN} FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
            ))?;
            let found = statement.query_map((id, end, Number(most)), |row| Ok(run(&runs, row)?.run_dir()))?;
            found.collect()
        })
    }

    /// All that is known of a run; nothing if it is not known.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn entry(&self, id: &RunId) -> std::result::Result<Option<LedgerEntry>, LedgerError> {
        let runs = self.home.runs_path();
        self.query(|db| entry(db, &runs, id))
    }

    /// The runs that are meant, the newest first, as they were written.
    pub(super) fn select(&self, filter: &RunFilter) -> std::result::Result<Vec<LedgerRun>, LedgerError> {
        let runs = self.home.runs_path();
        self.query(|db| select(db, &runs, filter))
    }
}

/// The run's directory, if more was written to its journal than is known.
pub(super) fn behind(run: &LedgerRun) -> Option<RunDir> {
    let dir = run.run_dir();
    (JournalPosition::of_run(&dir, run.attempts) != run.journal).then_some(dir)
}

fn select(db: &Connection, runs: &Path, filter: &RunFilter) -> Result<Vec<LedgerRun>> {
    let (conditions, values) = conditions(filter);
    let query = format!("SELECT {RUN} FROM runs {conditions} ORDER BY began_at DESC, id LIMIT ?");
    let limit = filter.limit.map_or(Value::Integer(-1), |limit| Value::Integer(limit.cast_signed()));
    let mut statement = db.prepare(&query)?;
    let found =
        statement.query_map(params_from_iter(values.into_iter().chain([limit])), |row| run(runs, row))?;
    found.collect()
}

/// The part of a query behind `WHERE`, and what its question marks are.
pub(super) fn conditions(filter: &RunFilter) -> (String, Vec<Value>) {
    let RunFilter { states, outcomes, since, active_since, project, agent, session, name, text, limit: _ } =
        filter;
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    let mut among = |column: &str, words: Vec<&'static str>| {
        if !words.is_empty() {
            parts.push(format!("{column} IN ({})", vec!["?"; words.len()].join(", ")));
            values.extend(words.into_iter().map(|word| Value::Text(word.to_owned())));
        }
    };
    among("state", states.iter().map(|state| state.as_str()).collect());
    among("outcome", outcomes.iter().map(|outcome| outcome.as_str()).collect());
    // Said twice, so that the index of such runs can be used.
    if !states.is_empty() && !states.contains(&RunState::Finished) {
        parts.push("state <> 'over'".to_owned());
    }
    let mut must = |part: &str, value: Value, times: usize| {
        parts.push(part.to_owned());
        values.extend(vec![value; times]);
    };
    if let Some(since) = since {
        must("began_at >= ?", Value::Integer(since.0.cast_signed()), 1);
    }
    if let Some(since) = active_since {
        let part = "(began_at >= ? OR ended_at >= ? OR state <> 'over')";
        must(part, Value::Integer(since.0.cast_signed()), 2);
    }
    if let Some(project) = project {
        must(
            "(project = ? OR substr(project, 1, length(?) + 1) = ? || '/')",
            Value::Text(project.clone()),
            3,
        );
    }
    if let Some(agent) = agent {
        must("agent = ?", Value::Text(agent.clone()), 1);
    }
    if let Some(name) = name {
        must("name = ?", Value::Text(name.clone()), 1);
    }
    if let Some(session) = session {
        let part = "run IN (SELECT run FROM attempts WHERE session >= ? AND session < ? || char(1114111))";
        must(part, Value::Text(session.clone()), 2);
    }
    if let Some(text) = text {
        let part = "(instr(lower(task), lower(?)) OR instr(lower(coalesce(name, '')), lower(?)))";
        must(part, Value::Text(text.clone()), 2);
    }
    let all = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
    (all, values)
}

fn entry(db: &Connection, runs: &Path, id: &RunId) -> Result<Option<LedgerEntry>> {
    // Its parts are of one moment, whoever writes meanwhile.
    let _snapshot = db.unchecked_transaction()?;
    let mut statement = db.prepare_cached(&format!("SELECT {RUN}, run FROM runs WHERE id = ?"))?;
    let found = statement.query_row([id.as_str()], |row| Ok((run(runs, row)?, row.get::<_, i64>("run")?)));
    let Some((run, place)) = found.optional()? else { return Ok(None) };
    let mut attempts = db.prepare_cached(
        "SELECT number, session, began_at, ended_at, fault, waited, cost, cost_estimated
         FROM attempts WHERE run = ? ORDER BY number",
    )?;
    let attempts = attempts.query_map([place], attempt)?.collect::<Result<_>>()?;
    let mut spend = db.prepare_cached(
        "SELECT quarter, model, cost, cost_estimated, unpriced, input, output, cache_read, cache_write, cut, messages
         FROM spend WHERE run = ?",
    )?;
    let spend = spend.query_map([place], model_usage)?.collect::<Result<BTreeMap<_, _>>>()?;
    Ok(Some(LedgerEntry::from_stored(run, attempts, spend)))
}

fn attempt(row: &Row<'_>) -> Result<LedgerAttempt> {
    Ok(LedgerAttempt {
        number: row::count(row, 0)?,
        session: SessionId::from(row.get::<_, String>(1)?.as_str()),
        started_at: Moment(number(row, 2)?),
        ended_at: some_number(row, 3)?.map(Moment),
        fault: some_fault(row, 4)?,
        waited: Span(number(row, 5)?),
        cost: Usd(number(row, 6)?),
        estimated_cost: Usd(number(row, 7)?),
    })
}

fn model_usage(row: &Row<'_>) -> Result<((Quarter, String), LedgerSpend)> {
    Ok(((number(row, 0)?, row.get(1)?), spend(row, 2)?))
}

/// What was used, out of the columns from this one on.
pub(super) fn spend(row: &Row<'_>, from: usize) -> Result<LedgerSpend> {
    Ok(LedgerSpend {
        cost: Usd(number(row, from)?),
        estimated_cost: Usd(number(row, from + 1)?),
        unpriced: row.get(from + 2)?,
        tokens: Tokens {
            input: number(row, from + 3)?,
            output: number(row, from + 4)?,
            cache_read: number(row, from + 5)?,
            cache_write: number(row, from + 6)?,
        },
        truncated: number(row, from + 7)?,
        messages: number(row, from + 8)?,
    })
}
