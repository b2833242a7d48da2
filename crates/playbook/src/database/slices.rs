//! Slices of transcripts, and how far each has come. Each step is one transaction.

use super::items::{Item, finish};
use super::{LearningDb, LearningError};
use crate::judging::{Reflection, ReflectionResult};
use longhaul_core::Moment;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A part of a transcript that is judged as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its number.
    pub id: i64,
    /// Where it is.
    pub part: ByteRange,
    /// How far it has come.
    pub state: SliceState,
    /// What the reflector said.
    pub reflection: Option<Reflection>,
    /// What the curator said.
    pub operations: Option<Vec<Value>>,
}

/// Where in a transcript a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Its first byte.
    pub begins: u64,
    /// The byte behind its last one.
    pub ends: u64,
    /// How often the file had been replaced.
    pub generation: u64,
    /// By which the file is known again.
    pub fingerprint: i64,
    /// Whether it ends only where it would have been too long.
    pub more: bool,
}

/// How far a slice has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceState {
    /// Where it is is known.
    Started,
    /// The reflector has answered.
    Reflected,
    /// The curator has answered.
    Curated,
    /// The playbook says it.
    Learned,
    /// Nothing in it was to be judged.
    Empty,
    /// Nothing came of it.
    Failed,
}

impl SliceState {
    /// Every state.
    pub const ALL: &'static [SliceState] = &[
        SliceState::Started,
        SliceState::Reflected,
        SliceState::Curated,
        SliceState::Learned,
        SliceState::Empty,
        SliceState::Failed,
    ];

    /// The word, as the database has it.
    pub fn as_str(self) -> &'static str {
        match self {
            SliceState::Started => "begun",
            SliceState::Reflected => "reflected",
            SliceState::Curated => "curated",
            SliceState::Learned => "learnt",
            SliceState::Empty => "empty",
            SliceState::Failed => "failed",
        }
    }
}

const COLUMNS: &str = "id, begins, ends, generation, fingerprint, more, state, reflection, operations";

