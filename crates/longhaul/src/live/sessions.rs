//! The agent's session files on this machine. Finds a session file, copies it to where the agent reads it,
//! and reports afterwards whether the agent continued from it. It never changes an original; repairs and
//! relocations are copies.

use crate::Environment;
use crate::find_agent::files_in_folders;
use crate::live::loaded_session::{FileCondition, LoadedSession, condition, read};
use longhaul_agent::{Health, ResumePoint, SessionDocument, SessionHistory, SessionLayout};
use longhaul_core::{AttemptPlan, Continuity, PromptKind, ResumeStrategy, SessionFileState, SessionId};
use longhaul_store::{AttemptDir, Durability, RunDir, SessionBaseline, replace};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

// After more repairs than this, only the first backups and the last one remain.
const BACKUPS_MAX: u32 = 9;

pub(crate) struct SessionFiles<'a> {
    sessions: &'a SessionLayout,
    run: &'a RunDir,
    /// Working directory of the agent, with links resolved.
    cwd: PathBuf,
    config: PathBuf,
    default_config: Option<PathBuf>,
}

#[derive(Debug, Default)]
pub(crate) struct PreparedSession {
    /// Baseline to store for later comparison.
    pub(crate) session: Option<SessionBaseline>,
    /// Tool calls whose results the conversation contains.
    pub(crate) visible_tool_results: Option<BTreeSet<String>>,
    /// Where to resume. `None` for the end.
    pub(crate) resume_at: Option<ResumePoint>,
}

