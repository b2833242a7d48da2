//! The workflow's transition table: decides for each event what follows.

use super::reaction::{after_run, configured};
use super::{
    AfterRun, ItemState, ItemStatus, PhaseStage, RunEnd, RunKey, UntilState, Workflow, WorkflowAction,
    WorkflowEvent, WorkflowRecord, WorkflowStage, WorkflowStep, cancelling,
};
use crate::{CancelSource, Moment, Now, Outcome, OutcomeKind, WorkflowPolicy};

/// Problem of a phase whose list of items is empty.
const NO_ITEMS: &str = "no items";

impl Workflow {
    /// Decides what follows an event. The records are already applied; the caller writes them to disk and
    /// then performs the actions.
    pub fn step(&mut self, policy: &WorkflowPolicy, now: Now, event: WorkflowEvent) -> WorkflowStep {
        let Now { at, .. } = now;
        self.observations.stepped_at = at;
        match (self.state.stage, event) {
            (WorkflowStage::New, WorkflowEvent::Started) => {
                self.record(at, WorkflowRecord::WorkflowStarted);
                self.record(at, WorkflowRecord::IterationStarted { iteration: 1 });
            }
            (
                WorkflowStage::Finished { .. },
                WorkflowEvent::Reopened { limits, iterations_max, continued, costs },
            ) => {
                let repeated = self.state.repeated_phases(policy);
                let record =
                    WorkflowRecord::WorkflowReopened { limits, iterations_max, continued, costs, repeated };
                self.record(at, record);
            }
            (
                WorkflowStage::Running | WorkflowStage::Suspended { .. } | WorkflowStage::Finished { .. },
                WorkflowEvent::TakenOver { idle_since },
            ) => {
                self.record(at, WorkflowRecord::TakenOver { idle_since });
                self.step.actions = self.unfinished_actions();
            }
            (WorkflowStage::Running, event) => self.on_event(policy, now, event),
            // Late reports of what was in progress when the workflow ended.
            (WorkflowStage::New | WorkflowStage::Suspended { .. } | WorkflowStage::Finished { .. }, _) => {}
        }
        self.advance(policy, at);
        std::mem::take(&mut self.step)
    }

    fn on_event(&mut self, policy: &WorkflowPolicy, now: Now, event: WorkflowEvent) {
        let Now { at, .. } = now;
        match event {
            WorkflowEvent::ItemsListed { phase, items } => self.on_items_listed(policy, at, phase, items),
            WorkflowEvent::RunEnded { key, end } => self.on_run_ended(policy, now, key, end),
            WorkflowEvent::RunWaits { key, waits } => {
                let is_live = self.state.item(key).is_some_and(|item| item.status == ItemStatus::Live);
                if waits && is_live {
                    self.observations.waiting.insert(key);
                } else {
                    self.observations.waiting.remove(&key);
                }
            }
            WorkflowEvent::Merged { phase, problem } => self.on_merged(policy, at, phase, problem),
            WorkflowEvent::UntilEnded { holds } => {
                if self.state.until == UntilState::Checking {
                    let problem = holds.as_ref().err().cloned();
                    self.record(at, WorkflowRecord::UntilEnded { holds: holds.ok(), problem });
                }
            }
            WorkflowEvent::MemoryMeasured { is_enough } => self.on_memory_measured(policy, at, is_enough),
            WorkflowEvent::Tick => {}
            WorkflowEvent::Downtime(duration) => {
                if self.state.clock.since.is_some() {
                    self.record(at, WorkflowRecord::WorkflowDowntime { duration });
                }
            }
            WorkflowEvent::CancelRequested(source) => self.on_cancel(at, source),
            WorkflowEvent::SuspendRequested(source) => self.on_suspend(at, source),
            WorkflowEvent::Started | WorkflowEvent::TakenOver { .. } | WorkflowEvent::Reopened { .. } => {}
        }
    }

    pub(super) fn record(&mut self, at: Moment, record: WorkflowRecord) {
        self.apply(at, &record);
        self.step.records.push(record);
    }

