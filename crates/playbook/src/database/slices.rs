//! Stores slices of transcripts and their state. Each step is one transaction.

use super::items::{Item, finish};
use super::{LearningDb, UNFINISHED, number};
use crate::judging::{Reflection, ReflectionResult};
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use strum::{EnumString, IntoStaticStr};

/// A part of a transcript that is judged at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub id: i64,
    pub part: ByteRange,
    pub state: SliceState,
    pub reflection: Option<Reflection>,
    pub operations: Option<Vec<Value>>,
}

/// The position of a slice in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub start: u64,
    pub end: u64,
    /// Number of times the file had been replaced.
    pub generation: u64,
    pub fingerprint: i64,
    /// Whether the slice was cut at the size limit, so that another follows.
    pub more: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceState {
    Started,
    Reflected,
    Curated,
    Finished(LearnResult),
}

/// The result of learning from a slice or from a whole transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LearnResult {
    /// The playbook is updated.
    Learned,
    /// It contained nothing to judge.
    Empty,
    /// Learning from it failed.
    Failed,
}

const COLUMNS: &str =
    "id, start_offset, end_offset, generation, fingerprint, more, state, reflection, operations";

impl LearningDb {
    pub(crate) fn unfinished_slice(&self, item: &Item) -> Result<Option<Slice>, DatabaseError> {
        let sql = format!("SELECT {COLUMNS} FROM slices WHERE queued = ? AND {UNFINISHED} ORDER BY id");
        self.database.query(|db| db.query_row(&sql, [item.id], slice).optional())
    }

    /// Returns the last slice of a transcript, for any judge and with any result.
    pub(crate) fn last_slice(&self, transcript: &Path) -> Result<Option<Slice>, DatabaseError> {
        self.database.query(|db| last_slice(db, transcript))
    }

