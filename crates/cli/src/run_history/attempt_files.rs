//! What the files of a run's attempts add to its journal. What cannot be read is told by nobody; the rest is.

use super::AttemptHistory;
use longhaul_agent::transcript_message::EventKind;
use longhaul_core::Exit;
use longhaul_store::{RunDir, StoppedTask, WatchdogStop, read_lines};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What is known of one attempt besides its records.
#[derive(Clone, Debug, Default)]
pub struct AttemptFiles {
    /// How its process ended; nothing while it has not, or where that cannot be read.
    pub exit: Option<Exit>,
    /// That a watchdog ended it, because its supervisor had died and nobody had come back.
    pub watchdog_stop: Option<WatchdogStop>,
    /// Background commands that were stopped with its agent.
    pub background_stopped: Vec<StoppedTask>,
    /// How many tools it called; nothing where nobody counted.
    pub tool_calls: Option<u64>,
}

/// The facts of each of these attempts, by its number. Nothing is counted.
pub fn read_attempt_files(dir: &RunDir, attempts: &[AttemptHistory]) -> BTreeMap<u32, AttemptFiles> {
    let facts = |attempt: &AttemptHistory| {
        let files = dir.attempt(attempt.number);
        // A supervisor that sees an end writes it down before it decides what that means.
        let unseen = attempt.end.is_some() && attempt.spawned.is_some();
        let exit = match files.exit() {
            Ok(Some(seen)) => Some(seen.exit),
            Ok(None) => unseen.then_some(Exit::Unobserved),
            Err(_) => None,
        };
        let facts = AttemptFiles {
            exit,
            watchdog_stop: files.watchdog_stop().ok().flatten(),
            background_stopped: files.stopped_tasks().unwrap_or_default(),
            tool_calls: None,
        };
        (attempt.number, facts)
    };
    attempts.iter().map(facts).collect()
}

/// What tells whose message a line of the transcript is.
#[derive(Deserialize)]
struct MessageHeader {
    attempt: u32,
    kind: EventKind,
}

/// How many tools each attempt called, sub-agents' calls included, by the transcript; nothing if there is none.
pub fn tool_calls_of(dir: &RunDir) -> Option<BTreeMap<u32, u64>> {
    let mut calls = BTreeMap::new();
    let read = read_lines(&dir.transcript_path(), |line| {
        if let Ok(MessageHeader { attempt, kind }) = serde_json::from_slice(line) {
            *calls.entry(attempt).or_default() += u64::from(kind == EventKind::ToolCall);
        }
        ControlFlow::Continue(())
    });
    read.ok().map(|()| calls).filter(|calls| !calls.is_empty())
}
