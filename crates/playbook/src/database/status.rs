//! Reports the state of learning to the user: waiting and failed items, slices in progress, lessons and cost.

use super::items::JudgeBackoff;
use super::queue::JudgeKind;
use super::{LearningDb, SliceState};
use longhaul_core::{Moment, Tokens, Usd};
use longhaul_store::DatabaseError;
use rusqlite::{Connection, Row, params};
use std::path::PathBuf;

/// The state of learning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStatus {
    /// Queued items, oldest first.
    pub waiting: Vec<QueueEntry>,
    /// Failed items, oldest first.
    pub failed: Vec<QueueEntry>,
    /// Number of finished items.
    pub done: u64,
    /// Slices that are being judged, or were when their worker died.
    pub in_progress: Vec<SliceInProgress>,
    /// Latest lessons, newest first.
    pub lessons: Vec<Lesson>,
    /// Number of learned slices.
    pub learned: u64,
    /// Judges in backoff, each with its API.
    pub paused_judges: Vec<(JudgeKind, String, JudgeBackoff)>,
}

/// An item that is or was queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Row id.
    pub id: i64,
    /// When it was queued.
    pub at: Moment,
    /// Directory of the playbook's project.
    pub project: PathBuf,
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// Word of the event.
    pub event: String,
    /// Word of the judge.
    pub judge: String,
    /// API that the transcript may be sent to.
    pub destination: String,
    /// Number of failed attempts.
    pub tries: u32,
    /// When it is due again.
    pub not_before: Moment,
    /// Result of the last attempt.
    pub reason: Option<String>,
}

/// A slice that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceInProgress {
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// State: `started`, `reflected` or `curated`.
    pub state: String,
    /// When it was started.
    pub since: Moment,
}

/// A slice that was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// Directory of the playbook's project.
    pub project: PathBuf,
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// When it was learned.
    pub at: Moment,
    /// Result of learning.
    pub description: String,
}

/// A billed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeCost {
    /// When it arrived.
    pub at: Moment,
    /// Project of the question.
    pub project: String,
    /// Model that answered.
    pub model: String,
    /// Tokens used.
    pub tokens: Tokens,
    /// Cost by the price table, or `None` if the model has no price.
    pub cost: Option<Usd>,
}

impl LearningDb {
    /// Returns the state of learning, with at most `lessons_max` lessons.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn status(&self, lessons_max: u32) -> Result<QueueStatus, DatabaseError> {
        self.database.query(|db| {
            Ok(QueueStatus {
                waiting: entries(db, "waiting")?,
                failed: entries(db, "failed")?,
                done: count(db, "SELECT count(*) FROM queue WHERE state = 'done'")?,
                in_progress: rows(
                    db,
                    "SELECT transcript, start_offset, end_offset, state, started_at FROM slices
                     WHERE state IN ('started', 'reflected', 'curated') ORDER BY id LIMIT ?",
                    i64::MAX,
                    |row| {
                        Ok(SliceInProgress {
                            transcript: path(row, 0)?,
                            start: number(row, 1)?,
                            end: number(row, 2)?,
                            state: row.get(3)?,
                            since: Moment(number(row, 4)?),
                        })
                    },
                )?,
                lessons: rows(
                    db,
                    "SELECT project, transcript, ended_at, coalesce(reason, '') FROM slices
                     WHERE state = 'learned' ORDER BY ended_at DESC, id DESC LIMIT ?",
                    i64::from(lessons_max),
                    |row| {
                        Ok(Lesson {
                            project: path(row, 0)?,
                            transcript: path(row, 1)?,
                            at: Moment(number(row, 2)?),
                            description: row.get(3)?,
                        })
                    },
                )?,
                learned: {
                    let learned = SliceState::Learned.as_str();
                    count(db, &format!("SELECT count(*) FROM slices WHERE state = '{learned}'"))?
                },
                paused_judges: rows(
                    db,
                    "SELECT judge, destination, failures, not_before, needs_person, reason FROM judge_backoff LIMIT ?",
                    i64::MAX,
                    |row| {
                        let backoff = JudgeBackoff {
                            failures: row.get(2)?,
                            not_before: Moment(number(row, 3)?),
                            needs_person: row.get(4)?,
                            reason: row.get(5)?,
                        };
                        let judge = JudgeKind::parse(&row.get::<_, String>(0)?).unwrap_or(JudgeKind::Api);
                        Ok((judge, row.get(1)?, backoff))
                    },
                )?,
            })
        })
    }

    /// Returns every billed answer since this moment. Answers from Claude Code are excluded, because their
    /// runs count them.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn judge_costs(&self, since: Moment) -> Result<Vec<JudgeCost>, DatabaseError> {
        let sql =
            "SELECT at, project, model, input, output, cache_read, cache_write, cost FROM judge_requests
                   WHERE at >= ? AND fault IS NULL AND judge = 'api' ORDER BY at, id";
        self.database.query(|db| {
            rows(db, sql, i64::try_from(since.0).unwrap_or(i64::MAX), |row| {
                Ok(JudgeCost {
                    at: Moment(number(row, 0)?),
                    project: row.get(1)?,
                    model: row.get(2)?,
                    tokens: Tokens {
                        input: number(row, 3)?,
                        output: number(row, 4)?,
                        cache_read: number(row, 5)?,
                        cache_write: number(row, 6)?,
                    },
                    cost: row.get::<_, Option<i64>>(7)?.map(|cost| Usd(cost.cast_unsigned())),
                })
            })
        })
    }

    /// Returns whether an unfinished or failed item needs a transcript of this name, in any directory.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn is_needed(&self, name: &str) -> Result<bool, DatabaseError> {
        let sql = "SELECT 1 FROM queue WHERE substr(transcript, -length(?1)) = ?1 AND state <> 'done'";
        self.database.query(|db| db.prepare(sql)?.exists([format!("/{name}")]))
    }

    /// Deletes items that were done before this moment, except those that prevent judging twice. Returns the
    /// number of items.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be written.
    pub fn delete_done(&mut self, before: Moment) -> Result<usize, DatabaseError> {
        self.database.change(|db| {
            // Slices record how much of each transcript was judged, and they refer to their item.
            let sql = "DELETE FROM queue WHERE state = 'done' AND ended_at < ?
                       AND NOT EXISTS (SELECT 1 FROM slices WHERE queued = queue.id)";
            db.execute(sql, [i64::try_from(before.0).unwrap_or(i64::MAX)])
        })
    }
}

fn entries(db: &Connection, state: &str) -> rusqlite::Result<Vec<QueueEntry>> {
    let sql =
        "SELECT id, at, project, transcript, event, judge, destination, tries, not_before, last_result FROM queue
               WHERE state = ? ORDER BY id";
    let mut statement = db.prepare(sql)?;
    let entries = statement.query_map(params![state], |row| {
        Ok(QueueEntry {
            id: row.get(0)?,
            at: Moment(number(row, 1)?),
            project: path(row, 2)?,
            transcript: path(row, 3)?,
            event: row.get(4)?,
            judge: row.get(5)?,
            destination: row.get(6)?,
            tries: row.get(7)?,
            not_before: Moment(number(row, 8)?),
            reason: row.get(9)?,
        })
    });
    entries?.collect()
}

fn rows<T>(
    db: &Connection,
    sql: &str,
    parameter: i64,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map([parameter], read)?.collect()
}

fn count(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.query_row(sql, [], |row| number(row, 0))
}

fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(i64::cast_unsigned)
}

fn path(row: &Row<'_>, index: usize) -> rusqlite::Result<PathBuf> {
    row.get::<_, String>(index).map(PathBuf::from)
}
