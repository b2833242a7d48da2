//! Checks that stops escalate: one level per grace period, a bounded number of kills, and no stop without a
//! reason.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    CancelSource, Event, Moment, Notice, Policy, ProcessState, Record, Span, StopCause, StopLevel,
};

// A process that survives this many SIGKILLs cannot be stopped.
const KILLS_MAX: u32 = 3;
// Grace period between two stops of a run that is being suspended.
const SUSPEND_GRACE: Span = Span::from_secs(2);

/// The stops of the current attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopWatch {
    last: Option<(Moment, StopLevel, StopCause)>,
    kills: u32,
    slept: Span,
    /// When the suspension of the run was ordered.
    suspending: Option<Moment>,
    /// Whether the agent was seen frozen, without output since.
    is_frozen: bool,
    /// When a probe last found the agent frozen.
    frozen_at: Option<Moment>,
}

impl StopWatch {
    /// Returns why the current attempt is being stopped, or `None` if it is not.
    pub(crate) fn cause(&self) -> Option<StopCause> {
        self.last.map(|(_, _, cause)| cause)
    }

    /// Receives an event before the run does.
    pub(crate) fn receive(&mut self, now: Moment, event: &Event) {
        if let Event::Noticed(notice) = event {
            self.is_frozen = *notice == Notice::ProcessFrozen;
        }
        if let Event::ProcessesProbed(Some(activity)) = event {
            self.frozen_at = (activity.agent == ProcessState::Frozen).then_some(now);
        }
    }

    pub(crate) fn take(
        &mut self,
        record: &Record,
        policy: &Policy,
        cancel: Option<CancelSource>,
    ) -> OracleResult {
        match record {
            // The prompt after the interrupt was sent, so the agent works again.
            Record::AttemptStarted { .. } | Record::PromptSent { .. } => {
                *self = StopWatch { suspending: self.suspending, ..StopWatch::default() };
            }
            Record::SuspendOrdered { at, .. } => self.suspending = Some(*at),
            Record::Recovered { .. } | Record::CancelRequested { .. } | Record::RunReopened { .. } => {
                self.suspending = None;
            }
            Record::Downtime { duration: span } => self.slept = self.slept + *span,
            Record::StopOrdered { at, cause, level, .. } => {
                self.check(*at, *cause, *level, policy, cancel)?;
                self.last = Some((*at, *level, *cause));
                self.kills += u32::from(*level == StopLevel::Kill);
                self.slept = Span::ZERO;
            }
            Record::RunStarted { .. }
            | Record::ResumeStrategyChosen { .. }
            | Record::SummaryStarted { .. }
            | Record::SummaryStopOrdered { .. }
            | Record::SummaryEnded { .. }
            | Record::AttemptSpawned { .. }
            | Record::SessionOpened { .. }
            | Record::ProgressMade { .. }
            | Record::LimitReached { .. }
            | Record::CheckStarted { .. }
            | Record::CheckStopOrdered { .. }
            | Record::AgentStopped { .. }
            | Record::CheckEnded { .. }
            | Record::InputClosed { .. }
            | Record::StallDeferred { .. }
            | Record::AttemptEnded { .. }
            | Record::Swept { .. }
            | Record::Suspended { .. }
            | Record::RunFinished { .. } => {}
        }
        ensure(self.kills <= KILLS_MAX, Oracle::Stops, || format!("kill number {}", self.kills))
    }

    fn check(
        &self,
        at: Moment,
        cause: StopCause,
        level: StopLevel,
        policy: &Policy,
        cancel: Option<CancelSource>,
    ) -> OracleResult {
        ensure(cause != StopCause::Cancelled || cancel.is_some(), Oracle::Cancels, || {
            "a stop for a cancel that was not requested".to_owned()
        })?;
        let follows = self.last.is_some_and(|(_, _, before)| before == cause);
        ensure(
            cause != StopCause::Suspended || self.suspending.is_some() || follows,
            Oracle::Cancels,
            || "a stop for a suspension without a signal".to_owned(),
        )?;
        let Some((since, before, _)) = self.last else {
            let is_gentle = cause == StopCause::Cancelled && cancel == Some(CancelSource::Person);
            let first = match cause {
                _ if is_gentle => StopLevel::Interrupt,
                // The agent must survive to do the wrap-up.
                StopCause::WrapUp => StopLevel::Interrupt,
                // An agent with a result needs no interrupt.
                StopCause::Suspended if level == StopLevel::Interrupt => StopLevel::Interrupt,
                // A frozen process reacts to no other signal.
                StopCause::Stalled if self.is_frozen || self.frozen_at == Some(at) => StopLevel::Kill,
                StopCause::NoProgress if self.is_frozen => StopLevel::Kill,
                _ => StopLevel::Term,
            };
            return ensure(level == first, Oracle::Stops, || format!("{cause:?} begins with {level:?}"));
        };
        if cause == StopCause::Cancelled && before == StopLevel::Interrupt && level == StopLevel::Term {
            // The user cancelled again: the next level follows immediately.
            return Ok(());
        }
        if cause == StopCause::LimitReached && before == StopLevel::Interrupt && level == StopLevel::Term {
            // The limit leaves no time to wait.
            return Ok(());
        }
        let next_level = match before {
            StopLevel::Interrupt => StopLevel::Term,
            StopLevel::Term | StopLevel::Kill => StopLevel::Kill,
        };
        let waited = at.since(since);
        let is_timely = match self.suspending {
            None => waited >= policy.stop_grace + self.slept,
            // A system that shuts down does not wait.
            Some(ordered) => {
                let grace = policy.stop_grace.min(SUSPEND_GRACE);
                waited >= grace + self.slept && at.since(since.max(ordered)) <= grace + self.slept
            }
        };
        ensure(level == next_level && is_timely, Oracle::Stops, || {
            format!("{level:?} {waited} after {before:?}")
        })
    }
}
