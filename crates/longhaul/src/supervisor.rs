//! Runs one request to its outcome in the live world. This is the library's entry point.

use crate::changes::{record_end, record_start};
use crate::driver::drive;
use crate::live::{LiveWorld, RunMarker, WorldConfig, random_seed};
use crate::notification::Notification;
use crate::observer::Observer;
use crate::run_report::{RunReport, write_final_status, write_summaries};
use crate::run_request::RunRequest;
use jiff::Zoned;
use longhaul_agent::{
    AgentContext, Dialect, DoneSignals, GuardError, Program, UserTables, UserTablesError, dialect_with_tables,
};
use longhaul_core::{
    CancelSource, Event, Moment, Outcome, OutcomeKind, Policy, Run, RunId, RunSpec, SessionPlan, SpecError,
    draw_uuid,
};
use longhaul_store::{Binary, Day, EnvNames, NewRun, Plan, RunDir, StoreError, harness_variables};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io};
use thiserror::Error;
use tokio::sync::mpsc;

/// The environment of an agent: its variables, before the dialect adds and removes some, and the helper
/// programs.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Whether the environment starts empty instead of as a copy of the supervisor's.
    pub clear: bool,
    /// Variables to set. Their values are never stored.
    pub set: BTreeMap<String, String>,
    /// The watchdog, by its absolute path: the program that stops the hanging agent of an orphaned run.
    /// `None` leaves such an agent running until the run is recovered.
    ///
    /// The watchdog calls [`watch`](crate::watchdog::watch) in its own process session. The supervisor starts
    /// it once, with the first agent, if the policy has an [`orphan_timeout`](Policy::orphan_timeout). If it
    /// cannot be started, the run continues without it.
    ///
    /// It receives three arguments after its leading ones: the run's directory, the supervisor's PID, and the
    /// supervisor's start time in clock ticks.
    pub watchdog: Option<Program>,
    /// The program, by its absolute path, that serves the tool for done claims, if the run's keep-going has
    /// one; see [`AgentContext::finish_tool`]. `None` withdraws the tool from an agent that had it.
    pub finish_tool: Option<Program>,
    /// The program, by its absolute path, that the agent's hooks call if its sessions are learned from; see
    /// [`AgentContext::hook`]. `None` disables the hooks.
    pub hook: Option<Program>,
}

impl Environment {
    /// Returns what the agent of a run is started with.
    ///
    /// # Errors
    /// Returns the first invalid guard or host.
    pub fn agent_context(
        &self,
        spec: RunSpec,
        run_id: RunId,
        follow_ups: Vec<String>,
    ) -> Result<AgentContext, GuardError> {
        let has_finish_tool = DoneSignals::new(&spec.policy).tool;
        let mut context = AgentContext::new(spec, run_id)?;
        context.follow_ups = follow_ups;
        // The current supervisor's programs, because the recorded ones may no longer exist.
        context.finish_tool = self.finish_tool.clone().filter(|_| has_finish_tool);
        context.hook.clone_from(&self.hook);
        Ok(context)
    }

    /// Returns the value of a variable in this environment.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let inherited = || env::var_os(name).filter(|_| !self.clear);
        self.set.get(name).map(OsString::from).or_else(inherited)
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    /// Returns the names of the set variables that an agent of this dialect needs, without their values.
    pub(crate) fn needed(&self, dialect: &dyn Dialect) -> BTreeSet<String> {
        let inherited =
            env::vars_os().filter(|_| !self.clear).filter_map(|(name, _)| name.into_string().ok());
        let names = inherited.chain(self.set.keys().cloned());
        let is_set = |name: &str| self.is_set(name);
        names.filter(|name| is_set(name) && dialect.needs_variable(name, &is_set)).collect()
    }

    /// Returns the names of the variables that the agent of this plan needs and that are not set.
    pub(crate) fn missing(&self, plan: &Plan) -> Vec<String> {
        plan.env.needed().filter(|name| !self.is_set(name)).map(str::to_owned).collect()
    }

