//! Decides which phases and runs start, and when the workflow finishes.

use super::reaction::configured;
use super::shares::{is_at_own_limit, is_raised};
use super::state::is_done;
use super::{
    ItemState, ItemStatus, Memory, PhaseStage, PhaseState, RunKey, RunShare, UntilState, Workflow,
    WorkflowAction, WorkflowRecord, WorkflowStage,
};
use crate::{Limit, Moment, Outcome, OutcomeKind, Span, WorkflowPolicy};

/// Time between two measurements while too little memory is free. Builds and tests end within seconds.
pub(super) const MEMORY_INTERVAL: Span = Span::from_secs(5);

/// The next start of a run, as far as limits and slots allow one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NextStart {
    /// This run can start.
    Run { key: RunKey, share: RunShare, resumed: bool },
    /// A run has a slot, but the budget is used up or reserved.
    OutOfBudget,
    /// A run has a slot, but the working time is used up.
    OutOfTime,
    /// Only runs are left that wait for a larger share, and no run can release any.
    RefuseShare(RunKey),
    /// No run has a slot.
    None,
}

/// Returns whether the phase has results in worktrees that are not merged.
fn needs_merge(policy: &WorkflowPolicy, phase: usize, state: &PhaseState) -> bool {
    let is_open = match state.stage {
        PhaseStage::Reopened { .. } | PhaseStage::Listing | PhaseStage::Running => true,
        PhaseStage::Pending | PhaseStage::Merging | PhaseStage::Ended => false,
    };
    let has_results = state.items.iter().filter_map(ItemState::outcome).any(|end| is_done(&end));
    is_open && has_results && policy.phases[phase].has_worktrees
}

impl Workflow {
    /// Orders everything that the state allows.
    pub(super) fn advance(&mut self, policy: &WorkflowPolicy, at: Moment) {
        self.update_clock(at);
        while self.state.stage == WorkflowStage::Running {
            let is_changed = self.end_phase(policy, at)
                || self.finish_if_due(policy, at)
                || self.exhaust_time(policy, at)
                || self.continue_iteration(policy, at)
                || self.order_start(policy, at);
            if !is_changed {
                return;
            }
        }
    }

    /// Stops the clock of the working time while every live run waits.
    fn update_clock(&mut self, at: Moment) {
        let is_running = self.state.clock.since.is_some();
        let works = self.state.live().any(|(key, _)| !self.observations.waiting.contains(&key));
        if works && !is_running {
            self.record(at, WorkflowRecord::ClockStarted);
        } else if is_running && !works {
            self.record(at, WorkflowRecord::ClockStopped);
        }
    }

    /// Ends the first phase whose items have all ended, or merges its worktrees. Once the condition holds, no further
    /// item starts, so that the finished ones are merged.
    fn end_phase(&mut self, policy: &WorkflowPolicy, at: Moment) -> bool {
        let can_merge = !self.state.is_stopping();
        for (phase, state) in self.state.phases.iter().enumerate() {
            let has_ended = state.items.iter().all(|item| item.outcome().is_some());
            let needs_merge = needs_merge(policy, phase, state);
            let is_cut_short = self.until_holds() && needs_merge && !state.has_live_item();
            if !(is_cut_short || state.stage == PhaseStage::Running && has_ended) {
                continue;
            }
            if !needs_merge {
                let outcome = state.item_outcome();
                self.record(at, WorkflowRecord::PhaseEnded { phase, outcome, problem: None, stops: false });
                return true;
            }
            if can_merge {
                self.record(at, WorkflowRecord::MergeStarted { phase });
                self.step.actions.push(WorkflowAction::Merge(phase));
                return true;
            }
        }
        false
    }

    /// Finishes or suspends the workflow if nothing further starts and no run or merge is left.
    fn finish_if_due(&mut self, policy: &WorkflowPolicy, at: Moment) -> bool {
        let state = &self.state;
        if !self.is_quiet() {
            return false;
        }
        let has_suspended = state.all_items().any(|(_, item)| item.status == ItemStatus::Suspended);
        let is_merged =
            state.phases.iter().enumerate().all(|(phase, state)| !needs_merge(policy, phase, state));
        let held = (self.until_holds() && is_merged).then_some(Outcome::DONE);
        let outcome = match (state.cancelled_by, state.suspended_by) {
            (Some(source), _) => Some(Outcome::cancelled(source)),
            (None, Some(source)) if has_suspended || state.stop.or(held).is_none() => {
                self.record(at, WorkflowRecord::WorkflowSuspended { source });
                self.step.actions.push(WorkflowAction::Finish(Outcome::suspended(source)));
                return true;
            }
            (None, Some(_) | None) => state.stop.or(held),
        };
        outcome.is_some_and(|outcome| self.finish(at, outcome))
    }

