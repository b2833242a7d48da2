//! Carries one request to an honest end on the live world. This is the library's front door.

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

/// A request: what to do, with which agent, under which policy.
pub struct RunRequest {
    /// Where runs are kept.
    pub home: Home,
    /// Where this one goes, and what it is called.
    pub placement: Placement,
    /// How to speak to the agent.
    pub dialect: Arc<dyn Dialect>,
    /// What stays the same over all attempts. Its `run` is filled in here; a `cwd` that is relative is a part of the
    /// workspace that the placement names.
    pub agent: AgentSpec,
    /// The agent's environment.
    pub environment: Environment,
    /// Which session to begin with.
    pub session: SessionChoice,
    /// The harness that it is carried out for, if it is for one.
    pub harness: Option<Harness>,
    /// What was used for the same work before, if it is taken over from another harness.
    pub inherited: Option<Inherited>,
    /// Commands for a shell that are told, on their standard input, how the run ended and when it begins to wait for long.
    pub notify: Vec<String>,
    /// Limits and schedules.
    pub policy: Policy,
    /// Where the policy's values came from, for the plan.
    pub origins: BTreeMap<String, String>,
    /// Whether to keep the partial messages in the stream files.
    pub keep_partial_messages: bool,
    /// Whether each noteworthy event leaves a text for people in the run's directory. A project that has a file
    /// `.claude/diagnostic_mode` gets them without this, and beside that file, too.
    pub diagnostic: bool,
}

/// What surrounds an agent: the variables that it is started with, before its dialect adds and removes what it
/// must, and who ends it should nobody else be there.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Whether it begins empty instead of as ours.
    pub clear: bool,
    /// What is set in it. Values are never written down.
    pub set: BTreeMap<String, String>,
    /// The program, by its absolute path, that ends an agent which hangs after our death and which nobody comes
    /// back for: it calls [`watch`](crate::watchdog::watch) in a session of its own. It is started once, beside
    /// the first agent, if the policy has an [`orphan_timeout`](Policy::orphan_timeout), with three arguments
    /// behind its leading ones: the run's directory, the number of our process, and when that started, in clock
    /// ticks. One that cannot be started fails nothing. Nothing: there is no watchdog, and such an agent stays
    /// until somebody comes.
    pub watchdog: Option<Program>,
    /// The program, by its absolute path, that serves the tool by which an agent says that its work is finished:
    /// who goes on with a run that offers one puts it in [`Order::finish`]. Nothing: an agent that was offered the
    /// tool is offered none any more.
    pub finish_tool: Option<Program>,
    /// The program, by its absolute path, that the hooks of an agent call whose sessions are learnt from: see
    /// [`Learn`]. Nothing: a run that is gone on with has none any more.
    pub hook: Option<Program>,
}

impl Environment {
    /// How the sessions of a run that was planned so are learnt from.
    pub fn learn(&self, plan: &Plan) -> Option<LearnSpec> {
        let PlanLearn { judge, tokens_max } = plan.learn.clone()?;
        Some(LearnSpec { hook: self.hook.clone()?, judge, tokens_max })
    }

    /// A variable as an agent that is started in this environment has it.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let inherited = || env::var_os(name).filter(|_| !self.clear);
        self.set.get(name).map(OsString::from).or_else(inherited)
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    /// The names of the variables that an agent of this dialect needs, as far as they are set. Their values stay here.
    pub(crate) fn needed(&self, dialect: &dyn Dialect) -> BTreeSet<String> {
        let inherited =
            env::vars_os().filter(|_| !self.clear).filter_map(|(name, _)| name.into_string().ok());
        let names = inherited.chain(self.set.keys().cloned());
        let is_set = |name: &str| self.is_set(name);
        names.filter(|name| is_set(name) && dialect.needs_variable(name, &is_set)).collect()
    }

    /// The names of the variables that the agent of this plan needs, and that are not set now.
    pub(crate) fn missing(&self, plan: &Plan) -> Vec<String> {
        plan.env.needed().filter(|name| !self.is_set(name)).map(str::to_owned).collect()
    }

    /// With the variables that a harness sets for its agents. Those that were set already stay.
    #[must_use]
    pub(crate) fn with_harness(
        mut self,
        harness: Option<Harness>,
        dir: &RunDir,
        (order, policy): (&AgentSpec, &Policy),
    ) -> Environment {
        let variables = harness.map(|harness| {
            harness.variables(dir.path(), &order.cwd, (order.model.as_deref(), &policy.limits))
        });
        for (name, value) in variables.into_iter().flatten() {
            self.set.entry(name.to_owned()).or_insert(value);
        }
        self
    }
}