    /// Adds the variables that the run's harness sets for its agents. Variables that are already set stay.
    #[must_use]
    pub(crate) fn with_harness(mut self, spec: &RunSpec, dir: &RunDir) -> Environment {
        for (name, value) in harness_variables(spec, dir.path()) {
            self.set.entry(name.to_owned()).or_insert(value);
        }
        self
    }
}

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
    #[error("run {run} is running in another copy of its directory: {}", original(stream).display())]
    RunningElsewhere {
        /// Id of the run.
        run: RunId,
        /// Stream that the agent writes.
        stream: PathBuf,
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
        /// The likeliest command that continues the run, if any.
        next: Option<String>,
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
    /// The system refused an operation that a run needs.
    #[error("cannot supervise the agent: {0}")]
    Io(#[from] io::Error),
}

impl SuperviseError {
    /// Returns `true` if the disk was full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, SuperviseError::Store(error) if error.is_disk_full())
    }

    /// Returns what a user can do about the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            SuperviseError::Store(error) => error.hint(),
            SuperviseError::UnknownAgent(_) | SuperviseError::Tables(_) | SuperviseError::Guard(_) => {
                Some("use the version of longhaul that started the run".to_owned())
            }
            SuperviseError::Spec(_) => Some("correct the description of the run".to_owned()),
            SuperviseError::Workspace { .. } => {
                Some("move it back, or pass its new path with `--cwd`".to_owned())
            }
            SuperviseError::RunningElsewhere { stream, .. } => {
                let dir = original(stream).display();
                Some(format!(
                    "follow it with `longhaul attach {dir}`, or stop it with `longhaul cancel {dir}`"
                ))
            }
            SuperviseError::MissingVariables { run, .. } => Some(format!(
                "set the variables and type `longhaul recover {run}`, or continue without them with `longhaul resume {run}`; \
                 the service that `longhaul recover --install` writes reads variables from a file"
            )),
            SuperviseError::AlreadyFinished { run, next, .. } => Some(match next {
                Some(command) => format!("continue it with `{command}`"),
                None => {
                    format!(
                        "`longhaul resume {run} --repeat-task` repeats the task; a prompt in place of `--repeat-task` asks for more"
                    )
                }
            }),
            SuperviseError::NoSession(run) => Some(format!("`longhaul resume {run}` starts one")),
            SuperviseError::NotFinished(run) => Some(format!(
                "continue it with `longhaul recover {run}`, or stop it with `longhaul cancel {run}`"
            )),
            SuperviseError::SettingsInUse(run) => {
                Some(format!("stop it with `longhaul cancel {run}`, then resume it with the change"))
            }
            SuperviseError::Io(_) => None,
        }
    }
}

/// Returns the run's directory for a stream of one of its attempts.
fn original(stream: &Path) -> &Path {
    let attempts = stream.ancestors().find(|path| path.ends_with("attempts"));
    attempts.and_then(Path::parent).unwrap_or(stream)
}

/// Joins these names and adds the verb.
fn subject(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "was" } else { "were" })
}

/// Returns the dialect of a run.
pub(crate) fn dialect_of(spec: &RunSpec) -> Result<Box<dyn Dialect>, SuperviseError> {
    let tables = UserTables { prices: spec.prices.clone(), effects: spec.effects.clone() };
    let dialect = dialect_with_tables(&spec.agent.name, tables)?;
    dialect.ok_or_else(|| SuperviseError::UnknownAgent(spec.agent.name.clone()))
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
}

/// Runs the request to its outcome. Cancels arrive through `cancels`. `observer` receives each step.
///
/// # Errors
///
/// Returns [`RunError::NotStarted`] if the run's directory cannot be created, and [`RunError::Aborted`] if
/// its journal can no longer be written. In the second case the agent is stopped first. Every other failure
/// is an outcome.
pub async fn supervise(
    mut request: RunRequest,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let now = Zoned::now();
    let day = now.date();
    let started_at = Moment(now.timestamp().as_millisecond() as u64);
    let prepared = prepare(&mut request, &day, started_at).map_err(RunError::NotStarted)?;
    let PreparedPlan { plan, session, mut context, dialect } = prepared;
    let RunRequest { home, placement, environment, .. } = request;
    let created = home.create_run_at(&placement, &day, random_seed(), &plan);
    let NewRun { dir, journal } = created.map_err(|error| RunError::NotStarted(error.into()))?;
    context.run_id = dir.id().clone();
    observer.on_start(dir.id(), dir.path());
    record_start(&home, &dir, &context.spec.cwd).await;

    let path = dir.path().to_owned();
    let world = LiveWorld::new(WorldConfig {
        home: &home,
        marker: RunMarker::new(dir.id(), &plan),
        environment: environment.with_harness(&context.spec, &dir),
        dir,
        journal,
        dialect,
        context,
        missing: Vec::new(),
        cancels,
        observer,
    });
    let supervisor = RunningSupervisor { run: Run::new(), policy: plan.spec.policy, world };
    let result = supervisor.drive_to_outcome(Event::Started(session)).await;
    if matches!(result, Err(RunError::NotStarted(_))) {
        // No process started, and the caller may start another run: `recover` must not find this one.
        let _ = fs::remove_dir_all(path);
    }
    result
}