    fn finish(&mut self, at: Moment, outcome: Outcome) -> bool {
        self.record(at, WorkflowRecord::WorkflowFinished { outcome });
        self.step.actions.push(WorkflowAction::Finish(outcome));
        true
    }

    /// Cancels live runs that are left after the working time is exhausted.
    fn exhaust_time(&mut self, policy: &WorkflowPolicy, at: Moment) -> bool {
        if self.time_deadline(policy).is_none_or(|deadline| deadline.at > at) {
            return false;
        }
        self.record(at, WorkflowRecord::TimeExhausted);
        self.stop_live_runs();
        true
    }

    /// Starts phases, evaluates the condition, or continues with the next iteration.
    fn continue_iteration(&mut self, policy: &WorkflowPolicy, at: Moment) -> bool {
        if !self.can_start() {
            return false;
        }
        if self.is_until_due(policy) {
            self.record(at, WorkflowRecord::UntilStarted);
            self.step.actions.push(WorkflowAction::CheckUntil);
            return true;
        }
        if let Some(phase) = (0..policy.phases.len()).find(|phase| self.is_phase_due(policy, *phase)) {
            let has_items = policy.phases[phase].has_items && self.needs_list(policy, phase);
            self.record(at, WorkflowRecord::PhaseStarted { phase, has_items });
            if has_items {
                self.step.actions.push(WorkflowAction::ListItems(phase));
            }
            return true;
        }
        if !self.have_phases_ended(policy) {
            return false;
        }
        if self.state.iteration < self.state.iterations_max(policy) {
            self.record(at, WorkflowRecord::IterationStarted { iteration: self.state.iteration + 1 });
            return true;
        }
        let is_done = policy.until_after.is_none()
            && self.state.phases.iter().all(|phase| phase.stage == PhaseStage::Pending || phase.is_done());
        let partial = Outcome { kind: OutcomeKind::Partial, ..Outcome::DONE };
        self.finish(at, if is_done { Outcome::DONE } else { partial })
    }

    fn is_phase_due(&self, policy: &WorkflowPolicy, phase: usize) -> bool {
        matches!(self.stage_of(phase), PhaseStage::Pending | PhaseStage::Reopened { .. })
            && !policy.is_skipped(self.state.iteration, phase)
            && self.are_complete(policy, &policy.phases[phase].needs)
    }

    /// Returns whether the items must be listed before the phase runs. A reopened phase keeps its list, unless the list
    /// may depend on a need that took place again.
    fn needs_list(&self, policy: &WorkflowPolicy, phase: usize) -> bool {
        let is_reopened = |need: &usize| self.state.phases.get(*need).is_some_and(|need| need.is_reopened);
        self.stage_of(phase) != PhaseStage::Reopened { needs_list: false }
            || policy.phases[phase].needs.iter().any(is_reopened)
    }

    /// Returns whether the condition must be evaluated now: after its phase, or at the end of the iteration if
    /// that phase is skipped.
    fn is_until_due(&self, policy: &WorkflowPolicy) -> bool {
        self.state.until == UntilState::Open
            && policy.until_after.is_some_and(|phase| {
                if policy.is_skipped(self.state.iteration, phase) {
                    self.have_phases_ended(policy)
                } else {
                    self.has_ended(phase)
                }
            })
    }

    fn have_phases_ended(&self, policy: &WorkflowPolicy) -> bool {
        (0..policy.phases.len())
            .all(|phase| policy.is_skipped(self.state.iteration, phase) || self.has_ended(phase))
    }

    /// Returns whether phases have ended. A skipped phase stands for its own needs, so that the order of the others
    /// stays.
    fn are_complete(&self, policy: &WorkflowPolicy, phases: &[usize]) -> bool {
        let mut complete: Vec<bool> = Vec::new();
        for (index, phase) in policy.phases.iter().enumerate() {
            let is_skipped = policy.is_skipped(self.state.iteration, index);
            let are_needs_complete = phase.needs.iter().all(|need| complete[*need]);
            complete.push(if is_skipped { are_needs_complete } else { self.has_ended(index) });
        }
        phases.iter().all(|phase| complete[*phase])
    }

