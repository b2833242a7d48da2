//! The state of a run, as its records describe it.

use crate::limits::TurnSize;
use crate::{
    AfterAttempt, AgentResult, AttemptPlan, CancelSource, CheckStage, Clocks, Fault, Limit, LimitUsage,
    Moment, Outcome, OutcomeKind, ProcessId, PromptKind, Questions, ResumeStrategy, SessionId, SessionPlan,
    Span, StartupError, StopCause, StopLevel, Usage, Verified,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use strum::{EnumDiscriminants, IntoStaticStr};

/// The phase of a run.
#[derive(Clone, Debug, Default, PartialEq, EnumDiscriminants)]
#[strum_discriminants(
    name(PhaseKind),
    doc = "The phases of a run, without their data.",
    derive(Serialize, Deserialize, IntoStaticStr),
    cfg_attr(feature = "schema", derive(schemars::JsonSchema)),
    serde(rename_all = "snake_case"),
    strum(serialize_all = "snake_case")
)]
pub enum Phase {
    /// Not started.
    #[default]
    New,
    /// An attempt is planned; its process is not known yet.
    Starting,
    /// A model summarizes older work for the planned attempt.
    Summarizing {
        /// Start of the summary.
        since: Moment,
        /// Reason for stopping it, if it is being stopped.
        stop_cause: Option<StopCause>,
    },
    /// The agent works.
    Running,
    /// No exchange is open, and the agent should exit on its own.
    Closing {
        /// Start of the phase.
        since: Moment,
    },
    /// The agent is being stopped.
    Stopping {
        /// Time of the stop at this level.
        since: Moment,
        /// Reason for the stop.
        cause: StopCause,
        /// Level of the stop.
        level: StopLevel,
    },
    /// The process is gone; leftover processes are being stopped.
    Sweeping {
        /// Next step.
        next: AfterAttempt,
    },
    /// A check is running; no agent is.
    Checking {
        /// Start of its running part.
        since: Moment,
        /// Running part: the commands or the reviewer.
        stage: CheckStage,
        /// Reason for stopping it, if it is being stopped.
        stop_cause: Option<StopCause>,
    },
    /// No process is running; the next attempt or review is scheduled.
    Waiting {
        /// Start of the wait.
        since: Moment,
        /// End of the wait.
        until: Moment,
        /// What starts then.
        next: AfterWait,
    },
    /// No process is running, and the supervisor exits: SIGTERM or SIGHUP stopped the run.
    Suspended {
        /// Time of the suspension.
        since: Moment,
        /// Signal.
        source: CancelSource,
        /// Phase in which the next supervisor continues the run.
        then: Box<Phase>,
    },
    /// The run has finished.
    Finished {
        /// Outcome of the run.
        outcome: Outcome,
    },
}

/// The step after a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterWait {
    /// The attempt of this plan.
    Attempt(AttemptPlan),
    /// The reviewer, whose last process gave no verdict because of this fault.
    Review(Fault),
}

/// A limit that ends the run, with the progress of the wrap-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// Limit that was reached.
    pub limit: Limit,
    /// Progress of the wrap-up.
    pub stage: WrapUpStage,
}

/// The progress of a wrap-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapUpStage {
    /// Only the reserve remains, and the wrap-up is not requested yet.
    Due,
    /// The agent was asked to save its work.
    Requested,
    /// Nothing remains.
    Exhausted,
}

