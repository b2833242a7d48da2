//! `meta.json` of an iteration, with the keys of Archon's loop and the costs of all attempts. Its statuses are
//! true: a phase is `done` only if all of its agents are.

use super::Stage;
use longhaul_core::{Dollars, Moment, Rfc3339, RunId, SessionId, Span, Usd, word_enum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `logs/iter-NNN/meta.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationMeta {
    /// Number of the iteration among all of the project, starting at 1.
    pub iteration: u32,
    /// Workflow that wrote the record. `None` for a record of another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<RunId>,
    /// Number of the iteration in that workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_iteration: Option<u32>,
    /// Stage at its start.
    pub stage: Stage,
    /// Whether provers run at the same time.
    pub mode: ProverMode,
    /// Start of the iteration.
    pub started_at: MetaTime,
    /// The plan agent. `None` if it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PhaseMeta>,
    /// All provers together. `None` if none started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prover: Option<PhaseMeta>,
    /// Each prover by the [slug](super::slugs) of its file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provers: BTreeMap<String, ProverMeta>,
    /// The review agent. `None` if it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<PhaseMeta>,
    /// End of the iteration. `None` while it runs and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<MetaTime>,
    /// Time from start to end, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time_secs: Option<u64>,
    /// Cost of all agents with all of their attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<Dollars>,
}

word_enum! {
    /// The order of provers.
    #[derive(Deserialize)]
    pub enum ProverMode {
        /// Provers run at the same time, one for each file.
        Parallel = "parallel",
        /// One prover works on all files.
        Serial = "serial",
    }
}

word_enum! {
    /// The status of a phase or of one prover.
    #[derive(Deserialize)]
    pub enum ArchonStatus {
        /// It runs, or a crash interrupted it.
        Running = "running",
        /// All of its agents finished their work.
        Done = "done",
        /// An agent did not finish its work.
        Error = "error",
    }
}

/// One phase of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseMeta {
    /// Its status.
    pub status: ArchonStatus,
    /// The session of its agent. `None` with several agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Its duration, in whole seconds. `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_secs: Option<u64>,
    /// Cost of its agents with all of their attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Dollars>,
}

/// One prover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProverMeta {
    /// Path of its file, relative to the project.
    pub file: String,
    /// Its status.
    pub status: ArchonStatus,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Its cost with all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Dollars>,
}

/// A moment in whole seconds, such as `2026-03-28T06:39:44Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "Rfc3339")]
pub struct MetaTime(pub Moment);

impl From<MetaTime> for String {
    fn from(time: MetaTime) -> String {
        let text = Rfc3339(time.0).to_string();
        text.split_once('.').map_or(text.clone(), |(seconds, _)| format!("{seconds}Z"))
    }
}

impl From<Rfc3339> for MetaTime {
    fn from(time: Rfc3339) -> MetaTime {
        MetaTime(time.0)
    }
}

impl PhaseMeta {
    /// Creates the phase of an agent that starts.
    pub fn running() -> PhaseMeta {
        PhaseMeta { status: ArchonStatus::Running, session_id: None, duration_secs: None, cost_usd: None }
    }

    /// Creates the phase of agents that ended after this time.
    pub fn ended(is_done: bool, duration: Span, cost: Usd) -> PhaseMeta {
        PhaseMeta {
            status: ArchonStatus::from_success(is_done),
            session_id: None,
            duration_secs: Some(duration.millis() / 1_000),
            cost_usd: Some(cost.into()),
        }
    }
}

impl ArchonStatus {
    /// Returns the status of an agent that ended.
    pub fn from_success(is_done: bool) -> ArchonStatus {
        if is_done { ArchonStatus::Done } else { ArchonStatus::Error }
    }
}

impl IterationMeta {
    /// Creates the record of an iteration that starts.
    pub fn new(iteration: u32, stage: Stage, mode: ProverMode, started_at: Moment) -> IterationMeta {
        IterationMeta {
            iteration,
            workflow: None,
            workflow_iteration: None,
            stage,
            mode,
            started_at: MetaTime(started_at),
            plan: None,
            prover: None,
            provers: BTreeMap::new(),
            review: None,
            completed_at: None,
            wall_time_secs: None,
            total_cost_usd: None,
        }
    }

    /// Ends the iteration and adds up its costs.
    pub fn complete(&mut self, at: Moment) {
        let phases = [&self.plan, &self.prover, &self.review];
        let costs = phases.into_iter().flatten().filter_map(|phase| phase.cost_usd);
        self.total_cost_usd = Some(Dollars(costs.map(|cost| cost.0).sum()));
        self.completed_at = Some(MetaTime(at));
        self.wall_time_secs = Some(at.since(self.started_at.0).millis() / 1_000);
    }
}

#[cfg(test)]
mod tests;
