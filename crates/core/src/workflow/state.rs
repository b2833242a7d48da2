//! The state of a workflow, as its records describe it.

use super::{RunKey, RunShare, WorkflowAction, cancelling};
use crate::{CancelSource, Moment, Outcome, OutcomeKind, Span, Usd, WorkflowLimits, WorkflowPolicy};

/// The state of a workflow. The phases are those of the current iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkflowState {
    /// Stage of the workflow.
    pub stage: WorkflowStage,
    /// Current iteration, starting at 1; 0 before the first.
    pub iteration: u32,
    /// Phases that have started in this iteration, and pending ones between them.
    pub phases: Vec<PhaseState>,
    /// Condition of the current iteration.
    pub until: UntilState,
    /// Cost of all runs that ended, up to their last end.
    pub cost: Usd,
    /// Working time.
    pub clock: WorkClock,
    /// Start of the workflow.
    pub started_at: Moment,
    /// Last start of a run.
    pub last_start_at: Option<Moment>,
    /// Outcome with which the workflow finishes once its live runs have ended.
    pub stop: Option<Outcome>,
    /// Whether live runs are cancelled because the working time is exhausted.
    pub is_time_exhausted: bool,
    /// Source of the cancellation.
    pub cancelled_by: Option<CancelSource>,
    /// Signal of the suspension.
    pub suspended_by: Option<CancelSource>,
    /// Limits that a reopening set. They replace those of the policy.
    pub limits: Option<WorkflowLimits>,
    /// Maximum of iterations that a reopening set. It replaces that of the policy.
    pub iterations_max: Option<u32>,
}

/// The stage of a workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WorkflowStage {
    /// Not started.
    #[default]
    New,
    /// Phases run, or are about to.
    Running,
    /// SIGTERM or SIGHUP stopped it; a takeover continues it.
    Suspended {
        /// Start of the suspension.
        since: Moment,
        /// Signal.
        source: CancelSource,
    },
    /// Finished.
    Finished {
        /// Time of the end.
        at: Moment,
        /// Outcome.
        outcome: Outcome,
    },
}

/// The condition of `until` in the current iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum UntilState {
    /// Not evaluated.
    #[default]
    Open,
    /// Being evaluated.
    Checking,
    /// Evaluated.
    Ended {
        /// Whether it holds. `None` if it could not be evaluated.
        holds: Option<bool>,
        /// Why it could not be evaluated.
        problem: Option<String>,
    },
}

/// The clock of the working time. It runs while at least one run works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkClock {
    /// Working time before `since`.
    pub before: Span,
    /// Since when the clock runs. `None` if it stands.
    pub since: Option<Moment>,
}

impl WorkClock {
    /// Returns the working time at this moment.
    pub fn at(&self, at: Moment) -> Span {
        self.before + self.since.map_or(Span::ZERO, |since| at.since(since))
    }
}

/// A phase in the current iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseState {
    /// Stage of the phase.
    pub stage: PhaseStage,
    /// Items, in order. A phase without a list has one item without a name.
    pub items: Vec<ItemState>,
    /// Number of items above the maximum.
    pub deferred: u32,
    /// Outcome, once the phase has ended.
    pub outcome: Option<Outcome>,
    /// Cost of all its runs that ended, also of those that a newer run of the same item replaced.
    pub cost: Usd,
    /// Problem that is not a run's. A phase can be `done` with one: it had no items.
    pub problem: Option<String>,
    /// Number of runs of an item that a new list of items assumes, so that no key repeats.
    pub retry_base: u32,
    /// Whether the phase takes place again because the last reopening found it, or a phase that it needs, not done.
    pub is_reopened: bool,
}

/// The stage of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhaseStage {
    /// Not started.
    #[default]
    Pending,
    /// Started before the workflow was reopened. It starts again when its needs are complete.
    Reopened {
        /// Whether its list of items is missing or cut.
        needs_list: bool,
    },
    /// Its items are being listed.
    Listing,
    /// Its runs are live, or are about to start.
    Running,
    /// Its worktrees are being merged.
    Merging,
    /// Ended.
    Ended,
}

