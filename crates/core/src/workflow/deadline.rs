//! When to tick next, and why.

use super::Workflow;
use crate::{Moment, WorkflowPolicy, word_enum};
use serde::Serialize;

word_enum! {
    /// The reason for a tick of a workflow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    pub enum WorkflowDeadlineKind {
        /// The gap between two starts has passed.
        StartGap = "start_gap",
        /// The memory is measured again.
        Memory = "memory",
        /// A parked run is resumed.
        Park = "park",
        /// The working time is exhausted.
        Time = "time",
    }
}

/// When to tick next, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowDeadline {
    /// When to tick.
    pub at: Moment,
    /// Why.
    pub kind: WorkflowDeadlineKind,
}

impl Workflow {
    /// Returns when to tick next, or `None` if only another event can change anything.
    pub fn deadline(&self, _policy: &WorkflowPolicy) -> Option<WorkflowDeadline> {
        None
    }
}
