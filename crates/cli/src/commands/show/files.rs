//! What `show` takes from a run's other files: who worked, by the beginning of a stream, and how large everything is.

use crate::run_history::RecordAt;
use longhaul_agent::{DoneSignals, Guards, dialect_for};
use longhaul_core::{Fault, Record};
use longhaul_store::{Plan, RunDir, open_regular};
use serde::Serialize;
use std::fs;
use std::io::Read;
use std::path::Path;

// The agent names itself and its model in its first lines; with many tools that is a few kilobytes.
const HEAD_BYTES: u64 = 256 << 10;
/// The event by which a stream tells of the usage windows of a subscription (Claude Code 2.1.330 writes none with a key).
const WINDOW_EVENT: &str = "rate_limit_event";

/// Who worked. What nobody said is nothing.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentInfo {
    /// Which agent.
    pub name: String,
    /// Its program.
    pub program: String,
    /// As it stated it in the last attempt that said anything.
    pub version: Option<String>,
    /// The model that worked, as it stated it.
    pub model: Option<String>,
    /// The model that was asked for.
    pub requested_model: Option<String>,
    /// Whether it works on a subscription, so that costs are what the API would have taken; nothing where no record
    /// tells.
    pub subscription: Option<bool>,
}

/// What the plan, the records and the latest stream say of the agent.
pub fn agent_seen(dir: &RunDir, plan: &Plan, told: &[RecordAt<'_>]) -> AgentInfo {
    let mut seen = AgentInfo {
        name: plan.agent.name.clone(),
        program: plan.agent.program.as_path().display().to_string(),
        version: plan.agent.version.clone(),
        model: None,
        requested_model: plan.model.clone(),
        subscription: None,
    };
    // Only a subscription has usage windows.
    let parked =
        |record: &Record| matches!(record, Record::AttemptEnded { fault: Some(Fault::UsageLimit), .. });
    let mut is_subscription = told.iter().any(|(_, record)| parked(record));
    for attempt in dir.attempts().unwrap_or_default().iter().rev() {
        let Some(dialect) = dialect_for(&plan.agent.name) else { break };
        let Some(head) = head_of(&attempt.stream_path()).filter(|head| !head.is_empty()) else { continue };
        let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
        decoder.feed(&head, &mut Vec::new());
        let snapshot = decoder.snapshot();
        is_subscription |= snapshot.events.by_name().contains_key(WINDOW_EVENT);
        if snapshot.model.is_some() {
            seen.model = snapshot.model.clone();
            seen.version = snapshot.version.clone().or(seen.version);
            break;
        }
    }
    seen.subscription = is_subscription.then_some(true);
    seen
}

fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    open_regular(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The files of a run, with their sizes in bytes; nothing for one that is not there.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Files {
    /// `plan.json`.
    pub plan_bytes: Option<u64>,
    /// `journal.jsonl`.
    pub journal_bytes: Option<u64>,
    /// `logs/transcript.jsonl`.
    pub transcript_bytes: Option<u64>,
    /// The agent's output, each attempt's.
    pub streams: Vec<StreamSize>,
    /// Texts on noteworthy events.
    pub diagnostics: usize,
}

/// One attempt's stream.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamSize {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How large it is.
    pub bytes: u64,
}

/// How large the files of this run are.
pub fn files_of(dir: &RunDir) -> Files {
    let size = |path: &Path| fs::metadata(path).ok().map(|found| found.len());
    let attempts = dir.attempts().unwrap_or_default();
    Files {
        plan_bytes: size(&dir.plan_path()),
        journal_bytes: size(&dir.journal_path()),
        transcript_bytes: size(&dir.transcript_path()),
        streams: attempts
            .iter()
            .filter_map(|attempt| {
                Some(StreamSize { attempt: attempt.number(), bytes: size(&attempt.stream_path())? })
            })
            .collect(),
        diagnostics: fs::read_dir(dir.diagnostic_path()).map_or(0, Iterator::count),
    }
}
