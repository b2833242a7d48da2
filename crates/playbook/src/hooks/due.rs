//! Determines whether a worker has work. The next session starts a worker for items that an outage or a
//! reboot has delayed.

use crate::LearningDb;
use crate::database::JudgeKind;
use longhaul_core::{Moment, Span};
use longhaul_store::DatabaseError;
use rusqlite::params;

// A rejected key stays rejected at the next prompt. A new key takes effect within the hour or at the end of
// the session.
const PERSON_WAIT: Span = Span::from_secs(3600);

impl LearningDb {
    /// Returns whether an item of this judge and API is due and the judge is not in backoff.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LearningPaths;
    use crate::database::{NextItem, Queued, QueuedEvent};

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
