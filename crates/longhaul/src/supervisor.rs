//! Carries one request to an honest end on the live world. This is the library's front door.

use crate::driver::drive;
use crate::live::{LiveWorld, Setup, seed};
use crate::observer::Observer;
use crate::report::{Report, settle};
use jiff::Zoned;
use longhaul_agent::{Dialect, Order};
use longhaul_core::{By, Event, Moment, Policy, Run, RunId, SessionId, SessionPlan, draw_uuid};
use longhaul_store::{Agent, Binary, Day, EnvNames, Home, NewRun, Plan, Prompt, StoreError};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::mpsc;

/// A request: what to do, with which agent, under which policy.
pub struct Request {
    /// Where runs are kept.
    pub home: Home,
    /// How to speak to the agent.
    pub dialect: Arc<dyn Dialect>,
    /// What stays the same over all attempts. Its `run` is filled in here.
    pub order: Order,
    /// The agent's environment.
    pub environment: Environment,
    /// Which session to begin with.
    pub session: SessionChoice,
    /// Limits and schedules.
    pub policy: Policy,
    /// Where the policy's values came from, for the plan.
    pub origins: BTreeMap<String, String>,
    /// Whether to keep the partial messages in the stream files.
    pub keep_stream: bool,
}

/// The environment that an agent is started in, before its dialect adds and removes what it must.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Whether it begins empty instead of as ours.
    pub clear: bool,
    /// What is set in it. Values are never written down.
    pub set: BTreeMap<String, String>,
}

/// Which session to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one, its id drawn by chance.
    New,
    /// A new one of this id.
    Named(SessionId),
    /// This one, continued.
    Resume(SessionId),
}

/// Why a run could not be begun, or could not go on.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// The run's directory or journal could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused something that a run cannot do without.
    #[error("supervise the agent: {0}")]
    Io(#[from] io::Error),
}

/// A run that was never begun, or one that broke off.
#[derive(Debug, Error)]
pub enum RunError {
    /// Nothing was started and nothing was spent.
    #[error("{0}")]
    Refused(SuperviseError),
    /// The agent was ended, because its run could no longer be recorded.
    #[error("run {run} broke off: {source}")]
    Broken {
        /// The run.
        run: RunId,
        /// Why.
        source: SuperviseError,
    },
}

/// Carries the request to its outcome. Cancels come through `cancels`; `observer` watches.
///
/// # Errors
///
/// When the run's directory cannot be created (nothing was started), or when its journal can no
/// longer be written (the agent is ended first). Everything else is an outcome.
pub async fn supervise(
    request: Request,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<By>,
) -> Result<Report, RunError> {
    let Request { home, dialect, mut order, environment, session, policy, origins, keep_stream } = request;
    let now = Zoned::now();
    let refused = |error: StoreError| RunError::Refused(error.into());
    let plan = plan(
        &order,
        &environment,
        dialect.as_ref(),
        &policy,
        origins,
        Moment(now.timestamp().as_millisecond() as u64),
    );
    let day: Day = now.strftime("%Y-%m-%d").to_string().parse().expect("a date is written as a day");
    let NewRun { dir, journal } = home.create_run(&day, seed(), &plan).map_err(refused)?;
    let run_id = dir.id().clone();
    order.run = run_id.clone();
    observer.began(&run_id, dir.path());

    let setup = Setup { home: &home, dir, journal, dialect, order, environment, cancels, observer };
    let mut world = LiveWorld::new(setup);
    let mut run = Run::new();
    let first = Event::Started(first_session(session, &mut world));
    match drive(&mut run, &policy, &mut world, first).await {
        Ok(outcome) => {
            let ended = crate::World::now(&mut world).at;
            let report = Report::new(&run, outcome, &world, ended);
            settle(world.dir(), &run, &report);
            if !keep_stream {
                world.compact_streams();
            }
            Ok(report)
        }
        Err(source) if run.state().proc.is_none() && run.state().attempts() <= 1 => {
            world.abandon().await;
            Err(RunError::Refused(source))
        }
        Err(source) => {
            world.abandon().await;
            Err(RunError::Broken { run: run_id, source })
        }
    }
}

fn first_session(choice: SessionChoice, world: &mut LiveWorld<'_>) -> SessionPlan {
    // Salt 0: the first session's id is drawn apart from everything a step draws.
    match choice {
        SessionChoice::New => SessionPlan::New(draw_uuid(crate::World::now(world).roll, 0)),
        SessionChoice::Named(id) => SessionPlan::New(id),
        SessionChoice::Resume(id) => SessionPlan::Resume(id),
    }
}

/// What is asked for, as it is written down: no secret has a place in it.
fn plan(
    order: &Order,
    environment: &Environment,
    dialect: &dyn Dialect,
    policy: &Policy,
    origins: BTreeMap<String, String>,
    started_at: Moment,
) -> Plan {
    Plan {
        longhaul: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        prompt: Prompt { text: order.prompt.clone(), file: None },
        cwd: order.cwd.as_path().into(),
        agent: Agent {
            name: dialect.name().to_owned(),
            program: order.program.path.as_path().into(),
            version: None,
            binary: Binary::of(&order.program.path).ok(),
        },
        argv: order.extra_args.iter().map(|arg| arg.as_str().into()).collect(),
        env: EnvNames::new(environment.set.keys().map(String::as_str), []),
        policy: policy.clone(),
        origins,
    }
}
