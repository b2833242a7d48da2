//! Whether stops escalate as they should: one level a grace period, kills bounded, and none
//! without a reason.

use super::{Oracle, OracleResult, ensure};
use longhaul_core::{
    CancelSource, Event, Moment, Notice, Policy, ProcessState, Record, Span, StopCause, StopLevel,
};

// A process that outlives so many SIGKILLs cannot be ended by us.
const KILLS_MAX: u32 = 3;
// The grace between two stops of a run that is being suspended.
const SUSPEND_GRACE: Span = Span::from_secs(2);

/// The stops of the present attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopWatch {
    last: Option<(Moment, StopLevel, StopCause)>,
    kills: u32,
    slept: Span,
    /// The run is being suspended since then.
    suspending: Option<Moment>,
    /// Whether the agent's process was seen to stand still, and nothing was heard of it since.
    halted: bool,
    /// When somebody looked last and found it standing still.
    found_halted: Option<Moment>,
}

impl StopWatch {
    /// Why the present attempt is being stopped, if it is.
    pub(crate) fn why(&self) -> Option<StopCause> {
        self.last.map(|(_, _, why)| why)
    }

    /// Takes in an event before the run does.
    pub(crate) fn hear(&mut self, now: Moment, event: &Event) {
        if let Event::Noticed(notice) = event {
            self.halted = *notice == Notice::ProcessFrozen;
        }
        if let Event::ProcessesProbed(Some(signs)) = event {
            self.found_halted = (signs.agent == ProcessState::Frozen).then_some(now);
        }
    }

    pub(crate) fn take(
        &mut self,
        record: &Record,
        policy: &Policy,
        cancel: Option<CancelSource>,
    ) -> OracleResult {
        match record {
            // What it was interrupted for is said: it works again.
            Record::AttemptStarted { .. } | Record::PromptSent { .. } => {
                *self = StopWatch { suspending: self.suspending, ..StopWatch::default() };
            }
            Record::SuspendOrdered { at, .. } => self.suspending = Some(*at),
            Record::Recovered { .. } | Record::CancelRequested { .. } | Record::RunReopened { .. } => {
                self.suspending = None;
            }
            Record::Downtime { duration: span } => self.slept = self.slept + *span,
            Record::StopOrdered { at, cause: why, level, .. } => {
                self.check(*at, *why, *level, policy, cancel)?;
                self.last = Some((*at, *level, *why));
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
        why: StopCause,
        level: StopLevel,
        policy: &Policy,
        cancel: Option<CancelSource>,
    ) -> OracleResult {
        ensure(why != StopCause::Cancelled || cancel.is_some(), Oracle::Cancels, || {
            "a stop for a cancel that nobody asked for".to_owned()
        })?;
        let follows = self.last.is_some_and(|(_, _, before)| before == why);
        ensure(why != StopCause::Suspended || self.suspending.is_some() || follows, Oracle::Cancels, || {
            "a stop for a suspension without a signal".to_owned()
        })?;
        let Some((since, before, _)) = self.last else {
            let gentle = why == StopCause::Cancelled && cancel == Some(CancelSource::Person);
            let first = match why {
                _ if gentle => StopLevel::Interrupt,
                // It is to save its work, and must live for that.
                StopCause::WrapUp => StopLevel::Interrupt,
                // One that has its result needs no interrupt.
                StopCause::Suspended if level == StopLevel::Interrupt => StopLevel::Interrupt,
                // It would take no other signal.
                StopCause::Stalled if self.halted || self.found_halted == Some(at) => StopLevel::Kill,
                StopCause::NoProgress if self.halted => StopLevel::Kill,
                _ => StopLevel::Term,
            };
            return ensure(level == first, Oracle::Stops, || format!("{why:?} begins with {level:?}"));
        };
        if why == StopCause::Cancelled && before == StopLevel::Interrupt && level == StopLevel::Term {
            // Somebody was impatient: the next level at once.
            return Ok(());
        }
        if why == StopCause::LimitReached && before == StopLevel::Interrupt && level == StopLevel::Term {
            // Nothing is left to wait with.
            return Ok(());
        }
        let harder = match before {
            StopLevel::Interrupt => StopLevel::Term,
            StopLevel::Term | StopLevel::Kill => StopLevel::Kill,
        };
        let waited = at.since(since);
        let graced = match self.suspending {
            None => waited >= policy.stop_grace + self.slept,
            // A system that shuts down does not wait.
            Some(ordered) => {
                let grace = policy.stop_grace.min(SUSPEND_GRACE);
                waited >= grace + self.slept && at.since(since.max(ordered)) <= grace + self.slept
            }
        };
        ensure(level == harder && graced, Oracle::Stops, || format!("{level:?} {waited} after {before:?}"))
    }
}
