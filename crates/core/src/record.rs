//! Records: the decisions of a run, stored in its journal.
//!
//! Old journals load forever: fields are only added, with defaults, and a variant is never renamed.

use crate::{
    AgentResult, AttemptPlan, CancelSource, CheckResult, Continuity, Evidence, Fault, Limit, LimitThreshold,
    Moment, Outcome, OutcomeKind, ProcessId, PromptKind, Questions, RecoveryFinding, Remaining, Remedy,
    ResumeRequest, ResumeStrategy, ReviewResult, SessionId, SettingChange, Span, StallReport, StopLevel,
    StrategyReason, SummaryResult, Usage, words::stored_enum,
};
use serde::{Deserialize, Serialize};

/// A decision in the journal. Only `Run::apply` turns it into state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The run started.
    RunStarted,
    /// The user or the workflow of the run resumed the finished run.
    RunReopened {
        /// The request.
        request: ResumeRequest,
        /// Settings that the user changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// An attempt was planned.
    AttemptStarted {
        /// Plan of the attempt.
        plan: AttemptPlan,
    },
    /// The resume strategy of the attempt was chosen.
    ResumeStrategyChosen {
        /// Chosen strategy.
        strategy: ResumeStrategy,
        /// Reason for the choice.
        reason: StrategyReason,
    },
    /// A model starts to summarize the older work for the attempt.
    SummaryStarted,
    /// The summary is being stopped.
    SummaryStopOrdered {
        /// Reason for the stop.
        cause: StopCause,
    },
    /// The summary ended, with or without a text. The attempt starts either way.
    SummaryEnded {
        /// Result of the summary.
        result: SummaryResult,
        /// Usage of the summary.
        usage: Usage,
    },
    /// The agent's process was spawned.
    AttemptSpawned {
        /// The agent's process.
        process: ProcessId,
    },
    /// The agent opened the session. From here on it may spend money.
    SessionOpened {
        /// Session id that the agent reported.
        session: SessionId,
    },
    /// The attempt completed an exchange or a tool call.
    ProgressMade {
        /// Whether the progress resets the count of failures before it.
        resets_retries: bool,
    },
    /// The run reached a threshold of a limit.
    LimitReached {
        /// Limit that was reached.
        limit: Limit,
        /// Threshold that was reached.
        threshold: LimitThreshold,
        /// Number of the attempt's exchanges that had ended. A later reader of the stream identifies later
        /// results by it.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
    },
    /// The agent stopped on its own, in a run with keep-going.
    AgentStopped {
        /// Whether the agent claimed that the work is done.
        claimed_done: bool,
        /// Fingerprint of the workspace. `None` if it was not read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace_fingerprint: Option<u64>,
        /// Number of the attempt's exchanges that had ended. None of them counts as a further stop.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
        /// Number of background commands and sub-agents that were running.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: u32,
    },
    /// The agent received a prompt in its open session.
    PromptSent {
        /// Kind of prompt.
        prompt: PromptKind,
        /// Remaining amounts of the run's limits.
        #[serde(default, skip_serializing_if = "Remaining::is_unlimited")]
        remaining: Remaining,
        /// Number of the attempt's exchanges that had ended.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
    },
    /// No exchange is open; the agent's input was closed, so that it exits on its own.
    InputClosed,
    /// The agent is being stopped, or stopped harder.
    StopOrdered {
        /// Reason for the stop.
        cause: StopCause,
        /// Level of the stop.
        level: StopLevel,
        /// Observations of the stall, if the agent counts as stalled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stall: Option<StallReport>,
    },
    /// The agent was silent for too long, but a process of the run is still working.
    StallDeferred {
        /// Moment until which the silence does not count as a stall.
        until: Moment,
        /// Observations of the silence.
        stall: StallReport,
    },
    /// A new supervisor took over the run. A suspended run returns to its previous phase. Otherwise the
    /// record affects no decision: the records that follow hold the decisions.
    Recovered {
        /// State in which the new supervisor found the run.
        finding: RecoveryFinding,
        /// Time of the last record or heartbeat of the dead supervisor, which died then or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_record_at: Option<Moment>,
        /// Settings that the user changed at the takeover.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// Nothing of the run was running: the machine slept, or no supervisor ran and the agent was idle.
    Downtime {
        /// Length of the downtime.
        duration: Span,
    },
    /// The attempt ended, with the decision about what follows.
    AttemptEnded(AttemptEnd),
    /// A check of the work starts.
    CheckStarted,
    /// A model starts to review the work, as the last part of a check. The reviewer processes of a run are
    /// numbered in the order of these records.
    ReviewStarted {
        /// Whether the check has commands. They passed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        after_commands: bool,
    },
    /// The reviewer's process ended.
    ReviewEnded {
        /// Result of the review.
        result: ReviewResult,
        /// Usage of the reviewer.
        usage: Usage,
        /// Time at which the reviewer is started again. `None` if it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Moment>,
    },
    /// The check is being stopped: its command or its reviewer.
    CheckStopOrdered {
        /// Reason for the stop.
        cause: StopCause,
    },
    /// The check ended.
    CheckEnded {
        /// Result of the check.
        result: CheckResult,
    },
    /// No process of the attempt is left.
    Swept {
        /// Number of processes that had to be stopped.
        stopped_processes: u32,
    },
    /// The user or a signal cancelled the run.
    CancelRequested {
        /// Source of the cancellation.
        source: CancelSource,
    },
    /// SIGTERM or SIGHUP arrived: the run is being suspended.
    SuspendOrdered {
        /// Signal.
        source: CancelSource,
    },
    /// No process of the run is left, and its supervisor exits. The next supervisor continues the run from
    /// this phase.
    Suspended {
        /// Signal.
        source: CancelSource,
    },
    /// The run finished.
    RunFinished {
        /// Outcome of the run.
        outcome: Outcome,
    },
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptEnd {
    /// Fault of the attempt. `None` if it succeeded.
    pub fault: Option<Fault>,
    /// Usage of the attempt, without its summary.
    pub usage: Usage,
    /// Last result, if there was one.
    pub result: Option<AgentResult>,
    /// Number of calls that Longhaul's guards denied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied_calls: u32,
    /// Counts of the agent's questions.
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    pub questions: Questions,
    /// Number of background commands and sub-agents that ended with the process. `background.json` has
    /// their names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub background: u32,
    /// Whether the attempt continued the intended conversation. `None` if that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuity: Option<Continuity>,
    /// Evidence, kept for an unknown fault and for an agent that refused to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Evidence>>,
    /// Next step, once no process of the attempt is left.
    pub next: AfterAttempt,
}

impl AttemptEnd {
    /// Returns whether it counts as done work: a check follows, or the run is done.
    pub fn is_accepted(&self) -> bool {
        match &self.next {
            AfterAttempt::Check => true,
            AfterAttempt::Finish(outcome) => outcome.kind == OutcomeKind::Done,
            AfterAttempt::Attempt { .. } => false,
        }
    }

    /// Creates the end of an attempt of which nothing else is known, as tests and benches write it.
    pub fn new(fault: Option<Fault>, usage: Usage, next: AfterAttempt) -> AttemptEnd {
        AttemptEnd {
            fault,
            usage,
            result: None,
            denied_calls: 0,
            questions: Questions::default(),
            background: 0,
            continuity: None,
            evidence: None,
            next,
        }
    }
}

/// Returns whether a count is zero. Such counts are omitted from the journal.
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The step after an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterAttempt {
    /// Another attempt, not before `at`.
    Attempt {
        /// Earliest moment, with jitter included.
        at: Moment,
        /// Remedy for the fault.
        remedy: Remedy,
        /// Plan of the attempt.
        plan: AttemptPlan,
    },
    /// A check of the work.
    Check,
    /// The end of the run.
    Finish(Outcome),
}

stored_enum! {
    /// Reason why Longhaul stopped an agent, a summary, a check or a reviewer.
    pub enum StopCause {
        /// The agent was silent for too long with no tool running.
        Stalled = "stalled",
        /// The agent sent output, but completed no message and no tool call for too long.
        NoProgress = "no_progress",
        /// The attempt, its summary or a reviewer reached its timeout.
        TimedOut = "timed_out",
        /// The credentials are rejected, and the agent would retry for minutes.
        AuthRejected = "auth_rejected",
        /// The agent opened a session other than the planned one.
        WrongSession = "wrong_session",
        /// The exchange is interrupted, so that the agent can save its work.
        WrapUp = "wrap_up",
        /// A limit of the run is exhausted.
        LimitReached = "limit_reached",
        /// The run's processes exceed the memory limit.
        MemoryLimit = "memory_limit",
        /// The agent returned its result, but did not exit.
        DidNotExit = "did_not_exit",
        /// Background work outlived the result for longer than the policy or a limit allows.
        BackgroundStopped = "background_stopped",
        /// The run was cancelled.
        Cancelled = "cancelled",
        /// The run is being suspended.
        Suspended = "suspended",
    }
}
