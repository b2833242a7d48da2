//! When an agent counts as stalled: it was silent for too long and nothing excuses that, or it goes on saying
//! things and finishes none.

use super::{Deadline, DeadlineKind, Phase, Run};
use crate::stall_report::PROBE_TIMEOUT;
use crate::{
    Action, Moment, Policy, ProcessActivity, ProcessState, Record, StallReport, Step, StopCause, StopLevel,
};

impl Run {
    /// When an agent that runs no tool, or that hears of none any more, counts as stalled.
    pub(super) fn stall_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let silent = policy.stall_timeout.map(|limit| {
            let due =
                (self.seen.last_activity_at + limit).max(self.state.stall_deferred_until.unwrap_or_default());
            // Whoever looks has his time, and not more.
            Deadline {
                at: self.seen.probing_since.map_or(due, |since| since + PROBE_TIMEOUT),
                kind: DeadlineKind::Stall,
            }
        });
        // A tool may take its time, even where the agent stands still under it: that is a silence.
        let unfinished = policy.progress_timeout.filter(|_| self.seen.open_tools == 0);
        let unfinished = unfinished
            .map(|limit| Deadline { at: self.seen.last_progress_at + limit, kind: DeadlineKind::NoProgress });
        [silent, unfinished].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// The agent was silent for too long: somebody is to look; or has not come back from looking.
    pub(super) fn on_silence(&mut self, at: Moment, step: &mut Step) {
        if self.seen.probing_since.is_some() {
            return self.stop_stalled_agent(at, StopCause::Stalled, None, step);
        }
        self.seen.probing_since = Some(at);
        step.actions.push(Action::ProbeProcesses);
    }

    /// Somebody looked.
    pub(super) fn examined(
        &mut self,
        policy: &Policy,
        at: Moment,
        signs: Option<ProcessActivity>,
        step: &mut Step,
    ) {
        let works = matches!(self.state.phase, Phase::Running | Phase::Closing { .. });
        // Whoever was heard meanwhile is not silent any more.
        let (true, Some(_)) = (works, self.seen.probing_since.take()) else { return };
        let stall = self.stall_report(at, signs);
        let excused = policy.stall_timeout.and_then(|limit| stall.deferred_until(at, limit));
        match excused.filter(|_| !self.seen.frozen) {
            Some(until) => self.record(step, Record::StallDeferred { at, until, stall }),
            None => self.stop_stalled_agent(at, StopCause::Stalled, signs, step),
        }
    }

    /// Stops an agent of which nothing more is expected.
    pub(super) fn stop_stalled_agent(
        &mut self,
        at: Moment,
        why: StopCause,
        signs: Option<ProcessActivity>,
        step: &mut Step,
    ) {
        let halted = self.seen.frozen || signs.is_some_and(|signs| signs.agent == ProcessState::Frozen);
        // A process that stands still heeds nothing else.
        let level = if halted { StopLevel::Kill } else { StopLevel::Term };
        let stall = Some(self.stall_report(at, signs));
        self.record(step, Record::StopOrdered { at, cause: why, level, stall });
        step.actions.push(Action::Stop(level));
    }

    fn stall_report(&self, at: Moment, signs: Option<ProcessActivity>) -> StallReport {
        StallReport {
            silent_for: at.since(self.seen.last_activity_at),
            no_progress_for: at.since(self.seen.last_progress_at),
            open_tools: self.seen.open_tools,
            processes: signs,
        }
    }
}
