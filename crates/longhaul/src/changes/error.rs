//! Why a workspace is not recorded, or cannot be compared.

use longhaul_store::{StoreError, UnrecordedReason};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What is in the way. No run fails for it.
#[derive(Debug, Error)]
pub enum ChangesError {
    /// The run's own files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing to compare, for this reason.
    #[error("its workspace is not recorded")]
    Unrecorded(UnrecordedReason),
    /// The workspace is not where it was, or is in no repository any more.
    #[error("its workspace {} is not in a git repository any more", .0.display())]
    WorkspaceMoved(PathBuf),
    /// Git cannot be started.
    #[error("start git: {0}")]
    NoGit(io::Error),
    /// Git refused.
    #[error("git {doing}: {git_error}")]
    Git {
        /// What it was asked to do.
        doing: String,
        /// The first lines of its complaint.
        git_error: String,
    },
    /// The system refused something.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl ChangesError {
    /// For `map_err`: the system refused `doing` at `path`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ChangesError {
        move |source| ChangesError::Io { doing, path: path.to_owned(), source }
    }

    /// The same as it is recorded: in a closed word, and in git's own.
    pub(super) fn describe(&self) -> (UnrecordedReason, Option<String>) {
        match self {
            ChangesError::Unrecorded(why) => (*why, None),
            ChangesError::WorkspaceMoved(_) => (UnrecordedReason::NotInGit, None),
            ChangesError::NoGit(_) => (UnrecordedReason::NoGit, None),
            ChangesError::Git { .. } => (UnrecordedReason::GitFailed, Some(self.to_string())),
            ChangesError::Store(_) | ChangesError::Io { .. } => {
                (UnrecordedReason::NotWritten, Some(self.to_string()))
            }
        }
    }
}
