//! Converts rows of the database. An unknown word of a closed list is reported as damage.

use super::entry::{JournalPosition, LedgerRun, RunState};
use longhaul_core::{Fault, Moment, OutcomeKind, RunId, Span, Usd};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Result, Row};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The columns of a run, in the order in which [`run`] reads them.
pub(super) const RUN: &str = "id, day, dir, name, agent, model, project, task, state, outcome, fault, until, \
     retry_at, started_at, ended_at, active, waiting, downtime, attempts, reopen_count, cost, estimated_cost, unpriced, \
     tokens, error, journal_bytes, journal_modified";

/// A number as SQLite stores it. Values above the largest SQLite integer are stored as that integer.
pub(super) struct Number(pub(super) u64);

impl ToSql for Number {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Number {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Number> {
        u64::try_from(value.as_i64()?).map(Number).map_err(|_| FromSqlError::InvalidType)
    }
}

impl From<Moment> for Number {
    fn from(moment: Moment) -> Number {
        Number(moment.0)
    }
}

impl From<Span> for Number {
    fn from(span: Span) -> Number {
        Number(span.0)
    }
}

impl From<Usd> for Number {
    fn from(money: Usd) -> Number {
        Number(money.0)
    }
}

/// A value of a closed list, stored as its wire word.
pub(super) struct Word<T>(pub(super) T);

impl FromSql for Word<RunState> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Word<RunState>> {
        find(RunState::ALL, value, RunState::as_str)
    }
}

impl FromSql for Word<OutcomeKind> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Word<OutcomeKind>> {
        find(OutcomeKind::ALL, value, OutcomeKind::as_str)
    }
}

impl FromSql for Word<Fault> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Word<Fault>> {
        find(Fault::ALL, value, Fault::as_str)
    }
}

fn find<T: Copy>(all: &[T], value: ValueRef<'_>, word: fn(T) -> &'static str) -> FromSqlResult<Word<T>> {
    let text = value.as_str()?;
    let value = all.iter().copied().find(|candidate| word(*candidate) == text);
    value.map(Word).ok_or(FromSqlError::InvalidType)
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    Ok(row.get::<_, Number>(column)?.0)
}

pub(super) fn optional_number(row: &Row<'_>, column: usize) -> Result<Option<u64>> {
    Ok(row.get::<_, Option<Number>>(column)?.map(|number| number.0))
}

/// Reads a count. A value out of range is damage.
pub(super) fn count(row: &Row<'_>, column: usize) -> Result<u32> {
    row.get(column)
}

pub(super) fn optional_fault(row: &Row<'_>, column: usize) -> Result<Option<Fault>> {
    Ok(row.get::<_, Option<Word<Fault>>>(column)?.map(|word| word.0))
}

/// Reads a run from the columns [`RUN`]. `runs` is the home's directory of runs.
pub(super) fn run(runs: &Path, row: &Row<'_>) -> Result<LedgerRun> {
    Ok(LedgerRun {
        id: RunId::from(row.get::<_, String>(0)?.as_str()),
        day: row.get(1)?,
        // Joining replaces the first path if the second is absolute.
        dir: runs.join(OsString::from_vec(row.get(2)?)),
        name: row.get(3)?,
        agent: row.get(4)?,
        model: row.get(5)?,
        project: row.get(6)?,
        task: row.get(7)?,
        state: row.get::<_, Word<RunState>>(8)?.0,
        outcome: row.get::<_, Option<Word<OutcomeKind>>>(9)?.map(|word| word.0),
        fault: optional_fault(row, 10)?,
        until: optional_number(row, 11)?.map(Moment),
        retry_at: optional_number(row, 12)?.map(Moment),
        started_at: Moment(number(row, 13)?),
        ended_at: optional_number(row, 14)?.map(Moment),
        active: optional_number(row, 15)?.map(Span),
        waiting: Span(number(row, 16)?),
        downtime: Span(number(row, 17)?),
        attempts: count(row, 18)?,
        reopen_count: count(row, 19)?,
        cost: Usd(number(row, 20)?),
        estimated_cost: Usd(number(row, 21)?),
        unpriced: row.get(22)?,
        tokens: number(row, 23)?,
        error: row.get(24)?,
        journal: JournalPosition { bytes: number(row, 25)?, modified: row.get(26)? },
    })
}
