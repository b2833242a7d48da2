//! The reasons why a workflow cannot start or continue.

use super::WorktreeError;
use crate::SuperviseError;
use longhaul_core::{Outcome, RunId};
use longhaul_store::StoreError;
use longhaul_workflow::WorkflowFileError;
use thiserror::Error;

/// The reason why a workflow could not start or continue.
#[derive(Debug, Error)]
pub enum WorkflowError {
    /// The workflow's directory could not be read or written, or another workflow works on the project.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored workflow file cannot be read by this version.
    #[error("{0}")]
    File(#[from] WorkflowFileError),
    /// The project cannot have worktrees, but a phase needs them.
    #[error(transparent)]
    Worktrees(#[from] WorktreeError),
    /// The workflow has already finished.
    #[error("workflow {workflow} has already finished: {}", outcome.kind)]
    AlreadyFinished {
        /// Id of the workflow.
        workflow: RunId,
        /// How it finished.
        outcome: Outcome,
    },
    /// The workflow has not finished, so it cannot be resumed.
    #[error("cannot resume workflow {0}: it has not finished")]
    NotFinished(RunId),
    /// A run that the user resumed still works, and the workflow would not wait for it.
    #[error("cannot continue workflow {workflow}: its run {run} is still running outside the workflow")]
    RunWorks {
        /// Id of the workflow.
        workflow: RunId,
        /// Id of the run.
        run: RunId,
    },
    /// The workflow to follow has no supervisor, and it has not finished or its outcome is unpublished.
    #[error("cannot follow workflow {0}: it has no supervisor")]
    Orphaned(RunId),
    /// The workflow was interrupted because a journal could no longer be written. It can be recovered.
    #[error("workflow {workflow} was aborted: {source}")]
    Aborted {
        /// Id of the workflow.
        workflow: RunId,
        /// Cause.
        source: SuperviseError,
    },
}
