//! Recovers a run whose supervisor died. The run keeps its id, attempts, clocks and costs. The new supervisor
//! inspects the run's processes and files before it starts anything, so that no work is repeated or lost.

use crate::changes::record_start;
use crate::handoff::follow_ups_in;
use crate::live::{
    LiveWorld, RunMarker, WorldConfig, live_agent, processes_with, random_seed, stream_of_original,
};
use crate::next_commands::next_commands;
use crate::supervisor::{RunningSupervisor, dialect_from_plan, guards_from_plan};
use crate::{
    Environment, Observer, PlanChanges, ResumeOptions, RunError, RunReport, SuperviseError, watchdog,
};
use longhaul_agent::{AgentSpec, Dialect, GuardError, Network, Program};
use longhaul_core::{
    CancelSource, Event, Phase, Record, Remaining, ResumeRequest, Run, RunId, SessionId, SessionPlan,
    draw_uuid,
};
use longhaul_store::{History, Home, Journal, Plan, RunDir, StoreError};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

// A killed process exits within a few milliseconds. On a machine that swaps it takes longer.
pub(crate) const EXIT_POLLS_MAX: u32 = 10;
pub(crate) const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Takes over the run of this directory and drives it to its outcome. If the agent is still running, it is
/// followed. Otherwise its files show how it ended. `notify` replaces the run's notification commands, and
/// `None` keeps them.
///
/// # Errors
///
/// Returns the errors of [`crate::supervise`]. Also returns an error in each of these cases:
///
/// - another process supervises the run, or the run has finished
/// - its files or its working directory cannot be read
/// - the agent must be started, and a variable is missing that was set when the run started
///
/// Nothing is changed in these cases, and the run can be recovered later.
pub async fn recover(
    home: &Home,
    dir: RunDir,
    notify: Option<Vec<String>>,
    environment: Environment,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let changes = PlanChanges { notify, ..PlanChanges::default() };
    let opened = open_run(home, dir, OpenMode::Recover(changes), environment, observer, cancels).await;
    let (supervisor, first) = opened.map_err(RunError::NotStarted)?;
    supervisor.drive_to_outcome(first).await
}

/// The reason why a run continues.
pub(crate) enum OpenMode {
    /// Its supervisor died. Some settings may change.
    Recover(PlanChanges),
    /// A user resumes a finished run, perhaps in another directory.
    Resume(ResumeOptions),
}

