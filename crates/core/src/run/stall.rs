//! When an agent counts as stalled: it was silent for too long and nothing excuses that, or it goes on saying
//! things and finishes none.

use super::{Deadline, Phase, Run, Why};
use crate::silence::EXAMINE_PATIENCE;
use crate::{Action, Moment, Policy, Posture, Record, Signs, Silence, Step, StopLevel, StopWhy};

impl Run {
    /// When an agent that runs no tool, or that hears of none any more, counts as stalled.
    pub(super) fn stall_deadline(&self, policy: &Policy) -> Option<Deadline> {
        let silent = policy.stall_timeout.map(|limit| {
            let due = (self.seen.alive_at + limit).max(self.state.excused_until.unwrap_or_default());
            // Whoever looks has his time, and not more.
            Deadline {
                at: self.seen.examining.map_or(due, |since| since + EXAMINE_PATIENCE),
                why: Why::Stall,
            }
        });
        // A tool may take its time, even where the agent stands still under it: that is a silence.
        let unfinished = policy.progress_timeout.filter(|_| self.seen.open_tools == 0);
        let unfinished =
            unfinished.map(|limit| Deadline { at: self.seen.finished_at + limit, why: Why::NoProgress });
        [silent, unfinished].into_iter().flatten().min_by_key(|deadline| deadline.at)
    }

    /// The agent was silent for too long: somebody is to look; or has not come back from looking.
    pub(super) fn fell_silent(&mut self, at: Moment, step: &mut Step) {
        if self.seen.examining.is_some() {
            return self.stop_stalled(at, StopWhy::Stalled, None, step);
        }
        self.seen.examining = Some(at);
        step.actions.push(Action::Examine);
    }

    /// Somebody looked.
    pub(super) fn examined(&mut self, policy: &Policy, at: Moment, signs: Option<Signs>, step: &mut Step) {
        let works = matches!(self.state.phase, Phase::Live | Phase::Closing { .. });
        // Whoever was heard meanwhile is not silent any more.
        let (true, Some(_)) = (works, self.seen.examining.take()) else { return };
        let silence = self.silence(at, signs);
        let excused = policy.stall_timeout.and_then(|limit| silence.excused_until(at, limit));
        match excused.filter(|_| !self.seen.halted) {
            Some(until) => self.record(step, Record::SilenceExcused { at, until, silence }),
            None => self.stop_stalled(at, StopWhy::Stalled, signs, step),
        }
    }

    /// Stops an agent of which nothing more is expected.
    pub(super) fn stop_stalled(&mut self, at: Moment, why: StopWhy, signs: Option<Signs>, step: &mut Step) {
        let halted = self.seen.halted || signs.is_some_and(|signs| signs.agent == Posture::Halted);
        // A process that stands still heeds nothing else.
        let level = if halted { StopLevel::Kill } else { StopLevel::Term };
        let silence = Some(self.silence(at, signs));
        self.record(step, Record::StopOrdered { at, why, level, silence });
        step.actions.push(Action::Stop(level));
    }

    fn silence(&self, at: Moment, signs: Option<Signs>) -> Silence {
        Silence {
            unheard: at.since(self.seen.alive_at),
            unfinished: at.since(self.seen.finished_at),
            tools: self.seen.open_tools,
            signs,
        }
    }
}
