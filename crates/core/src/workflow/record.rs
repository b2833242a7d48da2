//! Records: the decisions of a workflow, stored in its journal.
//!
//! Old journals load forever: fields are only added, with defaults, and a variant is never renamed.

use crate::{CancelSource, Moment, Outcome, RunId, Span, Usd, WorkflowLimits};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{RunCost, RunEnd};

/// A run's position in its workflow. The id of the run derives from it, so that a new supervisor finds the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunKey {
    /// Iteration, starting at 1.
    pub iteration: u32,
    /// Index of the phase.
    pub phase: usize,
    /// Index of the item; 0 without items.
    pub item: u32,
    /// Number of runs of the same item before this one.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub retry: u32,
}

impl RunKey {
    /// Returns the id of the run: `kxhfgg-2-prove-3`, and `kxhfgg-2-prove-3-r1` for its first retry. Items count
    /// from 1 here.
    pub fn run_id(&self, workflow: &RunId, phase_name: &str) -> RunId {
        let RunKey { iteration, item, retry, .. } = self;
        let retry = if *retry == 0 { String::new() } else { format!("-r{retry}") };
        format!("{workflow}-{iteration}-{phase_name}-{}{retry}", item + 1).into()
    }
}

/// A run's share of the workflow's limits, reserved until the run ends. `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunShare {
    /// Maximum cost of the run, over all its attempts and resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Maximum working time of the run, over all its attempts and resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

/// What follows a run that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AfterRun {
    /// The item is complete: the run is done.
    #[default]
    Complete,
    /// The workflow continues without the result.
    Continue,
    /// A new run of the same item starts.
    Retry,
    /// The run is resumed at `parked_until`.
    Park,
    /// The run used up its share of the budget and waits for a larger one.
    Raise,
    /// The run continues with the workflow, which is being suspended.
    Suspend,
    /// No further run starts, and the workflow finishes.
    Stop,
}

/// A decision in the journal of a workflow. Only `Workflow::apply` turns it into state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum WorkflowRecord {
    /// The workflow started.
    WorkflowStarted,
    /// A user resumed the finished workflow. Phases that are complete in the current iteration stay complete, unless
    /// they are `repeated`; items that did not finish as `done` get a new run.
    WorkflowReopened {
        /// New limits. `None` keeps the old ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<WorkflowLimits>,
        /// New maximum of iterations. `None` keeps the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iterations_max: Option<u32>,
        /// Runs that the user resumed on their own meanwhile, and that did not fail again. They are not replaced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        continued: Vec<RunKey>,
        /// Costs of runs that the user resumed on their own meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        costs: Vec<RunCost>,
        /// Phases that started before a phase that they need takes place again. All their items get new runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repeated: Vec<usize>,
    },
    /// An iteration started.
    IterationStarted {
        /// Number of the iteration, starting at 1.
        iteration: u32,
    },
    /// A phase starts. Its items are being listed, if it has items.
    PhaseStarted {
        /// Index of the phase.
        phase: usize,
        /// Whether its items are being listed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_items: bool,
    },
    /// The items of the phase were listed.
    ItemsListed {
        /// Index of the phase.
        phase: usize,
        /// Items, as text for people and for run names. Items that are JSON are compact JSON.
        items: Vec<String>,
        /// Number of items above the maximum, deferred.
        #[serde(default, skip_serializing_if = "crate::record::is_zero")]
        deferred: u32,
    },
    /// A run starts, or a run that ended as `retry_later` or was limited by its share is resumed.
    RunPlanned {
        /// Position of the run.
        key: RunKey,
        /// Its share of the limits.
        share: RunShare,
        /// Whether an existing run is resumed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
    },
    /// A run finished.
    RunEnded {
        /// Position of the run.
        key: RunKey,
        /// How it ended.
        end: RunEnd,
        /// What follows.
        #[serde(default)]
        next: AfterRun,
        /// When it is resumed, with jitter included, if it is parked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parked_until: Option<Moment>,
    },
    /// A run that waited for a larger share does not get one, because too little is left.
    ShareRefused {
        /// Position of the run.
        key: RunKey,
        /// What follows: the reaction to `over_budget`.
        next: AfterRun,
    },
    /// The working time is exhausted. Live runs that are left are cancelled.
    TimeExhausted,
    /// Every run of the phase finished; their worktrees are being merged.
    MergeStarted {
        /// Index of the phase.
        phase: usize,
    },
    /// The phase is complete, or failed.
    PhaseEnded {
        /// Index of the phase.
        phase: usize,
        /// Outcome: `done`, or that of the first item that did not finish as `done`.
        outcome: Outcome,
        /// Problem that is not a run's: the items could not be listed, a merge has conflicts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// Whether the workflow stops because of the problem.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stops: bool,
    },
    /// The condition of `until` is being evaluated.
    UntilStarted,
    /// The condition was evaluated.
    UntilEnded {
        /// Whether it holds. `None` if it could not be evaluated.
        holds: Option<bool>,
        /// Why it could not be evaluated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The clock of the working time stopped: every live run waits.
    ClockStopped,
    /// A run works again.
    ClockStarted,
    /// The machine slept.
    WorkflowDowntime {
        /// Length of the sleep, which does not count as working time.
        duration: Span,
    },
    /// No supervisor ran for a while.
    TakenOver {
        /// Time of the last record or heartbeat before it; the time between does not count as working time.
        idle_since: Moment,
    },
    /// The user or a signal cancelled the workflow.
    CancelOrdered {
        /// Source of the cancellation.
        source: CancelSource,
    },
    /// SIGTERM or SIGHUP arrived: the workflow and its runs are being suspended.
    WorkflowSuspendOrdered {
        /// Signal.
        source: CancelSource,
    },
    /// The live runs are suspended, and the supervisor exits.
    WorkflowSuspended {
        /// Signal.
        source: CancelSource,
    },
    /// The workflow finished.
    WorkflowFinished {
        /// Outcome of the workflow.
        outcome: Outcome,
    },
}

impl WorkflowRecord {
    /// Returns the run that the record is about.
    pub fn key(&self) -> Option<RunKey> {
        if let WorkflowRecord::RunPlanned { key, .. }
        | WorkflowRecord::RunEnded { key, .. }
        | WorkflowRecord::ShareRefused { key, .. } = self
        {
            return Some(*key);
        }
        None
    }
}
