//! The reasons why a project cannot have worktrees, or why their results cannot be merged.

use crate::GitError;
use longhaul_store::StoreError;
use std::path::PathBuf;
use thiserror::Error;

// More names do not help a person.
const FILES_MAX: usize = 5;

/// The reason why runs cannot work in git worktrees of their own.
#[derive(Debug, Error)]
pub enum WorktreeError {
    /// The project is in no repository with files.
    #[error("{} is not in a git repository, so its runs cannot have worktrees", .0.display())]
    NoRepository(PathBuf),
    /// The repository has no commit.
    #[error("the git repository {} has no commit, so its runs cannot have worktrees", .0.display())]
    NoCommit(PathBuf),
    /// A worktree contains only committed work.
    #[error("worktrees contain only committed work, and {} has uncommitted changes: {}", top.display(), listed(files))]
    UncommittedWork {
        /// Top of the repository.
        top: PathBuf,
        /// Changed and new files, relative to it.
        files: Vec<String>,
    },
    /// This git cannot merge without a working directory.
    #[error("git 2.38 or later is needed to merge worktrees: {0}")]
    OldGit(GitError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorktreeError {
    pub(in crate::workflow) fn is_interrupted(&self) -> bool {
        matches!(self, WorktreeError::Git(error) | WorktreeError::OldGit(error) if error.is_interrupted())
    }

    /// Returns what a person can do. Only a person knows whether another git holds a lock.
    pub(super) fn remedy(&self) -> String {
        if let Some(lock) = self.lock() {
            return format!("If no other git is running, type `rm {}`", quoted(&lock));
        }
        match self {
            WorktreeError::UncommittedWork { .. } => "Commit or move these changes".to_owned(),
            WorktreeError::NoRepository(_)
            | WorktreeError::NoCommit(_)
            | WorktreeError::OldGit(_)
            | WorktreeError::Git(_)
            | WorktreeError::Store(_) => "Fix the cause".to_owned(),
        }
    }

    /// Returns the lock of another git that kept git from changing a file.
    pub(super) fn lock(&self) -> Option<String> {
        let text = self.to_string();
        let (_, rest) = text.split_once("Unable to create '")?;
        Some(rest.split_once("': File exists")?.0.to_owned())
    }
}

/// Returns the first names, and how many more there are.
pub(in crate::workflow) fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(FILES_MAX)].join(", ");
    match names.len().saturating_sub(FILES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
