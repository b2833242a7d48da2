//! The playbook of a project on disk: `.claude/playbook.json`. Who changes it holds a lock, writes down what it will be
//! before it is, and replaces it as a whole. One that cannot be understood is kept, and never overwritten by an empty one.
//!
//! A change is, in this order: the new text beside the file and on disk; what the file will be, in [`Learning`]; the file;
//! and the note that it has it. A writer that is killed between two of them leaves the one state or the other, and the next
//! one brings to its end what was begun ([`state`]).

mod failpoints;
mod last_updated;
mod state;
mod target;
mod undo;

#[cfg(test)]
mod tests;

pub use undo::{UndoError, Undoing};

use crate::database::{LearningError, NewRevision, RevisionCause};
use crate::points::{Applied, ChangeSummary};
use crate::{LearningDb, Playbook};
use failpoints::{Step, pass};
use longhaul_core::Moment;
use state::{Held, State, held};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use target::{Lock, Place};
use thiserror::Error;

/// The playbook file of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookFile {
    path: PathBuf,
}

/// A playbook as it is in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The text of the file; nothing where there is none, which is an empty playbook.
    pub text: Option<String>,
    /// What it says.
    pub playbook: Playbook,
    /// What was taken over from an older form, or is odd about it.
    pub warnings: Vec<String>,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// Its number in the history; nothing if there is nothing to be remembered.
    pub save: Option<i64>,
    /// What came of it.
    pub outcome: Outcome,
    /// What was done and what was skipped.
    pub changes: ChangeSummary,
    /// Where a damaged file is kept, from which we did not go on.
    pub damaged_copy: Option<PathBuf>,
    /// What was odd about the file.
    pub warnings: Vec<String>,
}

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file has changed.
    Saved,
    /// There was nothing to change: the file is as it was.
    Unchanged,
    /// It was made before.
    Already,
}

/// Why a playbook cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is no playbook.
    #[error("read {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: String,
    },
    /// A later program wrote it.
    #[error("read {}: its version is {version}, which a newer program wrote", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// Somebody else changes it for longer than we wait.
    #[error("change {}: another process is changing it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It is not what was to be changed any more.
    #[error("change {}: it has changed in the meantime", path.display())]
    Overtaken {
        /// The file.
        path: PathBuf,
    },
    /// Links lead out of the project to something that is no playbook.
    #[error(
        "change {}: it leads to {}, which is outside of the project and no playbook",
        path.display(),
        leads_to.display()
    )]
    Outside {
        /// The file.
        path: PathBuf,
        /// What is behind the links.
        leads_to: PathBuf,
    },
    /// A change cannot be taken back.
    #[error("undo: {0}")]
    Undo(#[from] UndoError),
    /// What it will be cannot be written down.
    #[error(transparent)]
    Learning(#[from] LearningError),
}

impl FileError {
    fn io(doing: &'static str, path: &Path, source: io::Error) -> FileError {
        FileError::Io { doing, path: path.to_owned(), source }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            FileError::Io { path, source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room on the disk; nothing was changed".to_owned()
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    let dir = path.parent().unwrap_or(path).display();
                    format!("allow writing to {dir} and the file in it; nothing was changed")
                }
                _ => "nothing was changed".to_owned(),
            },
            FileError::Damaged { .. } => {
                "correct it, or let it be: it is kept aside by the next change, which goes on from the last saved state"
                    .to_owned()
            }
            FileError::Newer { .. } => "update longhaul; the file is left as it is".to_owned(),
            FileError::Busy { .. } => "try again in a moment".to_owned(),
            FileError::Overtaken { .. } => "look at it again, and make your change anew".to_owned(),
            FileError::Outside { .. } => {
                "remove the link, or put a playbook there yourself, such as `{\"sections\": {}}`; nothing was changed"
                    .to_owned()
            }
            FileError::Undo(UndoError::Nothing) => "there is nothing to take back".to_owned(),
            FileError::Undo(UndoError::NoSuch { .. } | UndoError::Forgotten { .. }) => {
                "`longhaul playbook history` lists the changes".to_owned()
            }
            FileError::Undo(UndoError::Edited { .. }) => {
                "with --force it is taken back as well, and stays in the history".to_owned()
            }
            FileError::Learning(error) => error.hint(),
        }
    }
}

