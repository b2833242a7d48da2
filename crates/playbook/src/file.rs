//! Reads and writes the playbook of a project: `.claude/playbook.json`.
//!
//! A writer holds a lock, records the new text before it writes, and replaces the file as a whole. A file
//! that cannot be parsed is backed up and never replaced by an empty one.
//!
//! A change has four steps: write the new text to a temporary file, record it in [`LearningDb`], replace the
//! file, and record that it was replaced. A writer that is killed leaves either the old or the new state, and
//! the next one completes the change ([`state`]).

mod last_updated;
mod state;
mod target;
mod undo;

#[cfg(test)]
mod tests;

pub use undo::{UndoError, UndoPlan};

use crate::database::{Revision, RevisionCause};
use crate::failpoints::{Failpoint, pass};
use crate::points::{Applied, ChangeSummary};
use crate::{LearningDb, Playbook};
use longhaul_core::Moment;
use longhaul_store::DatabaseError;
use state::{FileContent, LockedPlaybook, read_content};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use target::Target;
use thiserror::Error;

/// The playbook file of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookFile {
    path: PathBuf,
}

/// A playbook as read from its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedPlaybook {
    /// Text of the file, or `None` if there is no file, which is an empty playbook.
    pub text: Option<String>,
    /// Parsed content.
    pub playbook: Playbook,
    /// Warnings about conversions and irregularities.
    pub warnings: Vec<String>,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeResult {
    /// Id of the revision, or `None` if none was recorded.
    pub revision: Option<i64>,
    /// Whether the file changed.
    pub outcome: ChangeOutcome,
    /// Applied and skipped changes.
    pub changes: ChangeSummary,
    /// Backup of a damaged file, whose content was not used.
    pub damaged_copy: Option<PathBuf>,
    /// Warnings about irregularities of the file.
    pub warnings: Vec<String>,
}

/// Whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// The file changed.
    Saved,
    /// There was nothing to change.
    Unchanged,
    /// The change was already made.
    AlreadyApplied,
}

/// Why a playbook cannot be read or written. Nothing was changed, and the caller may repeat the change.
#[derive(Debug, Error)]
pub enum FileError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb of the operation.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
    /// The file is not a playbook.
    #[error("cannot read {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Cause and position of the error.
        cause: String,
    },
    /// A later program wrote it.
    #[error("cannot read {}: its version is {version}, which a newer program wrote", path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        version: String,
    },
    /// Another process holds the lock for longer than the timeout.
    #[error("cannot change {}: another process is changing it", .0.display())]
    Busy(PathBuf),
    /// The file changed since the caller read it.
    #[error("cannot change {}: it has changed in the meantime", .0.display())]
    ChangedMeanwhile(PathBuf),
    /// Links lead out of the project to a file that is not a playbook.
    #[error(
        "cannot change {}: it links to {}, which is outside the project and not a playbook",
        path.display(),
        leads_to.display()
    )]
    Outside {
        /// Path of the file.
        path: PathBuf,
        /// Target of the links.
        leads_to: PathBuf,
    },
    /// A change cannot be undone.
    #[error("cannot undo: {0}")]
    Undo(#[from] UndoError),
    /// The learning database failed.
    #[error(transparent)]
    Learning(#[from] DatabaseError),
}

impl FileError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> FileError {
        FileError::Io { action, path: path.to_owned(), source }
    }

    /// Returns what the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            FileError::Io { path, source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free disk space; nothing was changed".to_owned()
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    let dir = path.parent().unwrap_or(path).display();
                    format!("allow writing to {dir} and the file in it; nothing was changed")
                }
                _ => "nothing was changed".to_owned(),
            },
            FileError::Damaged { .. } => {
                "fix it, or leave it: the next change keeps a copy of it and continues from the last saved state"
                    .to_owned()
            }
            FileError::Newer { .. } => "update longhaul; the file is left as it is".to_owned(),
            FileError::Busy(_) => "try again in a moment".to_owned(),
            FileError::ChangedMeanwhile(_) => "review it, and make your change again".to_owned(),
            FileError::Outside { .. } => {
                "remove the link, or put a playbook there yourself, such as `{\"sections\": {}}`; nothing was changed"
                    .to_owned()
            }
            FileError::Undo(_) => "nothing was changed".to_owned(),
            FileError::Learning(error) => error.hint().to_owned(),
        }
    }
}

impl PlaybookFile {
    /// Creates a handle for the playbook file of a project.
    pub fn in_project(project: &Path) -> PlaybookFile {
        PlaybookFile { path: project.join(".claude").join("playbook.json") }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn project_dir(&self) -> &Path {
        self.path.parent().and_then(Path::parent).unwrap_or(&self.path)
    }

    fn target(&self) -> Result<Target, FileError> {
        Target::new(self.project_dir(), &self.path)
    }

    /// Returns the name under which the history is stored: the canonical directory of the project.
    pub fn project(&self) -> String {
        let project = self.project_dir();
        fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned()
    }

    /// Reads the playbook. Takes no lock and changes nothing: a reader gets the old state or the new one.
    ///
    /// # Errors
    /// Returns [`FileError::Damaged`], [`FileError::Newer`] or an I/O error.
    pub fn read(&self) -> Result<LoadedPlaybook, FileError> {
        match read_content(&self.target()?)? {
            FileContent::Readable(loaded) => Ok(*loaded),
            FileContent::Damaged { cause, .. } => Err(FileError::Damaged { path: self.path.clone(), cause }),
        }
    }

    /// Returns the bytes of the file, valid or not, or `None` if there is no file.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, FileError> {
        self.target()?.bytes()
    }

