//! Errors of exporting and importing a run or a workflow, with messages for people.

use crate::find_agent::AgentError;
use crate::git::GitError;
use longhaul_core::RunId;
use longhaul_store::StoreError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why a run or a workflow could not be exported or imported. Nothing that was written remains on disk.
#[derive(Debug, Error)]
pub enum TransferError {
    /// A file of the run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process supervises the run or the workflow.
    #[error("cannot export {0}: it is running")]
    Supervised(RunId),
    /// The workflow has git worktrees, whose work is not in the workspace.
    #[error("cannot export workflow {workflow}: it still has git worktrees")]
    Worktrees {
        /// Id of the workflow.
        workflow: RunId,
        /// Whether the workflow is finished.
        is_finished: bool,
    },
    /// The run's supervisor died, but its agent or one of its tools is still running.
    #[error("cannot export {run}: its supervisor died, and {processes} of its processes are still running")]
    StillRunning {
        /// Id of the run.
        run: RunId,
        /// Number of processes that carry the run marker.
        processes: usize,
    },
    /// The output file already exists.
    #[error("{} already exists", .0.display())]
    FileExists(PathBuf),
    /// The output file is a directory, a device or a pipe.
    #[error("cannot export to {}: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file is not an export.
    #[error("cannot import {}: {reason}", path.display())]
    InvalidArchive {
        /// The file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The file unpacks to much more than its size, so it may have been made to fill the disk.
    #[error("cannot import {}: it unpacks to {} MiB, more than ten times its size", path.display(), unpacked >> 20)]
    Large {
        /// The file.
        path: PathBuf,
        /// Size of its content, in bytes.
        unpacked: u64,
    },
    /// A later version wrote the file in a format that this version does not know.
    #[error("cannot import {}: longhaul {written_by} wrote it in format {format}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Number of the format.
        format: u32,
        /// Version that wrote the file.
        written_by: String,
    },
    /// Processes on this machine carry the marker of the run to import.
    #[error("cannot import {run}: {} of its processes are running on this machine", processes.len())]
    RunningHere {
        /// Id of the run.
        run: RunId,
        /// PIDs of the processes.
        processes: Vec<u32>,
    },
    /// The file has no workspace, and the request does not use an existing one.
    #[error("cannot import into {}: the workspace is not in the file", .0.display())]
    NoWorkspace(PathBuf),
    /// The directory for the workspace is not empty.
    #[error("cannot import into {}: it is not an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// Another import is unpacking a workspace into the directory.
    #[error("cannot import into {}: another import is using it", .0.display())]
    InUse(PathBuf),
    /// A killed import of the same workflow left one of its runs, which works in another directory.
    #[error("cannot import into another directory: run {run} was imported before, and works in {}", cwd.display())]
    ImportedElsewhere {
        /// Id of the run.
        run: RunId,
        /// Working directory of the run.
        cwd: PathBuf,
    },
    /// The existing workspace cannot be used.
    #[error("cannot work in {}: {source}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// There is no agent to continue with.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Git is needed, and cannot be started or fails.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The system refused an operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Operation.
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl TransferError {
    /// Returns a function for `map_err` that reports a failed operation at `path`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TransferError {
        move |source| TransferError::Io { action, path: path.to_owned(), source }
    }

    pub(super) fn invalid_archive(path: &Path, reason: impl Into<String>) -> TransferError {
        TransferError::InvalidArchive { path: path.to_owned(), reason: reason.into() }
    }

    /// Returns `true` if other arguments can fix the error, and `false` if it is caused by the state of the
    /// system.
    pub fn is_usage(&self) -> bool {
        use TransferError::{
            FileExists, ImportedElsewhere, InUse, Large, NoWorkspace, NotEmpty, NotRegular, Workspace,
        };
        matches!(
            self,
            FileExists(_)
                | NotRegular(_)
                | Large { .. }
                | NoWorkspace(_)
                | NotEmpty(_)
                | InUse(_)
                | ImportedElsewhere { .. }
                | Workspace { .. }
        )
    }
}
