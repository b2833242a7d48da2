//! Applies records to a workflow; nothing else changes it. Every record applies to every state, so journals of
//! older versions load forever.

use super::{
    AfterRun, ItemState, ItemStatus, Memory, Observations, PhaseStage, PhaseState, RunCost, RunEnd, RunKey,
    UntilState, Workflow, WorkflowRecord, WorkflowStage, WorkflowState,
};
use crate::{Limit, Moment, Outcome, OutcomeKind, Usd};

impl Workflow {
    /// Applies one record of a step that was decided at `at`.
    pub fn apply(&mut self, at: Moment, record: &WorkflowRecord) {
        // Each start needs a measurement of its own.
        if let WorkflowRecord::RunPlanned { .. } = record {
            self.observations.memory = Memory::Unknown;
        }
        if let WorkflowRecord::RunEnded { key, .. } = record {
            self.observations.waiting.remove(key);
        }
        if let WorkflowRecord::TakenOver { .. } | WorkflowRecord::WorkflowReopened { .. } = record {
            self.observations = Observations { stepped_at: at, ..Observations::default() };
        }
        self.state.apply(at, record);
    }
}

impl WorkflowState {
    fn apply(&mut self, at: Moment, record: &WorkflowRecord) {
        match record {
            WorkflowRecord::WorkflowStarted => {
                self.started_at = at;
                self.stage = WorkflowStage::Running;
            }
            WorkflowRecord::WorkflowReopened { limits, iterations_max, continued, costs, repeated } => {
                costs.iter().for_each(|RunCost { run, cost }| self.set_cost(*run, *cost));
                self.limits = limits.or(self.limits);
                self.iterations_max = iterations_max.or(self.iterations_max);
                self.reopen(continued, repeated);
            }
            WorkflowRecord::IterationStarted { iteration } => {
                self.iteration = *iteration;
                self.phases.clear();
                self.until = UntilState::Open;
            }
            WorkflowRecord::PhaseStarted { phase, has_items } => {
                let phase = self.phase_mut(*phase);
                phase.stage = if *has_items { PhaseStage::Listing } else { PhaseStage::Running };
                if !has_items && phase.items.is_empty() {
                    phase.items = vec![ItemState::default()];
                }
            }
            WorkflowRecord::ItemsListed { phase, items, deferred } => {
                self.phase_mut(*phase).set_items(items, *deferred);
            }
            WorkflowRecord::RunPlanned { key, share, resumed } => {
                self.last_start_at = Some(at);
                self.clock.since.get_or_insert(at);
                if let Some(item) = self.item_mut(*key) {
                    if key.retry != item.retry {
                        item.reset_for_run(key.retry);
                    }
                    item.resumes += u32::from(*resumed);
                    item.share = Some(*share);
                    item.status = ItemStatus::Live;
                }
            }
            WorkflowRecord::RunEnded { key, end, next, parked_until } => {
                self.end_run(at, *key, end, *next, *parked_until);
            }
            WorkflowRecord::ShareRefused { key, next } => {
                let item = self.item_mut(*key);
                let refused = item.and_then(|item| {
                    let ItemStatus::Limited { outcome } = item.status else { return None };
                    item.settle(outcome, *next, at);
                    Some(outcome)
                });
                self.stop_if(*next == AfterRun::Stop, refused);
            }
            WorkflowRecord::TimeExhausted => {
                self.is_time_exhausted = true;
                self.stop_if(true, Some(Outcome::from_limit(Limit::Time, None)));
            }
            WorkflowRecord::MergeStarted { phase } => self.phase_mut(*phase).stage = PhaseStage::Merging,
            WorkflowRecord::PhaseEnded { phase, outcome, problem, stops } => {
                let phase = self.phase_mut(*phase);
                phase.stage = PhaseStage::Ended;
                phase.outcome = Some(*outcome);
                phase.problem.clone_from(problem);
                self.stop_if(*stops, Some(*outcome));
            }
            WorkflowRecord::UntilStarted => self.until = UntilState::Checking,
            WorkflowRecord::UntilEnded { holds, problem } => {
                self.until = UntilState::Ended { holds: *holds, problem: problem.clone() };
                let failed = Outcome { kind: OutcomeKind::Failed, ..Outcome::DONE };
                self.stop_if(holds.is_none(), Some(failed));
            }
            WorkflowRecord::ClockStopped => self.stop_clock(at),
            WorkflowRecord::ClockStarted => self.clock.since = Some(at),
            WorkflowRecord::WorkflowDowntime { duration } => {
                self.clock.since = self.clock.since.map(|since| since + *duration);
            }
            WorkflowRecord::TakenOver { idle_since } => self.take_over(at, *idle_since),
            WorkflowRecord::CancelOrdered { source } => {
                self.cancelled_by = Some(*source);
                self.revive_suspended();
            }
            WorkflowRecord::WorkflowSuspendOrdered { source } => self.suspended_by = Some(*source),
            WorkflowRecord::WorkflowSuspended { source } => {
                self.stop_clock(at);
                self.stage = WorkflowStage::Suspended { since: at, source: *source };
            }
            WorkflowRecord::WorkflowFinished { outcome } => {
                self.stop_clock(at);
                self.stage = WorkflowStage::Finished { at, outcome: *outcome };
            }
        }
    }

