//! Computes when a run must be ticked next, and why. This module keeps no timers.

use super::{AfterWait, Phase, Run, WrapUpStage};
use crate::{CheckStage, LimitThreshold, Moment, Policy, Span, StopLevel, words::stored_enum};

/// The next moment at which a run, or a workflow, makes a decision on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline<K = DeadlineKind> {
    /// Time of the deadline.
    pub at: Moment,
    /// Event at the deadline, also shown to people.
    pub kind: K,
}

stored_enum! {
    /// The event at a deadline.
    pub enum DeadlineKind {
        /// The next attempt starts.
        NextAttempt = "next_attempt",
        /// The summary times out.
        SummaryTimeout = "summary_timeout",
        /// The commands of the check time out.
        CheckTimeout = "check_timeout",
        /// The reviewer times out.
        ReviewTimeout = "review_timeout",
        /// The reviewer starts again.
        NextReview = "next_review",
        /// A silent agent counts as stalled, unless its processes are busy.
        Stall = "stall",
        /// An agent that completes nothing counts as stalled.
        NoProgress = "no_progress",
        /// The attempt times out.
        AttemptTimeout = "attempt_timeout",
        /// A limit of the run reaches its reserve or is exhausted.
        Limit = "limit",
        /// Background commands have outlived the result for too long. They are stopped, or, with keep-going, the
        /// agent is prompted about them, once.
        BackgroundTimeout = "background_timeout",
        /// The agent returned its result and is silent, so its input is closed.
        IdleAfterResult = "idle_after_result",
        /// An agent that did not exit on its own is stopped.
        ExitTimeout = "exit_timeout",
        /// An agent that did not react to a stop is stopped harder.
        EscalateStop = "escalate_stop",
    }
}

impl Run {
    /// Returns the next deadline, or `None` if only an event from outside can continue the run.
    pub fn deadline(&self, policy: &Policy) -> Option<Deadline> {
        let deadline = |at, kind| Some(Deadline { at, kind });
        match &self.state.phase {
            Phase::Waiting { until, next: AfterWait::Attempt(_), .. } => {
                deadline(*until, DeadlineKind::NextAttempt)
            }
            Phase::Waiting { until, next: AfterWait::Review(_), .. } => {
                deadline(*until, DeadlineKind::NextReview)
            }
            Phase::Summarizing { since, stop_cause: None } => {
                let timeout = policy.handoff_summary.as_ref().map_or(Span::ZERO, |summary| summary.timeout);
                deadline(*since + timeout, DeadlineKind::SummaryTimeout)
            }
            Phase::Checking { since, stage, stop_cause: None } => self.check_deadline(policy, *since, *stage),
            // An exchange that started meanwhile (a background shell ended) is completed like any other.
            Phase::Closing { .. } if self.observations.result.is_none() || self.waits_for_sub_agents() => {
                self.live_deadline(policy)
            }
            Phase::Closing { since } => deadline(
                (*since).max(self.observations.last_activity_at) + policy.exit_timeout,
                DeadlineKind::ExitTimeout,
            ),
            Phase::Stopping { since, level: StopLevel::Interrupt, .. } => {
                let escalation = deadline(*since + self.stop_grace(policy), DeadlineKind::EscalateStop);
                escalation.into_iter().chain(self.limit_deadline(policy)).min_by_key(|deadline| deadline.at)
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
        let idle = match self.observations.result {
            Some(_) if self.waits_for_sub_agents() => self.stall_deadline(policy),
            Some((at, _)) if self.observations.background_tasks > 0 => self.background_deadline(policy, at),
            // The agent did not report that it is idle; older versions never do.
            Some(_) => Some(Deadline {
                at: self.observations.last_activity_at + policy.exit_timeout,
                kind: DeadlineKind::IdleAfterResult,
            }),
            // A running tool may be silent for any time, unless the agent that waits for it is frozen.
            None if self.observations.open_tools > 0 && !self.observations.frozen => None,
            None => self.stall_deadline(policy),
        };
        let timeout = policy.attempt_timeout.map(|timeout| Deadline {
            at: self.state.attempt_started_at + timeout,
            kind: DeadlineKind::AttemptTimeout,
        });
        [idle, timeout, self.limit_deadline(policy)].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// Returns the deadline of background work that outlived the result of `result_at`.
    fn background_deadline(&self, policy: &Policy, result_at: Moment) -> Option<Deadline> {
        let end = result_at + policy.background_wait;
        // Without a limit of time, only the agent can end the wait. It is asked again and again.
        let ends_by_time = policy.limits.time.or(policy.limits.wall).or(policy.attempt_timeout).is_some();
        let at = match self.waits_for_background(policy) {
            true if self.observations.background_prompted && ends_by_time => return None,
            true => end,
            // The agent has saved its work.
            false if self.state.limit_state.is_some() && self.has_new_result() => result_at,
            false => end.min(self.limit_at(policy, LimitThreshold::Exhausted).unwrap_or(Moment::MAX)),
        };
        Some(Deadline { at, kind: DeadlineKind::BackgroundTimeout })
    }

    fn check_deadline(&self, policy: &Policy, since: Moment, stage: CheckStage) -> Option<Deadline> {
        let checks = policy.checks.as_ref();
        let (timeout, kind) = match stage {
            CheckStage::Commands => (checks.and_then(|checks| checks.timeout), DeadlineKind::CheckTimeout),
            CheckStage::Review => {
                let review = checks.and_then(|checks| checks.review.as_ref());
                (review.map(|review| review.timeout), DeadlineKind::ReviewTimeout)
            }
        };
        let timeout = timeout.map(|timeout| Deadline { at: since + timeout, kind });
        let limit = self
            .limit_at(policy, LimitThreshold::Exhausted)
            .map(|at| Deadline { at, kind: DeadlineKind::Limit });
        [timeout, limit].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    fn limit_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let at = self.next_threshold(policy).and_then(|threshold| self.limit_at(policy, threshold))?;
        Some(Deadline { at, kind: DeadlineKind::Limit })
    }

    /// Returns the threshold of a limit that affects an open exchange next.
    fn next_threshold(&self, policy: &Policy) -> Option<LimitThreshold> {
        let is_running = self.state.phase == Phase::Running;
        let stage = self.state.limit_state.map(|reached| reached.stage);
        match stage {
            _ if self.observations.result.is_some() && !self.waits_for_background(policy) => None,
            None if is_running => Some(LimitThreshold::Reserve),
            None | Some(WrapUpStage::Due | WrapUpStage::Requested) => Some(LimitThreshold::Exhausted),
            Some(WrapUpStage::Exhausted) => None,
        }
    }

    /// Returns when a time limit reaches the threshold if the run works without a pause.
    pub(super) fn limit_at(&self, policy: &Policy, threshold: LimitThreshold) -> Option<Moment> {
        let clocks = &self.state.clocks;
        let (time, wall) = policy.limits.time_until(policy.wrap_up, threshold);
        let wall_from = clocks.started + clocks.finished;
        let time_from = wall_from + clocks.waiting + clocks.downtime;
        let moments = [time.map(|span| time_from + span), wall.map(|span| wall_from + span)];
        moments.into_iter().flatten().min()
    }
}
