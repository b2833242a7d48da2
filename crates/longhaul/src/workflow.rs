//! Workflows: drives the runs of a graph of phases to the outcome of the whole, in the manner of a single run.
//!
//! The core's [`Workflow`] decides which run starts when. This module performs its actions: it renders prompts,
//! starts and stops runs in this process, lists items and evaluates conditions. Each run is a full run with its own
//! directory. A decision is in the workflow's journal before it takes effect.
//!
//! This module never prints, and starts no run that the core did not order.

mod archon_files;
mod commands;
mod driver;
mod error;
mod follow;
mod notifier;
mod observer;
mod open;
mod report;
mod request;
mod results;
mod run_requests;
mod run_spans;
mod run_task;
mod stray_changes;
mod worktrees;

// If a signal ends a process of a workflow, it may be that of a shutdown. By then, this process has received it, too.
const REPEAT_DELAY: std::time::Duration = std::time::Duration::from_secs(1);

pub use error::WorkflowError;
pub use observer::{NoWorkflowObserver, WorkflowObserver, WorkflowView};
pub use open::recoverable_workflows;
pub use report::{WorkflowReport, problem_of, workflow_status};
pub use request::{ObservedWorkflow, WorkflowResume, WorkflowStart};
pub use worktrees::{WorktreeError, check_worktrees};

// The plan of a workflow.
pub use longhaul_core::{PhasePolicy, Reaction, Reactions, WorkflowLimits, WorkflowPolicy};
pub use longhaul_store::{WorkflowPlan, WorkflowPosition, WorkflowSource};
pub use longhaul_workflow::{
    BUILTINS, Condition, FileCondition, GlobPattern, Isolation, ItemSource, LoopOptions, OptionError,
    PhaseFile, PromptContext, PromptItem, PromptTemplate, ResultCondition, ResultSchema, StageCondition,
    TemplateError, Until, WorkflowFile, WorkflowFileError, builtin,
};

// Its files.
pub use longhaul_store::{
    ItemReport, JournalDir, PhaseReport, WorkflowDir, WorkflowHint, WorkflowResult, WorkflowStatus,
};

// Its records, and the state that they add up to.
pub use longhaul_core::{
    AfterRun, ItemState, ItemStatus, PhaseStage, PhaseState, PhaseStatus, RunCost, RunEnd, RunKey, RunShare,
    UntilState, WorkClock, Workflow, WorkflowAction, WorkflowDeadline, WorkflowDeadlineKind, WorkflowEvent,
    WorkflowRecord, WorkflowStage, WorkflowState, WorkflowStep,
};
