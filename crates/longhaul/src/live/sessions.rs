//! The agent's session files on this machine: looks for one, brings it to where the agent looks, and says
//! afterwards whether the agent went on from it. An original is never changed: what is repaired or placed is
//! a copy.

use crate::Environment;
use crate::find_agent::files_in_folders;
use longhaul_agent::{Health, SessionLayout};
use longhaul_core::{
    AttemptPlan, Continuity, PromptKind, ResumeStrategy, SessionFileState, SessionId, SessionPlan,
};
use longhaul_store::{AttemptDir, Durability, RunDir, SessionBaseline, read_regular, replace};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

// The longest of the sessions that we have seen has 40 MB. One that is longer is left to the agent.
const SESSION_BYTES_MAX: u64 = 512 << 20;
// A session that was repaired more often keeps its first and its last originals.
const ORIGINALS_MAX: u32 = 9;

/// Where the session files of one run's agent are.
pub(crate) struct SessionFiles<'a> {
    sessions: &'a dyn SessionLayout,
    run: &'a RunDir,
    /// Where the agent works, symbolic links resolved.
    cwd: PathBuf,
    /// The agent's configuration directory.
    config: PathBuf,
    /// The one that it has where nothing names another.
    default_config: Option<PathBuf>,
}

/// What is to be known of a session that an attempt begins with.
#[derive(Debug, Default)]
pub(crate) struct PreparedSession {
    /// What is written down for later.
    pub(crate) session: Option<SessionBaseline>,
    /// The tool calls whose results the conversation shows.
    pub(crate) visible_tool_results: Option<BTreeSet<String>>,
    /// The message that the agent is to go on from, if that is not the end.
    pub(crate) resume_at: Option<String>,
}

/// What one file is good for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileCondition {
    Absent,
    Empty,
    Damaged,
    /// Also one that cannot be read by us, or not in reasonable time: the agent will tell.
    Whole,
}

