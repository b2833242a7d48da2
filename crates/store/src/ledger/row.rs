//! Converts rows of the database. A value that this version does not know is reported as damage.

use super::entry::{JournalPosition, LedgerRun, RunState};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Result, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The columns of a run, in the order in which [`run`] reads them.
pub(super) const RUN: &str = "entry, day, dir, state, journal_bytes, journal_modified";

impl FromSql for RunState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<RunState> {
        let word = value.as_str()?;
        let state = RunState::ALL.iter().copied().find(|state| state.as_str() == word);
        state.ok_or(FromSqlError::InvalidType)
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the keys of an entry are strings")
}

/// Reads a value from a column that [`json`] wrote.
pub(super) fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).map_err(|error| FromSqlError::Other(error.into()))?)
}

/// Reads a run from the columns [`RUN`]. `runs` is the home's directory of runs.
pub(super) fn run(runs: &Path, row: &Row<'_>) -> Result<LedgerRun> {
    Ok(LedgerRun {
        day: row.get(1)?,
        // Joining replaces the first path if the second is absolute.
        dir: runs.join(OsString::from_vec(row.get(2)?)),
        state: row.get(3)?,
        journal: JournalPosition { bytes: row.get(4)?, modified: row.get(5)? },
        ..parsed(row, 0)?
    })
}
