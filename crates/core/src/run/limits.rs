//! Enforces the limits of a run: interrupts the exchange at the reserve so that the agent saves its work, and
//! stops the agent when a limit is exhausted.
//!
//! A request is sent only while something remains. A limit is exceeded by at most the responses in flight:
//! one for the agent and one for each sub-agent.

use super::{LimitState, Phase, Run, WrapUpStage};
use crate::{
    AgentResult, AttemptPlan, Limit, LimitThreshold, LimitUsage, Moment, Outcome, Policy, PromptKind, Record,
    Remaining, SessionPlan, Span, StopCause, StopLevel, TerminalReason,
};

impl Run {
    /// Returns the run's usage until `at`, including that of the running attempt.
    pub fn limit_usage(&self, at: Moment) -> LimitUsage {
        let largest_turn = self.observations.largest_recent_turn();
        let used = self.state.limit_usage(at, self.observations.usage, largest_turn);
        let open_turns = u32::from(self.observations.turn_is_open && self.observations.usage.turns > 0);
        LimitUsage { turns: used.turns - open_turns, ..used }
    }

    /// Returns the remaining amounts of the limits.
    pub fn remaining(&self, policy: &Policy, at: Moment) -> Remaining {
        policy.limits.remaining(&self.limit_usage(at))
    }

    /// Returns a reached limit whose threshold is beyond the recorded one.
    fn newly_reached_limit(&self, policy: &Policy, used: &LimitUsage) -> Option<(Limit, LimitThreshold)> {
        let recorded = self.state.limit_state.map(|reached| match reached.stage {
            WrapUpStage::Due | WrapUpStage::Requested => LimitThreshold::Reserve,
            WrapUpStage::Exhausted => LimitThreshold::Exhausted,
        });
        let reached = policy.limits.reached(policy.wrap_up, used)?;
        (recorded < Some(reached.1)).then_some(reached)
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.state.limit_state.is_some_and(|reached| reached.stage == WrapUpStage::Exhausted)
    }

    pub(super) fn record_limit(&mut self, policy: &Policy, at: Moment) {
        if let Some((limit, threshold)) = self.newly_reached_limit(policy, &self.limit_usage(at)) {
            self.record_threshold(at, limit, threshold);
        }
    }

    pub(super) fn record_exhausted_limit(&mut self, policy: &Policy, at: Moment) {
        let reached = self.newly_reached_limit(policy, &self.limit_usage(at));
        if let Some((limit, LimitThreshold::Exhausted)) = reached {
            self.record_threshold(at, limit, LimitThreshold::Exhausted);
        }
    }

    fn record_threshold(&mut self, at: Moment, limit: Limit, threshold: LimitThreshold) {
        let results = self.observations.results;
        self.record(at, Record::LimitReached { limit, threshold, results });
    }

    /// Interrupts the exchange at the reserve; stops the agent when the limit is exhausted.
    pub(super) fn enforce_limits(&mut self, policy: &Policy, at: Moment) {
        self.enforce(policy, at, &self.limit_usage(at));
    }

    /// Enforces the limits that output uses up. Time limits are enforced at their deadline, once all output is
    /// read: after a takeover, it may contain a result that was written in time.
    pub(super) fn enforce_usage_limits(&mut self, policy: &Policy, at: Moment) {
        let used = LimitUsage { time: Span::ZERO, wall: Span::ZERO, ..self.limit_usage(at) };
        self.enforce(policy, at, &used);
    }

    fn enforce(&mut self, policy: &Policy, at: Moment, used: &LimitUsage) {
        let Some((limit, threshold)) = self.newly_reached_limit(policy, used) else { return };
        let is_running = self.state.phase == Phase::Running;
        match (threshold, self.observations.result) {
            (LimitThreshold::Reserve, None) if is_running => {
                self.record_threshold(at, limit, threshold);
                self.stop(at, StopCause::WrapUp, StopLevel::Interrupt);
            }
            // The agent's result decides nothing while its sub-agents work.
            (LimitThreshold::Exhausted, result) if result.is_none() || self.waits_for_sub_agents() => {
                self.record_threshold(at, limit, threshold);
                self.stop(at, StopCause::LimitReached, StopLevel::Term);
            }
            // No exchange is open that could be interrupted.
            (LimitThreshold::Reserve, Some(_)) if is_running && self.waits_for_background(policy) => {
                self.record_threshold(at, limit, threshold);
                self.send_prompt(policy, at, PromptKind::WrapUp(limit));
            }
            // The agent's result decides; only its background commands still use anything.
            (LimitThreshold::Exhausted, Some(_)) if self.observations.background_tasks > 0 && is_running => {
                self.stop(at, StopCause::BackgroundStopped, StopLevel::Term);
            }
            (LimitThreshold::Reserve | LimitThreshold::Exhausted, _) => {}
        }
    }

    /// Asks the agent to save its work after an interrupted exchange, or closes its input.
    pub(super) fn on_interrupted_exchange_ended(
        &mut self,
        policy: &Policy,
        at: Moment,
        cause: StopCause,
        result: AgentResult,
    ) {
        // The exchange started on its own after the previous one, and the input is closed: no prompt can be
        // sent.
        if self.state.input_closed {
            return;
        }
        self.record_limit(policy, at);
        match self.state.limit_state {
            // An exchange that ended on its own at the same moment was not interrupted. The next step is
            // decided once the agent is gone.
            Some(LimitState { limit, stage: WrapUpStage::Due })
                if cause == StopCause::WrapUp
                    && self.state.cancelled_by.is_none()
                    && self.state.suspended_by.is_none()
                    && result.terminal_reason == TerminalReason::Aborted =>
            {
                self.send_prompt(policy, at, PromptKind::WrapUp(limit));
            }
            Some(_) | None => self.close_input(at),
        }
    }

    /// Applies the limits to a plan. At the reserve, the attempt becomes a wrap-up. Finishes the run and
    /// returns `None` if a limit is exhausted or there is no session to save.
    pub(super) fn apply_limits_to_plan(
        &mut self,
        policy: &Policy,
        at: Moment,
        plan: AttemptPlan,
    ) -> Option<AttemptPlan> {
        self.record_limit(policy, at);
        let prompt = match self.state.limit_state {
            None => plan.prompt,
            Some(LimitState { limit, stage: WrapUpStage::Due | WrapUpStage::Requested })
                if matches!(plan.session, SessionPlan::Resume(_)) =>
            {
                PromptKind::WrapUp(limit)
            }
            Some(LimitState { limit, .. }) => {
                self.finish(at, Outcome::from_limit(limit, self.state.fault));
                return None;
            }
        };
        Some(AttemptPlan { prompt, remaining: self.remaining(policy, at), ..plan })
    }
}
