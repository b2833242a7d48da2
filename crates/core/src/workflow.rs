//! One workflow as a state machine, like [`Run`](crate::Run): `step` decides, `apply` changes the state, and
//! `deadline` returns when to tick next.
//!
//! A workflow is a graph of phases; each phase starts one run, or one run for each item of a list. This module
//! knows neither prompts nor files: it decides which run starts when, with which share of the limits.
//!
//! Only [`Workflow::apply`] changes the state that affects decisions, so a replayed journal rebuilds the
//! workflow. Observations, such as the runs that wait, are outside that promise.

mod apply;
mod deadline;
mod event;
mod policy;
mod reaction;
mod record;
mod schedule;
mod shares;
mod state;
mod step;

pub use deadline::{WorkflowDeadline, WorkflowDeadlineKind};
pub use event::{RunCost, RunEnd, WorkflowAction, WorkflowEvent};
pub use policy::{PhasePolicy, Reaction, Reactions, WorkflowLimits, WorkflowPolicy};
pub use record::{AfterRun, RunKey, RunShare, WorkflowRecord};
pub use state::{
    ItemState, ItemStatus, PhaseStage, PhaseState, PhaseStatus, UntilState, WorkClock, WorkflowStage,
    WorkflowState,
};

use crate::{CancelSource, Moment, Outcome};
use std::collections::BTreeSet;

/// The records and actions of one event. The records must be on disk before any action is performed.
#[must_use = "records must be written and actions performed"]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkflowStep {
    /// Decisions, in order. They are already applied to the workflow.
    pub records: Vec<WorkflowRecord>,
    /// Actions to perform, in order.
    pub actions: Vec<WorkflowAction>,
}

/// One workflow and its progress to an outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workflow {
    state: WorkflowState,
    observations: Observations,
    /// The step in progress. It is empty between steps.
    step: WorkflowStep,
}

/// Observations of the live runs and of the machine. They are never journaled.
#[derive(Clone, Debug, Default, PartialEq)]
struct Observations {
    /// Live runs that wait for their API.
    waiting: BTreeSet<RunKey>,
    /// Last measurement of the free memory.
    memory: Memory,
    /// Time of the last step.
    stepped_at: Moment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Memory {
    /// No measurement is needed or known.
    #[default]
    Unknown,
    /// A measurement is in progress.
    Measuring,
    /// No further run could start at this time.
    Short { at: Moment },
}

impl Workflow {
    /// Creates a workflow that has not started.
    pub fn new() -> Workflow {
        Workflow::default()
    }

    /// Returns the state that the records describe. Workflows with equal records have equal states.
    pub fn state(&self) -> &WorkflowState {
        &self.state
    }

    /// Rebuilds a workflow from its records, each with the time of its step, without performing any action.
    pub fn replay<'a>(records: impl IntoIterator<Item = (Moment, &'a WorkflowRecord)>) -> Workflow {
        let mut workflow = Workflow::new();
        for (at, record) in records {
            workflow.apply(at, record);
        }
        workflow
    }

    /// Returns the actions that the records imply and that a dead supervisor may not have performed.
    ///
    /// The step of [`WorkflowEvent::TakenOver`] contains them already. They continue the runs that are live
    /// in the records, and repeat an order to stop them.
    pub fn unfinished_actions(&self) -> Vec<WorkflowAction> {
        match self.state.stage {
            WorkflowStage::New => Vec::new(),
            WorkflowStage::Finished { outcome, .. } => vec![WorkflowAction::Finish(outcome)],
            WorkflowStage::Suspended { source, .. } => {
                vec![WorkflowAction::Finish(Outcome::suspended(source))]
            }
            WorkflowStage::Running => self.open_actions(),
        }
    }

    fn open_actions(&self) -> Vec<WorkflowAction> {
        let mut actions = Vec::new();
        let is_stopping = self.state.is_stopping();
        for (phase, state) in self.state.phases.iter().enumerate() {
            match state.stage {
                PhaseStage::Listing if !is_stopping => actions.push(WorkflowAction::ListItems(phase)),
                PhaseStage::Merging => actions.push(WorkflowAction::Merge(phase)),
                PhaseStage::Pending
                | PhaseStage::Reopened { .. }
                | PhaseStage::Listing
                | PhaseStage::Running
                | PhaseStage::Ended => {}
            }
        }
        for (key, item) in self.state.live() {
            actions.push(item.start_action(key));
            actions.extend(self.state.stop_source().map(|source| WorkflowAction::StopRun { key, source }));
        }
        if self.state.until == UntilState::Checking && !is_stopping {
            actions.push(WorkflowAction::CheckUntil);
        }
        actions
    }
}

/// Returns the source for stopping a run: a signal would only suspend it.
fn cancelling(source: CancelSource) -> CancelSource {
    match source {
        CancelSource::PersonNow => CancelSource::PersonNow,
        CancelSource::Person | CancelSource::Sigterm | CancelSource::Sighup => CancelSource::Person,
    }
}

#[cfg(test)]
mod tests;
