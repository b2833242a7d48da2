//! When a run wants to be ticked next, and why: one moment, no timers kept.

use super::{Phase, Run, WrapUpStage};
use crate::{LimitThreshold, Moment, Policy, StopLevel};

/// The next moment at which a run has something to decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// When.
    pub at: Moment,
    /// What happens then, for people.
    pub kind: DeadlineKind,
}

/// What happens at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineKind {
    /// The next attempt starts.
    NextAttempt,
    /// The model that condenses older work has had its time.
    SummaryTimeout,
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
    BackgroundTimeout,
    /// An agent that has its result and says nothing more is asked to end.
    IdleAfterResult,
    /// An agent that should have ended by itself is stopped.
    ExitTimeout,
    /// An agent that did not heed a stop is stopped harder.
    EscalateStop,
}

impl Run {
    /// When to tick next, and why; nothing while only the world can go on.
    pub fn deadline(&self, policy: &Policy) -> Option<Deadline> {
        let deadline = |at, why| Some(Deadline { at, kind: why });
        match &self.state.phase {
            Phase::Waiting { until, .. } => deadline(*until, DeadlineKind::NextAttempt),
            Phase::Summarizing { since, stop_cause: None } => {
                deadline(*since + policy.summary_timeout, DeadlineKind::SummaryTimeout)
            }
            Phase::Checking { since, stop_cause: None } => self.check_deadline(policy, *since),
            // A turn that began meanwhile (a background shell ended) is finished like any other.
            Phase::Closing { .. } if self.seen.result.is_none() => self.live_deadline(policy),
            Phase::Closing { since } => deadline(
                (*since).max(self.seen.last_activity_at) + policy.exit_timeout,
                DeadlineKind::ExitTimeout,
            ),
            Phase::Stopping { since, level: StopLevel::Interrupt, .. } => {
                let graced = deadline(*since + self.stop_grace(policy), DeadlineKind::EscalateStop);
                graced.into_iter().chain(self.limit_deadline(policy)).min_by_key(|deadline| deadline.at)
            }
            Phase::Stopping { since, .. } => {
                deadline(*since + self.stop_grace(policy), DeadlineKind::EscalateStop)
            }
            Phase::Running => self.live_deadline(policy),
            Phase::New
            | Phase::Starting
            | Phase::Summarizing { stop_cause: Some(_), .. }
            | Phase::Checking { stop_cause: Some(_), .. }
            | Phase::Sweeping { .. }
            | Phase::Suspended { .. }
            | Phase::Finished { .. } => None,
        }
    }

    fn live_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let quiet = match self.seen.result {
            Some((at, _)) if self.seen.background_tasks > 0 => self.background_deadline(policy, at),
            // The agent did not say that it is idle; an older one never does.
            Some(_) => Some(Deadline {
                at: self.seen.last_activity_at + policy.exit_timeout,
                kind: DeadlineKind::IdleAfterResult,
            }),
            // A running tool may be silent for as long as it likes, unless nobody waits for it.
            None if self.seen.open_tools > 0 && !self.seen.frozen => None,
            None => self.stall_deadline(policy),
        };
        let timeout = policy.attempt_timeout.map(|timeout| Deadline {
            at: self.state.attempt_started_at + timeout,
            kind: DeadlineKind::AttemptTimeout,
        });
        [quiet, timeout, self.limit_deadline(policy)].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// When background work that has run on since `settled` is asked about or stopped.
    fn background_deadline(&self, policy: &Policy, settled: Moment) -> Option<Deadline> {
        let over = settled + policy.background_wait;
        let at = match self.waits_for_background(policy) {
            true if self.seen.background_prompted => return None,
            true => over,
            false => over.min(self.limit_at(policy, LimitThreshold::Exhausted).unwrap_or(Moment::MAX)),
        };
        Some(Deadline { at, kind: DeadlineKind::BackgroundTimeout })
    }

    fn check_deadline(&self, policy: &Policy, since: Moment) -> Option<Deadline> {
        let timeout = policy.check.and_then(|checking| checking.timeout);
        let timeout =
            timeout.map(|timeout| Deadline { at: since + timeout, kind: DeadlineKind::CheckTimeout });
        let limit = self
            .limit_at(policy, LimitThreshold::Exhausted)
            .map(|at| Deadline { at, kind: DeadlineKind::Limit });
        [timeout, limit].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    fn limit_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let at = self.next_reach(policy).and_then(|reach| self.limit_at(policy, reach))?;
        Some(Deadline { at, kind: DeadlineKind::Limit })
    }

    /// How far a limit has to be reached next to decide anything about a turn that is open.
    fn next_reach(&self, policy: &Policy) -> Option<LimitThreshold> {
        let live = self.state.phase == Phase::Running;
        let stage = self.state.limit_state.map(|reached| reached.stage);
        match stage {
            _ if self.seen.result.is_some() && !self.waits_for_background(policy) => None,
            None if live => Some(LimitThreshold::Reserve),
            None | Some(WrapUpStage::Due | WrapUpStage::Requested) => Some(LimitThreshold::Exhausted),
            Some(WrapUpStage::Exhausted) => None,
        }
    }

    /// When a limit on time is reached so far, if the run works on without a pause.
    pub(super) fn limit_at(&self, policy: &Policy, reach: LimitThreshold) -> Option<Moment> {
        let clocks = &self.state.clocks;
        let (time, wall) = policy.limits.time_until(policy.wrap_up, reach);
        let wall_from = clocks.started + clocks.finished;
        let time_from = wall_from + clocks.waiting + clocks.downtime;
        let moments = [time.map(|span| time_from + span), wall.map(|span| wall_from + span)];
        moments.into_iter().flatten().min()
    }
}
