//! Manages queue items: which are due, waiting, done or failed.

use super::LearningDb;
use super::queue::{JudgeKind, Queued, QueuedEvent};
use longhaul_core::{Moment, Span};
use longhaul_store::DatabaseError;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;

/// An item of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Row id.
    pub id: i64,
    /// The queued transcript.
    pub queued: Queued,
    /// Number of failed attempts.
    pub tries: u32,
}

/// The next item for a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextItem {
    /// An item is due.
    Due(Box<Item>),
    /// Items are queued, but none is due before this moment.
    Waits(Moment),
    /// The queue is empty.
    Nothing,
}

/// The backoff of a judge that failed to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeBackoff {
    /// Number of consecutive failures.
    pub failures: u32,
    /// Earliest time of the next question.
    pub not_before: Moment,
    /// Whether a person must change something first.
    pub needs_person: bool,
    /// Error of the last failure.
    pub reason: String,
}

const COLUMNS: &str = "id, project, session, transcript, event, reason, judge, destination, tries";

/// Items of one judge that are not finished; of one transcript if it is given.
const WAITING: &str =
    "state = 'waiting' AND judge = ?1 AND destination = ?2 AND (?3 IS NULL OR transcript = ?3)";

impl LearningDb {
    /// Returns the next item for the worker of this judge: started ones first, then those with the fewest
    /// attempts, then the oldest.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn next(&self, judge: JudgeKind, destination: &str, now: Moment) -> Result<NextItem, DatabaseError> {
        self.next_for(judge, destination, None, now)
    }

    /// Returns the next item as [`LearningDb::next`] does, of one transcript if it is given.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn next_for(
        &self,
        judge: JudgeKind,
        destination: &str,
        transcript: Option<&Path>,
        now: Moment,
    ) -> Result<NextItem, DatabaseError> {
        let transcript = transcript.map(Path::to_string_lossy);
        let backoff = self.backoff(judge, destination)?;
        let not_before = backoff.map_or(Moment(0), |backoff| backoff.not_before);
        self.database.query(|db| {
            // Both queries must see the same state, because other workers take items from the queue too.
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
                                  AND slices.state IN ('started', 'reflected', 'curated')) DESC, tries, id
                 LIMIT 1"
            );
            let now = now.0.cast_signed();
            let item = db.query_row(&sql, params![judge.as_str(), destination, transcript, now], item)?;
            Ok(NextItem::Due(Box::new(item)))
        })
    }

    /// Returns the backoff of this judge, or `None` if its last question was answered.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be read.
    pub fn backoff(
        &self,
        judge: JudgeKind,
        destination: &str,
    ) -> Result<Option<JudgeBackoff>, DatabaseError> {
        let sql = "SELECT failures, not_before, needs_person, reason FROM judge_backoff WHERE judge = ? AND destination = ?";
        self.database.query(|db| {
            db.query_row(sql, params![judge.as_str(), destination], |row| {
                Ok(JudgeBackoff {
                    failures: row.get(0)?,
                    not_before: Moment(row.get::<_, i64>(1)?.cast_unsigned()),
                    needs_person: row.get(2)?,
                    reason: row.get(3)?,
                })
            })
            .optional()
        })
    }

    /// Postpones an item because its judge cannot answer now, and returns when the item is due. `wait` maps a
    /// count of previous failures, starting at 0, to a delay. It is applied to the judge and to the item.
    pub(crate) fn postpone(
        &mut self,
        item: &Item,
        now: Moment,
        reason: &str,
        wait: impl Fn(u32) -> Span,
    ) -> Result<Moment, DatabaseError> {
        let Queued { judge, destination, .. } = &item.queued;
        let failures = self.backoff(*judge, destination)?.map_or(0, |backoff| backoff.failures);
        self.database.change(|db| {
            set_backoff(db, item, now, reason, failures + 1, now + wait(failures), false)?;
            delay(db, item, reason, now + wait(item.tries))
        })
    }

    /// Delays only this item, for example because its playbook cannot be written now.
    pub(crate) fn delay(
        &mut self,
        item: &Item,
        reason: &str,
        until: Moment,
    ) -> Result<Moment, DatabaseError> {
        self.database.change(|db| delay(db, item, reason, until))
    }

    /// Pauses all items of this judge until a person has changed something. The items stay unchanged. Returns
    /// whether the reason is new.
    pub(crate) fn pause_judge(
        &mut self,
        item: &Item,
        now: Moment,
        reason: &str,
    ) -> Result<bool, DatabaseError> {
        let Queued { judge, destination, .. } = &item.queued;
        let previous = self.backoff(*judge, destination)?;
        let is_news = previous.is_none_or(|previous| !previous.needs_person || previous.reason != reason);
        self.database.change(|db| set_backoff(db, item, now, reason, 1, now, true))?;
        Ok(is_news)
    }

    /// Clears the backoff of this judge, because it answered.
    pub(crate) fn clear_backoff(&self, judge: JudgeKind, destination: &str) -> Result<(), DatabaseError> {
        let sql = "DELETE FROM judge_backoff WHERE judge = ? AND destination = ?";
        self.database.query(|db| db.execute(sql, params![judge.as_str(), destination]).map(drop))
    }

    /// Finishes an item that failed or needs no learning.
    pub(crate) fn finish(
        &mut self,
        item: &Item,
        now: Moment,
        result: Result<&str, &str>,
    ) -> Result<(), DatabaseError> {
        self.database.change(|db| finish(db, item.id, now, result))
    }

    /// Makes all waiting items due now, regardless of why they wait. Called at the user's request.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be written.
    pub fn make_due(&mut self, judge: JudgeKind, destination: &str) -> Result<(), DatabaseError> {
        self.database.change(|db| {
            let judge_params = params![judge.as_str(), destination];
            let all_params = params![judge.as_str(), destination, None::<&str>];
            db.execute(&format!("UPDATE queue SET not_before = 0 WHERE {WAITING}"), all_params)?;
            let sql = "UPDATE judge_backoff SET not_before = 0 WHERE judge = ?1 AND destination = ?2";
            db.execute(sql, judge_params).map(drop)
        })
    }

    /// Queues all failed items again, from their last completed step. Returns the number of items.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the database cannot be written.
    pub fn retry_failed(&mut self, judge: JudgeKind, destination: &str) -> Result<usize, DatabaseError> {
        let failed_items = "SELECT id FROM queue WHERE state = 'failed' AND judge = ?1 AND destination = ?2";
        self.database.change(|db| {
            let judge_params = params![judge.as_str(), destination];
            // Discards the answers that led to the failure, so that they are not reused.
            let sql = format!(
                "UPDATE judge_requests SET answer = NULL WHERE slice IN
                     (SELECT id FROM slices WHERE state = 'failed' AND queued IN ({failed_items}))"
            );
            db.execute(&sql, judge_params)?;
            let sql = format!(
                "UPDATE slices SET reason = NULL, ended_at = NULL, state = CASE
                     WHEN operations IS NOT NULL THEN 'curated'
                     WHEN reflection IS NOT NULL THEN 'reflected'
                     ELSE 'started' END
                 WHERE state = 'failed' AND queued IN ({failed_items})"
            );
            db.execute(&sql, judge_params)?;
            let sql = format!(
                "UPDATE queue SET state = 'waiting', tries = 0, not_before = 0, ended_at = NULL WHERE id IN ({failed_items})"
            );
            db.execute(&sql, judge_params)
        })
    }
}