/// Which session to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one, its id drawn by chance.
    New,
    /// A new one of this id.
    NewWithId(SessionId),
    /// This one, continued.
    Resume(SessionId),
    /// A new one that begins with the history of this one.
    Fork(SessionId),
}

/// Why a run could not be begun, or could not go on.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// The run's directory or journal could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan names an agent that this version does not know.
    #[error("speak to the agent `{0}`: this version does not know it")]
    UnknownAgent(String),
    /// A table of the plan cannot be read by this version.
    #[error("{0}")]
    Tables(#[from] UserTablesError),
    /// A guard of the plan cannot be read by this version: the run must not go on without it.
    #[error("guard the agent: {0}")]
    Guard(#[from] GuardError),
    /// The directory to work in is gone.
    #[error("work in {}: {source}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The run's directory is a copy, and its original is at work.
    #[error("run {run} is at work in another copy of its directory: {}", original(stream).display())]
    AtWorkElsewhere {
        /// The run.
        run: RunId,
        /// The stream that its agent writes.
        stream: PathBuf,
    },
    /// Variables are missing that the agent needs.
    #[error("cannot start the agent of run {run}: {} set when the run started, but not now", subject(names))]
    Variables {
        /// The run.
        run: RunId,
        /// The names of the variables.
        names: Vec<String>,
    },
    /// The run has ended already.
    #[error("go on with run {run}: it has ended as {}", outcome.kind)]
    AlreadyFinished {
        /// The run.
        run: RunId,
        /// How it ended.
        outcome: Outcome,
        /// The likeliest command that continues it, if there is one.
        next: Option<String>,
    },
    /// The run never opened a session that could be branched.
    #[error("branch the session of run {0}: it never opened one")]
    NoSession(RunId),
    /// The run has not ended, and so cannot be asked for more.
    #[error("ask run {0} for more: it has not ended")]
    NotFinished(RunId),
    /// The run has not ended, and its agent was started with the settings that would change.
    #[error("cannot change how the agent of run {0} is started: the run has not ended")]
    Unfinished(RunId),
    /// The system refused something that a run cannot do without.
    #[error("supervise the agent: {0}")]
    Io(#[from] io::Error),
}

impl SuperviseError {
    /// Whether there was no room on the disk.
    pub fn is_full(&self) -> bool {
        matches!(self, SuperviseError::Store(error) if error.is_disk_full())
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SuperviseError::Store(error) => error.hint(),
            SuperviseError::UnknownAgent(_) | SuperviseError::Tables(_) | SuperviseError::Guard(_) => {
                Some("use the longhaul that began the run".to_owned())
            }
            SuperviseError::Workspace { .. } => {
                Some("put it back, or name where it is now with `--cwd`".to_owned())
            }
            SuperviseError::AtWorkElsewhere { stream, .. } => {
                let dir = original(stream).display();
                Some(format!("follow it by `longhaul attach {dir}`, or end it by `longhaul cancel {dir}`"))
            }
            SuperviseError::Variables { run, .. } => Some(format!(
                "set what is missing and type `longhaul recover {run}`, or continue without it by `longhaul resume {run}`; \
                 the service that `longhaul recover --install` writes reads variables from a file"
            )),
            SuperviseError::AlreadyFinished { run, next, .. } => Some(match next {
                Some(command) => format!("`{command}` goes on with it"),
                None => {
                    format!(
                        "`longhaul resume {run} --again` repeats the task; a prompt in place of `--again` asks for more"
                    )
                }
            }),
            SuperviseError::NoSession(run) => Some(format!("`longhaul resume {run}` begins one")),
            SuperviseError::NotFinished(run) => Some(format!(
                "`longhaul recover {run}` goes on with it as it is, `longhaul cancel {run}` ends it"
            )),
            SuperviseError::Unfinished(run) => {
                Some(format!("end it with `longhaul cancel {run}`, then resume it with the change"))
            }
            SuperviseError::Io(_) => None,
        }
    }
}

/// The run's directory, of the stream of one of its attempts.
fn original(stream: &Path) -> &Path {
    let attempts = stream.ancestors().find(|path| path.ends_with("attempts"));
    attempts.and_then(Path::parent).unwrap_or(stream)
}

/// These names as the subject of a sentence, with its verb.
fn subject(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "was" } else { "were" })
}

/// How to speak to the agent of a plan.
pub(crate) fn dialect_from_plan(plan: &Plan) -> Result<Box<dyn Dialect>, SuperviseError> {
    let tables = UserTables { prices: plan.prices.clone(), effects: plan.effects.clone() };
    let dialect = dialect_with_tables(&plan.agent.name, tables)?;
    dialect.ok_or_else(|| SuperviseError::UnknownAgent(plan.agent.name.clone()))
}

