//! How learning stands, for people: what waits and why, what failed, what is being judged, what was learnt, what it cost.

use super::items::JudgeBackoff;
use super::queue::JudgeKind;
use super::{LearningDb, LearningError, SliceState};
use longhaul_core::{Moment, Tokens, Usd};
use rusqlite::{Connection, Row, params};
use std::path::PathBuf;

/// How learning stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStatus {
    /// What is queued, the oldest first.
    pub waiting: Vec<QueueEntry>,
    /// What failed and is kept, the oldest first.
    pub failed: Vec<QueueEntry>,
    /// How many items are done.
    pub done: u64,
    /// What is being judged, or was when its worker died.
    pub in_progress: Vec<SliceInProgress>,
    /// What was learnt last, the last one first.
    pub lessons: Vec<Lesson>,
    /// How many slices were learnt.
    pub learned: u64,
    /// Judges that gave no answer when they were asked last, each with its API.
    pub paused_judges: Vec<(JudgeKind, String, JudgeBackoff)>,
}

/// Something that is queued, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Its number.
    pub id: i64,
    /// When it was queued.
    pub at: Moment,
    /// The directory whose playbook learns.
    pub project: PathBuf,
    /// Its transcript.
    pub transcript: PathBuf,
    /// What happened, in a word.
    pub event: String,
    /// Who judges it.
    pub judge: String,
    /// The API that it may be sent to.
    pub destination: String,
    /// How often it was tried in vain.
    pub tries: u32,
    /// When it is due again.
    pub not_before: Moment,
    /// What happened at the last try.
    pub reason: Option<String>,
}

/// A slice that is not at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceInProgress {
    /// Its transcript.
    pub transcript: PathBuf,
    /// Where it begins, in bytes.
    pub begins: u64,
    /// Where it ends.
    pub ends: u64,
    /// How far it has come: `begun`, `reflected`, `curated`.
    pub state: String,
    /// Since when.
    pub since: Moment,
}

/// A slice that was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The directory whose playbook has learnt.
    pub project: PathBuf,
    /// Its transcript.
    pub transcript: PathBuf,
    /// When.
    pub at: Moment,
    /// What came of it.
    pub description: String,
}

/// An answer that was paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeCost {
    /// When it came.
    pub at: Moment,
    /// The project that it was asked for.
    pub project: String,
    /// The model that gave it.
    pub model: String,
    /// What it used.
    pub tokens: Tokens,
    /// What that costs by our table; nothing for a model without a price.
    pub cost: Option<Usd>,
}

impl LearningDb {
    /// How learning stands, with the last lessons, so many at most.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn standing(&self, lessons_max: u32) -> Result<QueueStatus, LearningError> {
        self.known(|db| {
            Ok(QueueStatus {
                waiting: entries(db, "waiting")?,
                failed: entries(db, "failed")?,
                done: count(db, "SELECT count(*) FROM queue WHERE state = 'done'")?,
                in_progress: rows(
                    db,
                    "SELECT transcript, begins, ends, state, begun_at FROM slices
                     WHERE state IN ('begun', 'reflected', 'curated') ORDER BY id LIMIT ?",
                    i64::MAX,
                    |row| {
                        Ok(SliceInProgress {
                            transcript: path(row, 0)?,
                            begins: number(row, 1)?,
                            ends: number(row, 2)?,
                            state: row.get(3)?,
                            since: Moment(number(row, 4)?),
                        })
                    },
                )?,
                lessons: rows(
                    db,
                    "SELECT project, transcript, ended_at, coalesce(why, '') FROM slices
                     WHERE state = 'learnt' ORDER BY ended_at DESC, id DESC LIMIT ?",
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
                    "SELECT judge, destination, failures, not_before, person, why FROM silent LIMIT ?",
                    i64::MAX,
                    |row| {
                        let silent = JudgeBackoff {
                            failures: row.get(2)?,
                            not_before: Moment(number(row, 3)?),
                            person: row.get(4)?,
                            reason: row.get(5)?,
                        };
                        let judge = JudgeKind::parse(&row.get::<_, String>(0)?).unwrap_or(JudgeKind::Api);
                        Ok((judge, row.get(1)?, silent))
                    },
                )?,
            })
        })
    }

    /// Every answer that was paid for since then. What Claude Code was asked for is counted by the runs that asked it.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn paid(&self, since: Moment) -> Result<Vec<JudgeCost>, LearningError> {
        let sql = "SELECT at, project, model, input, output, cache_read, cache_write, cost FROM asked
                   WHERE at >= ? AND fault IS NULL AND judge = 'api' ORDER BY at, id";
        self.known(|db| {
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

    /// Whether somebody may still want to read a transcript of this name, wherever it is: it is queued, or it failed and is
    /// kept.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn is_wanted(&self, name: &str) -> Result<bool, LearningError> {
        let sql = "SELECT 1 FROM queue WHERE substr(transcript, -length(?1)) = ?1 AND state <> 'done'";
        self.known(|db| db.prepare(sql)?.exists([format!("/{name}")]))
    }

    /// Forgets what was done before that moment, but for what keeps it from being done again. Returns how many items.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn forget_done(&mut self, before: Moment) -> Result<usize, LearningError> {
        self.change(|db| {
            // Slices say up to where each transcript was judged, and name their item.
            let sql = "DELETE FROM queue WHERE state = 'done' AND ended_at < ?
                       AND NOT EXISTS (SELECT 1 FROM slices WHERE queued = queue.id)";
            db.execute(sql, [i64::try_from(before.0).unwrap_or(i64::MAX)])
        })
    }
}

fn entries(db: &Connection, state: &str) -> rusqlite::Result<Vec<QueueEntry>> {
    let sql =
        "SELECT id, at, project, transcript, event, judge, destination, tries, not_before, why FROM queue
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
    number: i64,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map([number], read)?.collect()
}

fn count(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.query_row(sql, [], |row| number(row, 0))
}

fn number(row: &Row<'_>, place: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(place).map(i64::cast_unsigned)
}

fn path(row: &Row<'_>, place: usize) -> rusqlite::Result<PathBuf> {
    row.get::<_, String>(place).map(PathBuf::from)
}
