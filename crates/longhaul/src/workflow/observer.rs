//! Observers of a workflow, such as a terminal or a test. An observer never changes the workflow.

use crate::NotifyFailure;
use longhaul_core::{Fault, Moment, RunId, RunKey, Workflow, WorkflowPolicy, WorkflowRecord};
use longhaul_store::{WorkflowDir, WorkflowPlan};

/// The state that an observer receives after each step.
#[derive(Clone, Copy)]
pub struct WorkflowView<'a> {
    /// The workflow after the step.
    pub workflow: &'a Workflow,
    /// Policy of the workflow.
    pub policy: &'a WorkflowPolicy,
    /// When the core made the step.
    pub at: Moment,
}

/// Observes one workflow. Every method does nothing unless overridden.
pub trait WorkflowObserver {
    /// Called once, when the workflow has an id and a directory.
    fn on_start(&mut self, _dir: &WorkflowDir, _plan: &WorkflowPlan) {}

    /// Called after each step that was journaled, with its records.
    fn on_step(&mut self, _view: WorkflowView<'_>, _records: &[WorkflowRecord]) {}

    /// Called when a live run starts to wait, with the reason and the end of the wait, and with `None` when it
    /// works again.
    fn on_run_wait(&mut self, _run: &RunId, _key: RunKey, _wait: Option<(Option<Fault>, Moment)>) {}

    /// Called before the step in which a run ends, if it is not done, has no valid result or did not start.
    fn on_run_problem(&mut self, _run: &RunId, _problem: &str) {}

    /// Called when a part of the workflow is left out or a file cannot be written. The workflow continues.
    fn on_warning(&mut self, _text: &str) {}

    /// Called when the next run waits because too little memory is available, with the available bytes, and again
    /// every few seconds while it waits.
    fn on_memory_short(&mut self, _available: u64) {}

    /// Called after a notification command failed. This changes nothing else.
    fn on_notify_failure(&mut self, _failure: &NotifyFailure) {}
}

/// Ignores everything.
pub struct NoWorkflowObserver;

impl WorkflowObserver for NoWorkflowObserver {}
