//! Goes on with a run that is over, or branches off it: the same work in the same session, or a run of its
//! own that begins with the session's history.

use crate::recover::{Going, order, take_up};
use crate::supervisor::dialect_of;
use crate::{Environment, Observer, PlanChanges, Report, Request, RunError, SessionChoice, SuperviseError};
use longhaul_agent::Order;
use longhaul_core::{Ask, By, Run};
use longhaul_store::{Home, Journal, Placement, Plan, RunDir};
use std::sync::Arc;
use tokio::sync::mpsc;

/// How a run that is over goes on.
#[derive(Clone, Debug)]
pub struct GoingOn {
    /// What is to be said.
    pub ask: Ask,
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
    going_on: GoingOn,
    environment: Environment,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<By>,
) -> Result<Report, RunError> {
    let going = Going::Reopened(going_on);
    let begun = take_up(home, dir, going, environment, observer, cancels).await;
    let (supervised, first) = begun.map_err(RunError::Refused)?;
    supervised.carry(first).await
}

/// A request for a run like that of this directory, on a fork of its session: the run and its session stay as
/// they are.
///
/// # Errors
///
/// If the run's files cannot be read, or if it never opened a session.
pub fn branch(
    home: Home,
    dir: &RunDir,
    prompt: String,
    changes: PlanChanges,
) -> Result<Request, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let session = run.state().session.clone().ok_or_else(|| SuperviseError::NoSession(dir.id().clone()))?;
    changes.apply(&mut plan)?;
    let order = Order { prompt, ..order(&plan, Vec::new(), dir.id())? };
    request(home, plan, order, SessionChoice::Fork(session))
}

/// A request for what the run of this directory was asked for at first, once more: a run of its own, in a new session,
/// under the same name, with these changes of its settings.
///
/// # Errors
///
/// If the run's plan cannot be read, or carried out by this version.
pub fn again(home: Home, dir: &RunDir, changes: PlanChanges) -> Result<Request, SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    changes.apply(&mut plan)?;
    let order = order(&plan, Vec::new(), dir.id())?;
    let name = plan.name.clone();
    let request = request(home, plan, order, SessionChoice::New)?;
    Ok(Request { placement: Placement { name, ..request.placement }, ..request })
}

/// What a plan asks for, to be carried out as a new run.
fn request(home: Home, plan: Plan, order: Order, session: SessionChoice) -> Result<Request, SuperviseError> {
    Ok(Request {
        home,
        placement: Placement::default(),
        dialect: Arc::from(dialect_of(&plan)?),
        order,
        environment: Environment::default(),
        session,
        harness: plan.harness,
        notify: plan.notify,
        // A new run, which has used nothing.
        inherited: None,
        policy: plan.policy,
        origins: plan.origins,
        keep_stream: plan.keep_stream,
        diagnostic: plan.diagnostic,
    })
}
