//! When to tick next, and why.

use super::schedule::{MEMORY_INTERVAL, NextStart};
use super::{ItemStatus, Memory, Workflow, WorkflowStage};
use crate::{Deadline, Moment, Span, WorkflowPolicy, word_enum};

// A run that works without a pause ends by its own limit, after it saved its work. A minute later, only runs
// that waited in the meantime are left.
const TIME_GRACE: Span = Span::from_mins(1);

word_enum! {
    /// The reason for a tick of a workflow.
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

/// When to tick a workflow next, and why.
pub type WorkflowDeadline = Deadline<WorkflowDeadlineKind>;

impl Workflow {
    /// Returns when to tick next, or `None` if only another event can change anything.
    pub fn deadline(&self, policy: &WorkflowPolicy) -> Option<WorkflowDeadline> {
        if self.state.stage != WorkflowStage::Running {
            return None;
        }
        let deadlines = [self.time_deadline(policy), self.start_deadline(policy)];
        deadlines.into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// Returns when live runs that are left are cancelled.
    pub(super) fn time_deadline(&self, policy: &WorkflowPolicy) -> Option<WorkflowDeadline> {
        // Live runs are being stopped already.
        if self.state.stop_source().is_some() {
            return None;
        }
        let limit = self.state.limits(policy).time?;
        let clock = self.state.clock;
        let at = clock.since? + (limit - clock.before) + TIME_GRACE;
        Some(WorkflowDeadline { at, kind: WorkflowDeadlineKind::Time })
    }

    fn start_deadline(&self, policy: &WorkflowPolicy) -> Option<WorkflowDeadline> {
        let park = self.parked_until(policy).map(|at| (at, WorkflowDeadlineKind::Park));
        let gap =
            self.state.last_start_at.map(|last| (last + policy.start_gap, WorkflowDeadlineKind::StartGap));
        let memory = match self.observations.memory {
            Memory::Unknown => None,
            Memory::Measuring => return None,
            Memory::Short { at } => Some((at + MEMORY_INTERVAL, WorkflowDeadlineKind::Memory)),
        };
        let (at, kind) = [gap, memory, park].into_iter().flatten().max_by_key(|(at, _)| *at)?;
        // Used-up limits need no tick: they have ended the workflow already, or a live run releases a share first.
        let next = self.next_start(policy, at.max(self.observations.stepped_at));
        let has_decision = matches!(next, NextStart::Run { .. });
        has_decision.then_some(WorkflowDeadline { at, kind })
    }

    /// Returns when the first parked run that has a slot is resumed.
    fn parked_until(&self, policy: &WorkflowPolicy) -> Option<Moment> {
        let free = |phase| self.free_slots(policy, phase) > 0;
        let parked = self.state.all_items().filter_map(|(key, item)| {
            let ItemStatus::Parked { until } = item.status else { return None };
            free(key.phase).then_some(until)
        });
        parked.min()
    }
}
