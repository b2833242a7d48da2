//! Resumes a finished run in its session, forks its session into a new run, or reruns its task.

use crate::live::random_seed;
use crate::recover::{OpenMode, open_run, origins_of};
use crate::{Environment, Observer, RunError, RunReport, RunRequest, SuperviseError};
use longhaul_core::{CancelSource, ResumeRequest, Run, RunSpec, SessionPlan, draw_uuid};
use longhaul_store::{Home, Journal, RunDir};
use tokio::sync::mpsc;

/// How to resume a finished run.
#[derive(Clone, Debug)]
pub struct ResumeOptions {
    /// Request for the agent.
    pub request: ResumeRequest,
    /// New description of the run, or `None` to keep it. Its task, session, and guards on URLs and paths must
    /// be the old ones. The journal records the settings that differ.
    pub spec: Option<RunSpec>,
}

/// Resumes the run of this directory in its session, with its clocks and costs, and drives it to its next
/// outcome. A run without an outcome is recovered; its request must be [`ResumeRequest::Continue`].
///
/// # Errors
///
/// Returns the errors of [`crate::recover()`]. Also returns an error if an unfinished run gets a new prompt
/// or task.
pub async fn resume(
    home: &Home,
    dir: RunDir,
    options: ResumeOptions,
    environment: Environment,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let mode = OpenMode::Resume(options);
    let opened = open_run(home, dir, mode, environment, observer, cancels).await;
    let (supervisor, first) = opened.map_err(RunError::NotStarted)?;
    supervisor.drive_to_outcome(first).await
}

/// Creates a request for a new run on a fork of this run's session, as `spec` describes it. The prompt of
/// `spec` is sent to the session. The run and its session do not change.
///
/// # Errors
///
/// Returns an error if the run's files cannot be read, or if it never opened a session.
pub fn fork_request(home: Home, dir: &RunDir, spec: RunSpec) -> Result<RunRequest, SuperviseError> {
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let from = run.state().session.clone().ok_or_else(|| SuperviseError::NoSession(dir.id().clone()))?;
    let mut request = rerun_request(home, dir, spec)?;
    request.spec.session = Some(SessionPlan::Fork { from, to: draw_uuid(random_seed(), 0) });
    request.spec.name = None;
    Ok(request)
}

/// Creates a request for a new run in a new session, as `spec` describes it: that of this run, perhaps
/// changed.
///
/// # Errors
///
/// Returns an error if the run's plan cannot be read.
pub fn rerun_request(home: Home, dir: &RunDir, mut spec: RunSpec) -> Result<RunRequest, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    plan.origins.extend(origins_of(&plan.spec.changes_to(&spec)));
    spec.session = None;
    // A new run has used nothing, so it inherits no usage.
    Ok(RunRequest { origins: plan.origins, ..RunRequest::new(home, spec) })
}
