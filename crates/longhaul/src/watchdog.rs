//! The watchdog of a run: a process that waits until the supervisor dies and then stops the silent agent of
//! the orphaned run. It uses no CPU time while it waits. It never decides anything about the run or writes to
//! its journal. The next supervisor reads how the attempt ended.

mod silence;

use crate::SuperviseError;
use crate::clock::calendar_now;
use crate::live::{
    AdoptedProcess, AgentProcess, FileWatch, ProcessWatch, RunMarker, live_agent, processes_of,
    processes_with, start_ticks, sweep_and_count,
};
use crate::recover::{EXIT_POLL_INTERVAL, EXIT_POLLS_MAX};
use longhaul_core::{ProcessId, Run, Span, StopLevel};
use longhaul_store::{Journal, RunDir, StoreError, WatchdogStop};
use rustix::process::Pid;
use silence::{OutputPosition, SilenceTimer};
use std::io;
use std::time::{Duration, Instant};

// Polls per timeout: an agent is stopped at most an eighth late.
const POLLS_PER_TIMEOUT: u32 = 8;
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(50);
// File events show a takeover at once. This is for systems without them.
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Waits until `supervisor` is dead, and then until the run finishes, has another supervisor or has no
/// process. If the run is silent for its policy's `orphan_timeout`, its processes are stopped. Call this
/// function in a separate process without the run marker. A supervisor starts one through
/// [`Environment::watchdog`](crate::Environment::watchdog).
///
/// # Errors
/// Returns an error if the run's files cannot be read, or if one of its processes cannot be stopped.
pub async fn watch(dir: &RunDir, supervisor: ProcessId) -> Result<(), SuperviseError> {
    let plan = dir.trusted_plan()?;
    let (marker, policy) = (RunMarker::new(dir, &plan.marker), plan.spec.policy);
    let Some(orphan_timeout) = policy.orphan_timeout else { return Ok(()) };
    wait_for_exit(supervisor).await?;
    watch_orphan(dir, &marker, orphan_timeout, policy.stop_grace).await
}

async fn watch_orphan(
    dir: &RunDir,
    marker: &RunMarker,
    orphan_timeout: Span,
    grace: Span,
) -> Result<(), SuperviseError> {
    let mut watch = FileWatch::new();
    // A new supervisor appends to the journal and renames files into the directory.
    watch.add_file(&dir.journal_path());
    watch.add_dir(dir.path());
    let poll_interval =
        (orphan_timeout.to_std() / POLLS_PER_TIMEOUT).clamp(POLL_INTERVAL_MIN, POLL_INTERVAL_MAX);
    let mut silence = SilenceTimer::start(OutputPosition::new(dir));
    let mut known_process = None;
    let mut processes = ProcessWatch::new();
    loop {
        if dir.is_outcome_published() || is_supervised(dir).await? {
            return Ok(());
        }
        let mut process = match known_process.take() {
            Some(process) => process,
            None => match find_live_process(marker).await? {
                Some(process) => process,
                None => return Ok(()),
            },
        };
        let started = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(poll_interval) => known_process = Some(process),
            changed = watch.changed() => {
                changed?;
                known_process = Some(process);
            }
            () = processes.search(marker) => known_process = Some(process),
            exited = process.wait_for_exit() => exited?,
        }
        silence.advance(started.elapsed(), poll_interval, OutputPosition::new(dir));
        if silence.duration() >= orphan_timeout && stop_orphan(dir, marker, &silence, grace).await? {
            return Ok(());
        }
    }
}

/// Returns once the process has exited, including when its PID was reused.
async fn wait_for_exit(supervisor: ProcessId) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(supervisor.pid.cast_signed()) else { return Ok(()) };
    // If the handle cannot be opened although the supervisor is alive, the journal's lock shows it.
    let Ok(mut process) = AdoptedProcess::new(pid) else { return Ok(()) };
    // The ticks are read after the handle is open, because the PID cannot be reused from then on.
    if start_ticks(supervisor.pid) != Some(supervisor.start_ticks) {
        return Ok(());
    }
    process.wait_for_exit().await
}

/// Returns `true` if another supervisor drives the run. A dying supervisor and other readers may hold the
/// lock for a moment, so it is polled.
async fn is_supervised(dir: &RunDir) -> Result<bool, StoreError> {
    for _ in 0..EXIT_POLLS_MAX {
        if !Journal::is_locked(&dir.journal_path())? {
            return Ok(false);
        }
        tokio::time::sleep(EXIT_POLL_INTERVAL).await;
    }
    Ok(true)
}

/// Returns the process of the run with the lowest PID. While it is running, there is no need to search for
/// others.
async fn find_live_process(marker: &RunMarker) -> io::Result<Option<AdoptedProcess>> {
    let lowest = || processes_of(marker).map(|processes| processes.into_iter().next());
    let mut found = lowest()?;
    if found.is_none() {
        // A process that is starting has its marker only a moment later.
        tokio::time::sleep(EXIT_POLL_INTERVAL * EXIT_POLLS_MAX).await;
        found = lowest()?;
    }
    found.map(AdoptedProcess::from_handle).transpose()
}

/// Stops every process of the run. Returns `false` if a supervisor took over. It holds the journal's lock, so that no
/// takeover happens meanwhile.
async fn stop_orphan(
    dir: &RunDir,
    marker: &RunMarker,
    silence: &SilenceTimer,
    grace: Span,
) -> Result<bool, SuperviseError> {
    // If a supervisor holds the lock, the next poll inspects it.
    let Ok(_lock) = Journal::lock(&dir.journal_path()) else { return Ok(false) };
    if dir.is_outcome_published() || OutputPosition::new(dir) != silence.output {
        return Ok(false);
    }
    let (at, silent_ms) = (calendar_now().into(), silence.duration());
    let stop = WatchdogStop { at, silent_ms, processes_stopped: None };
    record_stop(dir, &stop);
    let stopped = stop_processes(dir, marker, grace).await?;
    record_stop(dir, &WatchdogStop { processes_stopped: Some(stopped), ..stop });
    Ok(true)
}

/// Sends SIGTERM first, so that the agent's session stays intact.
async fn stop_processes(dir: &RunDir, marker: &RunMarker, grace: Span) -> io::Result<u32> {
    let pids = processes_with(marker);
    if let Some(mut agent) = find_agent(dir, marker) {
        agent.signal(StopLevel::Term);
        if tokio::time::timeout(grace.to_std(), agent.wait_for_exit()).await.is_err() {
            agent.signal(StopLevel::Kill);
        }
    }
    sweep_and_count(marker, pids).await
}

/// Returns the agent of the last attempt if it is running and the journal can be read. Otherwise the sweep
/// stops it.
fn find_agent(dir: &RunDir, marker: &RunMarker) -> Option<AgentProcess> {
    let history = Journal::load(&dir.journal_path()).ok()?;
    let run = Run::replay(history.records());
    let input = dir.attempt(run.state().attempts()).input_path();
    AgentProcess::adopt(live_agent(marker, &run)?, &input).ok()
}

/// Writes the record of the stop, once before any process is stopped and again afterwards. A failed write,
/// for example on a full disk, does not prevent the stop.
fn record_stop(dir: &RunDir, stop: &WatchdogStop) {
    let newest = dir.attempts().ok().and_then(|mut attempts| attempts.pop());
    let _ = newest.map(|attempt| attempt.write(stop));
}

#[cfg(test)]
mod tests;
