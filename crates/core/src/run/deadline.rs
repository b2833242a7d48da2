//! When a run wants to be ticked next, and why: one moment, no timers kept.

use super::{Phase, Run};
use crate::{Moment, Policy};

/// The next moment at which a run has something to decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// When.
    pub at: Moment,
    /// What happens then, for people.
    pub why: Why,
}

/// What happens at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The next attempt starts.
    NextAttempt,
    /// The model that condenses older work has had its time.
    CondenseTimeout,
    /// A silent agent counts as stalled.
    Stall,
    /// The attempt has had its time.
    AttemptTimeout,
    /// Background work has outlived the result for long enough.
    BackgroundOver,
    /// An agent that has its result and says nothing more is asked to end.
    Settle,
    /// An agent that should have ended by itself is stopped.
    Linger,
    /// An agent that did not heed a stop is stopped harder.
    StopHarder,
}

impl Run {
    /// When to tick next, and why; nothing while only the world can go on.
    pub fn deadline(&self, policy: &Policy) -> Option<Deadline> {
        let deadline = |at, why| Some(Deadline { at, why });
        match &self.state.phase {
            Phase::Waiting { until, .. } => deadline(*until, Why::NextAttempt),
            Phase::Condensing { since, stopped: None } => {
                deadline(*since + policy.condense_timeout, Why::CondenseTimeout)
            }
            // A turn that began meanwhile (a background shell ended) is finished like any other.
            Phase::Closing { .. } if self.seen.settled.is_none() => self.live_deadline(policy),
            Phase::Closing { since } => {
                deadline((*since).max(self.seen.alive_at) + policy.linger, Why::Linger)
            }
            Phase::Stopping { since, .. } => deadline(*since + policy.stop_grace, Why::StopHarder),
            Phase::Live => self.live_deadline(policy),
            Phase::New
            | Phase::Launching
            | Phase::Condensing { stopped: Some(_), .. }
            | Phase::Sweeping { .. }
            | Phase::Over { .. } => None,
        }
    }

    fn live_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let quiet = match self.seen.settled {
            Some((at, _)) if self.seen.background > 0 => {
                Some(Deadline { at: at + policy.background_wait, why: Why::BackgroundOver })
            }
            // The agent did not say that it is idle; an older one never does.
            Some(_) => Some(Deadline { at: self.seen.alive_at + policy.linger, why: Why::Settle }),
            // A running tool may be silent for as long as it likes, unless nobody waits for it.
            None if self.seen.open_tools > 0 && !self.seen.halted => None,
            None => {
                policy.stall_timeout.map(|stall| Deadline { at: self.seen.alive_at + stall, why: Why::Stall })
            }
        };
        let timeout = policy
            .attempt_timeout
            .map(|timeout| Deadline { at: self.state.attempt_began + timeout, why: Why::AttemptTimeout });
        [quiet, timeout].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }
}
