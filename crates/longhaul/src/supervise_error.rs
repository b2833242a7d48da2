//! The reasons why a run cannot start, continue or be followed, as kinds with data.

use longhaul_agent::{GuardError, UserTablesError};
use longhaul_core::{Outcome, RunId, SpecError};
use longhaul_store::StoreError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a run could not start or continue.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// The run's directory or journal could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan names an agent that this version does not know.
    #[error("unknown agent `{0}`")]
    UnknownAgent(String),
    /// This version cannot read a table of the plan.
    #[error("{0}")]
    Tables(#[from] UserTablesError),
    /// The description of the run contradicts itself.
    #[error("cannot run the task: {0}")]
    Spec(#[from] SpecError),
    /// This version cannot read a guard of the plan, and the run must not continue without it.
    #[error("cannot guard the agent: {0}")]
    Guard(#[from] GuardError),
    /// The working directory is missing.
    #[error("cannot work in {}: {source}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The run's directory is a copy, and the original is still running.
    #[error("run {run} is running in another copy of its directory: {}", dir.display())]
    RunningElsewhere {
        /// Id of the run.
        run: RunId,
        /// Directory of the original.
        dir: PathBuf,
    },
    /// Variables that the agent needs are not set.
    #[error("cannot start the agent of run {run}: {} set when the run started, but not now", subject(names))]
    MissingVariables {
        /// Id of the run.
        run: RunId,
        /// Names of the variables.
        names: Vec<String>,
    },
    /// The run has already finished.
    #[error("run {run} has already finished: {}", outcome.kind)]
    AlreadyFinished {
        /// Id of the run.
        run: RunId,
        /// How the run finished.
        outcome: Outcome,
        /// Directory of the run.
        dir: PathBuf,
    },
    /// The run never opened a session that could be forked.
    #[error("cannot fork run {0}: its agent never opened a session")]
    NoSession(RunId),
    /// The run has not finished, so it cannot get another request.
    #[error("cannot send a new prompt to run {0}: it has not finished")]
    NotFinished(RunId),
    /// The run has not finished, and its agent was started with the settings that would change.
    #[error("cannot change how the agent of run {0} is started: the run has not finished")]
    SettingsInUse(RunId),
    /// The run to follow has no supervisor, and it has not finished or its outcome is unpublished.
    #[error("cannot follow run {0}: it has no supervisor")]
    Orphaned(RunId),
    /// The system refused an operation that a run needs.
    #[error("cannot supervise the agent: {0}")]
    Io(#[from] io::Error),
}

impl SuperviseError {
    /// Returns `true` if the disk was full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, SuperviseError::Store(error) if error.is_disk_full())
    }
}

fn subject(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "was" } else { "were" })
}

/// The error of a run that never started, or that was aborted.
#[derive(Debug, Error)]
pub enum RunError {
    /// No process started, and nothing was spent.
    #[error("{0}")]
    NotStarted(SuperviseError),
    /// The agent was stopped because its run could no longer be journaled.
    #[error("run {run} was aborted: {source}")]
    Aborted {
        /// Id of the run.
        run: RunId,
        /// Cause.
        source: SuperviseError,
    },
    /// The thread of the [`Supervisor`](crate::Supervisor) ended before the run. The run can be recovered.
    #[error("the thread of the supervisor ended before its run")]
    ThreadEnded,
}
