//! What can be wrong with moving a run, in words for people.

use crate::find_agent::AgentError;
use longhaul_core::RunId;
use longhaul_store::StoreError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run could not be exported or imported. Nothing is left of the attempt.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The run's own files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process supervises the run.
    #[error("cannot export run {0}: it is running")]
    Supervised(RunId),
    /// Its supervisor died, and its agent or a tool of it goes on.
    #[error("cannot export run {run}: its supervisor died, and {processes} of its processes still work")]
    StillRunning {
        /// The run.
        run: RunId,
        /// How many processes carry its mark.
        processes: usize,
    },
    /// What would be written is there already.
    #[error("{} already exists", .0.display())]
    FileExists(PathBuf),
    /// The file cannot be what an export writes.
    #[error("cannot import {}: {reason}", path.display())]
    InvalidArchive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file unpacks to much more than its size: it may have been made to fill the disk.
    #[error("cannot import {}: it unpacks to {} MiB, more than ten times its size", path.display(), unpacked >> 20)]
    Large {
        /// The file.
        path: PathBuf,
        /// The size of its content, in bytes.
        unpacked: u64,
    },
    /// A later version wrote the file in a way that this one does not know.
    #[error("cannot import {}: longhaul {written_by} wrote it in format {format}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format's number.
        format: u32,
        /// The version that wrote it.
        written_by: String,
    },
    /// Processes on this machine carry the mark of the run that should come here.
    #[error("cannot import run {run}: {processes} of its processes work on this machine")]
    RunningHere {
        /// The run.
        run: RunId,
        /// How many.
        processes: usize,
    },
    /// The file has no workspace, and none was said to be there.
    #[error("cannot import into {}: the workspace is not in the file", .0.display())]
    NoWorkspace(PathBuf),
    /// The directory to create the workspace in holds something.
    #[error("cannot import into {}: it is not an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// The directory that should be used as it is cannot be.
    #[error("work in {}: {source}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no agent to go on with.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Git is needed and cannot be started.
    #[error("cannot start git: {0}")]
    NoGit(io::Error),
    /// Git refused.
    #[error("git {action}: {git_error}")]
    Git {
        /// What it was asked to do.
        action: String,
        /// The first lines of its complaint.
        git_error: String,
    },
    /// The system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl TransferError {
    /// For `map_err`: the system refused `action` at `path`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TransferError {
        move |source| TransferError::Io { action, path: path.to_owned(), source }
    }

    /// For `map_err` and `ok_or_else`: the file is not what an export writes.
    pub(super) fn unsound(path: &Path, why: impl Into<String>) -> TransferError {
        TransferError::InvalidArchive { path: path.to_owned(), reason: why.into() }
    }

    /// Whether other arguments would mend it; else it is the state of things that refuses.
    pub fn is_usage(&self) -> bool {
        match self {
            TransferError::FileExists(_)
            | TransferError::Large { .. }
            | TransferError::NoWorkspace(_)
            | TransferError::NotEmpty(_)
            | TransferError::Workspace { .. } => true,
            TransferError::Store(_)
            | TransferError::Supervised(_)
            | TransferError::StillRunning { .. }
            | TransferError::InvalidArchive { .. }
            | TransferError::Newer { .. }
            | TransferError::RunningHere { .. }
            | TransferError::Agent(_)
            | TransferError::NoGit(_)
            | TransferError::Git { .. }
            | TransferError::Io { .. } => false,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            TransferError::Store(error) => return error.hint(),
            TransferError::Supervised(run) => {
                format!("wait for its end with `longhaul attach {run}`, or end it by `longhaul cancel {run}`")
            }
            TransferError::StillRunning { run, .. } => {
                format!("go on with it by `longhaul recover {run}`, or end it by `longhaul cancel {run}`")
            }
            TransferError::FileExists(_) => {
                "name another file with --output, or overwrite it with --force".to_owned()
            }
            TransferError::InvalidArchive { .. } => {
                "export the run again and copy the file once more".to_owned()
            }
            TransferError::Large { .. } => "if you trust the file, import it with --allow-large".to_owned(),
            TransferError::Newer { .. } => "import it with that version, or a later one".to_owned(),
            TransferError::RunningHere { run, .. } => {
                format!("end it where it is by `longhaul cancel {run}`: a run goes on in one place only")
            }
            TransferError::NoWorkspace(_) => {
                "bring the workspace there yourself, and say so with --use-existing".to_owned()
            }
            TransferError::NotEmpty(_) => {
                "name a new directory, or use the workspace that is there with --use-existing".to_owned()
            }
            TransferError::Workspace { .. } => "name the directory that has the workspace".to_owned(),
            TransferError::Agent(error) => error.hint().to_owned(),
            TransferError::NoGit(_) => "install git, and see that it is on PATH".to_owned(),
            TransferError::Git { .. } => "mend what git says, then try again; nothing was changed".to_owned(),
            TransferError::Io { source, .. } => return io_hint(source.kind()),
        };
        Some(hint)
    }
}

fn io_hint(kind: io::ErrorKind) -> Option<String> {
    let hint = match kind {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a place that you can read and write"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or name a place on another disk"
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => "name a regular file",
        _ => return None,
    };
    Some(hint.to_owned())
}
