//! Reads what `show` needs from a run's other files: the agent, from the start of a stream, and the file
//! sizes.

use longhaul_agent::{DoneSignals, Guards, dialect_named};
use longhaul_core::{Fault, RunHistory};
use longhaul_store::{Plan, RunDir, open_regular};
use serde::Serialize;
use std::fs;
use std::io::Read;
use std::path::Path;

// The agent reports its name and model in the first lines. With many tools they take a few kilobytes.
const HEAD_BYTES: u64 = 256 << 10;

/// The agent of a run. Unknown values are `None`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentInfo {
    /// Name of the agent.
    pub name: String,
    /// Path of its program.
    pub program: String,
    /// Version reported by the last attempt that reported one.
    pub version: Option<String>,
    /// Model reported by the agent.
    pub model: Option<String>,
    /// Model requested by the user.
    pub requested_model: Option<String>,
    /// Whether the agent uses a subscription, so that costs are what the API would charge. `None` if unknown.
    pub subscription: Option<bool>,
}

/// Collects what the plan, the history and the latest stream report about the agent.
pub fn agent_info(dir: &RunDir, plan: &Plan, history: &RunHistory) -> AgentInfo {
    let mut info = AgentInfo {
        name: plan.spec.agent.name.clone(),
        program: plan.spec.agent.program.display().to_string(),
        version: None,
        model: None,
        requested_model: plan.spec.model.clone(),
        subscription: None,
    };
    // Only a subscription has usage windows.
    let mut is_subscription =
        history.attempts().iter().any(|attempt| attempt.fault() == Some(Fault::UsageLimit));
    for attempt in dir.attempts().unwrap_or_default().iter().rev() {
        let Some(dialect) = dialect_named(&plan.spec.agent.name) else { break };
        let Some(head) = head_of(&attempt.stream_path()).filter(|head| !head.is_empty()) else { continue };
        let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
        decoder.feed(&head, &mut Vec::new());
        let snapshot = decoder.snapshot();
        is_subscription |= snapshot.has_usage_window;
        if snapshot.model.is_some() {
            info.model = snapshot.model.clone();
            info.version = snapshot.version.clone().or(info.version);
            break;
        }
    }
    info.subscription = is_subscription.then_some(true);
    info
}

fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    open_regular(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Sizes of a run's files in bytes. `None` for a missing file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunFiles {
    /// `plan.json`.
    pub plan_bytes: Option<u64>,
    /// `journal.jsonl`.
    pub journal_bytes: Option<u64>,
    /// `logs/transcript.jsonl`.
    pub transcript_bytes: Option<u64>,
    /// Output of the agent, for each attempt.
    pub streams: Vec<StreamSize>,
    /// Number of texts on noteworthy events.
    pub diagnostics: usize,
}

/// Size of one attempt's stream.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamSize {
    /// Number of the attempt, starting at 1.
    pub attempt: u32,
    /// Size in bytes.
    pub bytes: u64,
}

pub fn files_of(dir: &RunDir) -> RunFiles {
    let size = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    let attempts = dir.attempts().unwrap_or_default();
    RunFiles {
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