/// The guards of a plan.
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

/// How the agent of a plan may say that its work is finished.
pub(crate) fn done_signals_from_plan(plan: &Plan) -> DoneSignals {
    DoneSignals { tool: plan.finish_tool, line: plan.done_when.clone() }
}

/// A run that was never begun, or one that broke off.
#[derive(Debug, Error)]
pub enum RunError {
    /// Nothing was started and nothing was spent.
    #[error("{0}")]
    NotStarted(SuperviseError),
    /// The agent was ended, because its run could no longer be recorded.
    #[error("run {run} broke off: {source}")]
    Aborted {
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
    let day: Day = now.strftime("%Y-%m-%d").to_string().parse().expect("a date is written as a day");
    let cwd = settle_workspace(&mut request, &day).map_err(RunError::NotStarted)?;
    let plan = plan(&request, (&session, &cwd), Moment(now.timestamp().as_millisecond() as u64));
    let RunRequest {
        home,
        placement,
        dialect,
        agent: mut order,
        environment,
        harness,
        notify,
        policy,
        keep_partial_messages: keep_stream,
        diagnostic,
        ..
    } = request;
    let created = home.create_run_at(&placement, &day, random_seed(), &plan);
    let NewRun { dir, journal } = created.map_err(|error| RunError::NotStarted(error.into()))?;
    order.run_id = dir.id().clone();
    observer.on_start(dir.id(), dir.path());
    record_start(&home, &dir, &order.cwd).await;

    let path = dir.path().to_owned();
    let environment = environment.with_harness(harness, &dir, (&order, &policy));
    let watchdog = watchdog::watchdog_command(&environment, &policy);
    order.needs_supervisor |= policy.needs_supervisor();
    let setup = WorldConfig {
        home: &home,
        marker: RunMarker::new(dir.id(), &plan),
        dir,
        journal,
        dialect,
        order,
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
    let supervised = RunningSupervisor {
        run: Run::new(),
        policy,
        world: LiveWorld::new(setup),
        keep_partial_messages: keep_stream,
    };
    let ended = supervised.drive_to_outcome(Event::Started(session)).await;
    if matches!(ended, Err(RunError::NotStarted(_))) {
        // Nothing was started, and whoever was told so may begin another: `recover` must not find this one.
        let _ = fs::remove_dir_all(path);
    }
    ended
}

/// A run with its world, on its way to an outcome.
pub(crate) struct RunningSupervisor<'a> {
    pub(crate) run: Run,
    pub(crate) policy: Policy,
    pub(crate) world: LiveWorld<'a>,
    pub(crate) keep_partial_messages: bool,
}

impl RunningSupervisor<'_> {
    /// Carries the run from `first` to its outcome, and leaves its directory in order.
    pub(crate) async fn drive_to_outcome(mut self, first: Event) -> Result<RunReport, RunError> {
        let ended = self.drive_on(first).await;
        self.world.dismiss_watchdog().await;
        self.world.finish_calls().await;
        ended
    }