/// Everything about a run that affects decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Current phase.
    pub phase: Phase,
    /// Clocks of the run.
    pub clocks: Clocks,
    /// Plan of the current or last attempt.
    pub plan: Option<AttemptPlan>,
    /// Start of the current or last attempt, moved forward by any downtime since.
    pub attempt_started_at: Moment,
    /// Process of the current attempt.
    pub process: Option<ProcessId>,
    /// Moment until which the current attempt's stall is deferred.
    pub stall_deferred_until: Option<Moment>,
    /// Whether the current attempt made progress.
    pub made_progress: bool,
    /// Last session that the agent opened. It can be resumed.
    pub session: Option<SessionId>,
    /// Number of failures in a row since progress reset the count.
    pub failures_since_progress: u32,
    /// Start of the current outage, moved forward by any downtime since.
    pub outage_started_at: Option<Moment>,
    /// Number of waits in the current outage.
    pub outage_waits: u32,
    /// Number of responses in the current outage that came from a server other than the API.
    pub malformed_responses: u32,
    /// Number of parks since the last progress.
    pub parks: u32,
    /// Start of the first park since the last progress.
    pub parked_since: Option<Moment>,
    /// Number of nudges for a missing answer in the whole run. A hook that stops each exchange must end the run.
    pub answer_nudges: u32,
    /// Number of nudges for a truncated answer since progress reset the count.
    pub smaller_steps_nudges: u32,
    /// Faults with one allowed retry in a run that was already made.
    pub faults_retried_once: BTreeSet<Fault>,
    /// Faults for which a new session was started since the last progress.
    pub faults_with_new_session: BTreeSet<Fault>,
    /// Resume strategies tried since the last progress.
    pub strategies_tried: BTreeSet<ResumeStrategy>,
    /// Whether the run started with a session that had a history.
    pub started_with_history: bool,
    /// Whether the input of the current attempt's agent is closed.
    pub input_closed: bool,
    /// Number of SIGKILLs sent to the current attempt.
    pub kills: u32,
    /// Fault of the last attempt.
    pub fault: Option<Fault>,
    /// Reason why the last attempt's agent refused to start, if it did.
    pub startup: Option<StartupError>,
    /// Whether the session did not receive the prompt of the last attempt that ended.
    pub prompt_lost: bool,
    /// Last result of the current or last attempt.
    pub result: Option<AgentResult>,
    /// Limit that ends the run, once only its reserve remains.
    pub limit_state: Option<LimitState>,
    /// Number of the attempt's exchanges that had ended at the last prompt, interrupt or voluntary stop.
    /// Later results answer that prompt.
    pub results_before: u32,
    /// Number of wrap-up prompts sent.
    pub wrap_ups: u32,
    /// Number of times the agent stopped on its own in a run with keep-going.
    pub voluntary_stops: u32,
    /// Number of such stops in a row with a done claim.
    pub done_claims: u32,
    /// Number of such stops in a row without a change to the workspace since the previous stop.
    pub idle_stops: u32,
    /// Fingerprint of the workspace at the last stop.
    pub workspace: Option<u64>,
    /// Whether the agent was warned that a limit is near.
    pub limit_warning_sent: bool,
    /// Number of checks in the whole run.
    pub checks: u32,
    /// Number of failed checks since the user last started or resumed the run.
    pub checks_failed: u32,
    /// Whether the last check passed, and no attempt has started since.
    pub check_passed: bool,
    /// Whether the current or last check has commands, and not only a reviewer.
    pub check_has_commands: bool,
    /// Number of reviewer processes in the whole run.
    pub reviews: u32,
    /// Start of the first reviewer of the current or last check since its last usage limit, moved forward by any
    /// downtime since. `None` if it had none.
    pub review_started_at: Option<Moment>,
    /// Number of reviewers since then that an outage ended.
    pub review_outages: u32,
    /// Number of its other reviewers without a verdict. A suspension does not count.
    pub review_failures: u32,
    /// Fault because of which the last check ended without a verdict of its reviewer.
    pub no_verdict: Option<Fault>,
    /// Usage of all ended attempts, summaries and reviews.
    pub usage: Usage,
    /// Number of calls that guards denied in all ended attempts.
    pub denied_calls: u32,
    /// Counts of the questions in all ended attempts.
    pub questions: Questions,
    /// Time of the last finish.
    pub finished_at: Moment,
    /// Number of times the finished run was resumed.
    pub reopen_count: u32,
    /// Whether the user, not the workflow of the run, resumed it last.
    pub is_reopened_by_user: bool,
    /// Number of the last resumption by the workflow of the run; 0 before the first.
    pub workflow_resumes: u32,
    /// Usage before the last resumption.
    pub usage_before_reopen: Usage,
    /// Number of attempts before the last resumption.
    pub attempts_before: u32,
    /// Number of attempts since then that a suspension ended. They do not count against the maximum.
    pub attempts_suspended: u32,
    /// Source of the cancellation, if the run is being cancelled.
    pub cancelled_by: Option<CancelSource>,
    /// Signal that is suspending the run, if any.
    pub suspended_by: Option<CancelSource>,
}

impl State {
    /// Returns the number of planned attempts.
    pub fn attempts(&self) -> u32 {
        self.plan.as_ref().map_or(0, |plan| plan.attempt)
    }

    /// Returns the plan of the next attempt.
    pub(crate) fn next_plan(&self, session: SessionPlan, prompt: PromptKind) -> AttemptPlan {
        AttemptPlan::new(self.attempts() + 1, session, prompt)
    }

    /// Returns the clocks as of `at`: with the current wait as waiting, and the current suspension as downtime.
    pub fn clocks_at(&self, at: Moment) -> Clocks {
        let mut clocks = self.clocks;
        if let Phase::Waiting { since, .. } = self.phase {
            clocks.waiting = clocks.waiting + at.since(since);
        }
        if let Phase::Suspended { since, .. } = self.phase {
            clocks.downtime = clocks.downtime + at.since(since);
        }
        clocks
    }

    /// Returns the time that the run has worked until `at`, without the current wait or suspension.
    pub fn active(&self, at: Moment) -> Span {
        self.clocks_at(at).active(at)
    }

    /// Returns the usage until `at`, with that of a process whose end is not recorded.
    pub(crate) fn limit_usage(&self, at: Moment, unrecorded: Usage, largest_turn: TurnSize) -> LimitUsage {
        let usage = self.usage.plus(unrecorded);
        LimitUsage {
            cost: usage.total_cost(),
            tokens: usage.total_tokens(),
            turns: usage.turns,
            time: self.active(at),
            wall: self.clocks.wall(at),
            largest_turn_cost: largest_turn.cost,
            largest_turn_tokens: largest_turn.tokens,
        }
    }

    /// Returns the outcome, or `None` if the run has not finished.
    pub fn outcome(&self) -> Option<Outcome> {
        if let Phase::Finished { outcome } = self.phase { Some(outcome) } else { None }
    }

    /// Returns whether the run finished because a check failed or needs a person. A reviewer without a verdict says
    /// nothing about the work.
    pub fn is_ended_by_check(&self) -> bool {
        self.outcome().is_some_and(|outcome| {
            matches!(outcome.kind, OutcomeKind::CheckFailed | OutcomeKind::NeedsPerson)
                && outcome.fault.is_none()
        })
    }

    /// Returns the proof that the work is done. A run with checks is done only after a check that passed.
    pub fn verified(&self) -> Verified {
        match self.outcome() {
            Some(outcome) if outcome.kind == OutcomeKind::Done && self.check_passed => {
                if self.check_has_commands { Verified::Checks } else { Verified::Review }
            }
            Some(_) | None => Verified::None,
        }
    }

    /// Returns the fault that caused the current wait, or that of the last attempt.
    pub fn wait_fault(&self) -> Option<Fault> {
        match &self.phase {
            Phase::Waiting { next: AfterWait::Review(fault), .. } => Some(*fault),
            _ => self.fault,
        }
    }
}
