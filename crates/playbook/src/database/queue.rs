//! Adds items to the queue. For a hook this takes a few milliseconds and one flush to the disk.

use super::LearningDb;
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use rusqlite::params;
use std::path::PathBuf;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedEvent {
    /// A session ended.
    SessionEnd,
    /// A session is about to be compacted.
    PreCompact,
    /// A sub-agent ended.
    SubagentStop,
    /// A run of Longhaul finished.
    Run,
    /// The user requested it, for this session or for all past ones.
    Manual,
}

/// How the judge is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeKind {
    /// The Messages API, with a key.
    Api,
    /// Claude Code, in a separate run with its own login.
    Claude,
}

impl QueuedEvent {
    /// All events, in order.
    pub const ALL: &'static [QueuedEvent] = &[
        QueuedEvent::SessionEnd,
        QueuedEvent::PreCompact,
        QueuedEvent::SubagentStop,
        QueuedEvent::Run,
        QueuedEvent::Manual,
    ];

    /// Returns the word that the agent and the database use.
    pub fn as_str(self) -> &'static str {
        match self {
            QueuedEvent::SessionEnd => "SessionEnd",
            QueuedEvent::PreCompact => "PreCompact",
            QueuedEvent::SubagentStop => "SubagentStop",
            QueuedEvent::Run => "run",
            QueuedEvent::Manual => "manual",
        }
    }

    /// Parses a word. An unknown word, from a later version, counts as `Manual`.
    pub(super) fn parse(word: &str) -> QueuedEvent {
        QueuedEvent::ALL.iter().copied().find(|event| event.as_str() == word).unwrap_or(QueuedEvent::Manual)
    }
}

impl JudgeKind {
    /// All kinds, in order.
    pub const ALL: &'static [JudgeKind] = &[JudgeKind::Api, JudgeKind::Claude];

    /// Returns the word that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            JudgeKind::Api => "api",
            JudgeKind::Claude => "claude",
        }
    }

    /// Parses a word, or returns `None` if it is unknown.
    pub fn parse(word: &str) -> Option<JudgeKind> {
        JudgeKind::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

impl LearningDb {
    /// Adds an item to the queue. It is on disk when this returns. A database that turns out to be damaged is
    /// moved aside.
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the item is not queued, or if that is unknown.
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
            let sql =
                "INSERT INTO queue (at, project, session, transcript, event, reason, judge, destination)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            db.prepare(sql)?.execute(params![
                at.0.cast_signed(),
                queued.project.to_string_lossy(),
                queued.session,
                queued.transcript.to_string_lossy(),
                queued.event.as_str(),
                queued.reason,
                queued.judge.as_str(),
                queued.destination,
            ])?;
            db.pragma_update(None, "synchronous", "FULL")
        })?;
        self.flush()
    }
}
