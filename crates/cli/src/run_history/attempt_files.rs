//! Reads what the files of a run and of its attempts add to its journal. Unreadable files are skipped.

use longhaul_agent::transcript_message::{EventKind, MessageHeader};
use longhaul_core::{AttemptHistory, BackgroundTask, Exit, State, Usage};
use longhaul_store::{AttemptDir, AttemptExit, ModelUsage, RunDir, Status, WatchdogStop, read_lines};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Data of one attempt that is not in its records.
#[derive(Clone, Debug, Default)]
pub struct AttemptFiles {
    /// How the process ended. `None` if it is still running or the file is unreadable.
    pub exit: Option<Exit>,
    /// Why the system did not start the process. `None` if it did, or another obstacle came first.
    pub start_error: Option<String>,
    /// The stop by a watchdog, after the supervisor died without a replacement.
    pub watchdog_stop: Option<WatchdogStop>,
    /// Whether the disk was full, so that its supervisor stopped.
    pub disk_was_full: bool,
    /// Background commands that were stopped with the agent.
    pub background_stopped: Vec<BackgroundTask>,
    /// Number of tool calls. `None` if they were not counted.
    pub tool_calls: Option<u64>,
}

/// Returns the errors of a finished run, as its supervisor reported them: first the reason for its outcome.
pub fn errors_of(dir: &RunDir, state: &State) -> Vec<String> {
    let is_of_this_end =
        |status: &Status| status.returncode.is_some() && status.resume_generation == state.reopen_count;
    let status = state.outcome().and_then(|_| dir.status().ok()).filter(is_of_this_end);
    status.map(|status| status.errors).unwrap_or_default()
}

/// Returns the usage of an attempt that has not ended, as last published by its supervisor. It has only costs.
pub fn live_usage(files: &AttemptDir) -> Usage {
    let models = files.read_or_default::<Vec<ModelUsage>>().into_iter();
    let costs = models.map(|ModelUsage { cost, estimated_cost, .. }| Usage {
        reported_cost: cost.0,
        estimated_cost: estimated_cost.0,
        ..Usage::default()
    });
    costs.fold(Usage::default(), Usage::plus)
}

/// Reads the files of each of these attempts, by attempt number. Does not count tool calls.
pub fn read_attempt_files(dir: &RunDir, attempts: &[AttemptHistory]) -> BTreeMap<u32, AttemptFiles> {
    let read = |attempt: &AttemptHistory| {
        let files = dir.attempt(attempt.number);
        // A supervisor that observes an exit stores it before the journal records the end.
        let unobserved = attempt.end.is_some() && attempt.spawned_at.is_some();
        let was_never_spawned = attempt.end.is_some() && attempt.spawned_at.is_none();
        let start_error = if was_never_spawned { files.start_error() } else { None };
        let exit = match files.read::<AttemptExit>() {
            Ok(Some(observed)) => Some(observed.exit),
            Ok(None) if start_error.is_some() => Some(Exit::NeverSpawned),
            Ok(None) => unobserved.then_some(Exit::Unobserved),
            Err(_) => None,
        };
        let attempt_files = AttemptFiles {
            exit,
            start_error,
            watchdog_stop: files.read().ok().flatten(),
            disk_was_full: files.disk_was_full(),
            background_stopped: files.read_or_default(),
            tool_calls: None,
        };
        (attempt.number, attempt_files)
    };
    attempts.iter().map(read).collect()
}

/// Counts the tool calls of each attempt in the transcript, sub-agents' calls included. Without a transcript, the
/// result is empty.
pub fn tool_calls_of(dir: &RunDir) -> BTreeMap<u32, u64> {
    let mut calls = BTreeMap::new();
    let read = read_lines(&dir.transcript_path(), |line| {
        if let Some(header) = MessageHeader::parse(line) {
            *calls.entry(header.attempt).or_default() += u64::from(header.kind == EventKind::ToolCall);
        }
        ControlFlow::Continue(())
    });
    read.map(|()| calls).unwrap_or_default()
}
