//! Stops the processes of an orphaned run and records the stop in the attempt's directory.

use super::silence::{OutputPosition, SilenceTimer};
use crate::SuperviseError;
use crate::clock::LiveClock;
use crate::live::{AgentProcess, RunMarker, live_agent, processes_with, sweep_and_count};
use longhaul_core::{Run, Span, StopLevel};
use longhaul_store::{Journal, RunDir, WatchdogStop};
use std::io;

/// Stops every process of the run and returns their number, or `None` if a supervisor took over. It holds the
/// journal's lock, so that no takeover happens meanwhile.
pub(super) async fn stop_orphan(
    dir: &RunDir,
    marker: &RunMarker,
    silence: &SilenceTimer,
    grace: Span,
) -> Result<Option<u32>, SuperviseError> {
    // If a supervisor holds the lock, the next poll inspects it.
    let Ok(_lock) = Journal::lock(&dir.journal_path()) else { return Ok(None) };
    if dir.is_outcome_published() || OutputPosition::new(dir) != silence.output {
        return Ok(None);
    }
    let stop = WatchdogStop {
        at: LiveClock::new().at().into(),
        silent_ms: silence.duration(),
        processes_stopped: None,
    };
    record_stop(dir, &stop);
    let stopped = stop_processes(dir, marker, grace).await?;
    record_stop(dir, &WatchdogStop { processes_stopped: Some(stopped), ..stop });
    Ok(Some(stopped))
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
