//! Events, facts given to the workflow, and actions, its orders to the world.

use super::{RunKey, RunShare};
use crate::{CancelSource, Moment, Outcome, Span, Usd, WorkflowLimits};
use serde::{Deserialize, Serialize};

/// How a run ended: its outcome and its usage, over all its attempts and resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Cost of the run.
    pub cost: Usd,
    /// Working time of the run.
    pub active: Span,
}

/// Cost of a run that the user resumed on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCost {
    /// Key of the run.
    pub run: RunKey,
    /// Cost of the run, over all its attempts and resumes.
    pub cost: Usd,
}

/// A fact given to a workflow.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkflowEvent {
    /// The supervisor starts with a new workflow.
    Started,
    /// A new supervisor took over the workflow, or continues a suspended one.
    TakenOver {
        /// Time of the last record or heartbeat before the takeover. A supervisor sends heartbeats only after
        /// its own takeover is journaled.
        idle_since: Moment,
    },
    /// A user resumes the finished workflow.
    Reopened {
        /// New limits. `None` keeps the old ones.
        limits: Option<WorkflowLimits>,
        /// New maximum of iterations. `None` keeps the old one.
        iterations_max: Option<u32>,
        /// Runs that the user has resumed on their own since they ended, and that are done or unfinished now.
        continued: Vec<RunKey>,
        /// Costs of runs that the user has resumed on their own.
        costs: Vec<RunCost>,
    },
    /// The items of a phase were listed: all of them, before the cap.
    ItemsListed {
        /// Index of the phase.
        phase: usize,
        /// Items as text, or why they could not be listed.
        items: Result<Vec<String>, String>,
    },
    /// A run ended. If it could not be started, its outcome is `not_started`. After a resume, an older end of the
    /// same run must not be reported any more.
    RunEnded {
        /// Position of the run.
        key: RunKey,
        /// How it ended.
        end: RunEnd,
    },
    /// A live run waits for its API, or works again.
    RunWaits {
        /// Position of the run.
        key: RunKey,
        /// Whether it waits.
        waits: bool,
    },
    /// The worktrees of the phase were merged.
    Merged {
        /// Index of the phase.
        phase: usize,
        /// Why not all of them could be merged.
        problem: Option<String>,
    },
    /// The condition of `until` was evaluated.
    UntilEnded {
        /// Whether it holds, or why it could not be evaluated.
        holds: Result<bool, String>,
    },
    /// The free memory was measured.
    MemoryMeasured {
        /// Whether another run can start.
        is_enough: bool,
    },
    /// The deadline passed.
    Tick,
    /// The machine slept for this long.
    Downtime(Span),
    /// The user or a signal cancels the workflow.
    CancelRequested(CancelSource),
    /// SIGTERM or SIGHUP arrived.
    SuspendRequested(CancelSource),
}

/// An order of a workflow to the world. Performing one twice, after a takeover, must be harmless.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkflowAction {
    /// List the items of this phase.
    ListItems(usize),
    /// Measure the free memory before a run starts.
    MeasureMemory,
    /// Start this run, or resume the finished run with this share as its limits. If its directory exists, recover an
    /// unfinished run, and report a finished one that is done or was resumed this many times by the workflow.
    StartRun {
        /// Position of the run.
        key: RunKey,
        /// Its share of the limits.
        share: RunShare,
        /// Number of times that the workflow resumed the run, with this one. 0 starts it.
        resumes: u32,
    },
    /// Stop a live run: a person's source cancels it, a signal suspends it. Its end is still reported.
    StopRun {
        /// Position of the run.
        key: RunKey,
        /// Source of the stop.
        source: CancelSource,
    },
    /// Merge the worktrees of the phase's runs that finished as `done`, in order of their items.
    Merge(usize),
    /// Evaluate the condition of `until`.
    CheckUntil,
    /// Finish the workflow.
    Finish(Outcome),
}
