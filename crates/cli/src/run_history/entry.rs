//! An entry of a run's timeline, as data. `timeline_text.rs` formats it.

use longhaul_core::{
    AgentResult, BackgroundTask, CancelSource, CheckResult, Dollars, Exit, Fault, Limit, LimitThreshold,
    Outcome, PromptKind, RecoveryFinding, Remedy, ResumeRequest, ResumeStrategy, ReviewResult, Rfc3339,
    SessionPlan, SettingChange, Span, StallReport, StopCause, StrategyReason, SummaryResult,
};
use serde::Serialize;

/// One entry of a timeline. Keys are only ever added.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineEntry {
    #[serde(flatten)]
    pub kind: TimelineEvent,
    /// When it happened. For repeated events, the first time.
    pub at: Rfc3339,
    /// The last time, or when the run continued. The same as `at` for a single event.
    pub until: Rfc3339,
    /// Time since the start of the run.
    pub elapsed_ms: Span,
}

/// The event of an entry.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineEvent {
    /// The run started.
    Started {
        /// Session of the first attempt.
        session: SessionPlan,
    },
    /// A finished run was resumed.
    Reopened {
        /// The request of the user.
        request: ResumeRequest,
        /// Time since the run finished.
        finished_ms: Span,
        /// Settings that the user changed.
        changes: Vec<SettingChange>,
    },
    /// An attempt started with a notable resume strategy, or is still running.
    AttemptStarted {
        /// Number of the attempt, starting at 1.
        attempt: u32,
        /// How the conversation's history reached it.
        strategy: Option<ResumeStrategy>,
        /// Reason for the strategy.
        reason: Option<StrategyReason>,
        /// Prompt that the agent starts with.
        prompt: PromptKind,
    },
    /// A model was asked to summarize older work.
    Summary {
        /// Attempt that the summary is for.
        attempt: u32,
        /// Result of the summary.
        result: SummaryResult,
        /// Duration of the summary.
        duration_ms: Span,
        /// Cost of the summary.
        total_cost_usd: Dollars,
    },
    /// An attempt ended, or several in a row ended with the same fault and without progress.
    AttemptEnded(Box<AttemptsEnded>),
    /// A limit of the run was reached.
    LimitReached {
        /// Number of the attempt.
        attempt: u32,
        /// The limit.
        limit: Limit,
        /// Whether its reserve was reached or it is exhausted.
        threshold: LimitThreshold,
    },
    /// A prompt was sent to the agent in its open session.
    PromptSent {
        /// Number of the attempt.
        attempt: u32,
        /// The prompt.
        prompt: PromptKind,
    },
    /// The agent stopped on its own, once or several times in a row.
    AgentStopped {
        /// Number of the attempt.
        attempt: u32,
        /// Number of stops.
        stops: u32,
        /// Number of stops with a done claim.
        done_claims: u32,
        /// Number of prompts to continue.
        prompts: u32,
    },
    /// The agent was silent for too long while its processes were busy.
    StallDeferred {
        /// Number of the attempt.
        attempt: u32,
        /// Number of deferrals.
        times: u32,
        /// Observations at the last deferral.
        stall: StallReport,
    },
    /// A watchdog stopped the agent of a dead supervisor.
    WatchdogStopped {
        /// Number of the attempt.
        attempt: u32,
        /// Time since the agent's last output.
        silent_ms: Span,
        /// Number of stopped processes. `None` if the watchdog died before they were gone.
        processes_stopped: Option<u32>,
    },
    /// A new supervisor took over the run of a dead one.
    Recovered {
        /// Number of the attempt.
        attempt: u32,
        /// Finding of the new supervisor.
        finding: RecoveryFinding,
        /// Whether the disk was full, so that the last supervisor stopped.
        disk_was_full: bool,
        /// Longest possible time without a supervisor. `None` if the dead one had written no record.
        unsupervised_ms: Option<Span>,
        /// Part of that time in which nothing ran.
        idle_ms: Span,
        /// Settings that the user changed at the takeover.
        changes: Vec<SettingChange>,
    },
    /// Nothing ran.
    Downtime {
        /// Length of the downtime.
        duration_ms: Span,
    },
    /// A check ended.
    CheckEnded {
        /// Number of the check, starting at 1.
        check: u32,
        /// Result of the check.
        result: CheckResult,
        /// Duration of the check.
        duration_ms: Span,
    },
    /// A reviewer process ended.
    ReviewEnded {
        /// Number of its check, starting at 1.
        check: u32,
        /// Result of the review.
        result: ReviewResult,
        /// Duration of the process.
        duration_ms: Span,
        /// Cost of the process.
        total_cost_usd: Dollars,
        /// Time at which the reviewer is started again. `None` if it is not.
        retry_at: Option<Rfc3339>,
    },
    /// The run was cancelled.
    Cancelled {
        /// Source of the request.
        source: CancelSource,
        /// Whether the run waited for its next attempt.
        #[serde(skip)]
        in_wait: bool,
    },
    /// SIGTERM or SIGHUP suspended the run.
    Suspended {
        /// The signal.
        source: CancelSource,
    },
    /// The run finished.
    Finished {
        /// Outcome of the run.
        outcome: Outcome,
        /// Number of attempts.
        attempts: u32,
        /// Time from start to finish.
        wall_ms: Span,
        /// Part of that time in which the run waited.
        waiting_ms: Span,
        /// Part of that time in which nothing ran.
        downtime_ms: Span,
        /// Cost of the run.
        total_cost_usd: Dollars,
    },
}

