//! One run of a workflow, as a task of this process: starts, continues or follows the run and reports its waits. It
//! never decides what follows.

use super::WorktreeError;
use super::worktrees::Worktrees;
use crate::changes::diff;
use crate::observer::{Observer, StepView};
use crate::run_start::RunStart;
use crate::{Canceller, Environment, ResumeOptions, RunError, RunReport, RunRequest, SuperviseError};
use longhaul_core::{
    CancelSource, Fault, Moment, OutcomeKind, Phase, ResumeRequest, Run, RunId, RunKey, RunShare, Step,
};
use longhaul_store::{Home, Journal, RunDir, StoreError};
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinError;

// A supervisor that starts or exits between two checks changes the required action, once or twice.
const CHECKS_MAX: u32 = 4;

pub(super) struct RunTask {
    pub(super) key: RunKey,
    pub(super) share: RunShare,
    /// Number of times that the workflow resumed the run, with this one. 0 starts it.
    pub(super) resumes: u32,
    pub(super) has_worktree: bool,
    pub(super) home: Home,
    pub(super) environment: Environment,
    pub(super) waits: mpsc::UnboundedSender<RunWait>,
}

/// A run starts to wait for its API, or works again.
pub(super) struct RunWait {
    pub(super) key: RunKey,
    /// Reason and end of the wait. `None` if the run works.
    pub(super) wait: Option<(Option<Fault>, Moment)>,
}

pub(super) enum RunSource {
    Existing(RunDir),
    New(Box<RunRequest>),
}

pub(super) struct EndedRun {
    pub(super) report: RunReport,
    /// Files that changed while a run with `edit_paths` worked.
    pub(super) changed_files: Vec<PathBuf>,
}

#[derive(Debug, Error)]
pub(super) enum StartError {
    #[error(transparent)]
    Run(RunError),
    /// Its worktree could not be created.
    #[error(transparent)]
    Worktree(WorktreeError),
    /// The thread that creates its worktree ended.
    #[error("cannot create the worktree: {0}")]
    Thread(JoinError),
}

impl StartError {
    /// Returns whether a signal ended git. The run can be started again.
    pub(super) fn is_interrupted(&self) -> bool {
        matches!(self, StartError::Worktree(error) if error.is_interrupted())
    }
}

impl RunTask {
    /// Creates the worktree of a new run, if it has one.
    pub(super) async fn prepare(
        &self,
        source: &RunSource,
        id: &RunId,
        worktrees: Option<Arc<Worktrees>>,
    ) -> Result<(), StartError> {
        let (Some(worktrees), RunSource::New(request)) = (worktrees, source) else { return Ok(()) };
        let (id, cwd) = (id.clone(), request.spec.cwd.clone());
        let created = tokio::task::spawn_blocking(move || worktrees.create(&id, &cwd)).await;
        created.map_err(StartError::Thread)?.map_err(StartError::Worktree)
    }

    /// Drives the run to its outcome, and looks at its changes.
    pub(super) async fn drive_to_end(
        self,
        source: RunSource,
        cancels: mpsc::Receiver<CancelSource>,
    ) -> Result<EndedRun, RunError> {
        let home = self.home.clone();
        let report = self.drive(source, cancels).await?;
        let changed_files = match home.run_with_id(&report.run) {
            Ok(Some(dir)) => changed_files(&home, &dir, report.outcome.kind).await,
            Ok(None) | Err(_) => Vec::new(),
        };
        Ok(EndedRun { report, changed_files })
    }

    /// Drives the run to its outcome. If it has finished already, its report is read.
    async fn drive(
        self,
        source: RunSource,
        mut cancels: mpsc::Receiver<CancelSource>,
    ) -> Result<RunReport, RunError> {
        let dir = match source {
            RunSource::New(request) => {
                return self.observe(RunStart::New(request), cancels).await;
            }
            RunSource::Existing(dir) => dir,
        };
        // Each supervisor receives all of them: the run must stop even if another process that supervised it died.
        let mut received = Vec::new();
        let mut checks = 0;
        loop {
            checks += 1;
            let start = self.start_of(&dir).map_err(RunError::NotStarted)?;
            let (own, own_cancels) = Canceller::new();
            received.iter().for_each(|source| own.cancel_by(*source));
            let result = {
                let run = self.observe(start, own_cancels);
                tokio::pin!(run);
                loop {
                    tokio::select! {
                        // A cancelled run must not start an agent first.
                        biased;
                        Some(source) = cancels.recv() => {
                            received.push(source);
                            own.cancel_by(source);
                        }
                        result = &mut run => break result,
                    }
                }
            };
            match result {
                Err(RunError::NotStarted(
                    SuperviseError::Orphaned(_)
                    | SuperviseError::AlreadyFinished { .. }
                    | SuperviseError::Store(StoreError::JournalLocked(_)),
                )) if checks < CHECKS_MAX => {}
                // The user removed its worktree, so the workflow ends it. It must not stay recoverable.
                Err(RunError::NotStarted(SuperviseError::Workspace { .. })) if self.has_worktree => {
                    let (canceller, cancels) = Canceller::new();
                    canceller.cancel_by(CancelSource::Person);
                    // It may have finished.
                    let _ = self.observe(RunStart::Recover { dir, notify: None }, cancels).await;
                    return result;
                }
                result => return result,
            }
        }
    }

