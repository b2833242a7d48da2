//! Determines why a run finished as `retry_later` and did not wait for the API any longer.

use crate::api_call::ANSWER_MIN;
use crate::{OutageBound, OutcomeKind, Policy, Remedy, Span, State, remedy};
use std::fmt;

/// The bound that the wait for the next retry would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitBound {
    /// The limit on retries.
    Retries(u32),
    /// The limit on the time of an outage.
    Outage(Span),
    /// The longest wait for a reset.
    Reset(Span),
    /// The wall limit.
    Wall(Span),
}

impl WaitBound {
    /// Returns the bound for a run that finished as `retry_later`, and `None` for other runs.
    pub fn from_state(state: &State, policy: &Policy) -> Option<WaitBound> {
        let outcome = state.outcome().filter(|outcome| outcome.kind == OutcomeKind::RetryLater)?;
        let (fault, retry_at) = outcome.fault.zip(outcome.retry_at)?;
        let finished_at = state.finished_at;
        // The conditions and their order are those of the decision after the last attempt or reviewer.
        let (retries, outage_started_at, needed) = match state.no_verdict {
            Some(_) => (state.review_outages, state.review_started_at, ANSWER_MIN),
            None => (state.failures_since_progress + state.outage_waits, state.outage_started_at, Span::ZERO),
        };
        let is_outage = remedy(fault) == Remedy::WaitOut;
        let outage_bound = match policy.outage_bound {
            OutageBound::Retries => Some(WaitBound::Retries(policy.retries_max)),
            OutageBound::Time(limit) => limit.map(WaitBound::Outage),
        };
        let outage_bound = outage_bound.filter(|_| is_outage);
        let outage = retry_at.since(outage_started_at.unwrap_or(finished_at)) + needed;
        let exceeds_outage_bound = match policy.outage_bound {
            OutageBound::Retries => retries >= policy.retries_max,
            OutageBound::Time(limit) => limit.is_some_and(|limit| outage > limit),
        };
        let reset = policy.max_reset_wait;
        let wall = policy.limits.wall.filter(|wall| state.clocks.wall(retry_at) >= *wall);
        let too_long = reset.filter(|longest| retry_at.since(finished_at) > *longest);
        // The run finishes a moment after the decision, so a wait may seem to fit. Waits for an unknown reset are
        // bounded together, so none of them need be too long.
        outage_bound
            .filter(|_| exceeds_outage_bound)
            .or(too_long.map(WaitBound::Reset))
            .or(wall.map(WaitBound::Wall))
            .or(outage_bound)
            .or(reset.map(WaitBound::Reset))
    }
}

impl fmt::Display for WaitBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitBound::Retries(retries) => write!(f, "the limit on retries ({retries})"),
            WaitBound::Outage(limit) => write!(f, "the outage limit ({limit})"),
            WaitBound::Reset(longest) => write!(f, "the longest wait for a reset ({longest})"),
            WaitBound::Wall(limit) => write!(f, "the wall limit ({limit})"),
        }
    }
}