/// One or more attempts that ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptsEnded {
    /// Number of the first attempt, starting at 1.
    pub attempt: u32,
    /// Number of the last attempt. The same as the first for a single one.
    pub last_attempt: u32,
    /// When the first attempt started.
    pub since: Rfc3339,
    /// Why they failed. `None` if they did not.
    pub fault: Option<Fault>,
    /// Evidence for the fault, as text.
    pub evidence: Option<String>,
    /// Last result of the agent.
    pub result: Option<AgentResult>,
    /// How the process ended. `unobserved` if no supervisor was there.
    pub exit: Option<Exit>,
    /// Why Longhaul stopped it, if it did.
    pub stop_cause: Option<StopCause>,
    /// Whether it had to be killed.
    pub killed: bool,
    pub work: WorkDone,
    /// Number of leftover processes that had to be stopped.
    pub leftover_processes: u32,
    /// Number of tool calls that guards denied.
    pub denied_calls: u32,
    /// Number of questions that were answered.
    pub questions: u32,
    /// Background commands that were stopped with the agent.
    pub background_stopped: Vec<BackgroundTask>,
    /// Remedy for the fault. `None` if no attempt follows.
    pub remedy: Option<Remedy>,
    /// Planned wait, in total.
    pub planned_wait_ms: Option<Span>,
    /// Actual wait, in total. `None` while the run waits.
    pub waited_ms: Option<Span>,
    /// End of the wait, while the run waits.
    pub waiting_until: Option<Rfc3339>,
    /// Whether no attempt followed the wait.
    #[serde(skip)]
    pub wait_cut_short: bool,
    /// Whether a check follows.
    pub check_follows: bool,
    /// Whether the attempt ended with an accepted done claim.
    pub claimed_done: bool,
}

/// The work of one or more attempts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkDone {
    /// Turns in the main conversation.
    pub turns: u32,
    /// Number of tool calls. `None` if they were not counted.
    pub tool_calls: Option<u64>,
    pub duration_ms: Span,
    /// Reported cost plus estimated cost.
    pub total_cost_usd: Dollars,
    /// Estimated part of the cost.
    pub estimated_cost_usd: Dollars,
}

impl WorkDone {
    pub fn plus(self, other: WorkDone) -> WorkDone {
        let calls = self.tool_calls.into_iter().chain(other.tool_calls).reduce(|one, other| one + other);
        WorkDone {
            turns: self.turns + other.turns,
            tool_calls: calls,
            duration_ms: self.duration_ms + other.duration_ms,
            total_cost_usd: Dollars(self.total_cost_usd.0 + other.total_cost_usd.0),
            estimated_cost_usd: Dollars(self.estimated_cost_usd.0 + other.estimated_cost_usd.0),
        }
    }
}