    /// Completes the change of a writer that was killed, so that readers see it. The next change does this
    /// too.
    pub fn complete_interrupted_change(&self, learning: &LearningDb) -> Result<(), FileError> {
        if learning.last_revisions(&self.project())?.0.is_none_or(|last| last.written) {
            return Ok(());
        }
        self.lock(learning).map(drop)
    }

    /// Changes the playbook, unless it was changed for this cause before. `change` receives the current
    /// state, with the changes of other programs. It is called at most once.
    pub fn change(
        &self,
        learning: &mut LearningDb,
        cause: &RevisionCause,
        at: Moment,
        change: impl FnOnce(&Playbook) -> Applied,
    ) -> Result<ChangeResult, FileError> {
        let locked = self.lock(learning)?;
        if let RevisionCause::SliceRow(slice) = cause
            && let Some(revision) = learning.revision_of_slice(*slice)?
        {
            let outcome = ChangeOutcome::AlreadyApplied;
            return Ok(locked.result(outcome, Some(revision.id), revision.changes));
        }
        let applied = change(&locked.playbook);
        locked.save(learning, *cause, at, applied)
    }

    /// Replaces the playbook whose bytes were `seen` when the user read it.
    ///
    /// # Errors
    /// Returns [`FileError::ChangedMeanwhile`] if the file has changed since, and the errors of
    /// [`PlaybookFile::change`].
    pub fn replace(
        &self,
        learning: &mut LearningDb,
        seen: Option<&[u8]>,
        playbook: Playbook,
        at: Moment,
    ) -> Result<ChangeResult, FileError> {
        let locked = self.lock(learning)?;
        if locked.bytes.as_deref() != seen {
            return Err(FileError::ChangedMeanwhile(self.path.clone()));
        }
        let changes = ChangeSummary::diff(&locked.playbook, &playbook);
        locked.save(learning, RevisionCause::Edit, at, Applied { playbook, changes })
    }
}

impl LockedPlaybook {
    fn result(self, outcome: ChangeOutcome, revision: Option<i64>, changes: ChangeSummary) -> ChangeResult {
        let LockedPlaybook { warnings, damaged_copy, .. } = self;
        ChangeResult { revision, outcome, changes, damaged_copy, warnings }
    }

    /// Records and writes a change. If nothing changes, only a slice is recorded, so that it is not judged
    /// again.
    fn save(
        self,
        learning: &mut LearningDb,
        cause: RevisionCause,
        at: Moment,
        applied: Applied,
    ) -> Result<ChangeResult, FileError> {
        let Applied { mut playbook, changes } = applied;
        playbook.reserve_ids(&self.playbook);
        let before = self.playbook.last_updated.clone();
        let mut revisions: Vec<Revision> = self.external_revision(at).into_iter().collect();
        let mut revision = Revision {
            id: 0,
            at,
            cause,
            before: before.clone(),
            after: before.clone().unwrap_or_default(),
            content: Some(self.text.clone()),
            written: true,
            changes: changes.clone(),
        };
        // Only a non-empty change replaces a damaged file; an empty playbook never does.
        let is_repaired = self.damaged_copy.is_some() && !playbook.is_empty();
        if playbook.same_content(&self.playbook) && !is_repaired {
            if !matches!(cause, RevisionCause::SliceRow(_)) {
                return Ok(self.result(ChangeOutcome::Unchanged, None, changes));
            }
            revisions.push(revision);
            let id = learning.insert_revisions(&self.project, &revisions)?;
            return Ok(self.result(ChangeOutcome::Unchanged, Some(id), changes));
        }
        let last = self.last.as_ref().map(|last| last.after.as_str());
        revision.after = last_updated::stamp(at, &[before.as_deref(), last]);
        playbook.last_updated = Some(revision.after.clone());
        let content = playbook.text();
        let prepared = self.target.prepare(&self.lock, &content)?;
        (revision.content, revision.written) = (Some(content), false);
        revisions.push(revision);
        let id = learning.insert_revisions(&self.project, &revisions)?;
        pass(Failpoint::Recorded);
        match prepared.replace_target() {
            // If this record is lost, the next writer detects that the file was written.
            Ok(true) => drop(learning.mark_written(id)),
            Ok(false) => {}
            Err(error) => {
                // If the record cannot be deleted, the next writer detects that the file has not changed.
                drop(learning.delete_revision(id));
                return Err(error);
            }
        }
        pass(Failpoint::Confirmed);
        Ok(self.result(ChangeOutcome::Saved, Some(id), changes))
    }
}
