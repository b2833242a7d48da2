//! The workflow's transition table.

use super::{Workflow, WorkflowEvent, WorkflowStep};
use crate::{Now, WorkflowPolicy};

impl Workflow {
    /// Decides what follows an event. The records are already applied; the caller writes them to disk and
    /// then performs the actions.
    pub fn step(&mut self, _policy: &WorkflowPolicy, _now: Now, _event: WorkflowEvent) -> WorkflowStep {
        std::mem::take(&mut self.step)
    }
}
