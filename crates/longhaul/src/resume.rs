//! Describes how to resume a finished run, to fork its session into a new run, or to rerun its task.

use crate::clock::random_seed;
use crate::recover::origins_of;
use crate::{RunRequest, SuperviseError};
use longhaul_core::{ResumeRequest, Run, RunSpec, SessionPlan, draw_uuid};
use longhaul_store::{Journal, RunDir};

/// How to resume a finished run. By default it continues as it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumeOptions {
    /// Request for the agent.
    pub request: ResumeRequest,
    /// New description of the run, or `None` to keep it. Its task, session, and guards on URLs and paths must
    /// be the old ones. The journal records the settings that differ.
    pub spec: Option<RunSpec>,
}

impl Default for ResumeOptions {
    fn default() -> ResumeOptions {
        ResumeOptions { request: ResumeRequest::Continue, spec: None }
    }
}

/// Creates a request for a new run on a fork of this run's session, as `spec` describes it. The prompt of
/// `spec` is sent to the session. The run and its session do not change.
///
/// # Errors
/// Returns an error if the run's files cannot be read, or if it never opened a session.
pub fn fork_request(dir: &RunDir, spec: RunSpec) -> Result<RunRequest, SuperviseError> {
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let from = run.state().session.clone().ok_or_else(|| SuperviseError::NoSession(dir.id().clone()))?;
    let mut request = rerun_request(dir, spec)?;
    request.spec.session = Some(SessionPlan::Fork { from, to: draw_uuid(random_seed(), 0) });
    request.spec.name = None;
    Ok(request)
}

/// Creates a request for a new run in a new session, as `spec` describes it: that of this run, perhaps
/// changed.
///
/// # Errors
/// Returns an error if the run's plan cannot be read.
pub fn rerun_request(dir: &RunDir, mut spec: RunSpec) -> Result<RunRequest, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    plan.origins.extend(origins_of(&plan.spec.changes_to(&spec)));
    spec.session = None;
    // A new run has used nothing, so it inherits no usage.
    Ok(RunRequest { origins: plan.origins, ..RunRequest::from(spec) })
}