    fn start_of(&self, dir: &RunDir) -> Result<RunStart, SuperviseError> {
        if Journal::is_locked(&dir.journal_path())? {
            return Ok(RunStart::Attach(dir.clone()));
        }
        let run = Run::replay(<Journal>::load(&dir.journal_path())?.records());
        let outcome = run.state().outcome().filter(|_| dir.is_outcome_published());
        let Some(outcome) = outcome else {
            return Ok(RunStart::Recover { dir: dir.clone(), notify: None });
        };
        // An end from before the resume, perhaps of a run that the user resumed without success, must not end it.
        if run.state().workflow_resumes >= self.resumes || outcome.kind == OutcomeKind::Done {
            return Ok(RunStart::Attach(dir.clone()));
        }
        // The share is complete: a limit of the workflow may have been removed meanwhile.
        let spec = dir.plan()?.spec.with(|spec| {
            let limits = &mut spec.policy.limits;
            (limits.budget, limits.time) = (self.share.budget, self.share.time);
        });
        let request = ResumeRequest::Workflow(self.resumes);
        let options = Box::new(ResumeOptions { request, spec: Some(spec) });
        Ok(RunStart::Resume { dir: dir.clone(), options })
    }

    async fn observe(
        &self,
        start: RunStart,
        cancels: mpsc::Receiver<CancelSource>,
    ) -> Result<RunReport, RunError> {
        let mut observer = WaitObserver {
            key: self.key,
            waits: self.waits.clone(),
            is_following: matches!(start, RunStart::Attach(_)),
            wait: None,
            is_waiting: false,
        };
        let (home, environment) = (self.home.clone(), self.environment.clone());
        start.drive(home, environment, &mut observer, cancels).await
    }
}

/// Returns the files that changed in the workspace during a run with `edit_paths`, as absolute paths. Empty if the
/// run may edit every file, is to continue later, or its changes are not recorded.
async fn changed_files(home: &Home, dir: &RunDir, outcome: OutcomeKind) -> Vec<PathBuf> {
    let is_guarded = dir.plan().is_ok_and(|plan| !plan.spec.guards.edit_paths.is_empty());
    let continues = matches!(outcome, OutcomeKind::RetryLater | OutcomeKind::Suspended);
    if !is_guarded || continues {
        return Vec::new();
    }
    // Without git there is nothing to look at, and the run's own result does not depend on it.
    diff(home, dir, Vec::new()).await.map(|diff| diff.changed_paths()).unwrap_or_default()
}

struct WaitObserver {
    key: RunKey,
    waits: mpsc::UnboundedSender<RunWait>,
    /// Whether another process supervises the run. Its earlier steps come first, and their waits are over.
    is_following: bool,
    /// Reason and end of the wait after the last step. `None` if the run works.
    wait: Option<(Option<Fault>, Moment)>,
    /// Whether the last report was a wait.
    is_waiting: bool,
}

impl WaitObserver {
    fn report_change(&mut self) {
        if self.wait.is_some() != self.is_waiting {
            self.is_waiting = self.wait.is_some();
            // The workflow may have ended.
            let _ = self.waits.send(RunWait { key: self.key, wait: self.wait });
        }
    }
}

impl Observer for WaitObserver {
    fn on_step(&mut self, view: StepView<'_>, _step: &Step) {
        let state = view.run.state();
        self.wait = if let Phase::Waiting { until, .. } = state.phase {
            Some((state.wait_fault(), until))
        } else {
            None
        };
        if !self.is_following {
            self.report_change();
        }
    }

    fn on_sync(&mut self) {
        self.report_change();
    }
}

/// Returns whether a supervisor works on a run. After its end in the workflow, that is one that the user resumed.
pub(super) fn still_works(home: &Home, run: &RunId) -> Result<bool, StoreError> {
    let dir = home.run_with_id(run)?;
    Ok(dir.map(|dir| Journal::is_locked(&dir.journal_path())).transpose()? == Some(true))
}

#[cfg(test)]
mod tests;