impl LearningDb {
    /// The slice of this item that is not at its end.
    pub(crate) fn unfinished(&self, item: &Item) -> Result<Option<Slice>, LearningError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM slices WHERE queued = ? AND state IN ('begun', 'reflected', 'curated') ORDER BY id"
        );
        self.known(|db| db.query_row(&sql, [item.id], slice).optional())
    }

    /// The last slice of a transcript, whoever judged it and whatever came of it.
    pub(crate) fn last_slice(&self, transcript: &Path) -> Result<Option<Slice>, LearningError> {
        self.known(|db| last_slice(db, transcript))
    }

    /// Begins a slice behind this one, if it is still the last one of its transcript.
    pub(crate) fn begin(
        &mut self,
        item: &Item,
        now: Moment,
        (last, part): (Option<&Slice>, ByteRange),
    ) -> Result<Option<Slice>, LearningError> {
        let Item { id, queued, .. } = item;
        self.change(|db| {
            let found = last_slice(db, &queued.transcript)?;
            if found.map(|slice| slice.id) != last.map(|slice| slice.id) {
                return Ok(None);
            }
            let sql = "INSERT INTO slices
                       (queued, project, transcript, begins, ends, generation, fingerprint, more, state, begun_at)
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'begun', ?)";
            db.execute(
                sql,
                params![
                    id,
                    queued.project.to_string_lossy(),
                    queued.transcript.to_string_lossy(),
                    part.begins.cast_signed(),
                    part.ends.cast_signed(),
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

    /// The reflector has answered. The rows that it has seen are never judged again: what it said of them is kept.
    pub(crate) fn reflected(
        &mut self,
        slice: &Slice,
        reflected: &ReflectionResult,
        rows: &BTreeSet<i64>,
    ) -> Result<(), LearningError> {
        let ReflectionResult { reflection, notes } = reflected;
        let said = serde_json::to_string(reflection).unwrap_or_default();
        let notes = (!notes.is_empty()).then(|| notes.join("; "));
        let sql = "UPDATE slices SET state = 'reflected', reflection = ?, why = ? WHERE id = ?";
        self.change(|db| {
            db.execute(sql, params![said, notes, slice.id])?;
            let mut judged = db.prepare("INSERT OR IGNORE INTO judged (row) VALUES (?)")?;
            rows.iter().try_for_each(|row| judged.execute([row]).map(drop))
        })
    }

    /// The curator has answered.
    pub(crate) fn curated(&mut self, slice: &Slice, operations: &[Value]) -> Result<(), LearningError> {
        let said = serde_json::to_string(operations).unwrap_or_default();
        let sql = "UPDATE slices SET state = 'curated', operations = ? WHERE id = ?";
        self.change(|db| db.execute(sql, params![said, slice.id]).map(drop))
    }

    /// A slice is at its end, and with it the item, unless there is more of its transcript.
    pub(crate) fn end(
        &mut self,
        (item, slice): (&Item, &Slice),
        now: Moment,
        (state, why): (SliceState, &str),
    ) -> Result<(), LearningError> {
        self.change(|db| {
            // Behind it is what was noted when it was reflected on.
            let sql = "UPDATE slices SET state = ?, why = ? || coalesce('; ' || why, ''), ended_at = ? WHERE id = ?";
            db.execute(sql, params![state.as_str(), why, now.0.cast_signed(), slice.id])?;
            let ended = match state {
                SliceState::Learned | SliceState::Empty => Ok(why),
                SliceState::Failed | SliceState::Started | SliceState::Reflected | SliceState::Curated => {
                    Err(why)
                }
            };
            if state == SliceState::Learned {
                // What was said is no longer needed, and tells of the session.
                db.execute("UPDATE asked SET answer = NULL WHERE slice = ?", [slice.id])?;
                let sql = "UPDATE slices SET reflection = NULL, operations = NULL WHERE id = ?";
                db.execute(sql, [slice.id])?;
            }
            if ended.is_err() || !slice.part.more {
                finish(db, item.id, now, ended)?;
            }
            Ok(())
        })
    }

    /// A slice whose bytes are no longer there, because its file was replaced. The item goes on with what there is.
    pub(crate) fn replaced(&mut self, slice: &Slice, now: Moment) -> Result<(), LearningError> {
        let sql = "UPDATE slices SET state = 'empty', why = ?, ended_at = ? WHERE id = ?";
        self.change(|db| {
            let why = "its file was replaced before it was judged";
            db.execute(sql, params![why, now.0.cast_signed(), slice.id]).map(drop)
        })
    }

    /// Those of these rows that were judged.
    pub(crate) fn judged(&self, rows: &BTreeSet<i64>) -> Result<BTreeSet<i64>, LearningError> {
        self.known(|db| {
            let mut known = db.prepare("SELECT 1 FROM judged WHERE row = ?")?;
            let mut judged = BTreeSet::new();
            for row in rows {
                if known.exists([row])? {
                    judged.insert(*row);
                }
            }
            Ok(judged)
        })
    }
}

fn last_slice(db: &Connection, transcript: &Path) -> rusqlite::Result<Option<Slice>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM slices WHERE transcript = ? ORDER BY generation DESC, begins DESC LIMIT 1"
    );
    db.query_row(&sql, [transcript.to_string_lossy()], slice).optional()
}

fn slice(row: &Row<'_>) -> rusqlite::Result<Slice> {
    let number = |place| row.get::<_, i64>(place).map(i64::cast_unsigned);
    let word: String = row.get(6)?;
    Ok(Slice {
        id: row.get(0)?,
        part: ByteRange {
            begins: number(1)?,
            ends: number(2)?,
            generation: number(3)?,
            fingerprint: row.get(4)?,
            more: row.get(5)?,
        },
        // A later version's state is none that this one could go on from.
        state: SliceState::ALL
            .iter()
            .copied()
            .find(|state| state.as_str() == word)
            .unwrap_or(SliceState::Failed),
        reflection: json(row.get(7)?),
        operations: json(row.get(8)?),
    })
}

/// What a judge said, if it can be understood. If not, that is the matter of one slice: the others are whole.
fn json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    text.and_then(|text| serde_json::from_str(&text).ok())
}
