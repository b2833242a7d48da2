//! Applies records to a workflow; nothing else changes it.

use super::{Workflow, WorkflowRecord};

impl Workflow {
    /// Applies one record.
    pub fn apply(&mut self, _record: &WorkflowRecord) {}
}
