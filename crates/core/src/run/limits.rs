//! What a run does about its limits: when only what is held back is left, the agent's turn is interrupted and it is
//! told to save its work; when nothing is left, the agent is ended.
//!
//! A request is made only while something is left. What it uses beyond that is what the run oversteps its limit by:
//! the answers that are under way at that moment, one unless there are sub-agents.

use super::{Phase, Reached, Run, Stage};
use crate::{
    Ending, Left, Limit, Moment, Outcome, Policy, Reach, Record, Say, SessionPlan, SpawnPlan, Step,
    StopLevel, StopWhy, TurnResult, Used,
};

impl Run {
    /// What the run has used by then.
    pub fn used(&self, at: Moment) -> Used {
        let tally = self.state.tally.plus(self.seen.used);
        let used = Used::of(&tally, (self.state.active(at), self.state.clocks.wall(at)), self.seen.largest());
        // An answer is taken when its tools have ended.
        Used { turns: used.turns - u32::from(self.seen.open_tools > 0 && self.seen.used.turns > 0), ..used }
    }

    /// What is left of the limits.
    pub fn left(&self, policy: &Policy, at: Moment) -> Left {
        policy.limits.left(&self.used(at))
    }

    /// A limit that is reached further than the run has taken in.
    fn limit_ahead(&self, policy: &Policy, at: Moment) -> Option<(Limit, Reach)> {
        let known = self.state.reached.map(|reached| match reached.stage {
            Stage::Due | Stage::Told => Reach::Reserve,
            Stage::Over => Reach::All,
        });
        let ahead = policy.limits.reached(policy.wrap_up, &self.used(at))?;
        (known < Some(ahead.1)).then_some(ahead)
    }

    /// Whether a limit is used up, and that is taken in.
    pub(super) fn has_nothing_left(&self) -> bool {
        self.state.reached.is_some_and(|reached| reached.stage == Stage::Over)
    }

    pub(super) fn take_in(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        if let Some((limit, reach)) = self.limit_ahead(policy, at) {
            self.reach(at, limit, reach, step);
        }
    }

    /// The same, if nothing is left.
    pub(super) fn take_in_the_end(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        if let Some((limit, Reach::All)) = self.limit_ahead(policy, at) {
            self.reach(at, limit, Reach::All, step);
        }
    }

    fn reach(&mut self, at: Moment, limit: Limit, reach: Reach, step: &mut Step) {
        let turns = self.seen.turns;
        self.record(step, Record::LimitReached { at, limit, reach, turns });
    }

    /// Ends the agent's turn, or the agent, if a limit is reached that far.
    pub(super) fn heed_limits(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        let Some((limit, reach)) = self.limit_ahead(policy, at) else { return };
        let live = self.state.phase == Phase::Live;
        match (reach, self.seen.settled) {
            (Reach::Reserve, None) if live => {
                self.reach(at, limit, reach, step);
                self.stop(at, StopWhy::Reserve, StopLevel::Interrupt, step);
            }
            (Reach::All, None) => {
                self.reach(at, limit, reach, step);
                self.stop(at, StopWhy::LimitReached, StopLevel::Term, step);
            }
            // No exchange is open that could be interrupted.
            (Reach::Reserve, Some(_)) if live && self.waits_for_background(policy) => {
                self.reach(at, limit, reach, step);
                self.say(policy, at, Say::WrapUp(limit), step);
            }
            // It has its result, which decides; only what runs in its background uses anything.
            (Reach::All, Some(_)) if self.seen.background > 0 && live => {
                self.stop(at, StopWhy::BackgroundStopped, StopLevel::Term, step);
            }
            (Reach::Reserve | Reach::All, _) => {}
        }
    }

    /// The turn that was interrupted is over: the agent saves its work, or is let go.
    pub(super) fn turn_stopped(
        &mut self,
        policy: &Policy,
        at: Moment,
        (why, result): (StopWhy, TurnResult),
        step: &mut Step,
    ) {
        // A turn that began by itself, when the one before was finished: nothing can be said any more.
        if self.state.input_ended {
            return;
        }
        self.take_in(policy, at, step);
        match self.state.reached {
            // One that was finished, or failed, at the same moment was not interrupted: what follows is decided when the
            // agent is gone.
            Some(Reached { limit, stage: Stage::Due })
                if why == StopWhy::Reserve
                    && self.state.cancel.is_none()
                    && self.state.suspend.is_none()
                    && result.ending == Ending::Aborted =>
            {
                self.say(policy, at, Say::WrapUp(limit), step);
            }
            Some(_) | None => self.end_input(at, step),
        }
    }

    /// The plan of an attempt within the limits: one that begins when only what is held back is left is for saving
    /// the work. Nothing, if there is none to be saved, or nothing is left to do it with: then the run is over.
    pub(super) fn within_limits(
        &mut self,
        policy: &Policy,
        at: Moment,
        plan: SpawnPlan,
        step: &mut Step,
    ) -> Option<SpawnPlan> {
        self.take_in(policy, at, step);
        let say = match self.state.reached {
            None => plan.say,
            Some(Reached { limit, stage: Stage::Due | Stage::Told })
                if matches!(plan.session, SessionPlan::Resume(_)) =>
            {
                Say::WrapUp(limit)
            }
            Some(Reached { limit, .. }) => {
                self.finish(at, Outcome::by_limit(limit, self.state.fault), step);
                return None;
            }
        };
        Some(SpawnPlan { say, left: self.left(policy, at), ..plan })
    }
}
