//! Handles an agent that stops on its own in a run with keep-going.
//!
//! The run prompts the agent to continue in its open session. It stops prompting when the agent claims twice
//! in a row that the work is done, or when nothing changes anymore.

use super::{LimitState, Observations, Run, WrapUpStage};
use crate::classify::classify_reported_success;
use crate::{
    Action, AfterAttempt, AgentResult, Evidence, Fault, KeepGoing, KeepGoingPrompt, LimitThreshold,
    LimitUsage, Moment, Now, Outcome, OutcomeKind, Policy, PromptKind, Record, Remedy, SessionPlan,
};

// After the first claim, the agent is asked to confirm it.
const DONE_CLAIMS_REQUIRED: u32 = 2;

enum AfterStop {
    /// The agent confirmed that the work is done.
    Finished,
    /// The agent stops repeatedly without changing anything.
    Idle,
    /// The run sends this prompt to the agent.
    Prompt(PromptKind),
}

impl Run {
    /// Prompts an agent that stopped on its own, with no exchange open, to continue. Returns `false` if
    /// keep-going does not apply or the run does not continue.
    pub(super) fn keep_going(&mut self, policy: &Policy, at: Moment) -> bool {
        let ended_well = self.observations.result.is_some_and(|(_, result)| ended_well(policy, &result));
        let Some(keep_going) = keep_going_policy(policy).filter(|_| ended_well && self.may_continue()) else {
            return false;
        };
        let Observations {
            claimed_done,
            workspace: workspace_fingerprint,
            results,
            background_tasks: background,
            ..
        } = self.observations;
        self.record(at, Record::AgentStopped { claimed_done, workspace_fingerprint, results, background });
        let used = self.limit_usage(at);
        let AfterStop::Prompt(prompt) = self.after_stop(policy, keep_going, at, &used) else { return false };
        self.record_limit(policy, at);
        let prompt = match self.state.limit_state {
            None => prompt,
            Some(LimitState { limit, stage: WrapUpStage::Due }) => PromptKind::WrapUp(limit),
            Some(_) => return false,
        };
        self.send_prompt(policy, at, prompt);
        true
    }

