//! What is queued: a few milliseconds of work for a hook, and one flush to the disk.

use super::{LearningDb, LearningError};
use longhaul_core::Moment;
use rusqlite::params;
use std::path::PathBuf;

/// Something to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The directory whose playbook learns.
    pub project: PathBuf,
    /// The session, as the agent named it.
    pub session: Option<String>,
    /// Its transcript.
    pub transcript: PathBuf,
    /// What happened.
    pub event: QueuedEvent,
    /// Why, in the agent's word.
    pub reason: Option<String>,
    /// Who judges it.
    pub judge: JudgeKind,
    /// The API that the session itself talked to: its content is sent nowhere else.
    pub destination: String,
}

/// What happened that there is something to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedEvent {
    /// A session ended.
    SessionEnd,
    /// A session's older part is about to be forgotten.
    PreCompact,
    /// A sub-agent ended.
    SubagentStop,
    /// A run of ours was over.
    Run,
    /// A person asked for it, or for all sessions of the past.
    Manual,
}

/// By what way the judge is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeKind {
    /// The Messages API, with a key.
    Api,
    /// Claude Code, by a run of its own: with whatever login that has.
    Claude,
}

impl QueuedEvent {
    /// Every event.
    pub const ALL: &'static [QueuedEvent] = &[
        QueuedEvent::SessionEnd,
        QueuedEvent::PreCompact,
        QueuedEvent::SubagentStop,
        QueuedEvent::Run,
        QueuedEvent::Manual,
    ];

    /// The word, as the agent and the database have it.
    pub fn as_str(self) -> &'static str {
        match self {
            QueuedEvent::SessionEnd => "SessionEnd",
            QueuedEvent::PreCompact => "PreCompact",
            QueuedEvent::SubagentStop => "SubagentStop",
            QueuedEvent::Run => "run",
            QueuedEvent::Manual => "asked",
        }
    }

    /// The event of this word. One that a later version knows is something that a person asked for.
    pub(super) fn parse(word: &str) -> QueuedEvent {
        QueuedEvent::ALL.iter().copied().find(|event| event.as_str() == word).unwrap_or(QueuedEvent::Manual)
    }
}

impl JudgeKind {
    /// Every kind.
    pub const ALL: &'static [JudgeKind] = &[JudgeKind::Api, JudgeKind::Claude];

    /// The word, as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            JudgeKind::Api => "api",
            JudgeKind::Claude => "claude",
        }
    }

    /// The kind of this word.
    pub fn parse(word: &str) -> Option<JudgeKind> {
        JudgeKind::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

impl LearningDb {
    /// Queues it, on disk when this returns. A database that is found damaged only now is set aside.
    ///
    /// # Errors
    /// [`LearningError`]; it may not be queued then.
    pub fn enqueue(&self, at: Moment, queued: &Queued) -> Result<(), LearningError> {
        match self.insert(at, queued) {
            Err(LearningError::Damaged { .. }) => LearningDb::open_anew(self.place())?.insert(at, queued),
            inserted => inserted,
        }
    }

    fn insert(&self, at: Moment, queued: &Queued) -> Result<(), LearningError> {
        self.known(|db| {
            // SQLite would flush the directory of its log, too, each time it is opened.
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