/// The status of a phase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseStatus {
    /// Not started.
    Pending,
    /// Started, and not ended.
    Running,
    /// Left out in this iteration by `from` or `only`.
    Skipped,
    /// Ended; its outcome is in the state.
    Ended,
}

/// An item of a phase and its current run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemState {
    /// Item as text. It is empty for a phase without a list.
    pub name: String,
    /// Number of runs before the current one.
    pub retry: u32,
    /// Number of those that count against the maximum of the reaction.
    pub retries: u32,
    /// Status of the current run.
    pub status: ItemStatus,
    /// Last share of the current run. `None` if it was not planned.
    pub share: Option<RunShare>,
    /// Number of times that the workflow resumed the current run.
    pub resumes: u32,
    /// Whether the current run has ended. A user may have resumed it since.
    pub has_ended: bool,
    /// Number of parks in a row.
    pub parks: u32,
    /// Cost of the current run, up to its last end.
    pub cost: Usd,
    /// Working time of the current run, up to its last end.
    pub active: Span,
}

/// The status of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ItemStatus {
    /// Its run is about to start.
    #[default]
    Pending,
    /// Its run ended before the workflow was reopened and is about to be resumed.
    Resuming {
        /// Outcome of the run so far.
        outcome: Outcome,
    },
    /// Its run is live.
    Live,
    /// Its run ended as `retry_later` and is resumed at this moment.
    Parked {
        /// Moment of the resume.
        until: Moment,
    },
    /// Its run used up its share and waits for a larger one.
    Limited {
        /// Outcome of the run so far.
        outcome: Outcome,
    },
    /// Its run is suspended with the workflow.
    Suspended,
    /// Its run ended.
    Ended {
        /// Outcome of the run.
        outcome: Outcome,
    },
}

impl WorkflowState {
    /// Returns the outcome of a finished workflow.
    pub fn outcome(&self) -> Option<Outcome> {
        if let WorkflowStage::Finished { outcome, .. } = self.stage { Some(outcome) } else { None }
    }

    /// Returns the limits in force.
    pub fn limits(&self, policy: &WorkflowPolicy) -> WorkflowLimits {
        self.limits.unwrap_or(policy.limits)
    }

    /// Returns the maximum of iterations in force.
    pub fn iterations_max(&self, policy: &WorkflowPolicy) -> u32 {
        self.iterations_max.unwrap_or(policy.iterations_max)
    }

    /// Returns the status of a phase in the current iteration, for people.
    pub fn phase_status(&self, policy: &WorkflowPolicy, phase: usize) -> PhaseStatus {
        if policy.is_skipped(self.iteration, phase) {
            return PhaseStatus::Skipped;
        }
        match self.phases.get(phase).map(|state| state.stage) {
            None | Some(PhaseStage::Pending | PhaseStage::Reopened { .. }) => PhaseStatus::Pending,
            Some(PhaseStage::Listing | PhaseStage::Running | PhaseStage::Merging) => PhaseStatus::Running,
            Some(PhaseStage::Ended) => PhaseStatus::Ended,
        }
    }

    /// Returns the keys of the items of a phase, in order, with the items.
    pub fn items(&self, phase: usize) -> impl Iterator<Item = (RunKey, &ItemState)> {
        let iteration = self.iteration;
        let items = self.phases.get(phase).map_or(&[][..], |state| &state.items);
        items
            .iter()
            .zip(0..)
            .map(move |(item, index)| (RunKey { iteration, phase, item: index, retry: item.retry }, item))
    }

    /// Returns all items of the iteration with their keys, in order.
    pub fn all_items(&self) -> impl Iterator<Item = (RunKey, &ItemState)> {
        (0..self.phases.len()).flat_map(|phase| self.items(phase))
    }

