//! What a run does about its limits: when only what is held back is left, the agent's turn is interrupted and it is
//! told to save its work; when nothing is left, the agent is ended.
//!
//! A request is made only while something is left. What it uses beyond that is what the run oversteps its limit by:
//! the answers that are under way at that moment, one unless there are sub-agents.

use super::{LimitState, Phase, Run, WrapUpStage};
use crate::{
    AgentResult, AttemptPlan, Limit, LimitThreshold, LimitUsage, Moment, Outcome, Policy, PromptKind, Record,
    Remaining, SessionPlan, Step, StopCause, StopLevel, TerminalReason,
};

impl Run {
    /// What the run has used by then.
    pub fn used(&self, at: Moment) -> LimitUsage {
        let usage = self.state.usage.plus(self.seen.usage);
        let used = LimitUsage::new(
            &usage,
            (self.state.active(at), self.state.clocks.wall(at)),
            self.seen.largest_recent_turn(),
        );
        // An answer is taken when its tools have ended.
        LimitUsage {
            turns: used.turns - u32::from(self.seen.open_tools > 0 && self.seen.usage.turns > 0),
            ..used
        }
    }

    /// What is left of the limits.
    pub fn left(&self, policy: &Policy, at: Moment) -> Remaining {
        policy.limits.remaining(&self.used(at))
    }

    /// A limit that is reached further than the run has taken in.
    fn newly_reached_limit(&self, policy: &Policy, at: Moment) -> Option<(Limit, LimitThreshold)> {
        let known = self.state.limit_state.map(|reached| match reached.stage {
            WrapUpStage::Due | WrapUpStage::Requested => LimitThreshold::Reserve,
            WrapUpStage::Exhausted => LimitThreshold::Exhausted,
        });
        let ahead = policy.limits.reached(policy.wrap_up, &self.used(at))?;
        (known < Some(ahead.1)).then_some(ahead)
    }

    /// Whether a limit is used up, and that is taken in.
    pub(super) fn is_exhausted(&self) -> bool {
        self.state.limit_state.is_some_and(|reached| reached.stage == WrapUpStage::Exhausted)
    }

    pub(super) fn record_limit(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        if let Some((limit, reach)) = self.newly_reached_limit(policy, at) {
            self.reach(at, limit, reach, step);
        }
    }

    /// The same, if nothing is left.
    pub(super) fn record_exhausted_limit(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        if let Some((limit, LimitThreshold::Exhausted)) = self.newly_reached_limit(policy, at) {
            self.reach(at, limit, LimitThreshold::Exhausted, step);
        }
    }

    fn reach(&mut self, at: Moment, limit: Limit, reach: LimitThreshold, step: &mut Step) {
        let turns = self.seen.turns;
        self.record(step, Record::LimitReached { at, limit, threshold: reach, results: turns });
    }

    /// Ends the agent's turn, or the agent, if a limit is reached that far.
    pub(super) fn enforce_limits(&mut self, policy: &Policy, at: Moment, step: &mut Step) {
        let Some((limit, reach)) = self.newly_reached_limit(policy, at) else { return };
        let live = self.state.phase == Phase::Running;
        match (reach, self.seen.result) {
            (LimitThreshold::Reserve, None) if live => {
                self.reach(at, limit, reach, step);
                self.stop(at, StopCause::WrapUp, StopLevel::Interrupt, step);
            }
            (LimitThreshold::Exhausted, None) => {
                self.reach(at, limit, reach, step);
                self.stop(at, StopCause::LimitReached, StopLevel::Term, step);
            }
            // No exchange is open that could be interrupted.
            (LimitThreshold::Reserve, Some(_)) if live && self.waits_for_background(policy) => {
                self.reach(at, limit, reach, step);
                self.send_prompt(policy, at, PromptKind::WrapUp(limit), step);
            }
            // It has its result, which decides; only what runs in its background uses anything.
            (LimitThreshold::Exhausted, Some(_)) if self.seen.background_tasks > 0 && live => {
                self.stop(at, StopCause::BackgroundStopped, StopLevel::Term, step);
            }
            (LimitThreshold::Reserve | LimitThreshold::Exhausted, _) => {}
        }
    }

    /// The turn that was interrupted is over: the agent saves its work, or is let go.
    pub(super) fn on_interrupted_exchange_ended(
        &mut self,
        policy: &Policy,
        at: Moment,
        (why, result): (StopCause, AgentResult),
        step: &mut Step,
    ) {
        // A turn that began by itself, when the one before was finished: nothing can be said any more.
        if self.state.input_closed {
            return;
        }
        self.record_limit(policy, at, step);
        match self.state.limit_state {
            // One that was finished, or failed, at the same moment was not interrupted: what follows is decided when the
            // agent is gone.
            Some(LimitState { limit, stage: WrapUpStage::Due })
                if why == StopCause::WrapUp
                    && self.state.cancelled_by.is_none()
                    && self.state.suspend.is_none()
                    && result.terminal_reason == TerminalReason::Aborted =>
            {
                self.send_prompt(policy, at, PromptKind::WrapUp(limit), step);
            }
            Some(_) | None => self.close_input(at, step),
        }
    }

    /// The plan of an attempt within the limits: one that begins when only what is held back is left is for saving
    /// the work. Nothing, if there is none to be saved, or nothing is left to do it with: then the run is over.
    pub(super) fn apply_limits_to_plan(
        &mut self,
        policy: &Policy,
        at: Moment,
        plan: AttemptPlan,
        step: &mut Step,
    ) -> Option<AttemptPlan> {
        self.record_limit(policy, at, step);
        let say = match self.state.limit_state {
            None => plan.prompt,
            Some(LimitState { limit, stage: WrapUpStage::Due | WrapUpStage::Requested })
                if matches!(plan.session, SessionPlan::Resume(_)) =>
            {
                PromptKind::WrapUp(limit)
            }
            Some(LimitState { limit, .. }) => {
                self.finish(at, Outcome::from_limit(limit, self.state.fault), step);
                return None;
            }
        };
        Some(AttemptPlan { prompt: say, remaining: self.left(policy, at), ..plan })
    }
}
