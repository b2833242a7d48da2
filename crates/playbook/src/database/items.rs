//! What a worker makes of the queue: what is due, what waits, what is done, what failed.

use super::queue::{JudgeKind, Queued, QueuedEvent};
use super::{LearningDb, LearningError};
use longhaul_core::{Moment, Span};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;

/// Something in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub id: i64,
    /// What is to be learnt from.
    pub queued: Queued,
    /// How often it was tried in vain.
    pub tries: u32,
}

/// What is next for a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextItem {
    /// This is due.
    Due(Box<Item>),
    /// Something is queued, and nothing of it due before then.
    Waits(Moment),
    /// Nothing is queued.
    Nothing,
}

/// A judge that gave no answer when it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeBackoff {
    /// How often in a row.
    pub failures: u32,
    /// Nothing is asked before.
    pub not_before: Moment,
    /// Whether a person must change something first.
    pub person: bool,
    /// What it said.
    pub reason: String,
}

const COLUMNS: &str = "id, project, session, transcript, event, reason, judge, destination, tries";

/// What is of this judge, and of this transcript if one is meant, and not yet done with.
const WAITING: &str =
    "state = 'waiting' AND judge = ?1 AND destination = ?2 AND (?3 IS NULL OR transcript = ?3)";

impl LearningDb {
    /// What is next for the worker of this judge: first what another one had begun, then what was tried least often, then
    /// the oldest.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn next(&self, judge: JudgeKind, destination: &str, now: Moment) -> Result<NextItem, LearningError> {
        self.next_of(judge, destination, None, now)
    }

    /// The same, of one transcript alone if it is named.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn next_of(
        &self,
        judge: JudgeKind,
        destination: &str,
        transcript: Option<&Path>,
        now: Moment,
    ) -> Result<NextItem, LearningError> {
        let transcript = transcript.map(Path::to_string_lossy);
        let silent = self.backoff(judge, destination)?;
        let not_before = silent.map_or(Moment(0), |silent| silent.not_before);
        self.known(|db| {
            // Two questions about one state: others take from the queue, too.
            let db = db.unchecked_transaction()?;
            let sql = format!("SELECT min(not_before) FROM queue WHERE {WAITING}");
            let first: Option<i64> =
                db.query_row(&sql, params![judge.as_str(), destination, transcript], |row| row.get(0))?;
            let Some(first) = first else { return Ok(NextItem::Nothing) };
            let first = Moment(first.cast_unsigned()).max(not_before);
            if first > now {
                return Ok(NextItem::Waits(first));
            }
            let sql = format!(
                "SELECT {COLUMNS} FROM queue WHERE {WAITING} AND not_before <= ?4
                 ORDER BY EXISTS (SELECT 1 FROM slices WHERE queued = queue.id
                                  AND slices.state IN ('begun', 'reflected', 'curated')) DESC, tries, id
                 LIMIT 1"
            );
            let now = now.0.cast_signed();
            let item = db.query_row(&sql, params![judge.as_str(), destination, transcript, now], item)?;
            Ok(NextItem::Due(Box::new(item)))
        })
    }

    /// Whether this judge gave no answer when it was asked last.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn backoff(
        &self,
        judge: JudgeKind,
        destination: &str,
    ) -> Result<Option<JudgeBackoff>, LearningError> {
        let sql = "SELECT failures, not_before, person, why FROM silent WHERE judge = ? AND destination = ?";
        self.known(|db| {
            db.query_row(sql, params![judge.as_str(), destination], |row| {
                Ok(JudgeBackoff {
                    failures: row.get(0)?,
                    not_before: Moment(row.get::<_, i64>(1)?.cast_unsigned()),
                    person: row.get(2)?,
                    reason: row.get(3)?,
                })
            })
            .optional()
        })
    }

    /// An item waits: it is its judge that has no answer now. `wait` says how long the judge is left alone, by how often it
    /// failed in a row, and how long the item, by how often it was tried, both counted from 0. Returns when the item is due.
    pub(crate) fn postpone(
        &mut self,
        item: &Item,
        (now, why): (Moment, &str),
        wait: impl Fn(u32) -> Span,
    ) -> Result<Moment, LearningError> {
        let Queued { judge, destination, .. } = &item.queued;
        let failures = self.backoff(*judge, destination)?.map_or(0, |silent| silent.failures);
        self.change(|db| {
            hush(db, item, (now, why), (failures + 1, now + wait(failures), false))?;
            delay(db, item, why, now + wait(item.tries))
        })
    }

    /// An item waits for something of its own, such as a playbook that cannot be written now.
    pub(crate) fn delay(&mut self, item: &Item, why: &str, until: Moment) -> Result<Moment, LearningError> {
        self.change(|db| delay(db, item, why, until))
    }

    /// No item of this judge can be learnt from before a person has changed something. They stay as they are. Returns
    /// whether that is news.
    pub(crate) fn needs_person(
        &mut self,
        item: &Item,
        (now, why): (Moment, &str),
    ) -> Result<bool, LearningError> {
        let Queued { judge, destination, .. } = &item.queued;
        let known = self.backoff(*judge, destination)?;
        let is_news = known.is_none_or(|silent| !silent.person || silent.reason != why);
        self.change(|db| hush(db, item, (now, why), (1, now, true)))?;
        Ok(is_news)
    }

    /// This judge has answered.
    pub(crate) fn answered(&self, judge: JudgeKind, destination: &str) -> Result<(), LearningError> {
        let sql = "DELETE FROM silent WHERE judge = ? AND destination = ?";
        self.known(|db| db.execute(sql, params![judge.as_str(), destination]).map(drop))
    }

    /// Nothing came of an item, or nothing was to come of it.
    pub(crate) fn finish(
        &mut self,
        item: &Item,
        now: Moment,
        result: Result<&str, &str>,
    ) -> Result<(), LearningError> {
        self.change(|db| finish(db, item.id, now, result))
    }

    /// What waits is due now, whatever it waits for: a person says so.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn make_due(&mut self, judge: JudgeKind, destination: &str) -> Result<(), LearningError> {
        self.change(|db| {
            let these = params![judge.as_str(), destination];
            let all = params![judge.as_str(), destination, None::<&str>];
            db.execute(&format!("UPDATE queue SET not_before = 0 WHERE {WAITING}"), all)?;
            let sql = "UPDATE silent SET not_before = 0 WHERE judge = ?1 AND destination = ?2";
            db.execute(sql, these).map(drop)
        })
    }

    /// What failed is to be tried again, from where it had come to. Returns how many items that are.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn try_failed_again(&mut self, judge: JudgeKind, destination: &str) -> Result<usize, LearningError> {
        let of_these = "SELECT id FROM queue WHERE state = 'failed' AND judge = ?1 AND destination = ?2";
        self.change(|db| {
            let these = params![judge.as_str(), destination];
            // What it said in vain is not to be read again.
            let sql = format!(
                "UPDATE asked SET answer = NULL WHERE slice IN
                     (SELECT id FROM slices WHERE state = 'failed' AND queued IN ({of_these}))"
            );
            db.execute(&sql, these)?;
            let sql = format!(
                "UPDATE slices SET why = NULL, ended_at = NULL, state = CASE
                     WHEN operations IS NOT NULL THEN 'curated'
                     WHEN reflection IS NOT NULL THEN 'reflected'
                     ELSE 'begun' END
                 WHERE state = 'failed' AND queued IN ({of_these})"
            );
            db.execute(&sql, these)?;
            let sql = format!(
                "UPDATE queue SET state = 'waiting', tries = 0, not_before = 0, ended_at = NULL WHERE id IN ({of_these})"
            );
            db.execute(&sql, these)
        })
    }
}

