//! Goes on with a run that is over, or branches off it: the same work in the same session, or a run of its
//! own that begins with the session's history.

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

/// How a run that is over goes on.
#[derive(Clone, Debug)]
pub struct ResumeOptions {
    /// What is to be said.
    pub request: ResumeRequest,
    /// The settings that change. The journal records them.
    pub changes: PlanChanges,
}

/// Lets the run of this directory go on in its session, with its clocks and its spend, and carries it to its
/// next outcome. A run that has no outcome yet is recovered: then what is asked must be [`Ask::Continue`].
///
/// # Errors
///
/// As [`crate::recover()`]; and if a run that has not ended is to be told something new.
pub async fn resume(
    home: &Home,
    dir: RunDir,
    going_on: ResumeOptions,
    environment: Environment,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let going = OpenMode::Resume(going_on);
    let started = open_run(home, dir, going, environment, observer, cancels).await;
    let (supervised, first) = started.map_err(RunError::NotStarted)?;
    supervised.drive_to_outcome(first).await
}

/// A request for a run like that of this directory, on a fork of its session: the run and its session stay as
/// they are.
///
/// # Errors
///
/// If the run's files cannot be read, or if it never opened a session.
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
    let order = AgentSpec { prompt, ..agent_spec_from_plan(&plan, Vec::new(), dir.id())? };
    request(home, plan, order, SessionChoice::Fork(session))
}

/// A request for what the run of this directory was asked for at first, once more: a run of its own, in a new session,
/// under the same name, with these changes of its settings.
///
/// # Errors
///
/// If the run's plan cannot be read, or carried out by this version.
pub fn rerun_request(home: Home, dir: &RunDir, changes: PlanChanges) -> Result<RunRequest, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    changes.apply(&mut plan)?;
    let order = agent_spec_from_plan(&plan, Vec::new(), dir.id())?;
    let name = plan.name.clone();
    let request = request(home, plan, order, SessionChoice::New)?;
    Ok(RunRequest { placement: Placement { name, ..request.placement }, ..request })
}

/// What a plan asks for, to be carried out as a new run.
fn request(
    home: Home,
    plan: Plan,
    order: AgentSpec,
    session: SessionChoice,
) -> Result<RunRequest, SuperviseError> {
    Ok(RunRequest {
        home,
        placement: Placement::default(),
        dialect: Arc::from(dialect_from_plan(&plan)?),
        agent: order,
        environment: Environment::default(),
        session,
        harness: plan.harness,
        notify: plan.notify,
        // A new run, which has used nothing.
        inherited: None,
        policy: plan.policy,
        origins: plan.origins,
        keep_partial_messages: plan.keep_partial_messages,
        diagnostic: plan.diagnostic,
    })
}