    async fn drive_on(&mut self, first: Event) -> Result<RunReport, RunError> {
        let RunningSupervisor { run, policy, world, keep_partial_messages: keep_stream } = self;
        match drive(run, policy, world, first).await {
            Ok(outcome) => {
                let ended = crate::World::now(world).at;
                world.complete_transcript(run.state().attempts());
                let report = RunReport::new(
                    world.dir(),
                    run,
                    (outcome, ended),
                    world.glance(),
                    world.startup_message(),
                );
                write_summaries(world.dir(), run, policy, world.harness(), &report);
                if outcome.kind == OutcomeKind::Suspended {
                    // The system is about to kill us. What else an end needs, the supervisor does that ends the run.
                    write_final_status(world.dir(), run, policy, &report);
                    world.release();
                    return Ok(report);
                }
                // Nobody works in it any more, and nobody knows that yet: what differs from now on is somebody else's. Whoever
                // is killed here is replaced by a supervisor that does it.
                record_end(world.home(), world.dir(), world.cwd(), run.state().reopen_count).await;
                let news = world.claim_notification(Notification::for_outcome(&report, run, &world.task()));
                write_final_status(world.dir(), run, policy, &report);
                // Who is called now finds the run as it is.
                world.call(news);
                // Behind all that: it may wait for whoever writes the ledger.
                world.release();
                if !*keep_stream {
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

/// Where a run works that has a workspace of its own is known with its id. Returns the directory as the plan has it.
fn settle_workspace(request: &mut RunRequest, day: &Day) -> Result<PathBuf, SuperviseError> {
    let Some(workspace) = &request.placement.workspace else { return Ok(request.agent.cwd.clone()) };
    // An agent files its sessions under the directory that it finds itself in, links resolved.
    let gone = |source| SuperviseError::Workspace { path: workspace.clone(), source };
    fs::read_dir(workspace.join(&request.agent.cwd)).map_err(gone)?;
    let id = request.placement.id.clone().map_or_else(|| request.home.unused_id(random_seed()), Ok)?;
    let run = request.home.path_for(&request.placement, day, &id);
    let run = match run.ancestors().nth(2).and_then(|runs| fs::canonicalize(runs).ok()) {
        Some(runs) => runs.join(day.as_str()).join(id.as_str()),
        None => run,
    };
    let run = RunDir::at(run).expect("the place of a run is absolute and ends with its id");
    request.agent.cwd = run.workspace_path().join(&request.agent.cwd);
    request.placement.id = Some(id);
    Ok(run.stored_cwd(&request.agent.cwd).to_owned())
}

fn first_session(choice: &SessionChoice) -> SessionPlan {
    match choice {
        // Salt 0: the first session's id is drawn apart from everything a step draws.
        SessionChoice::New => SessionPlan::New(draw_uuid(random_seed(), 0)),
        SessionChoice::NewWithId(id) => SessionPlan::New(id.clone()),
        SessionChoice::Resume(id) => SessionPlan::Resume(id.clone()),
        SessionChoice::Fork(from) => {
            SessionPlan::Fork { from: from.clone(), to: draw_uuid(random_seed(), 0) }
        }
    }
}

/// What is asked for, as it is written down: no secret has a place in it.
fn plan(request: &RunRequest, (session, cwd): (&SessionPlan, &Path), started_at: Moment) -> Plan {
    let RunRequest {
        dialect,
        agent: order,
        environment,
        harness,
        policy,
        origins,
        keep_partial_messages: keep_stream,
        diagnostic,
        ..
    } = request;
    // The directory is not known yet, the names are.
    let of_harness = harness.map(|harness| {
        harness.variables(Path::new(""), &order.cwd, (order.model.as_deref(), &policy.limits))
    });
    let of_harness: Vec<&str> = of_harness.into_iter().flatten().map(|(name, _)| name).collect();
    let needed = environment.needed(dialect.as_ref());
    let block_paths = &order.guards.block_paths;
    Plan {
        longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        name: request.placement.name.clone(),
        prompt: PlanPrompt { text: order.prompt.clone(), file: None },
        cwd: cwd.into(),
        session: Some(session.clone()),
        model: order.model.clone(),
        permission_mode: order.permission_mode.clone(),
        agent: PlanAgent {
            name: dialect.name().to_owned(),
            program: order.program.path.as_path().into(),
            leading_args: order.program.leading_args.clone(),
            version: None,
            binary: Binary::new(&order.program.path).ok(),
        },
        argv: order.extra_args.iter().map(|arg| arg.as_str().into()).collect(),
        guards: PlanGuards {
            allow_tools: order.guards.allow_tools.iter().map(ToString::to_string).collect(),
            deny_tools: order.guards.deny_tools.iter().map(ToString::to_string).collect(),
            answers: order.guards.answers.as_ref().map(|answers| answers.entries().clone()),
            block_urls: order.guards.block_urls.iter().map(ToString::to_string).collect(),
            block_paths: block_paths.texts().to_vec(),
            home: (!block_paths.texts().is_empty()).then(|| block_paths.home().to_owned()),
        },
        network: order.network.as_ref().map(|network| network.hosts().to_vec()),
        learn: order
            .learn
            .as_ref()
            .map(|learn| PlanLearn { judge: learn.judge.clone(), tokens_max: learn.tokens_max }),
        env: EnvNames::new(environment.set.keys().map(String::as_str).chain(of_harness), [])
            .with_needed(needed.iter().map(String::as_str)),
        harness: *harness,
        policy: policy.clone(),
        checks: order.checks.clone(),
        notify: request.notify.clone(),
        finish_tool: order.finish_tool.is_some(),
        done_when: order.done_when.clone(),
        wrap_up_prompt: order.wrap_up_prompt.clone(),
        handoff_tokens: order.handoff_tokens,
        handoff_summary: order.handoff_summary.clone(),
        keep_partial_messages: *keep_stream,
        diagnostic: *diagnostic,
        prices: dialect.tables().prices.clone(),
        effects: dialect.tables().effects.clone(),
        origins: origins.clone(),
        imported: None,
        marker: Some(RunMarker::random()),
        inherited: request.inherited.clone(),
    }
}