impl<'a> SessionFiles<'a> {
    /// Those of an agent that is started in `environment` to work in `cwd`; nothing if nobody knows where it
    /// keeps them.
    pub(crate) fn new(
        sessions: &'a dyn SessionLayout,
        run: &'a RunDir,
        environment: &Environment,
        cwd: &Path,
    ) -> Option<SessionFiles<'a>> {
        let variable = |name: &str| environment.variable(name);
        Some(SessionFiles {
            sessions,
            run,
            cwd: fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned()),
            config: sessions.config_dir(&variable)?,
            default_config: sessions.default_config_dir(&variable),
        })
    }

    /// What there is of a session.
    pub(crate) fn inspect(&self, session: &SessionId) -> SessionFileState {
        // Only the agent knows which session a title means.
        if !session.is_uuid() {
            return SessionFileState::Ready;
        }
        let place = self.place(session);
        match self.worth(&place) {
            FileCondition::Whole if self.lacks_rows(session, &place) => SessionFileState::Stale,
            FileCondition::Whole => SessionFileState::Ready,
            FileCondition::Damaged => SessionFileState::Damaged,
            FileCondition::Absent | FileCondition::Empty if self.elsewhere(session).is_some() => {
                SessionFileState::Elsewhere
            }
            FileCondition::Empty => SessionFileState::Empty,
            FileCondition::Absent if self.was_kept(session) => SessionFileState::Missing,
            // The agent may keep its files where we cannot look: in a container, say.
            FileCondition::Absent => SessionFileState::Ready,
        }
    }

    /// Brings the session's file to where the agent looks, whole, and tells what the attempt begins with. `wrap_up` is
    /// what this run's agent is told when it is to save its work, if not our words.
    ///
    /// # Errors
    ///
    /// If a copy cannot be written, or has nothing to be made of.
    pub(crate) fn prepare(&self, plan: &AttemptPlan, wrap_up: Option<&str>) -> io::Result<PreparedSession> {
        let from = match &plan.session {
            SessionPlan::New(_) => None,
            SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => Some(from),
        };
        let Some(from) = from.filter(|from| from.is_uuid()) else {
            return Ok(PreparedSession {
                session: Some(self.recorded(plan.session.id(), None, &[])),
                ..PreparedSession::default()
            });
        };
        let place = self.place(from);
        match (plan.strategy, self.worth(&place)) {
            (
                Some(ResumeStrategy::Repair | ResumeStrategy::Fork),
                FileCondition::Damaged | FileCondition::Whole,
            ) => self.repair(from, &place)?,
            (
                Some(ResumeStrategy::Relocate | ResumeStrategy::Fork),
                FileCondition::Absent | FileCondition::Empty,
            ) => {
                let found = self.elsewhere(from).ok_or(io::ErrorKind::NotFound)?;
                self.copy(from, &found, &place)?;
            }
            _ => {}
        }
        let Ok(bytes) = self.read(&place) else { return Ok(PreparedSession::default()) };
        let other = (from != plan.session.id()).then_some(place.as_path());
        let session = self.recorded(plan.session.id(), other, &bytes);
        let resume_at = self.resume_at(plan, &session, wrap_up, &bytes);
        let history =
            resume_at.as_ref().map_or(&*bytes, |message| self.sessions.history_up_to(&bytes, message));
        Ok(PreparedSession {
            visible_tool_results: Some(self.sessions.visible_tool_results(history)),
            session: Some(SessionBaseline { resume_at: resume_at.clone(), ..session }),
            resume_at,
        })
    }

    /// The message that this attempt is to go on from: the one before the work was saved, so that the agent does not
    /// read that it was to stop. Where it came to nothing from there, the next attempt goes on from the end.
    fn resume_at(
        &self,
        plan: &AttemptPlan,
        session: &SessionBaseline,
        wrap_up: Option<&str>,
        history: &[u8],
    ) -> Option<String> {
        let goes_on =
            matches!(plan.session, SessionPlan::Resume(_)) && !matches!(plan.prompt, PromptKind::WrapUp(_));
        let message = self.sessions.resume_point_before_wrap_up(history, wrap_up).filter(|_| goes_on)?;
        let tried = self.prepared().last().is_some_and(|(_, last)| {
            last.resume_at.as_ref() == Some(&message)
                && (last.bytes, &last.last_row) == (session.bytes, &session.last_row)
        });
        (!tried).then_some(message)
    }

    /// What became of the history with which this attempt began, now that its agent is gone; nothing if it
    /// began with none or cannot be read. That the file was there is written down.
    pub(crate) fn continuity_of(&self, attempt: &AttemptDir) -> Option<Continuity> {
        let started = attempt.session().ok()??;
        let now = self.read(started.file.as_path()).ok()?;
        if !started.existed {
            // Derived: whoever looks next will see it again.
            let _ = attempt.write_session(&SessionBaseline { existed: true, ..started.clone() });
        }
        let before = match &started.source {
            Some(from) => self.read(from.as_path()).ok()?,
            None => now.clone(),
        };
        if started.bytes == 0 {
            return None;
        }
        match before.get(..usize::try_from(started.bytes).ok()?) {
            Some(before) if self.sessions.last_row_id(before) == started.last_row => {
                Some(self.sessions.continuity(before, &now, started.resume_at.as_deref()))
            }
            // The agent only ever adds: this is another file.
            Some(_) | None => Some(Continuity::Unrelated),
        }
    }

    fn recorded(&self, session: &SessionId, from: Option<&Path>, history: &[u8]) -> SessionBaseline {
        SessionBaseline {
            session: session.clone(),
            file: self.place(session).as_path().into(),
            source: from.map(Into::into),
            bytes: history.len() as u64,
            last_row: self.sessions.last_row_id(history),
            resume_at: None,
            existed: !history.is_empty() && from.is_none(),
        }
    }

    /// Where the agent looks for a session.
    fn place(&self, session: &SessionId) -> PathBuf {
        self.config.join(self.sessions.file(&self.cwd, session))
    }

    /// The best file of the session in any other place: one that is whole, and of these the longest.
    fn elsewhere(&self, session: &SessionId) -> Option<PathBuf> {
        let place = self.place(session);
        let name = place.file_name()?;
        let mut files = vec![self.run.sessions_path().join(name)];
        for config in [Some(&self.config), self.default_config.as_ref()].into_iter().flatten() {
            files.extend(files_in_folders(config, self.sessions.projects_dir(), name));
        }
        let started =
            self.prepared().map(|(_, started)| started).filter(|started| started.session == *session);
        files.extend(started.map(|started| started.file.as_path().to_owned()));
        let worth = |file: PathBuf| {
            let length = fs::metadata(&file).ok()?.len();
            Some((self.worth(&file), length, file))
        };
        let usable = files.into_iter().filter(|file| *file != place).filter_map(worth);
        usable.filter(|(worth, ..)| *worth >= FileCondition::Damaged).max().map(|(.., file)| file)
    }

    /// Whether an attempt of this run has seen the session's file.
    fn was_kept(&self, session: &SessionId) -> bool {
        self.prepared().any(|(_, started)| started.existed && started.session == *session)
    }

    /// The attempts of which it is known what session they began with, in their order.
    fn prepared(&self) -> impl Iterator<Item = (AttemptDir, SessionBaseline)> {
        let attempts = self.run.attempts().unwrap_or_default();
        attempts.into_iter().filter_map(|attempt| attempt.session().ok()?.map(|started| (attempt, started)))
    }

    fn worth(&self, file: &Path) -> FileCondition {
        match self.read(file) {
            Ok(bytes) => match self.sessions.health(&bytes) {
                Health::Whole => FileCondition::Whole,
                Health::Damaged(_) => FileCondition::Damaged,
                Health::Empty => FileCondition::Empty,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileCondition::Absent,
            Err(_) => FileCondition::Whole,
        }
    }

    fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
        if fs::metadata(file)?.len() > SESSION_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        read_regular(file)
    }

    /// Replaces the file by a whole copy of itself; the original is kept beside it.
    fn repair(&self, session: &SessionId, file: &Path) -> io::Result<()> {
        let bytes = self.read(file)?;
        let Some(whole) = self.whole(session, &bytes) else { return Ok(()) };
        write(&original(file, self.flaw(&bytes)), &bytes)?;
        write(file, &whole)
    }

    /// Copies a session's file to where the agent looks, whole. What was there is kept beside it.
    fn copy(&self, session: &SessionId, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = self.read(from)?;
        if let Ok(there) = self.read(to) {
            write(&original(to, self.flaw(&there)), &there)?;
        }
        if let Some(folder) = to.parent() {
            DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        write(to, &self.whole(session, &bytes).unwrap_or(bytes))
    }

    /// What the original of a file that is replaced is called by.
    fn flaw(&self, bytes: &[u8]) -> &'static str {
        match self.sessions.health(bytes) {
            Health::Whole => "behind",
            Health::Damaged(_) | Health::Empty => "damaged",
        }
    }

    /// The session without what is damaged in it, and with what it lacks; nothing if it is whole.
    fn whole(&self, session: &SessionId, bytes: &[u8]) -> Option<Vec<u8>> {
        let repaired = self.sessions.repair(bytes);
        let rows = repaired.as_deref().unwrap_or(bytes);
        let missing = self.missing(session, rows);
        if missing.is_empty() {
            return repaired;
        }
        // The last row may lack its newline, and is none the worse for it.
        let newline: &[u8] = if rows.ends_with(b"\n") { b"" } else { b"\n" };
        Some([rows, newline, &missing].concat())
    }

    fn lacks_rows(&self, session: &SessionId, file: &Path) -> bool {
        self.read(file).is_ok_and(|bytes| !self.missing(session, &bytes).is_empty())
    }

    /// The rows that the agent was killed before it had written: its stream tells them.
    fn missing(&self, session: &SessionId, bytes: &[u8]) -> Vec<u8> {
        let Some((attempt, started)) =
            self.prepared().filter(|(_, started)| started.session == *session).last()
        else {
            return Vec::new();
        };
        let length = usize::try_from(started.bytes).ok().filter(|_| started.source.is_none());
        let stream = self.read(&attempt.stream_path()).unwrap_or_default();
        self.sessions.missing_rows(bytes, length, &stream)
    }
}

/// A name for the original of a file that is replaced: with this ending, or the first of its kind that is free.
fn original(file: &Path, flaw: &str) -> PathBuf {
    let name = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(if number == 1 { format!(".{flaw}") } else { format!(".{flaw}-{number}") });
        PathBuf::from(name)
    };
    (1..=ORIGINALS_MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(ORIGINALS_MAX))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, bytes, Durability::Power).map_err(io::Error::other)
}
