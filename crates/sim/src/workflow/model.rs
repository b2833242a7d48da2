//! The oracles' own account of a workflow, from its events and records. It shares no code with the state of the
//! core, so that an error of one does not hide in the other.

use longhaul_core::{
    AfterRun, CancelSource, Limit, Moment, Outcome, OutcomeKind, RunEnd, RunKey, RunShare, Span, Usd,
    WorkflowLimits, WorkflowPolicy,
};
use std::collections::BTreeMap;

/// The facts of the world at a record.
pub(crate) struct Facts {
    /// Time of the clock.
    pub at: Moment,
    /// Time in which at least one run worked, or `None` if the clock was set.
    pub worked: Option<Span>,
}

/// A run as the journal describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelRun {
    pub is_live: bool,
    /// Whether it is suspended with the workflow, so that it still holds its share.
    pub is_suspended: bool,
    pub share: RunShare,
    pub end: Option<RunEnd>,
    pub next: Option<AfterRun>,
    pub parks: u32,
    pub parked_until: Option<Moment>,
    /// Whether the user resumed it on its own before the last reopening, so that it did not fail again.
    pub is_continued: bool,
    /// Whether its item has left the list, or takes place again after a phase that it needs.
    pub is_replaced: bool,
    /// Number of reopenings before its last end.
    pub reopens: u32,
}

impl ModelRun {
    pub(crate) fn cost(&self) -> Usd {
        self.end.map_or(Usd::ZERO, |end| end.cost)
    }

    /// Returns whether nothing follows its last end.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.next, Some(AfterRun::Complete | AfterRun::Continue | AfterRun::Stop))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.end.is_some_and(|end| end.outcome.kind == OutcomeKind::Done)
    }
}

/// A phase in the current iteration.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelPhase {
    pub is_started: bool,
    /// Whether it started in this iteration, perhaps before the last reopening.
    pub has_started: bool,
    pub is_merged: bool,
    pub items: Vec<String>,
    pub deferred: u32,
    pub outcome: Option<Outcome>,
}

pub(crate) struct Model<'a> {
    pub policy: &'a WorkflowPolicy,
    pub limits: WorkflowLimits,
    pub iterations_max: u32,
    pub iteration: u32,
    pub phases: Vec<ModelPhase>,
    pub runs: BTreeMap<RunKey, ModelRun>,
    /// Retries of an item since the last reopening.
    pub retries: BTreeMap<(usize, u32), u32>,
    pub reopens: u32,
    pub cancelled_by: Option<CancelSource>,
    pub suspended_by: Option<CancelSource>,
    pub stop: Option<OutcomeKind>,
    pub is_time_exhausted: bool,
    pub is_checking: bool,
    pub holds: Option<bool>,
    pub last_start_at: Option<Moment>,
    /// Whether the last measurement allows a start. A start uses it up.
    pub memory: Option<bool>,
    pub outcome: Option<Outcome>,
}

impl Model<'_> {
    pub(crate) fn new(policy: &WorkflowPolicy) -> Model<'_> {
        Model {
            policy,
            limits: policy.limits,
            iterations_max: policy.iterations_max,
            iteration: 0,
            phases: Vec::new(),
            runs: BTreeMap::new(),
            retries: BTreeMap::new(),
            reopens: 0,
            cancelled_by: None,
            suspended_by: None,
            stop: None,
            is_time_exhausted: false,
            is_checking: false,
            holds: None,
            last_start_at: None,
            memory: None,
            outcome: None,
        }
    }

    pub(crate) fn is_skipped(&self, phase: usize) -> bool {
        let is_before = self.iteration == 1 && self.policy.from.is_some_and(|from| phase < from);
        is_before
            || self.policy.skipped.contains(&phase)
            || self.policy.only.is_some_and(|only| only != phase)
    }

    /// Returns whether a phase has ended. One that does not take place is complete when everything is that it needs.
    pub(crate) fn is_complete(&self, phase: usize) -> bool {
        if self.is_skipped(phase) {
            return self.policy.phases[phase].needs.iter().all(|need| self.is_complete(*need));
        }
        self.phases[phase].outcome.is_some()
    }

    pub(crate) fn is_iteration_complete(&self) -> bool {
        (0..self.phases.len()).all(|phase| self.is_complete(phase))
    }

    pub(crate) fn is_iteration_done(&self) -> bool {
        let is_done = |phase: &ModelPhase| {
            phase.deferred == 0 && phase.outcome.is_some_and(|outcome| outcome.kind == OutcomeKind::Done)
        };
        self.phases.iter().enumerate().all(|(index, phase)| self.is_skipped(index) || is_done(phase))
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &RunKey> {
        self.runs.iter().filter(|(_, run)| run.is_live).map(|(key, _)| key)
    }

    /// Makes suspended runs live, to continue or to cancel them.
    pub(crate) fn revive_suspended(&mut self) {
        for run in self.runs.values_mut().filter(|run| run.is_suspended) {
            (run.is_suspended, run.is_live) = (false, true);
        }
    }

    pub(crate) fn parked(&self) -> impl Iterator<Item = &RunKey> {
        self.runs.iter().filter(|(_, run)| run.parked_until.is_some()).map(|(key, _)| key)
    }

    /// Returns the cost of all ends, and the rest of the shares of live and suspended runs.
    pub(crate) fn committed(&self) -> Usd {
        let cost: Usd = self.runs.values().map(ModelRun::cost).sum();
        let holding = self.runs.values().filter(|run| run.is_live || run.is_suspended);
        let reserved: Usd =
            holding.filter_map(|run| Some(run.share.budget?.saturating_sub(run.cost()))).sum();
        cost + reserved
    }

    /// Returns the last run of an item in this iteration.
    pub(crate) fn last_run(&self, phase: usize, item: u32) -> Option<&ModelRun> {
        let key = |retry| RunKey { iteration: self.iteration, phase, item, retry };
        self.runs.range(key(0)..=key(u32::MAX)).next_back().map(|(_, run)| run)
    }

    /// Returns how an item ended, `partial` if it has no end for good.
    pub(crate) fn end_of(&self, phase: usize, item: u32) -> OutcomeKind {
        let is_final = |run: &&ModelRun| {
            run.is_settled() && !run.is_replaced && (run.is_done() || run.reopens == self.reopens)
        };
        let end = self.last_run(phase, item).filter(is_final).and_then(|run| run.end);
        end.map_or(OutcomeKind::Partial, |end| end.outcome.kind)
    }

    /// Replaces the items of a phase. The runs of items with other names do not count any more.
    pub(crate) fn replace_items(&mut self, phase: usize, items: &[String]) {
        let old = std::mem::replace(&mut self.phases[phase].items, items.to_vec());
        for (key, run) in self.runs.iter_mut().filter(|(key, _)| key.phase == phase) {
            let item = key.item as usize;
            run.is_replaced |= old.get(item) != items.get(item);
        }
    }

    /// Returns how many items of the phase have no run yet.
    pub(crate) fn unstarted(&self, phase: usize) -> usize {
        let items = 0..self.phases[phase].items.len();
        items.filter(|item| self.last_run(phase, *item as u32).is_none()).count()
    }

    /// Returns whether the run ended because its share of the workflow's budget is used up.
    pub(crate) fn is_limited_by_share(&self, key: &RunKey, end: &RunEnd) -> bool {
        let share = self.runs.get(key).and_then(|run| run.share.budget);
        end.outcome.kind == OutcomeKind::OverBudget
            && end.outcome.limit == Some(Limit::Budget)
            && share.is_some_and(|share| self.policy.phases[key.phase].budget.is_none_or(|own| share < own))
    }
}