    fn end_run(
        &mut self,
        at: Moment,
        key: RunKey,
        end: &RunEnd,
        next: AfterRun,
        parked_until: Option<Moment>,
    ) {
        self.set_cost(key, end.cost);
        if let Some(item) = self.item_mut(key) {
            item.active = item.active.max(end.active);
            item.has_ended = true;
            item.parks = if next == AfterRun::Park { item.parks + 1 } else { 0 };
            item.settle(end.outcome, next, parked_until.unwrap_or(at));
        }
        self.stop_if(next == AfterRun::Stop, Some(end.outcome));
        if self.live().next().is_none() {
            self.stop_clock(at);
        }
    }

    /// Sets the cost of a whole run, with its earlier ends.
    fn set_cost(&mut self, key: RunKey, cost: Usd) {
        let Some(item) = self.item_mut(key) else { return };
        let added = cost.saturating_sub(item.cost);
        item.cost += added;
        self.cost += added;
        self.phase_mut(key.phase).cost += added;
    }

    /// Continues under a new supervisor: suspended runs are live again.
    fn take_over(&mut self, at: Moment, idle_since: Moment) {
        self.suspended_by = None;
        self.stop_clock(idle_since);
        if let WorkflowStage::Suspended { .. } = self.stage {
            self.stage = WorkflowStage::Running;
        }
        self.revive_suspended();
        if self.live().next().is_some() {
            self.clock.since = Some(at);
        }
    }

    fn revive_suspended(&mut self) {
        for item in self.phases.iter_mut().flat_map(|phase| &mut phase.items) {
            if item.status == ItemStatus::Suspended {
                item.status = ItemStatus::Live;
            }
        }
    }

    /// Continues a finished workflow. Everything that did not finish as `done` takes place again, and so do the
    /// `repeated` phases.
    fn reopen(&mut self, continued: &[RunKey], repeated: &[usize]) {
        self.stage = WorkflowStage::Running;
        self.stop = None;
        self.is_time_exhausted = false;
        self.cancelled_by = None;
        self.suspended_by = None;
        self.until = UntilState::Open;
        let iteration = self.iteration;
        for (phase, state) in self.phases.iter_mut().enumerate() {
            if repeated.contains(&phase) {
                state.repeat();
                continue;
            }
            state.reopen(|item, retry| continued.contains(&RunKey { iteration, phase, item, retry }));
        }
    }

    /// Sets the outcome of the workflow. The first one counts.
    fn stop_if(&mut self, stops: bool, outcome: Option<Outcome>) {
        // A workflow that finished is not suspended: a takeover would not continue it.
        let outcome = outcome.map(|outcome| {
            let is_suspended = outcome.kind == OutcomeKind::Suspended;
            if is_suspended { Outcome { kind: OutcomeKind::Incomplete, ..outcome } } else { outcome }
        });
        if stops {
            self.stop = self.stop.or(outcome);
        }
    }

    fn stop_clock(&mut self, at: Moment) {
        self.clock.before = self.clock.at(at);
        self.clock.since = None;
    }

    fn phase_mut(&mut self, phase: usize) -> &mut PhaseState {
        if self.phases.len() <= phase {
            self.phases.resize_with(phase + 1, PhaseState::default);
        }
        &mut self.phases[phase]
    }