    fn has_ended(&self, phase: usize) -> bool {
        self.stage_of(phase) == PhaseStage::Ended
    }

    fn stage_of(&self, phase: usize) -> PhaseStage {
        self.state.phases.get(phase).map_or(PhaseStage::Pending, |state| state.stage)
    }

    fn can_start(&self) -> bool {
        let is_checking = self.state.until == UntilState::Checking;
        !self.state.is_stopping() && !is_checking && !self.until_holds()
    }

    pub(super) fn until_holds(&self) -> bool {
        matches!(self.state.until, UntilState::Ended { holds: Some(true), .. })
    }

    /// Returns whether no run is live and no merge is in progress.
    pub(super) fn is_quiet(&self) -> bool {
        self.state.live().next().is_none()
            && self.state.phases.iter().all(|phase| phase.stage != PhaseStage::Merging)
    }

    /// Has the memory measured before a run starts, or finishes if none can start.
    fn order_start(&mut self, policy: &WorkflowPolicy, at: Moment) -> bool {
        match self.next_start(policy, at) {
            NextStart::Run { .. } => {
                self.measure_memory(policy, at);
                false
            }
            NextStart::OutOfBudget if self.is_quiet() => {
                self.finish(at, Outcome::from_limit(Limit::Budget, None))
            }
            NextStart::OutOfTime if self.is_quiet() => {
                self.record(at, WorkflowRecord::TimeExhausted);
                true
            }
            NextStart::RefuseShare(key) => {
                let phase = &policy.phases[key.phase];
                let next = self.state.item(key).map(|item| configured(phase, item, OutcomeKind::OverBudget));
                let next = next.unwrap_or_default();
                self.record(at, WorkflowRecord::ShareRefused { key, next });
                true
            }
            NextStart::OutOfBudget | NextStart::OutOfTime | NextStart::None => false,
        }
    }

    fn measure_memory(&mut self, policy: &WorkflowPolicy, at: Moment) {
        let is_due = match self.observations.memory {
            Memory::Unknown => true,
            Memory::Measuring => false,
            Memory::Short { at: since } => {
                let has_live = self.state.live().next().is_some();
                !has_live || at < since || at >= since + MEMORY_INTERVAL
            }
        };
        if is_due && self.has_gap_passed(policy, at) {
            self.observations.memory = Memory::Measuring;
            self.step.actions.push(WorkflowAction::MeasureMemory);
        }
    }

    fn has_gap_passed(&self, policy: &WorkflowPolicy, at: Moment) -> bool {
        // A clock that was set back must not delay a start by hours.
        self.state.last_start_at.is_none_or(|last| at < last || at >= last + policy.start_gap)
    }

    /// Starts the next run. A workflow without a live run must not wait for memory: it could wait forever.
    pub(super) fn on_memory_measured(&mut self, policy: &WorkflowPolicy, at: Moment, is_enough: bool) {
        if self.observations.memory != Memory::Measuring {
            return;
        }
        self.observations.memory = Memory::Unknown;
        if !is_enough && self.state.live().next().is_some() {
            self.observations.memory = Memory::Short { at };
        } else if let NextStart::Run { key, share, resumed } = self.next_start(policy, at)
            && self.has_gap_passed(policy, at)
        {
            self.record(at, WorkflowRecord::RunPlanned { key, share, resumed });
            let item = self.state.item(key).cloned().unwrap_or_default();
            self.step.actions.push(item.start_action(key));
        }
    }