    /// Returns the step after an attempt that succeeded and stopped on its own, or `None` if keep-going does
    /// not apply.
    pub(super) fn after_agent_stop(
        &mut self,
        policy: &Policy,
        now: Now,
        evidence: &Evidence,
        fault: Option<Fault>,
    ) -> Option<AfterAttempt> {
        let is_wrapping_up = self.state.limit_state.is_some_and(|reached| reached.stage != WrapUpStage::Due);
        let keep_going =
            keep_going_policy(policy).filter(|_| !is_wrapping_up && is_acceptable(policy, fault))?;
        // A stop that was handled while the agent was running is not handled again.
        let Evidence { claimed_done, workspace_fingerprint, results, .. } = *evidence;
        if results > self.state.results_before {
            let background = 0;
            self.record(
                now.at,
                Record::AgentStopped { claimed_done, workspace_fingerprint, results, background },
            );
        }
        // The agent may have run without a supervisor, so its usage comes from the evidence.
        let used = self.state.limit_usage(now.at, evidence.usage, self.observations.largest_recent_turn());
        match (self.after_stop(policy, keep_going, now.at, &used), self.state.cancelled_by) {
            (AfterStop::Finished, _) => None,
            (AfterStop::Idle | AfterStop::Prompt(_), Some(source)) => {
                Some(AfterAttempt::Finish(Outcome::cancelled(source)))
            }
            (AfterStop::Idle, None) => {
                Some(AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::Failed, Fault::Unfinished)))
            }
            (AfterStop::Prompt(prompt), None) => Some(self.next_attempt_with(policy, now.at, prompt, &used)),
        }
    }

    /// Plans an attempt that sends the prompt in the same session, or a wrap-up prompt if a limit is reached.
    fn next_attempt_with(
        &self,
        policy: &Policy,
        at: Moment,
        prompt: PromptKind,
        used: &LimitUsage,
    ) -> AfterAttempt {
        let reached = policy.limits.reached(policy.wrap_up, used);
        let prompt = match (reached, self.state.limit_state) {
            (Some((limit, LimitThreshold::Exhausted)), _) => {
                return AfterAttempt::Finish(Outcome::from_limit(limit, None));
            }
            (_, Some(LimitState { limit, .. })) => PromptKind::WrapUp(limit),
            (Some((_, LimitThreshold::Reserve)) | None, None) => prompt,
        };
        let Some(session) = self.state.session.clone() else {
            return AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::Failed, Fault::SessionLost));
        };
        let plan = self.state.next_plan(SessionPlan::Resume(session), prompt);
        AfterAttempt::Attempt { at, remedy: Remedy::KeepGoing, plan }
    }

    /// Returns whether the run waits for sub-agents in the background. They work like the agent itself, so the
    /// same timeouts and limits apply.
    pub(super) fn waits_for_sub_agents(&self) -> bool {
        self.observations.sub_agents > 0 && !self.observations.claimed_done && self.may_continue()
    }

    /// Returns whether the wait for background work counts as work, so that only a limit bounds it. That is
    /// the case for sub-agents, and with keep-going if the agent ended its exchange well and does not claim that
    /// the work is done.
    pub(super) fn waits_for_background(&self, policy: &Policy) -> bool {
        if self.waits_for_sub_agents() {
            return true;
        }
        let Observations { background_tasks: background, claimed_done, result, .. } = self.observations;
        let ended_well = result.is_some_and(|(_, result)| ended_well(policy, &result));
        background > 0
            && ended_well
            && !claimed_done
            && keep_going_policy(policy).is_some()
            && self.may_continue()
    }

    fn may_continue(&self) -> bool {
        self.state.cancelled_by.is_none()
            && self.state.suspended_by.is_none()
            && self.state.limit_state.is_none()
    }

    fn after_stop(
        &self,
        policy: &Policy,
        keep_going: &KeepGoing,
        at: Moment,
        used: &LimitUsage,
    ) -> AfterStop {
        let state = &self.state;
        match state.done_claims {
            DONE_CLAIMS_REQUIRED.. => AfterStop::Finished,
            1 => AfterStop::Prompt(PromptKind::ConfirmDone),
            _ if state.idle_stops >= keep_going.idle_stops_max => AfterStop::Idle,
            _ => {
                let status_due = keep_going.status_every > 0
                    && state.voluntary_stops.is_multiple_of(keep_going.status_every);
                let limit_near = policy.limits.is_near(policy.wrap_up, used);
                AfterStop::Prompt(PromptKind::KeepGoing(KeepGoingPrompt {
                    stop_number: state.voluntary_stops,
                    keep_improving: keep_going.keep_improving,
                    active_time: (status_due || limit_near && !state.limit_warning_sent)
                        .then(|| self.state.active(at)),
                    limit_near: limit_near && !state.limit_warning_sent,
                }))
            }
        }
    }

    pub(super) fn send_prompt(&mut self, policy: &Policy, at: Moment, prompt: PromptKind) {
        let (remaining, results) = (self.remaining(policy, at), self.observations.results);
        self.record(at, Record::PromptSent { prompt, remaining, results });
        self.step.actions.push(Action::SendPrompt(prompt, remaining));
    }
}

/// Returns the keep-going settings. A run with checks has none: its checks make the agent continue.
fn keep_going_policy(policy: &Policy) -> Option<&KeepGoing> {
    policy.keep_going.as_ref().filter(|_| policy.checks.is_none())
}

/// Returns whether the agent ended an exchange with this result on its own.
fn ended_well(policy: &Policy, result: &AgentResult) -> bool {
    !result.is_error && is_acceptable(policy, classify_reported_success(result))
}

fn is_acceptable(policy: &Policy, fault: Option<Fault>) -> bool {
    fault.is_none_or(|fault| fault == Fault::Permission && policy.allow_denials)
}
