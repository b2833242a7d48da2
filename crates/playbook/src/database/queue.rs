//! Adds items to the queue. For a hook this takes a few milliseconds and one flush to the disk.

use super::{LearningDb, UNFINISHED};
use longhaul_core::{Moment, word_enum};
use longhaul_store::DatabaseError;
use rusqlite::{Connection, params};
use std::fs;
use std::path::PathBuf;
use strum::{EnumString, IntoStaticStr};

/// A transcript to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Directory of the playbook's project.
    pub project: PathBuf,
    /// Session id of the agent.
    pub session: Option<String>,
    /// Path of the transcript.
    pub transcript: PathBuf,
    /// Event that queued it.
    pub event: QueuedEvent,
    /// Reason that the agent gave.
    pub reason: Option<String>,
    /// Judge of the transcript.
    pub judge: JudgeKind,
    /// API that the session used. The transcript is sent to no other.
    pub destination: String,
}

/// The event that queued a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
pub enum QueuedEvent {
    /// A session ended.
    SessionEnd,
    /// A session is about to be compacted.
    PreCompact,
    /// A sub-agent ended.
    SubagentStop,
    /// A run of Longhaul finished.
    #[strum(serialize = "run")]
    Run,
    /// The user requested it, for this session or for all past ones.
    #[strum(serialize = "manual")]
    Manual,
}

word_enum! {
    /// How the judge is reached.
    #[derive(EnumString)]
    #[strum(serialize_all = "snake_case")]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum JudgeKind {
        /// The Messages API, with a key.
        Api = "api",
        /// Claude Code, in a separate run with its own login.
        Claude = "claude",
    }
}

impl LearningDb {
    /// Adds an item to the queue. It is on disk when this returns. After an error it may be queued or not. A
    /// database that turns out to be damaged is moved aside.
    ///
    /// A transcript that the user requests again while it waits is not added again, but no longer waits on its own. A
    /// pause of its judge still applies.
    pub fn enqueue(&self, at: Moment, queued: &Queued) -> Result<(), DatabaseError> {
        match self.insert(at, queued) {
            Err(DatabaseError::Damaged { .. }) => {
                LearningDb::replace_if_damaged(self.paths())?.insert(at, queued)
            }
            inserted => inserted,
        }
    }

    fn insert(&self, at: Moment, queued: &Queued) -> Result<(), DatabaseError> {
        self.database.query(|db| {
            // With FULL, SQLite would also flush the directory of its log each time the database is opened.
            db.pragma_update(None, "synchronous", "NORMAL")?;
            let transaction = db.unchecked_transaction()?;
            if queued.event != QueuedEvent::Manual || !make_waiting_due(db, queued)? {
                insert_row(db, at, queued)?;
            }
            transaction.commit()?;
            db.pragma_update(None, "synchronous", "FULL")
        })?;
        self.flush()
    }
}

fn insert_row(db: &Connection, at: Moment, queued: &Queued) -> rusqlite::Result<()> {
    let sql = "INSERT INTO queue (at, project, session, transcript, event, reason, judge, destination)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    db.prepare(sql)?
        .execute(params![
            at.0.cast_signed(),
            queued.project.to_string_lossy(),
            queued.session,
            queued.transcript.to_string_lossy(),
            <&str>::from(queued.event),
            queued.reason,
            queued.judge.as_str(),
            queued.destination,
        ])
        .map(drop)
}

/// Makes an equal item due that waits after any event, and returns whether there is one. It covers the whole
/// transcript, unless its slice was started before the transcript grew. Hooks and runs always add an item, because a
/// worker may be starting a slice while the session ends.
fn make_waiting_due(db: &Connection, queued: &Queued) -> rusqlite::Result<bool> {
    let sql = format!(
        "UPDATE queue SET not_before = 0
         WHERE state = 'waiting' AND project = ? AND transcript = ? AND judge = ? AND destination = ?
         AND NOT EXISTS (SELECT 1 FROM slices WHERE queued = queue.id AND slices.{UNFINISHED}
                         AND NOT more AND end_offset < ?)"
    );
    let bytes = fs::metadata(&queued.transcript).map_or(0, |metadata| metadata.len());
    let (project, transcript) = (queued.project.to_string_lossy(), queued.transcript.to_string_lossy());
    let waiting =
        params![project, transcript, queued.judge.as_str(), queued.destination, bytes.cast_signed()];
    Ok(db.execute(&sql, waiting)? > 0)
}
