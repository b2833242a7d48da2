//! Determines why a run finished as `retry_later` and did not wait for the API any longer.

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
    /// Returns the bound for a run that finished as `retry_later`. `None` for other runs, and if a reviewer waited.
    pub fn from_state(state: &State, policy: &Policy) -> Option<WaitBound> {
        let outcome = state.outcome().filter(|outcome| outcome.kind == OutcomeKind::RetryLater)?;
        let (fault, retry_at) = outcome.fault.zip(outcome.retry_at)?;
        if state.no_verdict.is_some() {
            return None;
        }
        let finished_at = state.finished_at;
        // The conditions and their order are those of the decision after the last attempt.
        let is_outage = remedy(fault) == Remedy::WaitOut;
        if is_outage {
            let retries = state.failures_since_progress + state.outage_waits;
            let outage = retry_at.since(state.outage_started_at.unwrap_or(finished_at));
            match policy.outage_bound {
                OutageBound::Retries if retries >= policy.retries_max => {
                    return Some(WaitBound::Retries(policy.retries_max));
                }
                OutageBound::Time(Some(limit)) if outage > limit => return Some(WaitBound::Outage(limit)),
                OutageBound::Retries | OutageBound::Time(_) => {}
            }
        }
        let reset = policy.max_reset_wait;
        let wall = policy.limits.wall.filter(|wall| state.clocks.wall(retry_at) >= *wall);
        let too_long = reset.filter(|longest| retry_at.since(finished_at) > *longest);
        // Waits for an unknown reset are bounded together, so none of them need be too long.
        let together = reset.filter(|_| !is_outage);
        too_long.map(WaitBound::Reset).or(wall.map(WaitBound::Wall)).or(together.map(WaitBound::Reset))
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
