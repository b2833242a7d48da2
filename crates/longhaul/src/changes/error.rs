//! Errors of recording or comparing a workspace.

use crate::git::GitError;
use longhaul_store::{StoreError, UnrecordedReason};
use std::path::PathBuf;
use thiserror::Error;

/// An error of recording or comparing a workspace. It never fails a run.
#[derive(Debug, Error)]
pub enum ChangesError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no recorded state, for this reason.
    #[error("its workspace is not recorded")]
    Unrecorded(UnrecordedReason),
    /// The workspace was moved, or is no longer in a repository.
    #[error("its workspace {} is no longer in a git repository", .0.display())]
    WorkspaceMoved(PathBuf),
    /// Git cannot be started or fails.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ChangesError {
    /// Returns the recorded form: a closed reason, and git's own message if there is one.
    pub(super) fn describe(&self) -> (UnrecordedReason, Option<String>) {
        match self {
            ChangesError::Unrecorded(reason) => (*reason, None),
            ChangesError::WorkspaceMoved(_) => (UnrecordedReason::NotInGit, None),
            ChangesError::Git(GitError::NotStarted(_)) => (UnrecordedReason::NoGit, None),
            ChangesError::Git(GitError::Failed { .. }) => {
                (UnrecordedReason::GitFailed, Some(self.to_string()))
            }
            ChangesError::Store(_) => (UnrecordedReason::NotWritten, Some(self.to_string())),
        }
    }
}
