//! What a run does when its agent stops by itself and is to be kept going: it is told to go on in the session that it has
//! open, until it has said twice running that the work is finished, or until nothing changes any more.

use super::{LimitState, Observations, Run, WrapUpStage};
use crate::classify::classify_reported_success;
use crate::{
    Action, AfterAttempt, AgentResult, AttemptPlan, Evidence, Fault, KeepGoing, KeepGoingPrompt,
    LimitThreshold, LimitUsage, Moment, Now, Outcome, OutcomeKind, Policy, PromptKind, Record, Remedy,
    SessionPlan, Step,
};

// Who says so once is asked whether it is so.
const DONE_CLAIMS_REQUIRED: u32 = 2;

/// What follows a stop.
enum AfterStop {
    /// The agent stands by it that the work is finished.
    Finished,
    /// It stops again and again, and changes nothing.
    Idle,
    /// It is told this.
    Prompt(PromptKind),
}

impl Run {
    /// The agent has stopped by itself, and no turn is owed: tells it to go on. False where the run is not kept going,
    /// or does not go on.
    pub(super) fn keep_going(&mut self, policy: &Policy, at: Moment, step: &mut Step) -> bool {
        let ended_well = self.seen.result.is_some_and(|(_, result)| ended_well(policy, &result));
        let Some(keep_going) = keep_going_policy(policy).filter(|_| ended_well && self.may_go_on()) else {
            return false;
        };
        let Observations { claimed, workspace, turns, background_tasks: background, .. } = self.seen;
        self.record(
            step,
            Record::AgentStopped {
                at,
                claimed_done: claimed,
                workspace_fingerprint: workspace,
                results: turns,
                background,
            },
        );
        let used = self.used(at);
        let AfterStop::Prompt(say) = self.after_stop(policy, &keep_going, at, &used) else { return false };
        self.record_limit(policy, at, step);
        let say = match self.state.limit_state {
            None => say,
            Some(LimitState { limit, stage: WrapUpStage::Due }) => PromptKind::WrapUp(limit),
            Some(_) => return false,
        };
        self.send_prompt(policy, at, say, step);
        true
    }

    /// What follows an attempt that ended well by itself; nothing where others decide that.
    pub(super) fn after_agent_stop(
        &mut self,
        policy: &Policy,
        now: Now,
        (evidence, fault): (&Evidence, Option<Fault>),
        step: &mut Step,
    ) -> Option<AfterAttempt> {
        let told = self.state.limit_state.is_some_and(|reached| reached.stage != WrapUpStage::Due);
        let keep_going = keep_going_policy(policy).filter(|_| !told && is_acceptable(policy, fault))?;
        // What was decided about this stop while the agent lived stands.
        let Evidence { claimed_done: claimed, workspace_fingerprint: workspace, results: turns, .. } =
            *evidence;
        if turns > self.state.results_before {
            let background = 0;
            self.record(
                step,
                Record::AgentStopped {
                    at: now.at,
                    claimed_done: claimed,
                    workspace_fingerprint: workspace,
                    results: turns,
                    background,
                },
            );
        }
        // Nobody may have been there to count what it used.
        let usage = self.state.usage.plus(evidence.usage);
        let times = (self.state.active(now.at), self.state.clocks.wall(now.at));
        let used = LimitUsage::new(&usage, times, self.seen.largest_recent_turn());
        match (self.after_stop(policy, &keep_going, now.at, &used), self.state.cancelled_by) {
            (AfterStop::Finished, _) => None,
            (AfterStop::Idle | AfterStop::Prompt(_), Some(by)) => {
                Some(AfterAttempt::Finish(Outcome::cancelled(by)))
            }
            (AfterStop::Idle, None) => {
                Some(AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::Failed, Fault::Unfinished)))
            }
            (AfterStop::Prompt(say), None) => Some(self.next_attempt_with(policy, now.at, say, &used)),
        }
    }

    /// It is told so in its session, in another process; or to save its work, if it is time for that.
    fn next_attempt_with(
        &self,
        policy: &Policy,
        at: Moment,
        say: PromptKind,
        used: &LimitUsage,
    ) -> AfterAttempt {
        let reached = policy.limits.reached(policy.wrap_up, used);
        let say = match (reached, self.state.limit_state) {
            (Some((limit, LimitThreshold::Exhausted)), _) => {
                return AfterAttempt::Finish(Outcome::from_limit(limit, None));
            }
            (_, Some(LimitState { limit, .. })) => PromptKind::WrapUp(limit),
            (Some((_, LimitThreshold::Reserve)) | None, None) => say,
        };
        let Some(session) = self.state.session.clone() else {
            return AfterAttempt::Finish(Outcome::from_fault(OutcomeKind::Failed, Fault::SessionLost));
        };
        let plan = AttemptPlan::new(self.state.attempts() + 1, SessionPlan::Resume(session), say);
        AfterAttempt::Attempt { at, remedy: Remedy::KeepGoing, plan }
    }

    /// Whether the wait for background work counts as work, which only a limit bounds: the agent ended its exchange well,
    /// and does not claim that the work is done.
    pub(super) fn waits_for_background(&self, policy: &Policy) -> bool {
        let Observations { background_tasks: background, claimed, result: settled, .. } = self.seen;
        let ended_well = settled.is_some_and(|(_, result)| ended_well(policy, &result));
        background > 0 && ended_well && !claimed && keep_going_policy(policy).is_some() && self.may_go_on()
    }

    fn may_go_on(&self) -> bool {
        self.state.cancelled_by.is_none() && self.state.suspend.is_none() && self.state.limit_state.is_none()
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
            _ if state.max_idle_stops >= keep_going.idle_stops_max => AfterStop::Idle,
            _ => {
                let due = keep_going.status_every > 0
                    && state.voluntary_stops.is_multiple_of(keep_going.status_every);
                let near = policy.limits.is_near(policy.wrap_up, used);
                AfterStop::Prompt(PromptKind::KeepGoing(KeepGoingPrompt {
                    stop_number: state.voluntary_stops,
                    keep_improving: keep_going.keep_improving,
                    active_time: (due || near && !state.limit_warning_sent).then(|| self.state.active(at)),
                    limit_near: near && !state.limit_warning_sent,
                }))
            }
        }
    }

    /// Tells the agent something in the session that it has open.
    pub(super) fn send_prompt(&mut self, policy: &Policy, at: Moment, say: PromptKind, step: &mut Step) {
        let (left, turns) = (self.left(policy, at), self.seen.turns);
        self.record(step, Record::PromptSent { at, prompt: say, remaining: left, results: turns });
        step.actions.push(Action::Say(say, left));
    }
}

/// How the run is kept going: one whose work is judged is kept going by that.
fn keep_going_policy(policy: &Policy) -> Option<KeepGoing> {
    policy.keep_going.filter(|_| policy.check.is_none())
}

/// Whether a turn with this result ended because the agent thought that it was time.
fn ended_well(policy: &Policy, result: &AgentResult) -> bool {
    !result.is_error && is_acceptable(policy, classify_reported_success(result))
}

/// Whether an attempt that ended so was as good as one that ended well.
fn is_acceptable(policy: &Policy, fault: Option<Fault>) -> bool {
    fault.is_none_or(|fault| fault == Fault::Permission && policy.allow_denials)
}
