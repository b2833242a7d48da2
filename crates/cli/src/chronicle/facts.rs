//! What the files of a run's attempts add to its journal. What cannot be read is told by nobody; the rest is.

use super::Attempt;
use longhaul_agent::message::Kind;
use longhaul_core::Exit;
use longhaul_store::{Orphaned, RunDir, StoppedTask, read_lines};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What is known of one attempt besides its records.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How its process ended; nothing while it has not, or where that cannot be read.
    pub exit: Option<Exit>,
    /// That a watchdog ended it, because its supervisor had died and nobody had come back.
    pub orphaned: Option<Orphaned>,
    /// Background commands that were stopped with its agent.
    pub background_stopped: Vec<StoppedTask>,
    /// How many tools it called; nothing where nobody counted.
    pub tool_calls: Option<u64>,
}

/// The facts of each of these attempts, by its number. Nothing is counted.
pub fn facts_of(dir: &RunDir, attempts: &[Attempt]) -> BTreeMap<u32, Facts> {
    let facts = |attempt: &Attempt| {
        let files = dir.attempt(attempt.number);
        // A supervisor that sees an end writes it down before it decides what that means.
        let unseen = attempt.ended.is_some() && attempt.spawned.is_some();
        let exit = match files.exit() {
            Ok(Some(seen)) => Some(seen.exit),
            Ok(None) => unseen.then_some(Exit::Unseen),
            Err(_) => None,
        };
        let facts = Facts {
            exit,
            orphaned: files.orphaned().ok().flatten(),
            background_stopped: files.stopped_tasks().unwrap_or_default(),
            tool_calls: None,
        };
        (attempt.number, facts)
    };
    attempts.iter().map(facts).collect()
}

/// What tells whose message a line of the transcript is.
#[derive(Deserialize)]
struct Sign {
    attempt: u32,
    kind: Kind,
}

/// How many tools each attempt called, sub-agents' calls included, by the transcript; nothing if there is none.
pub fn tool_calls_of(dir: &RunDir) -> Option<BTreeMap<u32, u64>> {
    let mut calls = BTreeMap::new();
    let read = read_lines(&dir.transcript_path(), |line| {
        if let Ok(Sign { attempt, kind }) = serde_json::from_slice(line) {
            *calls.entry(attempt).or_default() += u64::from(kind == Kind::ToolCall);
        }
        ControlFlow::Continue(())
    });
    read.ok().map(|()| calls).filter(|calls| !calls.is_empty())
}
