//! Runs one request to its outcome in the live world. This is the library's entry point.

use crate::changes::{record_end, record_start};
use crate::driver::drive;
use crate::live::{LiveWorld, RunMarker, WorldConfig, random_seed};
use crate::notification::Notification;
use crate::observer::Observer;
use crate::run_report::{RunReport, write_final_status, write_summaries};
use crate::watchdog;
use jiff::Zoned;
use longhaul_agent::{
    AgentSpec, Answers, BlockedPaths, Dialect, DoneSignals, GuardError, Guards, LearnSpec, Program,
    UrlPatternError, UserTables, UserTablesError, dialect_with_tables,
};
use longhaul_core::{
    CancelSource, CheckPolicy, Event, Moment, Outcome, OutcomeKind, Policy, Run, RunId, SessionId,
    SessionPlan, draw_uuid,
};
use longhaul_store::{
    Binary, Day, EnvNames, Harness, Home, Inherited, NewRun, Placement, Plan, PlanAgent, PlanGuards,
    PlanLearn, PlanPrompt, RunDir, StoreError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io};
use thiserror::Error;
use tokio::sync::mpsc;

/// A request: the task, the agent and the policy.
pub struct RunRequest {
    /// Where runs are stored.
    pub home: Home,
    /// Where this run is stored, and its name.
    pub placement: Placement,
    /// Protocol of the agent.
    pub dialect: Arc<dyn Dialect>,
    /// Settings of the agent that stay the same for all attempts. [`supervise`] sets its `run_id`. A relative
    /// `cwd` is relative to the workspace of the placement.
    pub agent: AgentSpec,
    /// The agent's environment.
    pub environment: Environment,
    /// Session to start with.
    pub session: SessionChoice,
    /// Harness that the run is for, if any.
    pub harness: Option<Harness>,
    /// Usage of the same work under another harness, if the run takes it over.
    pub inherited: Option<Inherited>,
    /// Shell commands or channels that receive notifications of the outcome and of long waits.
    pub notify: Vec<String>,
    /// Limits and schedules.
    pub policy: Policy,
    /// Origins of the policy's values, for the plan.
    pub origins: BTreeMap<String, String>,
    /// Whether to keep the partial messages in the stream files.
    pub keep_partial_messages: bool,
    /// Whether each noteworthy event writes a diagnostic text to the run's directory. A file
    /// `.claude/diagnostic_mode` in the project also enables the texts, and then they are also written next
    /// to that file.
    pub diagnostic: bool,
}

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
    /// The program, by its absolute path, that serves the tool for done claims. A takeover sets it as the
    /// run's [`AgentSpec::finish_tool`]. `None` withdraws the tool from an agent that had it.
    pub finish_tool: Option<Program>,
    /// The program, by its absolute path, that the agent's hooks call if its sessions are learned from; see
    /// [`LearnSpec`]. `None` disables the hooks when a run is recovered or resumed.
    pub hook: Option<Program>,
}