/// Opens the run and returns it with its first event.
pub(crate) async fn open_run<'a>(
    home: &'a Home,
    dir: RunDir,
    mode: OpenMode,
    environment: Environment,
    observer: &'a mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<(RunningSupervisor<'a>, Event), SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    let (journal, history) = take_lock(&dir).await?;
    dir.clear_scratch();
    let run = Run::replay(history.records());
    let marker = RunMarker::new(dir.id(), &plan);
    if run.state().outcome().is_none()
        && let Some(stream) = stream_of_original(&marker, &dir)
    {
        return Err(SuperviseError::RunningElsewhere { run: dir.id().clone(), stream });
    }
    // A user who resumes a run may leave variables unset.
    let missing = match &mode {
        OpenMode::Recover(_) => environment.missing(&plan),
        OpenMode::Resume(_) => Vec::new(),
    };
    // A live agent is only followed, and a run that is finished or being cancelled needs no agent.
    let starts_agent = run.state().outcome().is_none() && cancels.is_empty();
    if starts_agent && !missing.is_empty() && live_agent(&marker, &run).is_none() {
        return Err(SuperviseError::MissingVariables { run: dir.id().clone(), names: missing });
    }
    let (changes, reopened) = match (mode, run.state().outcome()) {
        (
            OpenMode::Resume(ResumeOptions {
                request: ResumeRequest::RepeatTask | ResumeRequest::Prompt(_),
                ..
            }),
            None,
        ) => {
            return Err(SuperviseError::NotFinished(dir.id().clone()));
        }
        (OpenMode::Recover(_), Some(outcome)) if is_outcome_published(&dir) => {
            let next = next_commands(dir.id(), &run, &plan).into_iter().next();
            return Err(SuperviseError::AlreadyFinished { run: dir.id().clone(), outcome, next });
        }
        (OpenMode::Resume(ResumeOptions { changes, .. }), None)
            if !changes.are_valid_for_live_agent() && !is_without_agent(&run.state().phase) =>
        {
            return Err(SuperviseError::SettingsInUse(dir.id().clone()));
        }
        (OpenMode::Recover(changes), _) => (changes, None),
        (OpenMode::Resume(ResumeOptions { request, changes }), outcome) => {
            (changes, outcome.map(|_| request))
        }
    };
    let limits = plan.policy.limits;
    let changes = changes.apply(&mut plan)?;
    if !changes.is_empty() {
        dir.replace_plan(&plan)?;
    }
    // The next prompt of a finished run states the added limits. A live agent is not informed of them.
    let is_raised = reopened.is_some() && plan.policy.limits != limits;
    let added = if is_raised { plan.policy.limits.increase_over(&limits) } else { Remaining::default() };
    let dialect: Arc<dyn Dialect> = Arc::from(dialect_from_plan(&plan)?);
    let needed = environment.needed(dialect.as_ref());
    if missing.is_empty() && !plan.env.needed().eq(needed.iter().map(String::as_str)) {
        plan.env = plan.env.clone().with_needed(needed.iter().map(String::as_str));
        dir.replace_plan(&plan)?;
    }
    check_workspace(plan.cwd.as_path())?;
    if matches!(run.state().phase, Phase::New) && matches!(dir.changes(), Ok(None)) {
        // No process has started, because the journal would record it. A recorded start is kept.
        record_start(home, &dir, plan.cwd.as_path()).await;
    }
    observer.on_start(dir.id(), dir.path());
    history.entries.iter().for_each(|entry| observer.on_replay(entry));

    let mut follow_ups = follow_ups_in(history.records());
    if let Some(ResumeRequest::Prompt(text)) = &reopened {
        follow_ups.push(text.clone());
    }
    let mut agent_spec = agent_spec_from_plan(&plan, follow_ups, dir.id())?;
    // The current supervisor's program serves the tool, because the recorded one may no longer exist.
    agent_spec.finish_tool = environment.finish_tool.clone().filter(|_| plan.finish_tool);
    agent_spec.learn = environment.learn(&plan);
    if reopened.is_some() || processes_with(&marker).is_empty() {
        // A new marker, because a copy of the directory may continue at the same time.
        plan.marker = Some(RunMarker::random());
        dir.replace_plan(&plan)?;
    }
    let environment = environment.with_harness(plan.harness, &dir, &agent_spec, &plan.policy);
    let watchdog = watchdog::watchdog_command(&environment, &plan.policy);
    let mut world = LiveWorld::new(WorldConfig {
        home,
        marker: RunMarker::new(dir.id(), &plan),
        dir,
        journal,
        dialect,
        agent_spec,
        environment,
        missing,
        memory_limit: plan.policy.limits.memory,
        fingerprints_workspace: plan.policy.keep_going.is_some(),
        diagnostic: plan.diagnostic,
        harness: plan.harness,
        notify: plan.notify,
        watchdog,
        cancels,
        observer,
    });
    world.lock_sessions(sessions_of(&history).into_iter());
    if let Some(request) = reopened {
        world.replay_attempts(run.state().attempts());
        world.add_limits(added);
        return Ok((
            RunningSupervisor {
                run,
                policy: plan.policy,
                world,
                keep_partial_messages: plan.keep_partial_messages,
            },
            Event::Reopened(request, changes),
        ));
    }
    let first = match &run.state().phase {
        // The supervisor died before its first step. Plans of older versions do not name the session.
        Phase::New => {
            Event::Started(plan.session.unwrap_or_else(|| SessionPlan::New(draw_uuid(random_seed(), 0))))
        }
        Phase::Starting
        | Phase::Summarizing { .. }
        | Phase::Running
        | Phase::Closing { .. }
        | Phase::Stopping { .. }
        | Phase::Sweeping { .. }
        | Phase::Checking { .. }
        | Phase::Waiting { .. }
        | Phase::Suspended { .. }
        | Phase::Finished { .. } => world.take_over(&run, history.last_step_at(), changes).await?,
    };
    Ok((
        RunningSupervisor {
            run,
            policy: plan.policy,
            world,
            keep_partial_messages: plan.keep_partial_messages,
        },
        first,
    ))
}

/// Returns `true` if the next agent of a run in this phase starts with the settings of its plan.
fn is_without_agent(phase: &Phase) -> bool {
    matches!(phase, Phase::New | Phase::Waiting { .. } | Phase::Suspended { .. } | Phase::Finished { .. })
}