fn hush(
    db: &Connection,
    item: &Item,
    (now, why): (Moment, &str),
    (failures, not_before, person): (u32, Moment, bool),
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO silent (judge, destination, since, failures, not_before, person, why)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT DO UPDATE SET failures = ?4, not_before = ?5, person = ?6, why = ?7";
    let Queued { judge, destination, .. } = &item.queued;
    let (now, not_before) = (now.0.cast_signed(), not_before.0.cast_signed());
    db.execute(sql, params![judge.as_str(), destination, now, failures, not_before, person, why]).map(drop)
}

fn delay(db: &Connection, item: &Item, why: &str, until: Moment) -> rusqlite::Result<Moment> {
    let sql = "UPDATE queue SET tries = tries + 1, not_before = ?, why = ? WHERE id = ?";
    db.execute(sql, params![until.0.cast_signed(), why, item.id])?;
    Ok(until)
}

pub(super) fn finish(
    db: &Connection,
    item: i64,
    now: Moment,
    result: Result<&str, &str>,
) -> rusqlite::Result<()> {
    let (state, why) = match result {
        Ok(why) => ("done", why),
        Err(why) => ("failed", why),
    };
    let sql = "UPDATE queue SET state = ?, why = ?, ended_at = ? WHERE id = ?";
    db.execute(sql, params![state, why, now.0.cast_signed(), item]).map(drop)
}

fn item(row: &Row<'_>) -> rusqlite::Result<Item> {
    let judge: String = row.get(6)?;
    Ok(Item {
        id: row.get(0)?,
        queued: Queued {
            project: row.get::<_, String>(1)?.into(),
            session: row.get(2)?,
            transcript: row.get::<_, String>(3)?.into(),
            event: QueuedEvent::parse(&row.get::<_, String>(4)?),
            reason: row.get(5)?,
            judge: JudgeKind::parse(&judge).unwrap_or(JudgeKind::Api),
            destination: row.get(7)?,
        },
        tries: row.get(8)?,
    })
}