impl Environment {
    /// Returns how the agent's sessions are learned from, or `None` if the plan or the environment disables
    /// it.
    pub fn learn(&self, plan: &Plan) -> Option<LearnSpec> {
        let PlanLearn { judge, tokens_max } = plan.learn.clone()?;
        Some(LearnSpec { hook: self.hook.clone()?, judge, tokens_max })
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

    /// Adds the variables that a harness sets for its agents. Variables that are already set stay.
    #[must_use]
    pub(crate) fn with_harness(
        mut self,
        harness: Option<Harness>,
        dir: &RunDir,
        agent_spec: &AgentSpec,
        policy: &Policy,
    ) -> Environment {
        let variables = harness.map(|harness| {
            harness.variables(dir.path(), &agent_spec.cwd, agent_spec.model.as_deref(), &policy.limits)
        });
        for (name, value) in variables.into_iter().flatten() {
            self.set.entry(name.to_owned()).or_insert(value);
        }
        self
    }
}

/// The session to start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new session with a random id.
    New,
    /// A new session with this id.
    NewWithId(SessionId),
    /// This session, resumed.
    Resume(SessionId),
    /// A new session that starts with the history of this one.
    Fork(SessionId),
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

/// Returns the dialect of a plan.
pub(crate) fn dialect_from_plan(plan: &Plan) -> Result<Box<dyn Dialect>, SuperviseError> {
    let tables = UserTables { prices: plan.prices.clone(), effects: plan.effects.clone() };
    let dialect = dialect_with_tables(&plan.agent.name, tables)?;
    dialect.ok_or_else(|| SuperviseError::UnknownAgent(plan.agent.name.clone()))
}

/// Returns the guards of a plan.
pub(crate) fn guards_from_plan(plan: &Plan) -> Result<Guards, GuardError> {
    let tools = |texts: &[String]| texts.iter().map(|text| text.parse()).collect::<Result<_, GuardError>>();
    let home = plan.guards.home.as_deref().unwrap_or_default();
    let cwd = plan.cwd.as_os_str().to_string_lossy();
    let urls = plan.guards.block_urls.iter().map(|text| text.parse()).collect::<Result<_, UrlPatternError>>();
    Ok(Guards {
        allow_tools: tools(&plan.guards.allow_tools)?,
        deny_tools: tools(&plan.guards.deny_tools)?,
        block_urls: urls?,
        answers: plan.guards.answers.clone().map(Answers::new).transpose()?,
        block_paths: BlockedPaths::new(&plan.guards.block_paths, &cwd, home)?,
    })
}

/// Returns how the agent of a plan may claim that the work is done.
pub(crate) fn done_signals_from_plan(plan: &Plan) -> DoneSignals {
    DoneSignals { tool: plan.finish_tool, line: plan.done_when.clone() }
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
    request.policy.check = match request.agent.checks.is_empty() {
        true => None,
        false => request.policy.check.or(Some(CheckPolicy::DEFAULT)),
    };
    let session = first_session(&request.session);
    let now = Zoned::now();
    let day = now.date();
    let cwd = resolve_workspace(&mut request, &day).map_err(RunError::NotStarted)?;
    let plan = plan(&request, &session, &cwd, Moment(now.timestamp().as_millisecond() as u64));
    let RunRequest {
        home,
        placement,
        dialect,
        agent: mut agent_spec,
        environment,
        harness,
        notify,
        policy,
        keep_partial_messages,
        diagnostic,
        ..
    } = request;
    let created = home.create_run_at(&placement, &day, random_seed(), &plan);
    let NewRun { dir, journal } = created.map_err(|error| RunError::NotStarted(error.into()))?;
    agent_spec.run_id = dir.id().clone();
    observer.on_start(dir.id(), dir.path());
    record_start(&home, &dir, &agent_spec.cwd).await;

    let path = dir.path().to_owned();
    let environment = environment.with_harness(harness, &dir, &agent_spec, &policy);
    let watchdog = watchdog::watchdog_command(&environment, &policy);
    agent_spec.needs_supervisor |= policy.needs_supervisor();
    let setup = WorldConfig {
        home: &home,
        marker: RunMarker::new(dir.id(), &plan),
        dir,
        journal,
        dialect,
        agent_spec,
        environment,
        missing: Vec::new(),
        memory_limit: policy.limits.memory,
        fingerprints_workspace: policy.keep_going.is_some(),
        diagnostic,
        harness,
        notify,
        watchdog,
        cancels,
        observer,
    };
    let supervisor =
        RunningSupervisor { run: Run::new(), policy, world: LiveWorld::new(setup), keep_partial_messages };
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
    pub(crate) keep_partial_messages: bool,
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
        let RunningSupervisor { run, policy, world, keep_partial_messages } = self;
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
                write_summaries(world.dir(), run, policy, world.harness(), &report);
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
                record_end(world.home(), world.dir(), world.cwd(), run.state().reopen_count).await;
                let notification =
                    world.claim_notification(Notification::for_outcome(&report, run, &world.task()));
                write_final_status(world.dir(), run, policy, &report);
                // Comes after the status, so that a notified command finds the final state.
                world.call(notification);
                // Comes last, because it may wait for another writer of the ledger.
                world.release();
                if !*keep_partial_messages {
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

// The workspace of a run in its own directory depends on the run's id. Returns the directory as the plan
// stores it.
fn resolve_workspace(request: &mut RunRequest, day: &Day) -> Result<PathBuf, SuperviseError> {
    let Some(workspace) = &request.placement.workspace else { return Ok(request.agent.cwd.clone()) };
    // An agent stores its sessions under the path of its working directory, with links resolved.
    let missing = |source| SuperviseError::Workspace { path: workspace.clone(), source };
    fs::read_dir(workspace.join(&request.agent.cwd)).map_err(missing)?;
    let id = request.placement.id.clone().map_or_else(|| request.home.unused_id(random_seed()), Ok)?;
    let run = request.home.path_for(&request.placement, day, &id);
    let run = match run.ancestors().nth(2).and_then(|runs| fs::canonicalize(runs).ok()) {
        Some(runs) => runs.join(day.to_string()).join(id.as_str()),
        None => run,
    };
    let run = RunDir::from_path(run).expect("the path of a run is absolute and ends with its id");
    request.agent.cwd = run.workspace_path().join(&request.agent.cwd);
    request.placement.id = Some(id);
    Ok(run.stored_cwd(&request.agent.cwd).to_owned())
}

fn first_session(choice: &SessionChoice) -> SessionPlan {
    match choice {
        // Salt 0 separates the first session's id from the draws of the steps.
        SessionChoice::New => SessionPlan::New(draw_uuid(random_seed(), 0)),
        SessionChoice::NewWithId(id) => SessionPlan::New(id.clone()),
        SessionChoice::Resume(id) => SessionPlan::Resume(id.clone()),
        SessionChoice::Fork(from) => {
            SessionPlan::Fork { from: from.clone(), to: draw_uuid(random_seed(), 0) }
        }
    }
}

/// Creates the plan of a request. It never contains a secret.
fn plan(request: &RunRequest, session: &SessionPlan, cwd: &Path, started_at: Moment) -> Plan {
    let RunRequest {
        dialect,
        agent: agent_spec,
        environment,
        harness,
        policy,
        origins,
        keep_partial_messages,
        diagnostic,
        ..
    } = request;
    // Only the names of the variables are used here, and they do not depend on the directory.
    let harness_variables = harness.map(|harness| {
        harness.variables(Path::new(""), &agent_spec.cwd, agent_spec.model.as_deref(), &policy.limits)
    });
    let harness_variables: Vec<&str> =
        harness_variables.into_iter().flatten().map(|(name, _)| name).collect();
    let needed = environment.needed(dialect.as_ref());
    let block_paths = &agent_spec.guards.block_paths;
    Plan {
        longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        name: request.placement.name.clone(),
        prompt: PlanPrompt { text: agent_spec.prompt.clone(), file: None },
        cwd: cwd.into(),
        session: Some(session.clone()),
        model: agent_spec.model.clone(),
        permission_mode: agent_spec.permission_mode.clone(),
        agent: PlanAgent {
            name: dialect.name().to_owned(),
            program: agent_spec.program.path.as_path().into(),
            leading_args: agent_spec.program.leading_args.clone(),
            version: None,
            binary: Binary::new(&agent_spec.program.path).ok(),
        },
        argv: agent_spec.extra_args.iter().map(|arg| arg.as_str().into()).collect(),
        guards: PlanGuards {
            allow_tools: agent_spec.guards.allow_tools.iter().map(ToString::to_string).collect(),
            deny_tools: agent_spec.guards.deny_tools.iter().map(ToString::to_string).collect(),
            answers: agent_spec.guards.answers.as_ref().map(|answers| answers.entries().clone()),
            block_urls: agent_spec.guards.block_urls.iter().map(ToString::to_string).collect(),
            block_paths: block_paths.texts().to_vec(),
            home: (!block_paths.texts().is_empty()).then(|| block_paths.home().to_owned()),
        },
        network: agent_spec.network.as_ref().map(|network| network.hosts().to_vec()),
        learn: agent_spec
            .learn
            .as_ref()
            .map(|learn| PlanLearn { judge: learn.judge.clone(), tokens_max: learn.tokens_max }),
        env: EnvNames::new(environment.set.keys().map(String::as_str).chain(harness_variables), [])
            .with_needed(needed.iter().map(String::as_str)),
        harness: *harness,
        policy: policy.clone(),
        checks: agent_spec.checks.clone(),
        notify: request.notify.clone(),
        finish_tool: agent_spec.finish_tool.is_some(),
        done_when: agent_spec.done_when.clone(),
        wrap_up_prompt: agent_spec.wrap_up_prompt.clone(),
        handoff_tokens: agent_spec.handoff_tokens,
        handoff_summary: agent_spec.handoff_summary.clone(),
        keep_partial_messages: *keep_partial_messages,
        diagnostic: *diagnostic,
        prices: dialect.tables().prices.clone(),
        effects: dialect.tables().effects.clone(),
        origins: origins.clone(),
        imported: None,
        marker: Some(RunMarker::random()),
        inherited: request.inherited.clone(),
    }
}
