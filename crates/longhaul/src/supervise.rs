//! Supervises one run in the live world, from its request or its first event to its outcome.

use crate::changes::{record_end, record_start};
use crate::clock::{local_now, random_seed};
use crate::dialect::dialect_of;
use crate::driver::{World, drive};
use crate::live::{LiveWorld, RunMarker, WorldConfig};
use crate::notification::{Notification, NotificationBody};
use crate::observer::Observer;
use crate::run_report::{RunReport, write_final_status, write_summaries};
use crate::run_request::RunRequest;
use crate::{Environment, RunError, SuperviseError};
use longhaul_agent::{AgentContext, Dialect};
use longhaul_core::{CancelSource, Event, Moment, OutcomeKind, Policy, Run, RunId, SessionPlan, draw_uuid};
use longhaul_store::{Binary, Day, EnvNames, Home, NewRun, Plan, RunDir, harness_variables};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs the request to its outcome. Cancels arrive through `cancels`. `observer` receives each step.
pub(crate) async fn supervise(
    home: &Home,
    environment: Environment,
    mut request: RunRequest,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let now = local_now();
    let day = now.date();
    let started_at = Moment(now.timestamp().as_millisecond() as u64);
    let prepared =
        prepare(home, &environment, &mut request, &day, started_at).map_err(RunError::NotStarted)?;
    let PreparedPlan { plan, session, mut context, dialect } = prepared;
    let created = home.create_run_at(&request.placement, &day, random_seed(), &plan);
    let NewRun { dir, journal } = created.map_err(|error| RunError::NotStarted(error.into()))?;
    context.run_id = dir.id().clone();
    observer.on_start(dir.id(), dir.path());
    record_start(home, &dir, &context.spec.cwd).await;

    let path = dir.path().to_owned();
    let config = WorldConfig {
        home,
        marker: RunMarker::new(&dir, &plan.marker),
        environment: environment.with_harness(&context.spec, &dir),
        dir,
        dialect,
        context,
        inherited: plan.inherited,
        missing: Vec::new(),
    };
    let world = LiveWorld::new(config, journal, cancels, observer);
    let supervisor = RunningSupervisor { run: Run::new(), policy: plan.spec.policy, world };
    let result = supervisor.drive_to_outcome(Event::Started(session)).await;
    if matches!(result, Err(RunError::NotStarted(_))) {
        // No process started, and the caller may start another run: `recover` must not find this one.
        let _ = fs::remove_dir_all(path);
    }
    result
}

pub(crate) struct RunningSupervisor<'a> {
    pub(crate) run: Run,
    pub(crate) policy: Policy,
    pub(crate) world: LiveWorld<'a>,
}

impl RunningSupervisor<'_> {
    /// Drives the run from `first` to its outcome and finalizes its directory.
    pub(crate) async fn drive_to_outcome(mut self, first: Event) -> Result<RunReport, RunError> {
        let result = self.drive_and_report(first).await;
        self.world.watchdog.stop().await;
        self.world.subscribers.finish_calls(&mut self.world.cancels.channel).await;
        result
    }

    async fn drive_and_report(&mut self, first: Event) -> Result<RunReport, RunError> {
        let RunningSupervisor { run, policy, world } = self;
        let config = Rc::clone(&world.config);
        let (dir, spec) = (&config.dir, config.spec());
        match drive(run, policy, world, first).await {
            Ok(outcome) => {
                world.stop_watching();
                // The run may have finished under a supervisor that died before it could report that.
                let is_suspended = outcome.kind == OutcomeKind::Suspended;
                let finished_at = if is_suspended { world.now().at } else { run.state().finished_at };
                let attempts = run.state().attempts();
                world.subscribers.each(|each| each.on_attempts_complete(attempts));
                let ended = &world.ended;
                let (snapshot, message) = (&ended.snapshot, ended.startup_message());
                let report = RunReport::new(dir, run, spec, outcome, finished_at, snapshot, message);
                let costs = world.subscribers.recorder.costs();
                write_summaries(dir, run, spec, config.inherited.as_ref(), &report, costs);
                if is_suspended {
                    // The system is about to kill this process. The supervisor that finishes the run
                    // completes the other files.
                    write_final_status(dir, run, policy, &report);
                    world.sessions.leave();
                    world.release();
                    return Ok(report);
                }
                // The agent no longer works in the workspace and the outcome is not published, so only the
                // run has changed the workspace. If this supervisor is killed here, the next one records the
                // end.
                record_end(config.home, dir, &spec.cwd, run.state().reopen_count).await;
                let next = config.notified_command(run);
                let subject = NotificationBody::of_run(dir, run, finished_at, &spec.prompt, next);
                let notification = Notification::for_outcome(subject, outcome, run.state().reopen_count);
                let notifier = &mut world.subscribers.notifier.sender;
                let notification = notifier.claim(notification);
                write_final_status(dir, run, policy, &report);
                // Comes after the status, so that a notified command finds the final state.
                if let Some(notification) = notification {
                    notifier.call(&notification);
                }
                // Comes last, because it may wait for another writer of the ledger.
                world.release();
                if !spec.keep_partial_messages {
                    world.ended.compact_streams();
                }
                Ok(report)
            }
            Err(source) => {
                world.abandon().await;
                if source.is_disk_full() {
                    dir.attempt(run.state().attempts()).record_disk_full();
                }
                let has_started = world.attempt.is_some() || !world.ended.is_empty();
                let was_started = run.state().process.is_some() || run.state().attempts() > 1;
                Err(if has_started || was_started {
                    world.sessions.leave();
                    RunError::Aborted { run: dir.id().clone(), source }
                } else {
                    RunError::NotStarted(source)
                })
            }
        }
    }
}

