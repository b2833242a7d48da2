//! Resumes a finished run in its session, forks its session into a new run, or reruns its task.

use crate::recover::{OpenMode, agent_spec_from_plan, open_run};
use crate::supervisor::dialect_from_plan;
use crate::{
    Environment, Observer, PlanChanges, RunError, RunReport, RunRequest, SessionChoice, SuperviseError,
};
use longhaul_agent::AgentSpec;
use longhaul_core::{CancelSource, ResumeRequest, Run};
use longhaul_store::{Home, Journal, Placement, Plan, RunDir};
use std::sync::Arc;
use tokio::sync::mpsc;

/// How to resume a finished run.
#[derive(Clone, Debug)]
pub struct ResumeOptions {
    /// Request for the agent.
    pub request: ResumeRequest,
    /// Settings that change. The journal records them.
    pub changes: PlanChanges,
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

/// Creates a request for a run like that of this directory, on a fork of its session. The run and its session
/// do not change.
///
/// # Errors
///
/// Returns an error if the run's files cannot be read, or if it never opened a session.
pub fn fork_request(
    home: Home,
    dir: &RunDir,
    prompt: String,
    changes: PlanChanges,
) -> Result<RunRequest, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let session = run.state().session.clone().ok_or_else(|| SuperviseError::NoSession(dir.id().clone()))?;
    changes.apply(&mut plan)?;
    let agent_spec = AgentSpec { prompt, ..agent_spec_from_plan(&plan, Vec::new(), dir.id())? };
    request(home, plan, agent_spec, SessionChoice::Fork(session))
}

/// Creates a request that repeats the original task of this run in a new run and a new session. The new run
/// has the same name and these changed settings.
///
/// # Errors
///
/// Returns an error if the run's plan cannot be read or is not supported by this version.
pub fn rerun_request(home: Home, dir: &RunDir, changes: PlanChanges) -> Result<RunRequest, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    changes.apply(&mut plan)?;
    let agent_spec = agent_spec_from_plan(&plan, Vec::new(), dir.id())?;
    let name = plan.name.clone();
    let request = request(home, plan, agent_spec, SessionChoice::New)?;
    Ok(RunRequest { placement: Placement { name, ..request.placement }, ..request })
}

/// Creates the request for a new run with the settings of this plan.
fn request(
    home: Home,
    plan: Plan,
    agent_spec: AgentSpec,
    session: SessionChoice,
) -> Result<RunRequest, SuperviseError> {
    Ok(RunRequest {
        home,
        placement: Placement::default(),
        dialect: Arc::from(dialect_from_plan(&plan)?),
        agent: agent_spec,
        environment: Environment::default(),
        session,
        harness: plan.harness,
        notify: plan.notify,
        // A new run has used nothing.
        inherited: None,
        policy: plan.policy,
        origins: plan.origins,
        keep_partial_messages: plan.keep_partial_messages,
        diagnostic: plan.diagnostic,
    })
}