    /// Returns the live runs.
    pub fn live(&self) -> impl Iterator<Item = (RunKey, &ItemState)> {
        self.all_items().filter(|(_, item)| item.status == ItemStatus::Live)
    }

    /// Returns the part of the budget that live and suspended runs may still use.
    pub fn reserved(&self) -> Usd {
        self.all_items()
            .filter(|(_, item)| matches!(item.status, ItemStatus::Live | ItemStatus::Suspended))
            .filter_map(|(_, item)| Some(item.share?.budget?.saturating_sub(item.cost)))
            .sum()
    }

    /// Returns the phases that a reopening must repeat: they started before a phase that they need, directly or
    /// through other phases, takes place again.
    pub fn repeated_phases(&self, policy: &WorkflowPolicy) -> Vec<usize> {
        let mut repeated = Vec::new();
        let mut takes_place_again: Vec<bool> = Vec::new();
        for (index, phase) in policy.phases.iter().enumerate() {
            let state = self.phases.get(index);
            let is_outdated = phase.needs.iter().any(|need| takes_place_again[*need]);
            if is_outdated && state.is_some_and(PhaseState::has_started) {
                repeated.push(index);
            }
            takes_place_again.push(is_outdated || state.is_some_and(PhaseState::must_reopen));
        }
        repeated
    }

    pub(super) fn item(&self, key: RunKey) -> Option<&ItemState> {
        let item = self.phases.get(key.phase)?.items.get(key.item as usize)?;
        (key.iteration == self.iteration && key.retry == item.retry).then_some(item)
    }

    /// Returns whether no further run starts.
    pub(super) fn is_stopping(&self) -> bool {
        self.cancelled_by.is_some() || self.suspended_by.is_some() || self.stop.is_some()
    }

    /// Returns the source with which live runs are being stopped.
    pub(super) fn stop_source(&self) -> Option<CancelSource> {
        let cancelled = self.cancelled_by.map(cancelling);
        cancelled.or(self.suspended_by).or(self.is_time_exhausted.then_some(CancelSource::Person))
    }
}

impl PhaseState {
    /// Returns `done`, or the outcome of the first item that did not finish as `done`: `partial` if it has not ended.
    pub(super) fn item_outcome(&self) -> Outcome {
        let partial = Outcome { kind: OutcomeKind::Partial, ..Outcome::DONE };
        let mut outcomes = self.items.iter().map(|item| item.outcome().unwrap_or(partial));
        outcomes.find(|outcome| !is_done(outcome)).unwrap_or(Outcome::DONE)
    }

    pub(super) fn has_live_item(&self) -> bool {
        self.items.iter().any(|item| matches!(item.status, ItemStatus::Live | ItemStatus::Suspended))
    }

    fn has_started(&self) -> bool {
        self.stage != PhaseStage::Pending
    }

    /// Returns whether a reopening lets the phase take place again.
    pub(super) fn must_reopen(&self) -> bool {
        self.has_started() && !self.is_done()
    }

    /// Returns whether the phase ended with every item done and none deferred.
    pub(super) fn is_done(&self) -> bool {
        self.outcome.as_ref().is_some_and(is_done) && self.deferred == 0
    }
}

pub(super) fn is_done(outcome: &Outcome) -> bool {
    outcome.kind == OutcomeKind::Done
}

impl ItemState {
    /// Returns the outcome of an item whose run ended for good.
    pub fn outcome(&self) -> Option<Outcome> {
        if let ItemStatus::Ended { outcome } = self.status { Some(outcome) } else { None }
    }

    /// Returns the action that starts the planned run, or continues it after a takeover.
    pub(super) fn start_action(&self, key: RunKey) -> WorkflowAction {
        WorkflowAction::StartRun { key, share: self.share.unwrap_or_default(), resumes: self.resumes }
    }
}
