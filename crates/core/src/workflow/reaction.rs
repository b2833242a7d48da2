//! Decides what follows a run that ended. All functions are pure.

use super::state::is_done;
use super::{AfterRun, ItemState, PhasePolicy, Reaction, RunEnd, UntilState, WorkflowState};
use crate::{Limit, Moment, Now, OutcomeKind, Span, draw};

// Different salts give independent draws from one roll.
const SALT_PARK: u64 = 64;
// A run that ends as `retry_later` has waited on its own before. Ten parks span hours to days.
const PARKS_MAX: u32 = 10;
// Without a known time, the next try is as late as a short outage is long.
const PARK_DEFAULT: Span = Span::from_mins(30);
// Runs of several workflows share an account and must not all return at the moment of its reset.
const PARK_JITTER: Span = Span::from_secs(30);

/// Returns what follows the end of a run, and when it is resumed if it is parked.
pub(super) fn after_run(
    state: &WorkflowState,
    phase: &PhasePolicy,
    item: &ItemState,
    end: &RunEnd,
    now: Now,
) -> (AfterRun, Option<Moment>) {
    let kind = end.outcome.kind;
    if is_done(&end.outcome) {
        return (AfterRun::Complete, None);
    }
    let is_suspended = kind == OutcomeKind::Suspended && state.suspended_by.is_some();
    let next = match state.until {
        _ if state.cancelled_by.is_some() => AfterRun::Stop,
        _ if is_suspended => AfterRun::Suspend,
        _ if state.stop.is_some() => AfterRun::Stop,
        UntilState::Ended { holds: Some(true), .. } => AfterRun::Continue,
        UntilState::Open | UntilState::Checking | UntilState::Ended { .. } => {
            reaction_to(phase, item, kind, end.outcome.limit)
        }
    };
    let parked_until = (next == AfterRun::Park).then(|| {
        let from = end.outcome.retry_at.unwrap_or(now.at + PARK_DEFAULT).max(now.at);
        from + Span(draw(now.roll, SALT_PARK, PARK_JITTER.millis()))
    });
    (next, parked_until)
}

fn reaction_to(phase: &PhasePolicy, item: &ItemState, kind: OutcomeKind, limit: Option<Limit>) -> AfterRun {
    let share = item.share.and_then(|share| share.budget);
    let is_share = share.is_some() && share.zip(phase.budget).is_none_or(|(share, own)| share < own);
    if kind == OutcomeKind::OverBudget && limit == Some(Limit::Budget) && is_share {
        return AfterRun::Raise;
    }
    configured(phase, item, kind)
}

/// Returns the configured reaction to an outcome, as long as its maximum allows.
pub(super) fn configured(phase: &PhasePolicy, item: &ItemState, kind: OutcomeKind) -> AfterRun {
    match phase.reactions.reaction(kind) {
        Reaction::Continue => AfterRun::Continue,
        Reaction::Retry(retries_max) if item.retries < retries_max => AfterRun::Retry,
        Reaction::Park if kind == OutcomeKind::RetryLater && item.parks < PARKS_MAX => AfterRun::Park,
        Reaction::Stop | Reaction::Retry(_) | Reaction::Park => AfterRun::Stop,
    }
}
