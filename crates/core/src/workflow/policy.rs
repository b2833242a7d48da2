//! The policy of a workflow: its graph, its limits and its reactions to outcomes, all resolved.

use crate::{OutcomeKind, Span, Usd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The policy of a workflow. It is part of the stored plan of the workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowPolicy {
    /// Phases in the order of the file. A phase needs only phases before it.
    pub phases: Vec<PhasePolicy>,
    /// Maximum number of iterations, at least 1.
    pub iterations_max: u32,
    /// Index of the phase after which the condition of `until` is evaluated. `None` if there is no condition:
    /// then every iteration takes place.
    pub until_after: Option<usize>,
    /// Index of the phase that the first iteration starts with. Earlier phases are skipped there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// Index of the only phase that takes place. All others are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<usize>,
    /// Indices of the phases that never take place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<usize>,
    /// Maximum number of live runs, at least 1.
    pub parallel_max: u32,
    /// Limits of the whole workflow.
    pub limits: WorkflowLimits,
    /// Minimum time between two starts of runs, so that they do not load the machine and the API together.
    pub start_gap: Span,
}

impl WorkflowPolicy {
    /// Returns whether `from`, `only` or `skipped` leaves out this phase in this iteration.
    pub fn is_skipped(&self, iteration: u32, phase: usize) -> bool {
        self.skipped.contains(&phase)
            || self.only.is_some_and(|only| phase != only)
            || iteration == 1 && self.from.is_some_and(|from| phase < from)
    }
}

/// Limits of a workflow over all its runs. `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkflowLimits {
    /// Maximum cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Maximum working time: time in which at least one run works. Parks, downtime and the time in which every
    /// live run waits do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

/// The policy of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhasePolicy {
    /// Unique name: up to 32 lower-case ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// Indices of the phases that must be complete before this one.
    pub needs: Vec<usize>,
    /// Whether the phase starts one run for each item of a list.
    pub has_items: bool,
    /// Maximum number of live runs of the phase, at least 1.
    pub parallel_max: u32,
    /// Maximum number of items. Further items are deferred: this iteration leaves them out.
    pub items_max: u32,
    /// Whether each run works in a git worktree of its own. The results are merged when all runs have finished.
    pub has_worktrees: bool,
    /// Maximum cost of one run, if the phase sets one. The share of the workflow's budget can be smaller.
    pub budget: Option<Usd>,
    /// Maximum working time of one run, if the phase sets one.
    pub time: Option<Span>,
    /// Reactions to the outcomes of its runs.
    pub reactions: Reactions,
}

/// The reactions to the outcomes of the runs of a phase. Outcomes that are not listed have a default; see
/// [`Reactions::reaction`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Reactions(pub BTreeMap<OutcomeKind, Reaction>);

/// The reaction to a run that did not finish as `done`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// No further run starts. When the live runs have finished, the workflow finishes with this outcome.
    Stop,
    /// The workflow continues without the result. Without a condition, it cannot finish as `done` in this
    /// iteration.
    Continue,
    /// A new run of the same item starts, at most this often; then as `Stop`.
    Retry(u32),
    /// No run starts until the run's `retry_at`; then the run is resumed. Only for `retry_later`.
    Park,
}

impl Reactions {
    /// Returns the reaction to an outcome other than `done`: as configured, else `retry_later` parks and every
    /// other outcome stops.
    pub fn reaction(&self, outcome: OutcomeKind) -> Reaction {
        let default = if outcome == OutcomeKind::RetryLater { Reaction::Park } else { Reaction::Stop };
        self.0.get(&outcome).copied().unwrap_or(default)
    }
}