impl PlaybookFile {
    /// That of a project.
    pub fn of_project(project: &Path) -> PlaybookFile {
        PlaybookFile { path: project.join(".claude").join("playbook.json") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn project_dir(&self) -> &Path {
        self.path.parent().and_then(Path::parent).unwrap_or(&self.path)
    }

    fn place(&self) -> Result<Place, FileError> {
        Place::new(self.project_dir(), &self.path)
    }

    /// The name under which its history is kept: the project's directory, however it was reached.
    pub fn project(&self) -> String {
        let project = self.project_dir();
        fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned()
    }

    /// What it says. Nothing is locked and nothing changed: a reader sees the old state or the new one.
    ///
    /// # Errors
    /// [`FileError::Damaged`], [`FileError::Newer`], or what the system refused.
    pub fn read(&self) -> Result<Found, FileError> {
        match held(&self.place()?)? {
            Held::Nothing => Ok(Found { text: None, playbook: Playbook::default(), warnings: Vec::new() }),
            Held::Playbook { text, playbook, warnings: noticed } => {
                Ok(Found { text: Some(text), playbook: *playbook, warnings: noticed })
            }
            Held::Damage { cause, .. } => Err(FileError::Damaged { path: self.path.clone(), cause }),
        }
    }

    /// Changes it, or finds that it was changed for this cause before. What others changed in the meantime is in what is
    /// given to `change`, which may be called once, or not at all.
    ///
    /// # Errors
    /// [`FileError`]; nothing is changed then, and the same change can be made again.
    pub fn change(
        &self,
        learning: &mut LearningDb,
        cause: &RevisionCause,
        at: Moment,
        change: impl FnOnce(&Playbook) -> Applied,
    ) -> Result<Changed, FileError> {
        self.change_as(learning, at, |learning, state| {
            if let RevisionCause::SliceRow(slice) = cause
                && let Some(save) = learning.save_of_slice(*slice)?
            {
                return Err(Stopped::Already(save.id, save.changes));
            }
            Ok((*cause, change(&state.playbook)))
        })
    }

    /// The bytes of the file, whatever they are; nothing if there is none.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, FileError> {
        self.place()?.bytes()
    }

    /// Brings to its end what a writer that was killed had begun, so that whoever looks next sees it. The next change does so,
    /// too.
    ///
    /// # Errors
    /// [`FileError`]; nothing is changed then.
    pub fn settle(&self, learning: &LearningDb) -> Result<(), FileError> {
        if learning.last_saves(&self.project())?.0.is_none_or(|last| last.written) {
            return Ok(());
        }
        let (place, lock) = self.locked()?;
        self.state(learning, &place, &lock).map(|_| ())
    }

    /// Puts a playbook in the place of the bytes that a person saw.
    ///
    /// # Errors
    /// [`FileError::Overtaken`] if it is not that any more, and as [`PlaybookFile::change`].
    pub fn replace(
        &self,
        learning: &mut LearningDb,
        seen: Option<&[u8]>,
        playbook: Playbook,
        at: Moment,
    ) -> Result<Changed, FileError> {
        self.change_as(learning, at, |_, state| {
            if state.bytes.as_deref() != seen {
                return Err(FileError::Overtaken { path: self.path.clone() }.into());
            }
            let told = ChangeSummary::diff(&state.playbook, &playbook);
            Ok((RevisionCause::Edit, Applied { playbook, changes: told }))
        })
    }

    fn change_as(
        &self,
        learning: &mut LearningDb,
        at: Moment,
        change: impl FnOnce(&LearningDb, &State) -> Result<(RevisionCause, Applied), Stopped>,
    ) -> Result<Changed, FileError> {
        let (place, lock) = self.locked()?;
        let state = self.state(learning, &place, &lock)?;
        let (outcome, save, told) = match change(learning, &state) {
            Ok((cause, learned)) => self.save(learning, &place, &lock, &state, cause, at, learned)?,
            Err(Stopped::Already(save, told)) => (Outcome::Already, Some(save), told),
            Err(Stopped::Failed(error)) => return Err(error),
        };
        let State { warnings: noticed, damaged_copy: set_aside, .. } = state;
        Ok(Changed { save, outcome, changes: told, damaged_copy: set_aside, warnings: noticed })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a change, with all that was found out before it"
    )]
    fn save(
        &self,
        learning: &mut LearningDb,
        place: &Place,
        lock: &Lock,
        state: &State,
        cause: RevisionCause,
        at: Moment,
        learned: Applied,
    ) -> Result<(Outcome, Option<i64>, ChangeSummary), FileError> {
        let Applied { mut playbook, changes: told } = learned;
        playbook.reserve_ids(&state.playbook);
        let before = state.playbook.last_updated.clone();
        let found = state.is_found().then(|| NewRevision {
            at,
            cause: RevisionCause::External,
            before: state.last.as_ref().map(|last| last.after.clone()),
            after: before.clone().unwrap_or_default(),
            content: state.text.clone(),
            placed: true,
            changes: state.found_since(),
        });
        // A damaged file is mended by the first change, be it an empty one; never by an empty playbook.
        let is_repaired = state.damaged_copy.is_some() && !playbook.is_empty();
        if playbook.same_content(&state.playbook) && !is_repaired {
            // That a slice brought nothing is known, so that nobody looks for it again.
            let after = before.clone().unwrap_or_default();
            let content = state.text.clone();
            let save = NewRevision { at, cause, before, after, content, placed: true, changes: told.clone() };
            let is_known = matches!(cause, RevisionCause::SliceRow(_));
            let saves: Vec<NewRevision> = found.into_iter().chain([save]).collect();
            let save =
                if is_known { Some(learning.insert_revisions(&self.project(), &saves)?) } else { None };
            return Ok((Outcome::Unchanged, save, told));
        }
        let last = state.last.as_ref().map(|last| last.after.as_str());
        let after = last_updated::stamp(at, &[before.as_deref(), last]);
        playbook.last_updated = Some(after.clone());
        let content = playbook.text();
        let prepared = place.prepare(lock, &content)?;
        let save = NewRevision { at, cause, before, after, content, placed: false, changes: told.clone() };
        let saves: Vec<NewRevision> = found.into_iter().chain([save]).collect();
        let save = learning.insert_revisions(&self.project(), &saves)?;
        pass(Step::WrittenDown);
        match prepared.put() {
            // What is not noted, the next one finds out.
            Ok(true) => drop(learning.is_placed(save)),
            Ok(false) => {}
            Err(error) => {
                // As if it had not been tried. If that fails, too, the next one finds that the file has not changed.
                drop(learning.take_back(save));
                return Err(error);
            }
        }
        pass(Step::Noted);
        Ok((Outcome::Saved, Some(save), told))
    }
}

impl State {
    /// What others changed since our last save.
    fn found_since(&self) -> ChangeSummary {
        let last = self.last.as_ref().and_then(|last| last.content.as_deref());
        let last = last.and_then(|last| Playbook::read(last).ok()).unwrap_or_default().0;
        ChangeSummary::diff(&last, &self.playbook)
    }
}

/// Why a change is not made.
enum Stopped {
    /// It was, before.
    Already(i64, ChangeSummary),
    Failed(FileError),
}

impl<E: Into<FileError>> From<E> for Stopped {
    fn from(error: E) -> Stopped {
        Stopped::Failed(error.into())
    }
}
