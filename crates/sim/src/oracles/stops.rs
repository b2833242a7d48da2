//! Checks that stops escalate: one level per grace period, a bounded number of kills, and no stop without a
//! reason.

use super::facts::Facts;
use super::{Oracle, OracleResult, ensure};
use longhaul_core::{CancelSource, Event, Moment, Notice, ProcessState, Record, Span, StopCause, StopLevel};

// A process that survives this many SIGKILLs cannot be stopped.
const KILLS_MAX: u32 = 30;
// Grace period between two stops of a run that is being suspended.
const SUSPEND_GRACE: Span = Span::from_secs(2);

#[derive(Clone, Debug, Default)]
pub(crate) struct StopWatch {
    last: Option<(Moment, StopLevel, StopCause)>,
    kills: u32,
    downtime: Span,
    /// Whether the agent was found frozen, without output since.
    is_frozen: bool,
}

impl StopWatch {
    pub(crate) fn cause(&self) -> Option<StopCause> {
        self.last.map(|(_, _, cause)| cause)
    }

    pub(crate) fn receive(&mut self, event: &Event) {
        if let Event::Noticed(notice) = event {
            self.is_frozen = *notice == Notice::ProcessFrozen;
        }
        if let Event::ProcessesProbed(Some(activity)) = event {
            self.is_frozen = activity.agent == ProcessState::Frozen;
        }
    }

    pub(crate) fn on_record(&mut self, record: &Record, facts: &Facts) -> OracleResult {
        match record {
            // The prompt after the interrupt was sent, so the agent works again.
            Record::AttemptStarted { .. } | Record::PromptSent { .. } => {
                *self = StopWatch::default();
            }
            Record::Downtime { duration: span } => self.downtime = self.downtime + *span,
            Record::StopOrdered { cause, level, .. } => {
                self.check(facts.at, *cause, *level, facts)?;
                self.last = Some((facts.at, *level, *cause));
                self.kills += u32::from(*level == StopLevel::Kill);
                self.downtime = Span::ZERO;
            }
            _ => {}
        }
        ensure(self.kills <= KILLS_MAX, Oracle::Stops, || {
            format!("SIGKILL is sent for the {}th time", self.kills)
        })
    }

    fn check(&self, at: Moment, cause: StopCause, level: StopLevel, facts: &Facts) -> OracleResult {
        ensure(cause != StopCause::Cancelled || facts.cancel.is_some(), Oracle::Cancels, || {
            "a stop for a cancellation that was not requested".to_owned()
        })?;
        let follows = self.last.is_some_and(|(_, _, before)| before == cause);
        ensure(
            cause != StopCause::Suspended || facts.suspending_since.is_some() || follows,
            Oracle::Cancels,
            || "a stop for a suspension without a signal".to_owned(),
        )?;
        let Some((since, before, _)) = self.last else {
            let is_gentle = cause == StopCause::Cancelled && facts.cancel == Some(CancelSource::Person);
            // An agent does not answer an interrupt while only its background work is running.
            let may_be_idle = facts.agent.result.is_some() && facts.agent.shells > 0;
            let first = match cause {
                _ if is_gentle && may_be_idle && level == StopLevel::Term => level,
                _ if is_gentle => StopLevel::Interrupt,
                // The agent must survive to do the wrap-up.
                StopCause::WrapUp => StopLevel::Interrupt,
                // An agent with a result needs no interrupt.
                StopCause::Suspended if level == StopLevel::Interrupt => StopLevel::Interrupt,
                // A frozen process reacts to no other signal.
                StopCause::Stalled | StopCause::NoProgress if self.is_frozen => StopLevel::Kill,
                _ => StopLevel::Term,
            };
            return ensure(level == first, Oracle::Stops, || {
                format!("a stop for {cause:?} starts with {level:?}")
            });
        };
        // The user cancelled again, or an exhausted limit leaves no grace period.
        let is_urgent = matches!(cause, StopCause::Cancelled | StopCause::LimitReached);
        if is_urgent && (before, level) == (StopLevel::Interrupt, StopLevel::Term) {
            return Ok(());
        }
        let next_level = match before {
            StopLevel::Interrupt => StopLevel::Term,
            StopLevel::Term | StopLevel::Kill => StopLevel::Kill,
        };
        let waited = at.since(since);
        let is_timely = match facts.suspending_since {
            None => waited >= facts.policy.stop_grace + self.downtime,
            // A system that shuts down does not wait.
            Some(ordered) => {
                let grace = facts.policy.stop_grace.min(SUSPEND_GRACE);
                waited >= grace + self.downtime && at.since(since.max(ordered)) <= grace + self.downtime
            }
        };
        ensure(level == next_level && is_timely, Oracle::Stops, || {
            format!("{level:?} follows {before:?} after {waited}")
        })
    }
}