fn set_backoff(
    db: &Connection,
    item: &Item,
    now: Moment,
    reason: &str,
    failures: u32,
    not_before: Moment,
    needs_person: bool,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO judge_backoff (judge, destination, since, failures, not_before, needs_person, reason)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT DO UPDATE SET failures = ?4, not_before = ?5, needs_person = ?6, reason = ?7";
    let Queued { judge, destination, .. } = &item.queued;
    let (now, not_before) = (now.0.cast_signed(), not_before.0.cast_signed());
    db.execute(sql, params![judge.as_str(), destination, now, failures, not_before, needs_person, reason])
        .map(drop)
}

fn delay(db: &Connection, item: &Item, reason: &str, until: Moment) -> rusqlite::Result<Moment> {
    let sql = "UPDATE queue SET tries = tries + 1, not_before = ?, last_result = ? WHERE id = ?";
    db.execute(sql, params![until.0.cast_signed(), reason, item.id])?;
    Ok(until)
}

pub(super) fn finish(
    db: &Connection,
    item: i64,
    now: Moment,
    result: Result<&str, &str>,
) -> rusqlite::Result<()> {
    let (state, reason) = match result {
        Ok(reason) => ("done", reason),
        Err(reason) => ("failed", reason),
    };
    let sql = "UPDATE queue SET state = ?, last_result = ?, ended_at = ? WHERE id = ?";
    db.execute(sql, params![state, reason, now.0.cast_signed(), item]).map(drop)
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