    /// Returns the next run that can start, by limits and slots. Resumes come first.
    pub(super) fn next_start(&self, policy: &WorkflowPolicy, at: Moment) -> NextStart {
        let candidates = self.candidates(policy, at);
        let Some((first, _)) = candidates.first() else { return self.end_of_park(policy, at) };
        let is_limited = |item: &ItemState| matches!(item.status, ItemStatus::Limited { .. });
        let has_other = candidates.iter().any(|(_, item)| !is_limited(item));
        if !self.state.has_time(policy, at) {
            return NextStart::OutOfTime;
        }
        if has_other && !self.state.has_budget(policy) {
            return NextStart::OutOfBudget;
        }
        for (key, item) in &candidates {
            let phase = &policy.phases[key.phase];
            let count = self.startable_count(policy, &candidates, is_limited(item));
            if is_at_own_limit(item, phase) {
                let key = RunKey { retry: key.retry + 1, ..*key };
                let share = self.state.share(policy, phase, &ItemState::default(), count, at);
                return NextStart::Run { key, share, resumed: false };
            }
            let share = self.state.share(policy, phase, item, count, at);
            if !is_limited(item) || is_raised(item, &share) {
                let resumed = item.status != ItemStatus::Pending;
                return NextStart::Run { key: *key, share, resumed };
            }
        }
        if self.is_quiet() { NextStart::RefuseShare(*first) } else { NextStart::None }
    }

    /// Returns the limit that a workflow has used up whose runs are all parked. The wait would release nothing.
    fn end_of_park(&self, policy: &WorkflowPolicy, at: Moment) -> NextStart {
        let is_parked = |item: &ItemState| matches!(item.status, ItemStatus::Parked { .. });
        if !self.can_start() || !self.is_quiet() || !self.state.all_items().any(|(_, item)| is_parked(item)) {
            NextStart::None
        } else if !self.state.has_time(policy, at) {
            NextStart::OutOfTime
        } else if !self.state.has_budget(policy) {
            NextStart::OutOfBudget
        } else {
            NextStart::None
        }
    }

    /// Returns the items that have a slot, resumes first. While a run is parked, only parked runs start.
    fn candidates(&self, policy: &WorkflowPolicy, at: Moment) -> Vec<(RunKey, &ItemState)> {
        if !self.can_start() {
            return Vec::new();
        }
        let is_parked = |item: &ItemState| matches!(item.status, ItemStatus::Parked { .. });
        let has_parked = self.state.all_items().any(|(_, item)| is_parked(item));
        let free_slots = |(phase, state): (usize, &PhaseState)| {
            if state.stage == PhaseStage::Running { self.free_slots(policy, phase) } else { 0 }
        };
        let free: Vec<u32> = self.state.phases.iter().enumerate().map(free_slots).collect();
        let rank = |item: &ItemState| match item.status {
            ItemStatus::Parked { until } if until <= at => Some(0),
            ItemStatus::Resuming { .. } if !has_parked => Some(1),
            ItemStatus::Limited { .. } if !has_parked => Some(2),
            ItemStatus::Pending if !has_parked => Some(3),
            ItemStatus::Parked { .. }
            | ItemStatus::Resuming { .. }
            | ItemStatus::Limited { .. }
            | ItemStatus::Pending
            | ItemStatus::Live
            | ItemStatus::Suspended
            | ItemStatus::Ended { .. } => None,
        };
        let mut ranked: Vec<(u8, (RunKey, &ItemState))> = self
            .state
            .all_items()
            .filter(|(key, _)| free[key.phase] > 0)
            .filter_map(|(key, item)| Some((rank(item)?, (key, item))))
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Returns how many runs can start now. Runs that wait for a larger share count only if one of them is
    /// about to be raised.
    fn startable_count(
        &self,
        policy: &WorkflowPolicy,
        candidates: &[(RunKey, &ItemState)],
        is_limited: bool,
    ) -> u64 {
        let mut by_phase = vec![0_u32; self.state.phases.len()];
        for (key, item) in candidates {
            by_phase[key.phase] += u32::from(!matches!(item.status, ItemStatus::Limited { .. }));
        }
        let slots = by_phase.iter().zip(0..).map(|(count, phase)| self.free_slots(policy, phase).min(*count));
        let live = self.state.live().count() as u64;
        let startable = slots.map(u64::from).sum::<u64>() + u64::from(is_limited);
        startable.min(u64::from(policy.parallel_max).saturating_sub(live)).max(1)
    }

    /// Returns how many runs of a phase can start next to the live ones.
    pub(super) fn free_slots(&self, policy: &WorkflowPolicy, phase: usize) -> u32 {
        let (mut live, mut live_of_phase) = (0, 0);
        for (key, _) in self.state.live() {
            live += 1;
            live_of_phase += u32::from(key.phase == phase);
        }
        let of_phase = policy.phases[phase].parallel_max.saturating_sub(live_of_phase);
        of_phase.min(policy.parallel_max.saturating_sub(live))
    }
}