    fn on_items_listed(
        &mut self,
        policy: &WorkflowPolicy,
        at: Moment,
        phase: usize,
        items: Result<Vec<String>, String>,
    ) {
        let Some(state) = self.state.phases.get(phase).filter(|state| state.stage == PhaseStage::Listing)
        else {
            return;
        };
        match items {
            Ok(mut items) => {
                // Items of an earlier list that are done leave their places to deferred ones.
                let done = state.items.iter().filter(|item| item.outcome() == Some(Outcome::DONE)).count();
                let max = done.saturating_add(policy.phases[phase].items_max as usize);
                let deferred = u32::try_from(items.len().saturating_sub(max)).unwrap_or(u32::MAX);
                items.truncate(max);
                let is_empty = items.is_empty();
                self.record(at, WorkflowRecord::ItemsListed { phase, items, deferred });
                if is_empty {
                    let problem = Some(NO_ITEMS.to_owned());
                    let outcome = Outcome::DONE;
                    self.record(at, WorkflowRecord::PhaseEnded { phase, outcome, problem, stops: false });
                }
            }
            Err(problem) => self.end_with_problem(policy, at, phase, OutcomeKind::Failed, problem),
        }
    }

    fn on_merged(&mut self, policy: &WorkflowPolicy, at: Moment, phase: usize, problem: Option<String>) {
        let Some(state) = self.state.phases.get(phase).filter(|state| state.stage == PhaseStage::Merging)
        else {
            return;
        };
        let outcome = state.item_outcome();
        match problem {
            Some(problem) => self.end_with_problem(policy, at, phase, OutcomeKind::NeedsPerson, problem),
            None => self.record(at, WorkflowRecord::PhaseEnded { phase, outcome, problem, stops: false }),
        }
    }

    fn end_with_problem(
        &mut self,
        policy: &WorkflowPolicy,
        at: Moment,
        phase: usize,
        kind: OutcomeKind,
        problem: String,
    ) {
        // No run can be retried, so that only one reaction does not stop.
        let stops = configured(&policy.phases[phase], &ItemState::default(), kind) != AfterRun::Continue;
        let outcome = Outcome { kind, ..Outcome::DONE };
        self.record(at, WorkflowRecord::PhaseEnded { phase, outcome, problem: Some(problem), stops });
    }

    fn on_run_ended(&mut self, policy: &WorkflowPolicy, now: Now, key: RunKey, end: RunEnd) {
        let Some(item) = self.state.item(key).filter(|item| item.status == ItemStatus::Live) else { return };
        // It was suspended before the cancellation reached it. Suspended, it could continue later, on its own.
        let cancelled_by = self.state.cancelled_by.filter(|_| end.outcome.kind == OutcomeKind::Suspended);
        if let Some(source) = cancelled_by.map(cancelling) {
            let actions = [item.start_action(key), WorkflowAction::StopRun { key, source }];
            self.observations.waiting.remove(&key);
            return self.step.actions.extend(actions);
        }
        let (next, parked_until) = after_run(&self.state, &policy.phases[key.phase], item, &end, now);
        self.record(now.at, WorkflowRecord::RunEnded { key, end, next, parked_until });
    }

    /// Cancels the live and the suspended runs, so that each has an outcome. A second, harder cancellation is passed
    /// on.
    fn on_cancel(&mut self, at: Moment, source: CancelSource) {
        let is_new = match self.state.cancelled_by.map(cancelling) {
            None => true,
            Some(before) => before != CancelSource::PersonNow && source == CancelSource::PersonNow,
        };
        if is_new {
            let suspended = self.state.all_items().filter(|(_, item)| item.status == ItemStatus::Suspended);
            self.step.actions.extend(suspended.map(|(key, item)| item.start_action(key)));
            self.record(at, WorkflowRecord::CancelOrdered { source });
            self.stop_live_runs();
        }
    }

    /// Suspends the live runs. A workflow that is being cancelled stays cancelled.
    fn on_suspend(&mut self, at: Moment, source: CancelSource) {
        let is_stopped = self.state.cancelled_by.or(self.state.suspended_by).is_some();
        if !is_stopped {
            self.record(at, WorkflowRecord::WorkflowSuspendOrdered { source });
            self.stop_live_runs();
        }
    }

    pub(super) fn stop_live_runs(&mut self) {
        if let Some(source) = self.state.stop_source() {
            let live: Vec<RunKey> = self.state.live().map(|(key, _)| key).collect();
            self.step.actions.extend(live.into_iter().map(|key| WorkflowAction::StopRun { key, source }));
        }
    }
}
