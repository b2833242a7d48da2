//! Ends what is left of a run that nobody came back for, and leaves a note of it in the attempt's directory.

use super::silence::{OutputPosition, SilenceTimer};
use crate::SuperviseError;
use crate::live::{AgentProcess, LiveClock, RunMarker, live_agent, processes_with, sweep_on};
use crate::recover::is_outcome_published;
use longhaul_core::{Run, Span, StopLevel};
use longhaul_store::{Journal, RunDir, WatchdogStop};
use std::io;

/// Ends every process of the run and returns how many there were; nothing if somebody came back. Nobody can
/// take the run over meanwhile.
pub(super) async fn end(
    (dir, marker): (&RunDir, &RunMarker),
    stall: &SilenceTimer,
    grace: Span,
) -> Result<Option<u32>, SuperviseError> {
    // Whoever has it is looked at by the next look.
    let Ok(_held) = Journal::lock(&dir.journal_path()) else { return Ok(None) };
    if is_outcome_published(dir) || OutputPosition::new(dir) != stall.heard() {
        return Ok(None);
    }
    let orphaned =
        WatchdogStop { at: LiveClock::new().at(), silent_ms: stall.lasted(), processes_stopped: None };
    note(dir, &orphaned);
    let ended = end_processes((dir, marker), grace).await?;
    note(dir, &WatchdogStop { processes_stopped: Some(ended), ..orphaned });
    Ok(Some(ended))
}

/// Politely first, so that the agent's session is whole.
async fn end_processes((dir, marker): (&RunDir, &RunMarker), grace: Span) -> io::Result<u32> {
    let there = processes_with(marker).into_iter().map(|(pid, _)| pid).collect();
    if let Some(mut agent) = agent_of(dir, marker) {
        agent.signal(StopLevel::Term);
        if tokio::time::timeout(grace.to_std(), agent.exited()).await.is_err() {
            agent.signal(StopLevel::Kill);
        }
    }
    sweep_on(marker, there).await
}

/// The agent of the last attempt, if it lives and the journal can be read. Without it there is the sweep.
fn agent_of(dir: &RunDir, marker: &RunMarker) -> Option<AgentProcess> {
    let history = Journal::load(&dir.journal_path()).ok()?;
    let run = Run::replay(history.records());
    let input = dir.attempt(run.state().attempts()).input_path();
    AgentProcess::adopt(live_agent(marker, &run)?, &input).ok()
}

/// Written before anything is touched, and again when it is done. A full disk does not keep the agent alive.
fn note(dir: &RunDir, orphaned: &WatchdogStop) {
    let newest = dir.attempts().ok().and_then(|mut attempts| attempts.pop());
    let _ = newest.map(|attempt| attempt.write_watchdog_stop(orphaned));
}
