//! Divides the rest of the limits among the runs that can start.

use super::reaction::configured;
use super::{AfterRun, ItemState, ItemStatus, PhasePolicy, RunKey, RunShare, WorkflowState};
use crate::{Limit, Moment, Span, Usd, WorkflowPolicy};

// Less than this, or than a hundredth of the limit, does not suffice for one response.
const BUDGET_MIN: Usd = Usd(10_000);
const TIME_MIN: Span = Span::from_secs(10);
const LIMIT_PARTS: u64 = 100;

impl WorkflowState {
    /// Returns the part of the budget that no run used or may use. `None` is unlimited.
    pub fn unreserved(&self, policy: &WorkflowPolicy) -> Option<Usd> {
        let limit = self.limits(policy).budget?;
        Some(limit.saturating_sub(self.cost).saturating_sub(self.reserved()))
    }

    /// Returns the remaining working time. `None` is unlimited.
    pub fn remaining_time(&self, policy: &WorkflowPolicy, at: Moment) -> Option<Span> {
        Some(self.limits(policy).time? - self.clock.at(at))
    }

    pub(super) fn has_budget(&self, policy: &WorkflowPolicy) -> bool {
        self.unreserved(policy).is_none_or(|rest| rest >= self.budget_min(policy))
    }

    pub(super) fn has_time(&self, policy: &WorkflowPolicy, at: Moment) -> bool {
        let limit = self.limits(policy).time.unwrap_or_default();
        let min = TIME_MIN.at_most(Span(limit.0 / LIMIT_PARTS)).max(Span(1));
        self.remaining_time(policy, at).is_none_or(|rest| rest >= min)
    }

    fn budget_min(&self, policy: &WorkflowPolicy) -> Usd {
        let limit = self.limits(policy).budget.unwrap_or_default();
        BUDGET_MIN.min(Usd(limit.0 / LIMIT_PARTS)).max(Usd(1))
    }

    /// Returns the share of a run if `count` runs, with this one, can start now. A resumed run keeps its own
    /// usage on top.
    pub(super) fn share(
        &self,
        policy: &WorkflowPolicy,
        phase: &PhasePolicy,
        item: &ItemState,
        count: u64,
        at: Moment,
    ) -> RunShare {
        let budget = self.unreserved(policy).map(|rest| {
            let part = Usd(rest.0 / count.max(1)).max(self.budget_min(policy)).min(rest);
            item.cost + part
        });
        let time = self.remaining_time(policy, at).map(|rest| item.active + rest);
        RunShare {
            budget: budget.into_iter().chain(phase.budget).min(),
            time: time.into_iter().chain(phase.time).min(),
        }
    }
}

/// Returns whether a run that used up its share is worth resuming with the new one.
pub(super) fn is_raised(item: &ItemState, share: &RunShare) -> bool {
    let old = item.share.and_then(|share| share.budget);
    // A slightly larger share would resume the run again and again, for a few responses each.
    old.zip(share.budget).is_none_or(|(old, new)| new.0.saturating_mul(2) >= old.0.saturating_mul(3))
}

impl WorkflowState {
    /// Returns the first run that stopped the workflow by a limit of its own, which no limit of the workflow raises.
    pub fn stopped_at_own_limit(&self, policy: &WorkflowPolicy) -> Option<RunKey> {
        if self.stop.is_none() || self.is_time_exhausted {
            return None;
        }
        let mut items = self.all_items();
        let found = items.find(|(key, item)| {
            let phase = &policy.phases[key.phase];
            item.outcome().is_some_and(|outcome| {
                outcome.limit.is_some_and(|limit| is_own_limit(item, phase, limit))
                    && configured(phase, item, outcome.kind) == AfterRun::Stop
            })
        });
        found.map(|(key, _)| key)
    }

    /// Returns the limit that stopped the workflow, or a run that it continued without. A resume needs a larger one.
    pub fn exhausted_limit(&self, policy: &WorkflowPolicy) -> Option<Limit> {
        if self.stopped_at_own_limit(policy).is_some() {
            return None;
        }
        let of_workflow = self.outcome().and_then(|outcome| outcome.limit);
        let of_runs = self.all_items().filter_map(|(key, item)| {
            let limit = item.outcome()?.limit?;
            (!is_own_limit(item, &policy.phases[key.phase], limit)).then_some(limit)
        });
        let limits = self.limits(policy);
        of_workflow.into_iter().chain(of_runs).find(|limit| match limit {
            Limit::Budget => limits.budget.is_some(),
            Limit::Time => limits.time.is_some(),
            Limit::Tokens | Limit::Turns | Limit::Wall | Limit::Attempts => false,
        })
    }
}

/// Returns whether a run ended at a limit of its own, not at its share of the workflow's limit.
fn is_own_limit(item: &ItemState, phase: &PhasePolicy, limit: Limit) -> bool {
    let share = item.share.unwrap_or_default();
    match limit {
        // Without a share, the limit is that of the run itself.
        Limit::Budget => share.budget == phase.budget,
        Limit::Time => share.time == phase.time,
        Limit::Tokens | Limit::Turns | Limit::Wall => true,
        Limit::Attempts => false,
    }
}

/// Returns whether the run ended by the limits that its phase sets. To resume it would end it again.
pub(super) fn is_at_own_limit(item: &ItemState, phase: &PhasePolicy) -> bool {
    let ItemStatus::Resuming { outcome } = item.status else { return false };
    outcome.limit.is_some()
        && (phase.budget.is_some_and(|budget| item.cost >= budget)
            || phase.time.is_some_and(|time| item.active >= time))
}
