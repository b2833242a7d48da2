//! Manages queue items: which are due, waiting, done or failed.

use super::queue::{JudgeKind, Queued, QueuedEvent};
use super::status::{PausedJudge, paused_judges};
use super::{LearnResult, LearningDb, UNFINISHED, judge, path};
use longhaul_core::{Moment, Span};
use longhaul_store::DatabaseError;
use rusqlite::{Connection, Row, params};
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

// A rejected key stays rejected at the next prompt. A new key takes effect within the hour or at the end of
// the session.
const PERSON_WAIT: Span = Span::from_secs(3600);

/// Items of one judge that are not finished; of one transcript if it is given.
const WAITING: &str =
    "state = 'waiting' AND judge = ?1 AND destination = ?2 AND (?3 IS NULL OR transcript = ?3)";

impl LearningDb {
    /// Returns the next item for the worker of this judge, of one transcript if it is given: started ones
    /// first, then those with the fewest attempts, then the oldest.
    pub fn next(
        &self,
        judge: JudgeKind,
        destination: &str,
        transcript: Option<&Path>,
        now: Moment,
    ) -> Result<NextItem, DatabaseError> {
        let transcript = transcript.map(Path::to_string_lossy);
        let pause = self.pause(judge, destination)?;
        let not_before = pause.and_then(|pause| pause.retry_at).unwrap_or(Moment(0));
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
                "SELECT id, project, session, transcript, event, reason, judge, destination, tries FROM queue
                 WHERE {WAITING} AND not_before <= ?4
                 ORDER BY EXISTS (SELECT 1 FROM slices WHERE queued = queue.id AND slices.{UNFINISHED}) DESC,
                     tries, id
                 LIMIT 1"
            );
            let now = now.0.cast_signed();
            let item = db.query_row(&sql, params![judge.as_str(), destination, transcript, now], item)?;
            Ok(NextItem::Due(Box::new(item)))
        })
    }

    /// Returns whether an item of this judge and API is due and the judge is not in backoff. The next session starts
    /// a worker for items that an outage or a reboot has delayed.
    pub fn has_due(&self, now: Moment, destination: &str, judge: JudgeKind) -> Result<bool, DatabaseError> {
        self.database.query(|db| {
            let sql = "SELECT EXISTS (SELECT 1 FROM queue WHERE state = 'waiting' AND not_before <= ?1
                                      AND destination = ?2 AND judge = ?3)
                   AND NOT EXISTS (SELECT 1 FROM judge_backoff WHERE destination = ?2 AND judge = ?3
                                   AND not_before + CASE WHEN needs_person THEN ?4 ELSE 0 END > ?1)";
            let (now, wait) = (now.0.cast_signed(), PERSON_WAIT.0.cast_signed());
            db.query_one(sql, params![now, destination, judge.as_str(), wait], |row| row.get(0))
        })
    }

    /// Returns the pause of this judge, or `None` if its last question was answered.
    fn pause(&self, judge: JudgeKind, destination: &str) -> Result<Option<PausedJudge>, DatabaseError> {
        let mut paused = self.database.query(paused_judges)?;
        paused.retain(|paused| paused.judge == judge && paused.destination == destination);
        Ok(paused.pop())
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
        let failures = self.pause(*judge, destination)?.map_or(0, |pause| pause.failures);
        self.database.change(|db| {
            set_pause(db, item, now, failures + 1, Some(now + wait(failures)), reason)?;
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
        let previous = self.pause(*judge, destination)?;
        let is_news = previous.is_none_or(|previous| !previous.needs_person || previous.reason != reason);
        self.database.change(|db| set_pause(db, item, now, 1, None, reason))?;
        Ok(is_news)
    }

    /// Ends the pause of this judge, because it answered.
    pub(crate) fn clear_pause(&self, judge: JudgeKind, destination: &str) -> Result<(), DatabaseError> {
        let sql = "DELETE FROM judge_backoff WHERE judge = ? AND destination = ?";
        self.database.query(|db| db.execute(sql, params![judge.as_str(), destination]).map(drop))
    }

    pub(crate) fn finish(
        &mut self,
        item: &Item,
        now: Moment,
        result: LearnResult,
        reason: &str,
    ) -> Result<(), DatabaseError> {
        self.database.change(|db| finish(db, item.id, now, result, reason))
    }

    /// Makes all waiting items due now, regardless of why they wait. Called at the user's request.
    pub fn make_due(&mut self, judge: JudgeKind, destination: &str) -> Result<(), DatabaseError> {
        self.database.change(|db| {
            let all_params = params![judge.as_str(), destination, None::<&str>];
            db.execute(&format!("UPDATE queue SET not_before = 0 WHERE {WAITING}"), all_params)?;
            let sql = "UPDATE judge_backoff SET not_before = 0 WHERE judge = ?1 AND destination = ?2";
            db.execute(sql, params![judge.as_str(), destination]).map(drop)
        })
    }

    /// Queues all failed items again, from their last completed step. Returns the number of items.
    pub fn retry_failed(&mut self, judge: JudgeKind, destination: &str) -> Result<usize, DatabaseError> {
        let failed_items = "SELECT id FROM queue WHERE state = 'failed' AND judge = ?1 AND destination = ?2";
        self.database.change(|db| {
            let execute = |sql: String| db.execute(&sql, params![judge.as_str(), destination]);
            // Discards the answers that led to the failure, so that they are not reused.
            execute(format!(
                "UPDATE judge_requests SET answer = NULL WHERE slice IN
                     (SELECT id FROM slices WHERE state = 'failed' AND queued IN ({failed_items}))"
            ))?;
            execute(format!(
                "UPDATE slices SET reason = NULL, ended_at = NULL, state = CASE
                     WHEN operations IS NOT NULL THEN 'curated'
                     WHEN reflection IS NOT NULL THEN 'reflected'
                     ELSE 'started' END
                 WHERE state = 'failed' AND queued IN ({failed_items})"
            ))?;
            execute(format!(
                "UPDATE queue SET state = 'waiting', tries = 0, not_before = 0, ended_at = NULL WHERE id IN ({failed_items})"
            ))
        })
    }
}

/// Pauses the item's judge, until a person acts if there is no `retry_at`.
fn set_pause(
    db: &Connection,
    item: &Item,
    now: Moment,
    failures: u32,
    retry_at: Option<Moment>,
    reason: &str,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO judge_backoff (judge, destination, since, failures, not_before, needs_person, reason)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT DO UPDATE SET failures = ?4, not_before = ?5, needs_person = ?6, reason = ?7";
    let Queued { judge, destination, .. } = &item.queued;
    let (since, not_before) = (now.0.cast_signed(), retry_at.unwrap_or(now).0.cast_signed());
    let needs_person = retry_at.is_none();
    db.execute(sql, params![judge.as_str(), destination, since, failures, not_before, needs_person, reason])
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
    result: LearnResult,
    reason: &str,
) -> rusqlite::Result<()> {
    let state = if result == LearnResult::Failed { "failed" } else { "done" };
    let sql = "UPDATE queue SET state = ?, last_result = ?, ended_at = ? WHERE id = ?";
    db.execute(sql, params![state, reason, now.0.cast_signed(), item]).map(drop)
}

fn item(row: &Row<'_>) -> rusqlite::Result<Item> {
    let event: String = row.get(4)?;
    Ok(Item {
        id: row.get(0)?,
        queued: Queued {
            project: path(row, 1)?,
            session: row.get(2)?,
            transcript: path(row, 3)?,
            // The event may be of a later version.
            event: event.parse().unwrap_or(QueuedEvent::Manual),
            reason: row.get(5)?,
            judge: judge(row, 6)?,
            destination: row.get(7)?,
        },
        tries: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LearningPaths;
    use crate::database::ByteRange;
    use std::fs;

    fn queued() -> Queued {
        Queued {
            project: "/p".into(),
            session: None,
            transcript: "/t".into(),
            event: QueuedEvent::SessionEnd,
            reason: None,
            judge: JudgeKind::Api,
            destination: "http://here".to_owned(),
        }
    }

    #[test]
    fn has_due_items_for_judge_and_api() {
        let (_home, paths) = LearningPaths::temporary();
        let learning = LearningDb::open(&paths).expect("it is made");
        let due = |destination: &str, judge| {
            learning.has_due(Moment(7), destination, judge).expect("it can be read")
        };
        assert!(!due("http://here", JudgeKind::Api));
        learning.enqueue(Moment(7), &queued()).expect("it is queued");
        assert!(due("http://here", JudgeKind::Api));
        assert!(!due("http://there", JudgeKind::Api));
        assert!(!due("http://here", JudgeKind::Claude));
        for (sql, expected) in
            [("not_before = 8", false), ("not_before = 7", true), ("state = 'done'", false)]
        {
            learning
                .database
                .query(|db| db.execute(&format!("UPDATE queue SET {sql}"), []))
                .expect("it is changed");
            assert_eq!(due("http://here", JudgeKind::Api), expected, "{sql}");
        }
    }

    #[test]
    fn requesting_a_waiting_transcript_again_makes_it_due() {
        let (home, paths) = LearningPaths::temporary();
        let mut learning = LearningDb::open(&paths).expect("it is made");
        let transcript = home.path().join("t");
        fs::write(&transcript, "{}\n").expect("it is written");
        let by_hook = Queued { transcript: transcript.clone(), ..queued() };
        let by_user = Queued { event: QueuedEvent::Manual, ..by_hook.clone() };
        let waiting =
            |learning: &LearningDb| learning.status(Moment(8), 0).expect("it is read").waiting.len();

        learning.enqueue(Moment(7), &by_hook).expect("it is queued");
        let next = |learning: &LearningDb| {
            learning.next(JudgeKind::Api, "http://here", None, Moment(8)).expect("it is read")
        };
        let NextItem::Due(item) = next(&learning) else { unreachable!("it is due") };
        learning.delay(&item, "no space", Moment(100)).expect("it is recorded");
        assert_eq!(next(&learning), NextItem::Waits(Moment(100)));
        learning.enqueue(Moment(8), &by_user).expect("it is due");
        assert!(matches!(next(&learning), NextItem::Due(_)));
        let part = ByteRange { start: 0, end: 3, generation: 0, fingerprint: 0, more: false };
        learning.start_slice(&item, Moment(8), None, part).expect("it is written").expect("it is the first");
        learning.enqueue(Moment(8), &by_user).expect("it is due");
        assert_eq!(waiting(&learning), 1);

        // The started slice does not contain this row.
        fs::write(&transcript, "{}\n{}\n").expect("it is written");
        for added in [
            by_user.clone(),
            Queued { project: "/other".into(), ..by_user.clone() },
            Queued { destination: "http://there".to_owned(), ..by_user.clone() },
            Queued { judge: JudgeKind::Claude, ..by_user.clone() },
            by_hook.clone(),
            Queued { event: QueuedEvent::Run, ..by_hook },
        ] {
            let before = waiting(&learning);
            learning.enqueue(Moment(8), &added).expect("it is queued");
            assert_eq!(waiting(&learning), before + 1, "{added:?}");
        }
    }

    #[test]
    fn has_no_due_items_during_backoff() {
        let (_home, paths) = LearningPaths::temporary();
        let mut learning = LearningDb::open(&paths).expect("it is made");
        learning.enqueue(Moment(7), &queued()).expect("it is queued");
        let due = |learning: &LearningDb, at: Moment| {
            learning.has_due(at, "http://here", JudgeKind::Api).expect("it can be read")
        };
        let NextItem::Due(item) =
            learning.next(JudgeKind::Api, "http://here", None, Moment(7)).expect("it is read")
        else {
            unreachable!("it is due");
        };
        learning.pause_judge(&item, Moment(7), "no key").expect("it is recorded");
        assert!(!due(&learning, Moment(7)) && !due(&learning, Moment(7 + 3_599_999)));
        assert!(due(&learning, Moment(7 + 3_600_000)));
        // A worker that is started anyway asks the judge.
        let next = learning.next(JudgeKind::Api, "http://here", None, Moment(8)).expect("it is read");
        assert!(matches!(next, NextItem::Due(_)), "{next:?}");
        learning.postpone(&item, Moment(7), "overloaded", |_| Span(10)).expect("it is recorded");
        learning
            .database
            .query(|db| db.execute("UPDATE queue SET not_before = 0", []))
            .expect("it is changed");
        assert!(!due(&learning, Moment(16)) && due(&learning, Moment(17)));
    }
}