/// A run with its world, before its outcome.
pub(crate) struct RunningSupervisor<'a> {
    pub(crate) run: Run,
    pub(crate) policy: Policy,
    pub(crate) world: LiveWorld<'a>,
}

impl RunningSupervisor<'_> {
    /// Drives the run from `first` to its outcome and finalizes its directory.
    pub(crate) async fn drive_to_outcome(mut self, first: Event) -> Result<RunReport, RunError> {
        let result = self.drive_and_report(first).await;
        self.world.stop_watchdog().await;
        self.world.finish_calls().await;
        result
    }

    async fn drive_and_report(&mut self, first: Event) -> Result<RunReport, RunError> {
        let RunningSupervisor { run, policy, world } = self;
        match drive(run, policy, world, first).await {
            Ok(outcome) => {
                let finished_at = crate::World::now(world).at;
                world.complete_transcript(run.state().attempts());
                let report = RunReport::new(
                    world.dir(),
                    run,
                    outcome,
                    finished_at,
                    world.snapshot(),
                    world.startup_message(),
                );
                write_summaries(world.dir(), run, policy, world.spec().harness, &report);
                if outcome.kind == OutcomeKind::Suspended {
                    // The system is about to kill this process. The supervisor that finishes the run
                    // completes the other files.
                    write_final_status(world.dir(), run, policy, &report);
                    world.release();
                    return Ok(report);
                }
                // The agent no longer works in the workspace and the outcome is not published, so only the
                // run has changed the workspace. If this supervisor is killed here, the next one records the
                // end.
                record_end(world.home(), world.dir(), &world.spec().cwd, run.state().reopen_count).await;
                let notification =
                    world.claim_notification(Notification::for_outcome(&report, run, &world.task()));
                write_final_status(world.dir(), run, policy, &report);
                // Comes after the status, so that a notified command finds the final state.
                world.call(notification);
                // Comes last, because it may wait for another writer of the ledger.
                world.release();
                if !world.spec().keep_partial_messages {
                    world.compact_streams();
                }
                Ok(report)
            }
            Err(source) => {
                world.abandon().await;
                let started =
                    world.has_started() || run.state().process.is_some() || run.state().attempts() > 1;
                Err(if started {
                    RunError::Aborted { run: world.dir().id().clone(), source }
                } else {
                    RunError::NotStarted(source)
                })
            }
        }
    }
}

/// A plan, and the parts of a live run that are derived from it.
struct PreparedPlan {
    plan: Plan,
    session: SessionPlan,
    context: AgentContext,
    dialect: Arc<dyn Dialect>,
}

/// Checks a request and creates its plan. The plan never contains a secret.
fn prepare(request: &mut RunRequest, day: &Day, started_at: Moment) -> Result<PreparedPlan, SuperviseError> {
    let cwd = resolve_workspace(request, day)?;
    let RunRequest { spec, environment, inherited, origins, .. } = request;
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
        marker: Some(RunMarker::random()),
        inherited: inherited.clone(),
        ..Plan::new(spec.clone().with(|spec| spec.cwd = cwd), started_at)
    };
    // The run gets its id with its directory.
    let context = environment.agent_context(spec.clone(), RunId::from(""), Vec::new())?;
    Ok(PreparedPlan { plan, session, context, dialect })
}

// The workspace of a run in its own directory depends on the run's id. Returns the directory as the plan
// stores it.
fn resolve_workspace(request: &mut RunRequest, day: &Day) -> Result<PathBuf, SuperviseError> {
    let Some(workspace) = &request.placement.workspace else { return Ok(request.spec.cwd.clone()) };
    // An agent stores its sessions under the path of its working directory, with links resolved.
    let missing = |source| SuperviseError::Workspace { path: workspace.clone(), source };
    fs::read_dir(workspace.join(&request.spec.cwd)).map_err(missing)?;
    let id = request.placement.id.clone().map_or_else(|| request.home.unused_id(random_seed()), Ok)?;
    let run = request.home.path_for(&request.placement, day, &id);
    let run = match run.ancestors().nth(2).and_then(|runs| fs::canonicalize(runs).ok()) {
        Some(runs) => runs.join(day.to_string()).join(id.as_str()),
        None => run,
    };
    let run = RunDir::from_path(run).expect("the path of a run is absolute and ends with its id");
    request.spec.cwd = run.workspace_path().join(&request.spec.cwd);
    request.placement.id = Some(id);
    Ok(run.stored_cwd(&request.spec.cwd).to_owned())
}