struct PreparedPlan {
    plan: Plan,
    session: SessionPlan,
    context: AgentContext,
    dialect: Arc<dyn Dialect>,
}

/// Checks a request and creates its plan. The plan never contains a secret.
fn prepare(
    home: &Home,
    environment: &Environment,
    request: &mut RunRequest,
    day: &Day,
    started_at: Moment,
) -> Result<PreparedPlan, SuperviseError> {
    let cwd = resolve_workspace(home, request, day)?;
    let RunRequest { spec, inherited, origins, workflow, .. } = request;
    spec.validate()?;
    // Salt 0 separates the first session's id from the draws of the steps.
    let session = spec.session.get_or_insert_with(|| SessionPlan::New(draw_uuid(random_seed(), 0))).clone();
    let dialect: Arc<dyn Dialect> = Arc::from(dialect_of(spec)?);
    let needed = environment.needed(dialect.as_ref());
    // Only the names of the variables are used here, and they do not depend on the directory.
    let harness_variables = harness_variables(spec, Path::new(""));
    let set = environment.set.keys().map(String::as_str);
    let set = set.chain(harness_variables.iter().map(|(name, _)| *name));
    let plan = Plan {
        binary: Binary::new(&spec.agent.program).ok(),
        env: EnvNames::new(set, []).with_needed(needed.iter().map(String::as_str)),
        origins: origins.clone(),
        inherited: inherited.clone(),
        workflow: workflow.clone(),
        ..Plan::new(spec.clone().with(|spec| spec.cwd = cwd), started_at, RunMarker::random())
    };
    // The run gets its id with its directory.
    let context = environment.agent_context(spec.clone(), RunId::from(""), Vec::new())?;
    Ok(PreparedPlan { plan, session, context, dialect })
}

// The workspace of a run in its own directory depends on the run's id. Returns the directory as the plan
// stores it.
fn resolve_workspace(home: &Home, request: &mut RunRequest, day: &Day) -> Result<PathBuf, SuperviseError> {
    let Some(workspace) = &request.placement.workspace else { return Ok(request.spec.cwd.clone()) };
    // An agent stores its sessions under the path of its working directory, with links resolved.
    let missing = |source| SuperviseError::Workspace { path: workspace.clone(), source };
    fs::read_dir(workspace.join(&request.spec.cwd)).map_err(missing)?;
    let id = request.placement.id.clone().map_or_else(|| home.unused_id(random_seed()), Ok)?;
    let run = home.path_for(&request.placement, day, &id);
    let run = match run.ancestors().nth(2).and_then(|runs| fs::canonicalize(runs).ok()) {
        Some(runs) => runs.join(day.to_string()).join(id.as_str()),
        None => run,
    };
    let run = RunDir::from_path(run).expect("the path of a run is absolute and ends with its id");
    request.spec.cwd = run.workspace_path().join(&request.spec.cwd);
    request.placement.id = Some(id);
    Ok(run.stored_cwd(&request.spec.cwd).to_owned())
}