/// Opens and locks the run's journal. Waits a moment, because the kernel may still hold the lock of a
/// supervisor that was just killed.
async fn take_lock(dir: &RunDir) -> Result<(Journal, History), StoreError> {
    for _ in 0..EXIT_POLLS_MAX {
        match Journal::open_append(&dir.journal_path()) {
            Err(StoreError::JournalLocked { .. }) => tokio::time::sleep(EXIT_POLL_INTERVAL).await,
            opened => return opened,
        }
    }
    Journal::open_append(&dir.journal_path())
}

/// Returns the runs that have no supervisor and either no outcome or an unpublished one, the newest first. It
/// omits runs whose files cannot be read.
///
/// # Errors
///
/// Returns an error if the home cannot be read.
pub fn recoverable(home: &Home) -> Result<Vec<RunDir>, StoreError> {
    let runs: Vec<_> = home.runs_newest_first()?.map(|dir| (supervision_of(&dir), dir)).collect();
    if runs.iter().any(|(supervision, _)| *supervision == Supervision::Supervised) {
        // A supervisor that was just killed may hold its lock for a moment.
        std::thread::sleep(EXIT_POLL_INTERVAL * EXIT_POLLS_MAX);
    }
    let is_recoverable = |(first, dir): &(Supervision, RunDir)| match first {
        Supervision::Supervised => supervision_of(dir) == Supervision::Orphaned,
        Supervision::Orphaned => true,
        Supervision::Finished => false,
    };
    Ok(runs.into_iter().filter(is_recoverable).map(|(_, dir)| dir).collect())
}

/// Whether a run has a supervisor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Supervision {
    Supervised,
    Orphaned,
    /// The run is finished or cannot be read.
    Finished,
}

fn supervision_of(dir: &RunDir) -> Supervision {
    match Journal::open_append(&dir.journal_path()) {
        Err(StoreError::JournalLocked { .. }) => Supervision::Supervised,
        Ok((_, history))
            if Run::replay(history.records()).state().outcome().is_none() || !is_outcome_published(dir) =>
        {
            Supervision::Orphaned
        }
        Ok(_) | Err(_) => Supervision::Finished,
    }
}

/// Returns `true` if the outcome is in the files that people read. If a supervisor dies before it publishes
/// the outcome, the next one does.
pub(crate) fn is_outcome_published(dir: &RunDir) -> bool {
    dir.status().is_ok_and(|status| status.returncode.is_some())
}

/// Returns every session that an attempt of the run was planned for or opened.
fn sessions_of(history: &History) -> BTreeSet<&SessionId> {
    let mut sessions = BTreeSet::new();
    for record in history.records() {
        match record {
            Record::AttemptStarted { plan, .. } => drop(sessions.insert(plan.session.id())),
            Record::SessionOpened { session, .. } => drop(sessions.insert(session)),
            _ => {}
        }
    }
    sessions
}

pub(crate) fn agent_spec_from_plan(
    plan: &Plan,
    follow_ups: Vec<String>,
    run: &RunId,
) -> Result<AgentSpec, GuardError> {
    Ok(AgentSpec {
        program: Program {
            path: plan.agent.program.as_path().to_owned(),
            leading_args: plan.agent.leading_args.clone(),
        },
        cwd: plan.cwd.as_path().to_owned(),
        prompt: plan.prompt.text.clone(),
        follow_ups,
        model: plan.model.clone(),
        permission_mode: plan.permission_mode.clone(),
        guards: guards_from_plan(plan)?,
        needs_supervisor: plan.policy.needs_supervisor(),
        checks: plan.checks.clone(),
        finish_tool: None,
        done_when: plan.done_when.clone(),
        wrap_up_prompt: plan.wrap_up_prompt.clone(),
        learn: None,
        network: plan.network.clone().map(Network::new).transpose()?,
        // Extra arguments were text when the plan was written.
        extra_args: plan.argv.iter().map(|arg| arg.as_os_str().to_string_lossy().into_owned()).collect(),
        handoff_tokens: plan.handoff_tokens,
        handoff_summary: plan.handoff_summary.clone(),
        inner_retries: plan.policy.inner_retries,
        run_id: run.clone(),
    })
}

pub(crate) fn check_workspace(path: &Path) -> Result<(), SuperviseError> {
    let readable = fs::read_dir(path).map(drop);
    readable.map_err(|source| SuperviseError::Workspace { path: path.to_owned(), source })
}
