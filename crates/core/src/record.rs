//! What a run writes down: decisions as facts. Old journals load for ever: fields are only added,
//! with defaults, and a variant is never renamed.

use crate::{
    AgentResult, AttemptPlan, CancelSource, CheckResult, Continuity, Evidence, Fault, Limit, LimitThreshold,
    Moment, Outcome, ProcessId, PromptKind, Questions, RecoveryFinding, Remaining, Remedy, ResumeRequest,
    ResumeStrategy, SessionId, SettingChange, Span, StallReport, StopLevel, StrategyReason, SummaryResult,
    Usage,
};
use serde::{Deserialize, Serialize};

/// A decision in the journal. Only `Run::apply` turns one into state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The run began.
    RunStarted {
        /// When.
        at: Moment,
    },
    /// A run that was over goes on.
    RunReopened {
        /// When.
        at: Moment,
        /// What is to be said.
        request: ResumeRequest,
        /// The settings that the person changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// An attempt was ordered.
    AttemptStarted {
        /// When.
        at: Moment,
        /// How.
        plan: AttemptPlan,
    },
    /// It is known how the history of its conversation reaches it.
    ResumeStrategyChosen {
        /// When.
        at: Moment,
        /// How.
        strategy: ResumeStrategy,
        /// Why.
        reason: StrategyReason,
    },
    /// A model is to condense the older work for it.
    SummaryStarted {
        /// When.
        at: Moment,
    },
    /// That is being ended.
    SummaryStopOrdered {
        /// When.
        at: Moment,
        /// Why.
        cause: StopCause,
    },
    /// The older work is condensed, or will not be; the attempt starts either way.
    SummaryEnded {
        /// When.
        at: Moment,
        /// What came of it.
        result: SummaryResult,
        /// What it used.
        usage: Usage,
    },
    /// Its process is known.
    AttemptSpawned {
        /// When.
        at: Moment,
        /// Which process.
        process: ProcessId,
    },
    /// The agent opened the session: from here on money may be spent in it.
    SessionOpened {
        /// When.
        at: Moment,
        /// The session as the agent named it.
        session: SessionId,
    },
    /// The attempt completed a turn or a tool call.
    ProgressMade {
        /// When.
        at: Moment,
        /// Whether that forgives the failures before it.
        resets_retries: bool,
    },
    /// The run has come so far towards a limit.
    LimitReached {
        /// When.
        at: Moment,
        /// Which one.
        limit: Limit,
        /// How far.
        threshold: LimitThreshold,
        /// How many turns of the attempt had ended: who reads its stream again knows by that which result came after.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
    },
    /// The agent stopped by itself, in a run that is kept going.
    AgentStopped {
        /// When.
        at: Moment,
        /// Whether it said that the work is finished.
        claimed_done: bool,
        /// What the workspace looked like, where somebody could look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace_fingerprint: Option<u64>,
        /// How many turns of the attempt had ended: none of them is a stop again.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
        /// Number of background commands and sub-agents that were running.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: u32,
    },
    /// The agent was told something in the session that it has open.
    PromptSent {
        /// When.
        at: Moment,
        /// What.
        prompt: PromptKind,
        /// What was left of the run's limits.
        #[serde(default, skip_serializing_if = "Remaining::is_unlimited")]
        remaining: Remaining,
        /// How many turns of the attempt had ended.
        #[serde(default, skip_serializing_if = "is_zero")]
        results: u32,
    },
    /// No turn is owed; the agent was asked to end by itself.
    InputClosed {
        /// When.
        at: Moment,
    },
    /// We are stopping the agent, or stopping it harder.
    StopOrdered {
        /// When.
        at: Moment,
        /// Why.
        cause: StopCause,
        /// How hard.
        level: StopLevel,
        /// What was heard and seen of an agent that counts as stalled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stall: Option<StallReport>,
    },
    /// The agent is silent for too long, and something of the run works all the same.
    StallDeferred {
        /// When.
        at: Moment,
        /// Until when that is no stall.
        until: Moment,
        /// What was heard and seen.
        stall: StallReport,
    },
    /// A new supervisor took the run over. A suspended run returns to the phase before; else the record decides nothing, and
    /// the records that follow hold what is done about what was found.
    Recovered {
        /// When.
        at: Moment,
        /// What it found.
        finding: RecoveryFinding,
        /// When the dead one had last written something down. It died then or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_record_at: Option<Moment>,
        /// The settings that a person changed at the takeover.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// The machine was asleep, or nobody supervised the run and its agent did nothing.
    Downtime {
        /// How long.
        duration: Span,
    },
    /// The attempt is over, and this was decided.
    AttemptEnded {
        /// When.
        at: Moment,
        /// Why it failed; nothing if it did not.
        fault: Option<Fault>,
        /// What it used.
        usage: Usage,
        /// The last result, if there was one.
        result: Option<AgentResult>,
        /// How many calls our guards denied.
        #[serde(default, skip_serializing_if = "is_zero")]
        denied_calls: u32,
        /// How its questions were answered.
        #[serde(default, skip_serializing_if = "Questions::is_empty")]
        questions: Questions,
        /// Number of background commands and sub-agents that ended with its process; `background.json` has their names.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: u32,
        /// Whether it continued the conversation that it was to continue, where that could be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continuity: Option<Continuity>,
        /// What was seen, kept for an unknown fault and for an agent that refused to start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Box<Evidence>>,
        /// What happens next, once nothing of the attempt is left.
        next: AfterAttempt,
    },
    /// The work is to be judged.
    CheckStarted {
        /// When.
        at: Moment,
    },
    /// That is being ended.
    CheckStopOrdered {
        /// When.
        at: Moment,
        /// Why.
        cause: StopCause,
    },
    /// The work was judged.
    CheckEnded {
        /// When.
        at: Moment,
        /// What came of it.
        result: CheckResult,
    },
    /// Nothing of the attempt is left.
    Swept {
        /// When.
        at: Moment,
        /// Processes that had to be ended.
        stopped_processes: u32,
    },
    /// Somebody asked for the end.
    CancelRequested {
        /// When.
        at: Moment,
        /// Who.
        source: CancelSource,
    },
    /// SIGTERM or SIGHUP arrived: the run is being suspended.
    SuspendOrdered {
        /// When.
        at: Moment,
        /// Which signal.
        source: CancelSource,
    },
    /// No process of the run is left, and its supervisor exits. The next supervisor continues it from this phase on.
    Suspended {
        /// When.
        at: Moment,
        /// Which signal.
        source: CancelSource,
    },
    /// The run is over.
    RunFinished {
        /// When.
        at: Moment,
        /// How.
        outcome: Outcome,
    },
}

/// What most attempts have nothing of is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterAttempt {
    /// Another attempt, not before `at`.
    Attempt {
        /// The earliest moment; the jitter that was drawn is in it.
        at: Moment,
        /// What is being done about the fault.
        remedy: Remedy,
        /// How.
        plan: AttemptPlan,
    },
    /// The work is judged.
    Check,
    /// The end.
    Finish(Outcome),
}

/// Why we stopped an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// It was silent for too long with no tool running.
    Stalled,
    /// It went on saying things, and finished no message and no tool call for too long.
    NoProgress,
    /// The timeout of the attempt, or of the summary for it.
    TimedOut,
    /// The credentials are rejected, and the agent would go on trying for minutes.
    AuthRejected,
    /// It opened another session than it was told.
    WrongSession,
    /// Its turn is interrupted, so that it can be told to save its work.
    WrapUp,
    /// A limit of the run is used up.
    LimitReached,
    /// The run's processes have more memory than they may.
    MemoryLimit,
    /// It had its result and did not end.
    DidNotExit,
    /// Its background work outlived the result for longer than the policy allows, or until a limit.
    BackgroundStopped,
    /// Somebody asked for the end.
    Cancelled,
    /// The run is being suspended.
    Suspended,
}