impl<'a> SessionFiles<'a> {
    /// Creates the layout for an agent that starts in `environment` and works in `cwd`. Returns `None` if the
    /// location of its sessions is unknown.
    pub(crate) fn new(
        sessions: &'a SessionLayout,
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

    /// Returns the file of a session: the one that the agent reads, or else the one that a resume copies there.
    pub(crate) fn find(&self, session: &SessionId) -> Option<PathBuf> {
        // A title is not an id and names no file.
        if !session.is_uuid() {
            return None;
        }
        let path = self.path(session);
        if path.is_file() { Some(path) } else { self.best_file(session, |_| true) }
    }

    /// Returns the state of a session's file, and the file if it was read. [`SessionFiles::prepare`] uses it.
    pub(crate) fn inspect(&self, session: &SessionId) -> (SessionFileState, Option<LoadedSession>) {
        // Only the agent can resolve a title to a session.
        if !session.is_uuid() {
            return (SessionFileState::Ready, None);
        }
        let loaded = self.load(&self.path(session));
        let state = match condition(&loaded) {
            _ if self.find_elsewhere(session, &loaded).is_some() => SessionFileState::Elsewhere,
            FileCondition::Whole if self.lacks_rows(session, &loaded) => SessionFileState::Stale,
            FileCondition::Whole => SessionFileState::Ready,
            FileCondition::Damaged => SessionFileState::Damaged,
            FileCondition::Empty => SessionFileState::Empty,
            FileCondition::Absent if self.was_seen(session) => SessionFileState::Missing,
            // The agent may store its files where this process cannot read, for example in a container.
            FileCondition::Absent => SessionFileState::Ready,
        };
        (state, loaded.ok())
    }

    /// Copies a repaired session file to where the agent reads it, if necessary, and returns the session that
    /// the attempt starts with. `wrap_up` is the run's own wrap-up prompt, if it has one. `inspected` is the
    /// file that was inspected for this attempt, if it was read.
    pub(crate) fn prepare(
        &self,
        plan: &AttemptPlan,
        wrap_up: Option<&str>,
        inspected: Option<LoadedSession>,
    ) -> io::Result<PreparedSession> {
        let Some(from) = plan.session.source().filter(|from| from.is_uuid()) else {
            return Ok(PreparedSession {
                session: Some(self.baseline(plan.session.id(), None, None)),
                ..PreparedSession::default()
            });
        };
        let path = self.path(from);
        let inspected = inspected.filter(|loaded| loaded.path == path && loaded.is_current());
        let loaded = inspected.map_or_else(|| self.load(&path), Ok);
        let may_copy = matches!(plan.strategy, Some(ResumeStrategy::Relocate | ResumeStrategy::Fork));
        let may_repair = matches!(plan.strategy, Some(ResumeStrategy::Repair | ResumeStrategy::Fork));
        let elsewhere = if may_copy { self.find_elsewhere(from, &loaded) } else { None };
        let loaded = match (condition(&loaded), elsewhere) {
            (_, Some(found)) => {
                self.copy(from, &found, loaded.as_ref().ok(), &path)?;
                self.load(&path)
            }
            (FileCondition::Absent | FileCondition::Empty, None) if may_copy => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (FileCondition::Damaged | FileCondition::Whole, None) if may_repair => {
                let damaged = loaded?;
                if self.repair(from, &damaged)? { self.load(&path) } else { Ok(damaged) }
            }
            _ => loaded,
        };
        let Ok(LoadedSession { document, .. }) = loaded else { return Ok(PreparedSession::default()) };
        let document = &document;
        let other = (from != plan.session.id()).then_some(path.as_path());
        let session = self.baseline(plan.session.id(), other, Some(document));
        let resume_at = self.resume_at(plan, &session, wrap_up, document);
        let message = resume_at.as_ref().map(|point| point.message.clone());
        Ok(PreparedSession {
            visible_tool_results: Some(document.answered_calls(message.as_deref())),
            session: Some(SessionBaseline { resume_at: message, ..session }),
            resume_at,
        })
    }

    /// Returns the message to resume or fork from: the one before the wrap-up prompt, because that prompt asks
    /// the agent to stop, or the one before the repeated prompts of an outage. If an attempt from there added nothing to
    /// the session, the next attempt resumes from the end.
    fn resume_at(
        &self,
        plan: &AttemptPlan,
        session: &SessionBaseline,
        wrap_up: Option<&str>,
        document: &SessionDocument,
    ) -> Option<ResumePoint> {
        let is_wrap_up = matches!(plan.prompt, PromptKind::WrapUp(_));
        let point = document.resume_point_before_wrap_up(wrap_up).filter(|_| !is_wrap_up);
        let point = point.or_else(|| document.resume_point_before_repeated_prompts())?;
        let was_tried = self.baselines().last().is_some_and(|(_, last)| {
            last.resume_at.as_ref() == Some(&point.message)
                && (last.bytes, &last.last_row) == (session.bytes, &session.last_row)
        });
        (!was_tried).then_some(point)
    }

    /// Returns how the session file relates to the history that this attempt started with. Returns `None` if
    /// there was no history or it cannot be read. Also records that the file existed.
    pub(crate) fn continuity_of(&self, attempt: &AttemptDir) -> Option<Continuity> {
        let baseline: SessionBaseline = attempt.read().ok()??;
        let now = self.load(baseline.file.as_path()).ok()?.document;
        if !baseline.existed {
            // A failed write loses nothing, because the next supervisor would observe this again.
            let _ = attempt.write(&SessionBaseline { existed: true, ..baseline.clone() });
        }
        let before = match &baseline.source {
            Some(from) => self.load(from.as_path()).ok()?.document.history(baseline.bytes),
            None => now.history(baseline.bytes),
        };
        if baseline.bytes == 0 {
            return None;
        }
        // The agent only appends, so another last row means a different file.
        let Some(before) = before.filter(|before| before.rows.last() == baseline.last_row.as_ref()) else {
            return Some(Continuity::Unrelated);
        };
        let end = baseline.resume_at.map_or(before.end, |message| BTreeSet::from([message]));
        Some(now.continuity(&SessionHistory { end, ..before }))
    }

    /// Returns the baseline of a session that starts with `document`, which is the file of another session if
    /// `from` names it.
    fn baseline(
        &self,
        session: &SessionId,
        from: Option<&Path>,
        document: Option<&SessionDocument>,
    ) -> SessionBaseline {
        let bytes = document.map_or(0, |document| document.bytes().len() as u64);
        SessionBaseline {
            session: session.clone(),
            file: self.path(session).as_path().into(),
            source: from.map(Into::into),
            bytes,
            last_row: document.and_then(SessionDocument::last_row_id).map(str::to_owned),
            resume_at: None,
            existed: bytes > 0 && from.is_none(),
        }
    }

    /// Returns the agent's own files of the session's sub-agents.
    pub(crate) fn sub_agent_files(&self, session: &SessionId) -> impl Iterator<Item = Vec<u8>> {
        let dir = self.config.join(self.sessions.sub_agents_dir(&self.cwd, session));
        let paths = fs::read_dir(dir).into_iter().flatten().flatten().map(|file| file.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.filter_map(|path| read(&path).ok())
    }

    pub(crate) fn path(&self, session: &SessionId) -> PathBuf {
        self.config.join(self.sessions.file(&self.cwd, session))
    }

    /// Returns the file of the session at another path that the agent must continue from. If its own file has a
    /// conversation, that is one with work of the run that its own file lacks: the workspace was moved back.
    fn find_elsewhere(&self, session: &SessionId, loaded: &io::Result<LoadedSession>) -> Option<PathBuf> {
        match condition(loaded) {
            FileCondition::Absent | FileCondition::Empty => self.best_file(session, |_| true),
            FileCondition::Damaged | FileCondition::Whole => {
                let own = &loaded.as_ref().ok()?.document;
                let (attempt, baseline) = self.last_attempt(session)?;
                let last_row = baseline.last_row.as_deref();
                self.best_file(session, |file| {
                    file.as_ref()
                        .is_ok_and(|file| file.document.is_ahead_of(own, last_row, || stream_of(&attempt)))
                })
            }
        }
    }

    /// Returns the best of these files of the session at any other path: a whole one if possible, and then the
    /// longest.
    fn best_file(
        &self,
        session: &SessionId,
        is_suitable: impl Fn(&io::Result<LoadedSession>) -> bool,
    ) -> Option<PathBuf> {
        let path = self.path(session);
        let name = path.file_name()?;
        let mut files = vec![self.run.sessions_path().join(name)];
        for config in [Some(&self.config), self.default_config.as_ref()].into_iter().flatten() {
            files.extend(files_in_folders(config, self.sessions.projects_dir(), name));
        }
        let baseline =
            self.baselines().map(|(_, baseline)| baseline).filter(|baseline| baseline.session == *session);
        // An imported run can name any file. Only one with the name of the session is taken.
        let recorded = baseline.map(|baseline| baseline.file.as_path().to_owned());
        files.extend(recorded.filter(|file| file.file_name() == Some(name)));
        let candidate = |file: PathBuf| {
            let length = fs::metadata(&file).ok()?.len();
            let loaded = self.load(&file);
            is_suitable(&loaded).then(|| (condition(&loaded), length, file))
        };
        let usable = files.into_iter().filter(|file| *file != path).filter_map(candidate);
        usable.filter(|(condition, ..)| *condition >= FileCondition::Damaged).max().map(|(.., file)| file)
    }

    fn was_seen(&self, session: &SessionId) -> bool {
        self.baselines().any(|(_, baseline)| baseline.existed && baseline.session == *session)
    }

    fn baselines(&self) -> impl Iterator<Item = (AttemptDir, SessionBaseline)> {
        let attempts = self.run.attempts().unwrap_or_default();
        attempts.into_iter().filter_map(|attempt| attempt.read().ok()?.map(|baseline| (attempt, baseline)))
    }

    fn load(&self, file: &Path) -> io::Result<LoadedSession> {
        LoadedSession::load(self.sessions, file)
    }

    /// Replaces the file with a repaired copy and keeps the original next to it. Returns `false` if the file
    /// is whole.
    fn repair(&self, session: &SessionId, loaded: &LoadedSession) -> io::Result<bool> {
        let Some(repaired) = self.repaired_content(session, &loaded.document) else { return Ok(false) };
        back_up(loaded)?;
        write(&loaded.path, &repaired)?;
        Ok(true)
    }

    /// Copies a session's file to where the agent reads it, repaired. A replaced file is kept next to it.
    fn copy(
        &self,
        session: &SessionId,
        from: &Path,
        replaced: Option<&LoadedSession>,
        to: &Path,
    ) -> io::Result<()> {
        let found = self.load(from)?.document;
        replaced.map_or(Ok(()), back_up)?;
        if let Some(folder) = to.parent() {
            DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        write(to, self.repaired_content(session, &found).as_deref().unwrap_or_else(|| found.bytes()))
    }

    /// Returns the session without its damaged rows and with its missing rows, or `None` if it is whole.
    fn repaired_content(&self, session: &SessionId, document: &SessionDocument) -> Option<Vec<u8>> {
        let repaired = document.without_damage();
        let missing = self.missing_rows(session, document);
        if missing.is_empty() {
            return repaired;
        }
        let rows = repaired.as_deref().unwrap_or_else(|| document.bytes());
        // The last row may lack its newline without being damaged.
        let newline: &[u8] = if rows.ends_with(b"\n") { b"" } else { b"\n" };
        Some([rows, newline, &missing].concat())
    }

    fn lacks_rows(&self, session: &SessionId, loaded: &io::Result<LoadedSession>) -> bool {
        loaded.as_ref().is_ok_and(|loaded| !self.missing_rows(session, &loaded.document).is_empty())
    }

    /// Returns the rows that the agent did not write before it was killed, from its stream.
    fn missing_rows(&self, session: &SessionId, document: &SessionDocument) -> Vec<u8> {
        let Some((attempt, baseline)) = self.last_attempt(session) else { return Vec::new() };
        let length = usize::try_from(baseline.bytes).ok().filter(|_| baseline.source.is_none());
        document.missing_rows(length, &stream_of(&attempt))
    }

    fn last_attempt(&self, session: &SessionId) -> Option<(AttemptDir, SessionBaseline)> {
        self.baselines().filter(|(_, baseline)| baseline.session == *session).last()
    }
}

fn stream_of(attempt: &AttemptDir) -> Vec<u8> {
    read(&attempt.stream_path()).unwrap_or_default()
}

fn back_up(loaded: &LoadedSession) -> io::Result<()> {
    let suffix = match loaded.document.health() {
        Health::Whole => "stale",
        Health::Damaged | Health::Empty => "damaged",
    };
    write(&backup_path(&loaded.path, suffix), loaded.document.bytes())
}

/// Returns a name for the backup of a replaced file: with this suffix, or with the first free number.
fn backup_path(file: &Path, suffix: &str) -> PathBuf {
    let name = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(if number == 1 { format!(".{suffix}") } else { format!(".{suffix}-{number}") });
        PathBuf::from(name)
    };
    (1..=BACKUPS_MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(BACKUPS_MAX))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, bytes, Durability::Power).map_err(io::Error::other)
}
