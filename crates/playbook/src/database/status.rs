//! Reports the state of learning to the user: waiting and failed items, slices in progress and lessons.

use super::{JudgeKind, LearningDb, judge, moment, number, path};
use longhaul_core::{Moment, rfc3339};
use longhaul_store::DatabaseError;
use rusqlite::{Connection, Params, Row};
use serde::{Serialize, Serializer};
use std::path::PathBuf;

/// The state of learning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueStatus {
    /// Queued transcripts, oldest first.
    pub waiting: Vec<QueueEntry>,
    /// Failed transcripts that are kept, oldest first.
    pub failed: Vec<QueueEntry>,
    /// Number of finished transcripts.
    pub done: u64,
    /// Slices being judged, or interrupted by the death of their worker.
    pub in_progress: Vec<SliceInProgress>,
    /// Number of judged parts of transcripts.
    pub learned: u64,
    /// The latest lessons, newest first.
    pub lessons: Vec<Lesson>,
    /// Judges whose last request failed, if transcripts wait for them.
    pub paused_judges: Vec<PausedJudge>,
}

/// A queued or failed transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueEntry {
    /// Row id.
    #[serde(skip)]
    pub id: i64,
    /// Directory whose playbook learns.
    pub project: PathBuf,
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// Cause of the entry: `SessionEnd`, `PreCompact`, `SubagentStop`, `run`, or `manual` if a person
    /// requested it.
    pub event: String,
    /// When it was queued.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub queued_at: Moment,
    /// The judge.
    pub judge: JudgeKind,
    /// API that may receive the transcript.
    pub destination: String,
    /// Number of failed attempts to judge it.
    pub tries: u32,
    /// When it is due. `None` if it is due now.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub due_at: Option<Moment>,
    /// Why the last attempt failed.
    pub reason: Option<String>,
}

/// A slice of a transcript that is being judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SliceInProgress {
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// Offset of the slice, in bytes.
    pub start: u64,
    /// End of the slice, in bytes.
    pub end: u64,
    /// Progress: `started`, `reflected` or `curated`.
    pub state: String,
    /// When judging started.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub since: Moment,
}

/// A slice of a session that was learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lesson {
    /// Directory whose playbook learned.
    pub project: PathBuf,
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// When it was learned.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
    /// Result of the lesson.
    pub description: String,
}

/// A judge whose last request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PausedJudge {
    /// How the judge is reached.
    pub judge: JudgeKind,
    /// API of the judge.
    pub destination: String,
    /// Number of consecutive failures.
    pub failures: u32,
    /// Whether a person must act first.
    pub needs_person: bool,
    /// Time of the next request. `None` if a person must act first.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub retry_at: Option<Moment>,
    /// Reason of the last failure.
    pub reason: String,
}

fn stamp<S: Serializer>(
    moment: &(impl Copy + Into<Option<Moment>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*moment).into().map(rfc3339).serialize(serializer)
}

impl LearningDb {
    /// Returns the state of learning, with at most `lessons_max` lessons.
    pub fn status(&self, now: Moment, lessons_max: u32) -> Result<QueueStatus, DatabaseError> {
        self.database.query(|db| {
            let count = |sql| db.query_row(sql, [], |row| number(row, 0));
            let waiting = entries(db, "waiting", now)?;
            // A pause concerns only waiting transcripts. Without any, its reason may no longer hold.
            let mut paused_judges = paused_judges(db)?;
            paused_judges.retain(|PausedJudge { judge, destination, .. }| {
                waiting.iter().any(|entry| entry.judge == *judge && entry.destination == *destination)
            });
            Ok(QueueStatus {
                waiting,
                failed: entries(db, "failed", now)?,
                done: count("SELECT count(*) FROM queue WHERE state = 'done'")?,
                in_progress: rows(
                    db,
                    "SELECT transcript, start_offset, end_offset, state, started_at FROM slices
                     WHERE state IN ('started', 'reflected', 'curated') ORDER BY id",
                    [],
                    |row| {
                        Ok(SliceInProgress {
                            transcript: path(row, 0)?,
                            start: number(row, 1)?,
                            end: number(row, 2)?,
                            state: row.get(3)?,
                            since: moment(row, 4)?,
                        })
                    },
                )?,
                learned: count("SELECT count(*) FROM slices WHERE state = 'learned'")?,
                lessons: rows(
                    db,
                    "SELECT project, transcript, ended_at, coalesce(reason, '') FROM slices
                     WHERE state = 'learned' ORDER BY ended_at DESC, id DESC LIMIT ?",
                    [lessons_max],
                    |row| {
                        Ok(Lesson {
                            project: path(row, 0)?,
                            transcript: path(row, 1)?,
                            at: moment(row, 2)?,
                            description: row.get(3)?,
                        })
                    },
                )?,
                paused_judges,
            })
        })
    }

    /// Returns whether an unfinished or failed item needs a transcript of this name, in any directory.
    pub(crate) fn is_needed(&self, name: &str) -> Result<bool, DatabaseError> {
        let sql = "SELECT 1 FROM queue WHERE substr(transcript, -length(?1)) = ?1 AND state <> 'done'";
        self.database.query(|db| db.prepare(sql)?.exists([format!("/{name}")]))
    }

    /// Deletes items that were done before this moment, except those that prevent judging twice.
    pub(crate) fn delete_done(&mut self, before: Moment) -> Result<(), DatabaseError> {
        // Slices record how much of each transcript was judged, and they refer to their item.
        let sql = "DELETE FROM queue WHERE state = 'done' AND ended_at < ?
                   AND NOT EXISTS (SELECT 1 FROM slices WHERE queued = queue.id)";
        self.database.change(|db| db.execute(sql, [before.0.cast_signed()]).map(drop))
    }
}

fn entries(db: &Connection, state: &str, now: Moment) -> rusqlite::Result<Vec<QueueEntry>> {
    let sql =
        "SELECT id, project, transcript, event, at, judge, destination, tries, not_before, last_result FROM queue
               WHERE state = ? ORDER BY id";
    rows(db, sql, [state], |row| {
        Ok(QueueEntry {
            id: row.get(0)?,
            project: path(row, 1)?,
            transcript: path(row, 2)?,
            event: row.get(3)?,
            queued_at: moment(row, 4)?,
            judge: judge(row, 5)?,
            destination: row.get(6)?,
            tries: row.get(7)?,
            due_at: Some(moment(row, 8)?).filter(|due_at| *due_at > now),
            reason: row.get(9)?,
        })
    })
}

pub(super) fn paused_judges(db: &Connection) -> rusqlite::Result<Vec<PausedJudge>> {
    let sql = "SELECT judge, destination, failures, not_before, needs_person, reason FROM judge_backoff";
    rows(db, sql, [], |row| {
        let needs_person = row.get(4)?;
        Ok(PausedJudge {
            judge: judge(row, 0)?,
            destination: row.get(1)?,
            failures: row.get(2)?,
            retry_at: if needs_person { None } else { Some(moment(row, 3)?) },
            needs_person,
            reason: row.get(5)?,
        })
    })
}

pub(super) fn rows<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map(params, read)?.collect()
}
