//! Whether a worker has something to do now. What an outage or a reboot left is learnt when the next session is used.

use crate::Learning;
use crate::learning::{JudgeKind, LearningError};
use longhaul_core::Moment;
use rusqlite::params;

impl Learning {
    /// Whether something waits that may be judged now, by this judge at this API.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn has_due(&self, now: Moment, destination: &str, judge: JudgeKind) -> Result<bool, LearningError> {
        self.known(|db| {
            let sql = "SELECT EXISTS (SELECT 1 FROM queue WHERE state = 'waiting' AND not_before <= ?1
                                      AND destination = ?2 AND judge = ?3)";
            db.query_one(sql, params![now.0.cast_signed(), destination, judge.word()], |row| row.get(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LearningPlace;
    use crate::learning::{Event, Queued};

    #[test]
    fn what_waits_for_this_judge_is_due() {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let learning = Learning::open(&LearningPlace::in_home(home.path())).expect("it is made");
        let queued = Queued {
            project: "/p".into(),
            session: None,
            transcript: "/t".into(),
            event: Event::SessionEnd,
            reason: None,
            judge: JudgeKind::Api,
            destination: "http://here".to_owned(),
        };
        let due =
            |destination: &str, judge| learning.has_due(Moment(7), destination, judge).expect("it is asked");
        assert!(!due("http://here", JudgeKind::Api));
        learning.enqueue(Moment(7), &queued).expect("it is queued");
        assert!(due("http://here", JudgeKind::Api));
        assert!(!due("http://there", JudgeKind::Api));
        assert!(!due("http://here", JudgeKind::Claude));
        for (sql, expected) in
            [("not_before = 8", false), ("not_before = 7", true), ("state = 'done'", false)]
        {
            learning.known(|db| db.execute(&format!("UPDATE queue SET {sql}"), [])).expect("it is changed");
            assert_eq!(due("http://here", JudgeKind::Api), expected, "{sql}");
        }
    }
}
