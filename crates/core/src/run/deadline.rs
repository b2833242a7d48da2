//! When a run wants to be ticked next, and why: one moment, no timers kept.

use super::{Phase, Run, Stage};
use crate::{Moment, Policy, Reach, StopLevel};

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
    /// The commands that judge the work have had their time.
    CheckTimeout,
    /// A silent agent counts as stalled, unless something excuses it.
    Stall,
    /// An agent that finishes nothing counts as stalled.
    NoProgress,
    /// The attempt has had its time.
    AttemptTimeout,
    /// A limit of the run is reached, or all of it but what is held back.
    Limit,
    /// Background work has outlived the result for long enough. It is stopped; an agent that is kept going is asked about
    /// it, once.
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
            Phase::Checking { since, stopped: None } => self.check_deadline(policy, *since),
            // A turn that began meanwhile (a background shell ended) is finished like any other.
            Phase::Closing { .. } if self.seen.settled.is_none() => self.live_deadline(policy),
            Phase::Closing { since } => {
                deadline((*since).max(self.seen.alive_at) + policy.linger, Why::Linger)
            }
            Phase::Stopping { since, level: StopLevel::Interrupt, .. } => {
                let graced = deadline(*since + self.stop_grace(policy), Why::StopHarder);
                graced.into_iter().chain(self.limit_deadline(policy)).min_by_key(|deadline| deadline.at)
            }
            Phase::Stopping { since, .. } => deadline(*since + self.stop_grace(policy), Why::StopHarder),
            Phase::Live => self.live_deadline(policy),
            Phase::New
            | Phase::Launching
            | Phase::Condensing { stopped: Some(_), .. }
            | Phase::Checking { stopped: Some(_), .. }
            | Phase::Sweeping { .. }
            | Phase::Suspended { .. }
            | Phase::Over { .. } => None,
        }
    }

    fn live_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let quiet = match self.seen.settled {
            Some((at, _)) if self.seen.background > 0 => self.background_deadline(policy, at),
            // The agent did not say that it is idle; an older one never does.
            Some(_) => Some(Deadline { at: self.seen.alive_at + policy.linger, why: Why::Settle }),
            // A running tool may be silent for as long as it likes, unless nobody waits for it.
            None if self.seen.open_tools > 0 && !self.seen.halted => None,
            None => self.stall_deadline(policy),
        };
        let timeout = policy
            .attempt_timeout
            .map(|timeout| Deadline { at: self.state.attempt_began + timeout, why: Why::AttemptTimeout });
        [quiet, timeout, self.limit_deadline(policy)].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// When background work that has run on since `settled` is asked about or stopped.
    fn background_deadline(&self, policy: &Policy, settled: Moment) -> Option<Deadline> {
        let over = settled + policy.background_wait;
        let at = match self.waits_for_background(policy) {
            true if self.seen.asked => return None,
            true => over,
            false => over.min(self.limit_at(policy, Reach::All).unwrap_or(Moment::MAX)),
        };
        Some(Deadline { at, why: Why::BackgroundOver })
    }

    fn check_deadline(&self, policy: &Policy, since: Moment) -> Option<Deadline> {
        let timeout = policy.check.and_then(|checking| checking.timeout);
        let timeout = timeout.map(|timeout| Deadline { at: since + timeout, why: Why::CheckTimeout });
        let limit = self.limit_at(policy, Reach::All).map(|at| Deadline { at, why: Why::Limit });
        [timeout, limit].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    fn limit_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let at = self.next_reach(policy).and_then(|reach| self.limit_at(policy, reach))?;
        Some(Deadline { at, why: Why::Limit })
    }

    /// How far a limit has to be reached next to decide anything about a turn that is open.
    fn next_reach(&self, policy: &Policy) -> Option<Reach> {
        let live = self.state.phase == Phase::Live;
        let stage = self.state.reached.map(|reached| reached.stage);
        match stage {
            _ if self.seen.settled.is_some() && !self.waits_for_background(policy) => None,
            None if live => Some(Reach::Reserve),
            None | Some(Stage::Due | Stage::Told) => Some(Reach::All),
            Some(Stage::Over) => None,
        }
    }

    /// When a limit on time is reached so far, if the run works on without a pause.
    pub(super) fn limit_at(&self, policy: &Policy, reach: Reach) -> Option<Moment> {
        let clocks = &self.state.clocks;
        let (time, wall) = policy.limits.times_until(policy.wrap_up, reach);
        let wall_from = clocks.started + clocks.over;
        let time_from = wall_from + clocks.waiting + clocks.downtime;
        let moments = [time.map(|span| time_from + span), wall.map(|span| wall_from + span)];
        moments.into_iter().flatten().min()
    }
}