    fn item_mut(&mut self, key: RunKey) -> Option<&mut ItemState> {
        self.phases.get_mut(key.phase)?.items.get_mut(key.item as usize)
    }
}

impl PhaseState {
    /// Sets the items. An item of an earlier list keeps its run if it has the same place and name.
    fn set_items(&mut self, names: &[String], deferred: u32) {
        let old = std::mem::take(&mut self.items);
        let is_kept = |(index, item): (usize, &ItemState)| names.get(index) == Some(&item.name);
        // A replaced item may have had runs; their keys must not repeat.
        let replaced = old.iter().enumerate().filter(|item| !is_kept(*item));
        self.retry_base = replaced.map(|(_, item)| item.retry + 1).fold(self.retry_base, u32::max);
        let mut old = old.into_iter();
        self.items = names
            .iter()
            .map(|name| match old.next().filter(|item| item.name == *name) {
                Some(item) => item,
                None => ItemState { name: name.clone(), retry: self.retry_base, ..ItemState::default() },
            })
            .collect();
        self.deferred = deferred;
        self.stage = PhaseStage::Running;
    }

    /// Takes place again with new runs, because the earlier ones did not know what the phase needs.
    fn repeat(&mut self) {
        self.is_reopened = true;
        for item in &mut self.items {
            let has_run = item.status != ItemStatus::Pending;
            item.reset_for_run(item.retry + u32::from(has_run));
        }
        self.stage = PhaseStage::Reopened { needs_list: true };
        self.outcome = None;
        self.problem = None;
    }

    fn reopen(&mut self, is_continued: impl Fn(u32, u32) -> bool) {
        self.is_reopened = self.must_reopen();
        if !self.is_reopened {
            return;
        }
        for (item, index) in self.items.iter_mut().zip(0..) {
            item.reopen(is_continued(index, item.retry));
        }
        let is_unlisted =
            matches!(self.stage, PhaseStage::Listing | PhaseStage::Reopened { needs_list: true });
        self.stage =
            PhaseStage::Reopened { needs_list: is_unlisted || self.items.is_empty() || self.deferred > 0 };
        self.outcome = None;
        self.problem = None;
    }
}

impl ItemState {
    fn reopen(&mut self, is_continued: bool) {
        self.retries = 0;
        self.parks = 0;
        let outcome = match self.status {
            ItemStatus::Ended { outcome }
            | ItemStatus::Limited { outcome }
            | ItemStatus::Resuming { outcome } => outcome,
            ItemStatus::Parked { .. } => Outcome { kind: OutcomeKind::RetryLater, ..Outcome::DONE },
            ItemStatus::Live | ItemStatus::Suspended => {
                Outcome { kind: OutcomeKind::Suspended, ..Outcome::DONE }
            }
            ItemStatus::Pending => return,
        };
        match outcome.kind {
            OutcomeKind::Done => {}
            // The run has another end by now, or will have one, for which the limit of this end does not matter.
            _ if is_continued => {
                self.status = ItemStatus::Resuming { outcome: Outcome { limit: None, ..outcome } };
            }
            // These runs did not fail: they continue where they stopped.
            OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::NeedsPerson
            | OutcomeKind::RetryLater
            | OutcomeKind::Cancelled
            | OutcomeKind::Suspended => self.status = ItemStatus::Resuming { outcome },
            OutcomeKind::Failed
            | OutcomeKind::CheckFailed
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Partial
            | OutcomeKind::Bug => self.reset_for_run(self.retry + 1),
        }
    }

    /// Sets the status after the end of a run.
    fn settle(&mut self, outcome: Outcome, next: AfterRun, parked_until: Moment) {
        match next {
            AfterRun::Complete | AfterRun::Continue | AfterRun::Stop => {
                self.status = ItemStatus::Ended { outcome };
            }
            AfterRun::Retry => {
                let retries = self.retries + 1;
                self.reset_for_run(self.retry + 1);
                self.retries = retries;
            }
            AfterRun::Park => self.status = ItemStatus::Parked { until: parked_until },
            AfterRun::Raise => self.status = ItemStatus::Limited { outcome },
            AfterRun::Suspend => self.status = ItemStatus::Suspended,
        }
    }

    fn reset_for_run(&mut self, retry: u32) {
        *self = ItemState { name: std::mem::take(&mut self.name), retry, ..ItemState::default() };
    }
}
