//! The watchdog of a run: a process that waits for its supervisor's death, and ends an agent that nobody comes
//! back for. It costs nothing while it waits, decides nothing about the run and writes nothing to its journal:
//! whoever recovers the run reads how the attempt ended.

mod silence;
mod stop;

use crate::live::{AdoptedProcess, FileWatch, RunMarker, processes_with, start_ticks};
use crate::recover::{EXIT_POLL_INTERVAL, EXIT_POLLS_MAX, is_outcome_published};
use crate::{Environment, SuperviseError};
use longhaul_agent::Program;
use longhaul_core::{Policy, ProcessId, Span};
use longhaul_store::{Journal, RunDir, StoreError};
use rustix::process::Pid;
use silence::{OutputPosition, SilenceTimer};
use std::io;
use std::process::{self, Stdio};
use std::time::{Duration, Instant};
use stop::end;
use tokio::process::{Child, Command};

// So many looks to a timeout: an agent is ended at most an eighth late.
const LOOKS: u32 = 8;
const LOOK_EVERY_MIN: Duration = Duration::from_millis(50);
// A supervisor that takes over is seen at once, by what it writes; this is for a system without file events.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(10);

/// Why a watchdog left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogExit {
    /// The run's policy wants none.
    Disabled,
    /// The run is over, and its outcome was told.
    RunFinished,
    /// Another supervisor has the run.
    Supervised,
    /// No process of the run is left.
    NoProcesses,
    /// Nobody came back: so many processes were ended. The run can be recovered all the same.
    Stopped(u32),
}

/// Waits until `supervisor` is dead, and then until its run is over, has another supervisor or no process any
/// more. A run that is silent for as long as its policy lets an orphan be has its processes ended. It is for a
/// process of its own that does not carry the run's mark: a supervisor starts it by [`Environment::watchdog`].
///
/// # Errors
///
/// If the run's files cannot be read, or if a process of it cannot be ended.
pub async fn watch(dir: &RunDir, supervisor: ProcessId) -> Result<WatchdogExit, SuperviseError> {
    let plan = dir.trusted_plan()?;
    let (marker, policy) = (RunMarker::new(dir.id(), &plan), plan.policy);
    let Some(patience) = policy.orphan_timeout else { return Ok(WatchdogExit::Disabled) };
    death_of(supervisor).await?;
    keep(dir, &marker, patience, policy.stop_grace).await
}

/// Watches a run whose supervisor is dead.
async fn keep(
    dir: &RunDir,
    marker: &RunMarker,
    patience: Span,
    grace: Span,
) -> Result<WatchdogExit, SuperviseError> {
    let mut watch = FileWatch::new();
    // Whoever takes over writes to the one and renames into the other.
    watch.file(&dir.journal_path());
    watch.dir(dir.path());
    let look_every = (patience.to_std() / LOOKS).clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX);
    let mut stall = SilenceTimer::begin(OutputPosition::new(dir));
    let mut witness = None;
    loop {
        if is_outcome_published(dir) {
            return Ok(WatchdogExit::RunFinished);
        }
        if is_supervised(dir).await? {
            return Ok(WatchdogExit::Supervised);
        }
        let mut living = match witness.take() {
            Some(living) => living,
            None => match find_live_process(marker).await? {
                Some(living) => living,
                None => return Ok(WatchdogExit::NoProcesses),
            },
        };
        let started = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(look_every) => witness = Some(living),
            changed = watch.changed() => {
                changed?;
                witness = Some(living);
            }
            gone = living.gone() => gone?,
        }
        stall.pass(started.elapsed(), look_every, OutputPosition::new(dir));
        if stall.lasted() >= patience
            && let Some(ended) = end((dir, marker), &stall, grace).await?
        {
            return Ok(WatchdogExit::Stopped(ended));
        }
    }
}

/// Returns when the process is dead, be it that it died before we came and another has its number.
async fn death_of(supervisor: ProcessId) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(supervisor.pid.cast_signed()) else { return Ok(()) };
    // Should it live nevertheless, the journal's lock tells.
    let Ok(mut process) = AdoptedProcess::new(pid) else { return Ok(()) };
    // Asked when the handle is open: from here on the number means one process.
    if start_ticks(supervisor.pid) != Some(supervisor.start_ticks) {
        return Ok(());
    }
    process.gone().await
}

/// Whether another supervisor has the run. One that dies has the lock for a moment longer, and whoever only
/// looks at the run has it for a moment too.
async fn is_supervised(dir: &RunDir) -> Result<bool, StoreError> {
    for _ in 0..EXIT_POLLS_MAX {
        if !Journal::is_locked(&dir.journal_path())? {
            return Ok(false);
        }
        tokio::time::sleep(EXIT_POLL_INTERVAL).await;
    }
    Ok(true)
}

/// A process of the run, the oldest if numbers tell: as long as it lives, nobody needs to look for others.
async fn find_live_process(marker: &RunMarker) -> io::Result<Option<AdoptedProcess>> {
    let oldest = || processes_with(marker).into_iter().next();
    let mut found = oldest();
    if found.is_none() {
        // One that was just being started carries its mark a moment later.
        tokio::time::sleep(EXIT_POLL_INTERVAL * EXIT_POLLS_MAX).await;
        found = oldest();
    }
    found.map(|(_, process)| AdoptedProcess::from_handle(process)).transpose()
}

/// The program that is to be the run's watchdog; nothing if there is none, or if the policy wants none.
pub(crate) fn watchdog_command(environment: &Environment, policy: &Policy) -> Option<Program> {
    environment.watchdog.clone().filter(|_| policy.orphan_timeout.is_some())
}

/// A watchdog that waits for our death.
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Starts the program as the watchdog of this run and this process. Its environment is ours, which has the
    /// marks of the runs around this one, and not this one's own: its sweep spares the watchdog.
    pub(crate) fn start(program: &Program, dir: &RunDir) -> io::Result<Watchdog> {
        let pid = process::id();
        let started = start_ticks(pid).unwrap_or_default();
        Command::new(&program.path)
            .args(&program.leading_args)
            .arg(dir.path())
            .args([pid.to_string(), started.to_string()])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Watchdog)
    }

    /// Ends it: its run is over, and we may live on.
    pub(crate) async fn stop(mut self) {
        // One that is gone already needs no more.
        let _ = self.0.kill().await;
    }
}

#[cfg(test)]
mod tests;
