//! Recovers a run whose supervisor died. The run keeps its id, attempts, clocks and costs. The new supervisor
//! inspects the run's processes and files before it starts anything, so that no work is repeated or lost.

use crate::changes::record_start;
use crate::clock::random_seed;
use crate::dialect::dialect_of;
use crate::live::{LiveWorld, RunMarker, WorldConfig, live_agent, processes_of, stream_of_original, sweep};
use crate::supervise::RunningSupervisor;
use crate::{Environment, Observer, ResumeOptions, RunError, RunReport, SuperviseError};
use longhaul_agent::Dialect;
use longhaul_core::{
    CancelSource, Event, Phase, Remaining, ResumeRequest, Run, RunSpec, SessionPlan, SettingChange, draw_uuid,
};
use longhaul_store::{Binary, Home, Journal, JournalDir, LoadedJournal, Plan, RunDir, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

// A killed process exits within a few milliseconds. On a machine that swaps it takes longer.
pub(crate) const EXIT_POLLS_MAX: u32 = 10;
pub(crate) const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Continues the run of this directory and drives it to its outcome. If the agent of a run without an outcome
/// is still running, it is followed. Otherwise its files show how it ended.
///
/// If it cannot continue, nothing is changed, and the run can be recovered later.
pub(crate) async fn continue_run(
    home: &Home,
    environment: Environment,
    dir: RunDir,
    mode: OpenMode,
    observer: &mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, RunError> {
    let opened = open_run(home, dir, mode, environment, observer, cancels).await;
    let (supervisor, first) = opened.map_err(RunError::NotStarted)?;
    supervisor.drive_to_outcome(first).await
}

#[expect(clippy::large_enum_variant, reason = "each run has one, and none is kept")]
pub(crate) enum OpenMode {
    /// Its supervisor died. `notify` replaces the notification commands, if it is set.
    Recover { notify: Option<Vec<String>> },
    /// A user resumes a finished run, perhaps in another directory.
    Resume(ResumeOptions),
}

async fn open_run<'a>(
    home: &'a Home,
    dir: RunDir,
    mode: OpenMode,
    environment: Environment,
    observer: &'a mut dyn Observer,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<(RunningSupervisor<'a>, Event), SuperviseError> {
    let mut plan = dir.trusted_plan()?;
    let (journal, loaded) = take_lock(|| <Journal>::open_append(&dir.journal_path())).await?;
    dir.clear_scratch();
    let history = loaded.history();
    let run = history.run().clone();
    let marker = RunMarker::new(&dir, &plan.marker);
    if run.state().outcome().is_none()
        && let Some(stream) = stream_of_original(&marker, &dir)
    {
        let original = original(&stream).to_owned();
        return Err(SuperviseError::RunningElsewhere { run: dir.id().clone(), dir: original });
    }
    // A user who resumes a run may leave variables unset.
    let missing = match &mode {
        OpenMode::Recover { .. } => environment.missing(&plan),
        OpenMode::Resume(_) => Vec::new(),
    };
    // A live agent is only followed, and a run that is finished or being cancelled needs no agent.
    let starts_agent = run.state().outcome().is_none() && cancels.is_empty();
    if starts_agent && !missing.is_empty() && live_agent(&marker, &run).is_none() {
        return Err(SuperviseError::MissingVariables { run: dir.id().clone(), names: missing });
    }
    let (spec, reopened) = match (mode, run.state().outcome()) {
        (
            OpenMode::Resume(ResumeOptions {
                request: ResumeRequest::RepeatTask | ResumeRequest::Prompt(_),
                ..
            }),
            None,
        ) => {
            return Err(SuperviseError::NotFinished(dir.id().clone()));
        }
        (OpenMode::Recover { .. }, Some(outcome)) if dir.is_outcome_published() => {
            let (run, dir) = (dir.id().clone(), dir.path().to_owned());
            return Err(SuperviseError::AlreadyFinished { run, outcome, dir });
        }
        (OpenMode::Recover { notify }, _) => {
            (notify.map(|notify| plan.spec.clone().with(|spec| spec.notify = notify)), None)
        }
        (OpenMode::Resume(ResumeOptions { request, spec }), outcome) => (spec, outcome.map(|_| request)),
    };
    if reopened.is_some() {
        // A process that could not be stopped may have outlived the run. The new marker would hide it.
        sweep(&marker).await?;
    }
    let limits = plan.spec.policy.limits;
    let changes = match spec.filter(|spec| *spec != plan.spec) {
        None => Vec::new(),
        Some(spec) => {
            let changes = change_spec(&mut plan, spec)?;
            if changes.iter().any(is_fixed_for_agent) && !is_without_agent(&run.state().phase) {
                return Err(SuperviseError::SettingsInUse(dir.id().clone()));
            }
            dir.replace_plan(&plan)?;
            changes
        }
    };
    // The next prompt of a finished run states the added limits. A live agent is not informed of them.
    let is_raised = reopened.is_some() && plan.spec.policy.limits != limits;
    let added = if is_raised { plan.spec.policy.limits.increase_over(&limits) } else { Remaining::default() };
    let dialect: Arc<dyn Dialect> = Arc::from(dialect_of(&plan.spec)?);
    let needed = environment.needed(dialect.as_ref());
    if missing.is_empty() && !plan.env.needed().eq(needed.iter().map(String::as_str)) {
        plan.env = plan.env.clone().with_needed(needed.iter().map(String::as_str));
        dir.replace_plan(&plan)?;
    }
    if starts_agent || reopened.is_some() {
        check_workspace(&plan.spec.cwd)?;
    }
    let is_new = loaded.entries.is_empty();
    if is_new && matches!(dir.changes(), Ok(None)) {
        // No process has started, because the journal would record it. A recorded start is kept.
        record_start(home, &dir, &plan.spec.cwd).await;
    }
    observer.on_start(dir.id(), dir.path());
    loaded.entries.iter().for_each(|entry| observer.on_replay(entry));

    let mut follow_ups = history.follow_ups(u32::MAX);
    if let Some(ResumeRequest::Prompt(text)) = &reopened {
        follow_ups.push(text.clone());
    }
    let context = environment.agent_context(plan.spec.clone(), dir.id().clone(), follow_ups)?;
    if reopened.is_some() || processes_of(&marker)?.is_empty() {
        // A new marker, because a copy of the directory may continue at the same time.
        plan.marker = RunMarker::random();
        dir.replace_plan(&plan)?;
    }
    if reopened.is_some() {
        // They arrived too late to stop the finished run.
        dir.requests().clear();
    }
    let config = WorldConfig {
        home,
        marker: RunMarker::new(&dir, &plan.marker),
        environment: environment.with_harness(&plan.spec, &dir),
        dir,
        dialect,
        context,
        inherited: plan.inherited,
        missing,
    };
    let mut world = LiveWorld::new(config, journal, cancels, observer);
    loaded.last_step_at().into_iter().for_each(|at| world.clock.advance_to(at));
    let attempts = history.attempts().iter();
    let sessions = attempts.flat_map(|attempt| [Some(attempt.session.id()), attempt.opened_session.as_ref()]);
    world.lock_sessions(sessions.flatten());
    let policy = plan.spec.policy;
    if let Some(request) = reopened {
        world.replay_attempts(run.state().attempts());
        world.ended.prior.added = added;
        return Ok((RunningSupervisor { run, policy, world }, Event::Reopened(request, changes)));
    }
    let first = if is_new {
        // The supervisor died before its first step.
        let session = plan.spec.session;
        Event::Started(session.unwrap_or_else(|| SessionPlan::New(draw_uuid(random_seed(), 0))))
    } else {
        world.take_over(&run, loaded.last_step_at(), changes).await?
    };
    Ok((RunningSupervisor { run, policy, world }, first))
}

fn original(stream: &Path) -> &Path {
    let parts = stream.ancestors().find(|path| path.ends_with("attempts") || path.ends_with("reviews"));
    parts.and_then(Path::parent).unwrap_or(stream)
}

/// Returns `true` if an agent that was started with the old setting cannot continue under the new one.
fn is_fixed_for_agent(change: &SettingChange) -> bool {
    let fixed = ["model", "permission_mode", "agent_path", "allow_tools", "deny_tools", "check", "review"];
    fixed.contains(&change.setting.as_str())
}

/// Returns `true` if the next agent of a run in this phase starts with the settings of its plan.
fn is_without_agent(phase: &Phase) -> bool {
    matches!(phase, Phase::New | Phase::Waiting { .. } | Phase::Suspended { .. } | Phase::Finished { .. })
}

/// Opens and locks a journal with this function. Waits a moment, because the kernel may still hold the lock of a
/// supervisor that was just killed.
pub(crate) async fn take_lock<T>(open: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    for _ in 0..EXIT_POLLS_MAX {
        match open() {
            Err(StoreError::JournalLocked { .. }) => tokio::time::sleep(EXIT_POLL_INTERVAL).await,
            opened => return opened,
        }
    }
    open()
}

/// Returns the runs that have no supervisor and either no outcome or an unpublished one, the newest first. It
/// omits runs whose files cannot be read.
///
/// # Errors
/// Returns an error if the home cannot be read.
pub fn recoverable(home: &Home) -> Result<Vec<RunDir>, StoreError> {
    Ok(orphans(home.runs_newest_first()?, |dir, loaded: LoadedJournal| {
        Run::replay(loaded.records()).state().outcome().is_some() && dir.is_outcome_published()
    }))
}

/// Returns the directories of runs or workflows that have no supervisor and are not finished. It omits those whose
/// journal cannot be read, and changes nothing, even if the last line of a journal is torn.
pub(crate) fn orphans<D: Deref<Target = JournalDir>, R: Serialize + DeserializeOwned>(
    dirs: impl IntoIterator<Item = D>,
    is_finished: impl Fn(&D, LoadedJournal<R>) -> bool,
) -> Vec<D> {
    let is_supervised = |dir: &D| Journal::is_locked(&dir.journal_path()).unwrap_or(false);
    let dirs: Vec<(bool, D)> = dirs.into_iter().map(|dir| (is_supervised(&dir), dir)).collect();
    if dirs.iter().any(|(is_supervised, _)| *is_supervised) {
        // A supervisor that was just killed may hold its lock for a moment.
        std::thread::sleep(EXIT_POLL_INTERVAL * EXIT_POLLS_MAX);
    }
    let is_orphan = |(was_supervised, dir): &(bool, D)| {
        let is_supervised = *was_supervised && is_supervised(dir);
        !is_supervised && Journal::load(&dir.journal_path()).is_ok_and(|loaded| !is_finished(dir, loaded))
    };
    dirs.into_iter().filter(is_orphan).map(|(_, dir)| dir).collect()
}

/// Replaces the description in a plan and returns the settings that differ. Their origin becomes `flag`.
fn change_spec(plan: &mut Plan, spec: RunSpec) -> Result<Vec<SettingChange>, SuperviseError> {
    plan.spec.validate_resumed(&spec)?;
    if spec.cwd != plan.spec.cwd {
        check_workspace(&spec.cwd)?;
    }
    if spec.agent.program != plan.spec.agent.program {
        plan.binary = Binary::new(&spec.agent.program).ok();
    }
    let changes = plan.spec.changes_to(&spec);
    plan.origins.extend(origins_of(&changes));
    plan.spec = spec;
    Ok(changes)
}

pub(crate) fn origins_of(changes: &[SettingChange]) -> impl Iterator<Item = (String, String)> {
    changes.iter().map(|change| (change.setting.clone(), "flag".to_owned()))
}

fn check_workspace(path: &Path) -> Result<(), SuperviseError> {
    let readable = fs::read_dir(path).map(drop);
    readable.map_err(|source| SuperviseError::Workspace { path: path.to_owned(), source })
}