    /// Starts a slice after `last`. Returns `None` if `last` is no longer the transcript's last slice.
    pub(crate) fn start_slice(
        &mut self,
        item: &Item,
        now: Moment,
        last: Option<&Slice>,
        part: ByteRange,
    ) -> Result<Option<Slice>, DatabaseError> {
        let Item { id, queued, .. } = item;
        self.database.change(|db| {
            let current = last_slice(db, &queued.transcript)?;
            if current.map(|slice| slice.id) != last.map(|slice| slice.id) {
                return Ok(None);
            }
            let sql = "INSERT INTO slices
                       (queued, project, transcript, start_offset, end_offset, generation, fingerprint, more, state, started_at)
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'started', ?)";
            db.execute(
                sql,
                params![
                    id,
                    queued.project.to_string_lossy(),
                    queued.transcript.to_string_lossy(),
                    part.start.cast_signed(),
                    part.end.cast_signed(),
                    part.generation.cast_signed(),
                    part.fingerprint,
                    part.more,
                    now.0.cast_signed(),
                ],
            )?;
            let id = db.last_insert_rowid();
            Ok(Some(Slice { id, part, state: SliceState::Started, reflection: None, operations: None }))
        })
    }

    /// Stores the reflector's answer. The rows that the reflector received are never judged again, because
    /// its answer covers them.
    pub(crate) fn store_reflection(
        &mut self,
        slice: &Slice,
        reflected: &ReflectionResult,
        rows: &BTreeSet<i64>,
    ) -> Result<(), DatabaseError> {
        let ReflectionResult { reflection, notes } = reflected;
        let reflection_json = serde_json::to_string(reflection).unwrap_or_default();
        let notes = (!notes.is_empty()).then(|| notes.join("; "));
        let sql = "UPDATE slices SET state = 'reflected', reflection = ?, reason = ? WHERE id = ?";
        self.database.change(|db| {
            db.execute(sql, params![reflection_json, notes, slice.id])?;
            let mut judged = db.prepare("INSERT OR IGNORE INTO judged (row) VALUES (?)")?;
            rows.iter().try_for_each(|row| judged.execute([row]).map(drop))
        })
    }

    pub(crate) fn store_operations(
        &mut self,
        slice: &Slice,
        operations: &[Value],
    ) -> Result<(), DatabaseError> {
        let operations_json = serde_json::to_string(operations).unwrap_or_default();
        let sql = "UPDATE slices SET state = 'curated', operations = ? WHERE id = ?";
        self.database.change(|db| db.execute(sql, params![operations_json, slice.id]).map(drop))
    }

    /// Finishes a slice, and also its item unless the transcript continues.
    pub(crate) fn finish_slice(
        &mut self,
        item: &Item,
        slice: &Slice,
        now: Moment,
        result: LearnResult,
        reason: &str,
    ) -> Result<(), DatabaseError> {
        self.database.change(|db| {
            // The notes of the reflection follow the reason.
            let sql = "UPDATE slices SET state = ?, reason = ? || coalesce('; ' || reason, ''), ended_at = ? WHERE id = ?";
            db.execute(sql, params![<&str>::from(result), reason, now.0.cast_signed(), slice.id])?;
            if result == LearnResult::Learned {
                // The answers are no longer needed and contain details of the session.
                db.execute("UPDATE judge_requests SET answer = NULL WHERE slice = ?", [slice.id])?;
                let sql = "UPDATE slices SET reflection = NULL, operations = NULL WHERE id = ?";
                db.execute(sql, [slice.id])?;
            }
            if result != LearnResult::Failed && slice.part.more {
                return Ok(());
            }
            finish(db, item.id, now, result, reason)
        })
    }

    /// Finishes an item whose slice was not judged. A later item of the transcript starts with the same bytes.
    pub(crate) fn discard_slice(
        &mut self,
        item: &Item,
        slice: &Slice,
        now: Moment,
        reason: &str,
    ) -> Result<(), DatabaseError> {
        self.database.change(|db| {
            db.execute("DELETE FROM slices WHERE id = ?", [slice.id])?;
            finish(db, item.id, now, LearnResult::Empty, reason)
        })
    }

    /// Finishes a slice whose bytes no longer exist because its file was replaced. The item continues with
    /// the new file.
    pub(crate) fn finish_replaced(&mut self, slice: &Slice, now: Moment) -> Result<(), DatabaseError> {
        let sql = "UPDATE slices SET state = 'empty', reason = ?, ended_at = ? WHERE id = ?";
        self.database.change(|db| {
            let reason = "its file was replaced before it was judged";
            db.execute(sql, params![reason, now.0.cast_signed(), slice.id]).map(drop)
        })
    }

    pub(crate) fn judged_rows(&self, rows: &BTreeSet<i64>) -> Result<BTreeSet<i64>, DatabaseError> {
        self.database.query(|db| {
            let mut query = db.prepare("SELECT 1 FROM judged WHERE row = ?")?;
            let judged = |row: &i64| query.exists([row]).map(|exists| exists.then_some(*row)).transpose();
            rows.iter().filter_map(judged).collect()
        })
    }
}

fn last_slice(db: &Connection, transcript: &Path) -> rusqlite::Result<Option<Slice>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM slices WHERE transcript = ? ORDER BY generation DESC, start_offset DESC LIMIT 1"
    );
    db.query_row(&sql, [transcript.to_string_lossy()], slice).optional()
}

fn slice(row: &Row<'_>) -> rusqlite::Result<Slice> {
    let state: String = row.get(6)?;
    Ok(Slice {
        id: row.get(0)?,
        part: ByteRange {
            start: number(row, 1)?,
            end: number(row, 2)?,
            generation: number(row, 3)?,
            fingerprint: row.get(4)?,
            more: row.get(5)?,
        },
        state: match state.as_str() {
            "started" => SliceState::Started,
            "reflected" => SliceState::Reflected,
            "curated" => SliceState::Curated,
            // A state from a later version cannot be continued here.
            result => SliceState::Finished(result.parse().unwrap_or(LearnResult::Failed)),
        },
        reflection: json(row.get(7)?),
        operations: json(row.get(8)?),
    })
}

/// Parses a judge's answer, or returns `None` if it is invalid. An error affects one slice only.
fn json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    text.and_then(|text| serde_json::from_str(&text).ok())
}
