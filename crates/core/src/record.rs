//! What a run writes down: decisions as facts. Old journals load for ever: fields are only added,
//! with defaults, and a variant is never renamed.

use crate::{
    Ask, Because, By, Checked, Condensed, Continuity, Evidence, Fault, Left, Limit, Moment, Outcome, Proc,
    Questions, Reach, Remains, Remedy, Rung, Say, SessionId, SettingChange, Silence, Span, SpawnPlan,
    StopLevel, Tally, TurnResult,
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
        ask: Ask,
        /// The settings that the person changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// An attempt was ordered.
    AttemptStarted {
        /// When.
        at: Moment,
        /// How.
        plan: SpawnPlan,
    },
    /// It is known how the history of its conversation reaches it.
    RungTaken {
        /// When.
        at: Moment,
        /// How.
        rung: Rung,
        /// Why.
        because: Because,
    },
    /// A model is to condense the older work for it.
    CondenseOrdered {
        /// When.
        at: Moment,
    },
    /// That is being ended.
    CondenseStopped {
        /// When.
        at: Moment,
        /// Why.
        why: StopWhy,
    },
    /// The older work is condensed, or will not be; the attempt starts either way.
    Condensed {
        /// When.
        at: Moment,
        /// What came of it.
        outcome: Condensed,
        /// What it used.
        tally: Tally,
    },
    /// Its process is known.
    AttemptSpawned {
        /// When.
        at: Moment,
        /// Which process.
        proc: Proc,
    },
    /// The agent opened the session: from here on money may be spent in it.
    SessionOpened {
        /// When.
        at: Moment,
        /// The session as the agent named it.
        session: SessionId,
    },
    /// The attempt completed a turn or a tool call.
    Progressed {
        /// When.
        at: Moment,
        /// Whether that forgives the failures before it.
        forgives: bool,
    },
    /// The run has come so far towards a limit.
    LimitReached {
        /// When.
        at: Moment,
        /// Which one.
        limit: Limit,
        /// How far.
        reach: Reach,
        /// How many turns of the attempt had ended: who reads its stream again knows by that which result came after.
        #[serde(default, skip_serializing_if = "is_zero")]
        turns: u32,
    },
    /// The agent stopped by itself, in a run that is kept going.
    Stopped {
        /// When.
        at: Moment,
        /// Whether it said that the work is finished.
        claimed: bool,
        /// What the workspace looked like, where somebody could look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<u64>,
        /// How many turns of the attempt had ended: none of them is a stop again.
        #[serde(default, skip_serializing_if = "is_zero")]
        turns: u32,
        /// Number of background commands and sub-agents that were running.
        #[serde(default, skip_serializing_if = "is_zero")]
        background: u32,
    },
    /// The agent was told something in the session that it has open.
    Said {
        /// When.
        at: Moment,
        /// What.
        say: Say,
        /// What was left of the run's limits.
        #[serde(default, skip_serializing_if = "Left::is_unlimited")]
        left: Left,
        /// How many turns of the attempt had ended.
        #[serde(default, skip_serializing_if = "is_zero")]
        turns: u32,
    },
    /// No turn is owed; the agent was asked to end by itself.
    InputEnded {
        /// When.
        at: Moment,
    },
    /// We are stopping the agent, or stopping it harder.
    StopOrdered {
        /// When.
        at: Moment,
        /// Why.
        why: StopWhy,
        /// How hard.
        level: StopLevel,
        /// What was heard and seen of an agent that counts as stalled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence: Option<Silence>,
    },
    /// The agent is silent for too long, and something of the run works all the same.
    SilenceExcused {
        /// When.
        at: Moment,
        /// Until when that is no stall.
        until: Moment,
        /// What was heard and seen.
        silence: Silence,
    },
    /// A new supervisor took the run over. A suspended run returns to the phase before; else the record decides nothing, and
    /// the records that follow hold what is done about what was found.
    Recovered {
        /// When.
        at: Moment,
        /// What it found.
        remains: Remains,
        /// When the dead one had last written something down. It died then or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_at: Option<Moment>,
        /// The settings that a person changed at the takeover.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<SettingChange>,
    },
    /// The machine was asleep, or nobody supervised the run and its agent did nothing.
    Downtime {
        /// How long.
        span: Span,
    },
    /// The attempt is over, and this was decided.
    AttemptEnded {
        /// When.
        at: Moment,
        /// Why it failed; nothing if it did not.
        fault: Option<Fault>,
        /// What it used.
        tally: Tally,
        /// The last result, if there was one.
        result: Option<TurnResult>,
        /// How many calls our guards denied.
        #[serde(default, skip_serializing_if = "is_zero")]
        denied: u32,
        /// How its questions were answered.
        #[serde(default, skip_serializing_if = "Questions::are_none")]
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
        next: Next,
    },
    /// The work is to be judged.
    CheckOrdered {
        /// When.
        at: Moment,
    },
    /// That is being ended.
    CheckStopped {
        /// When.
        at: Moment,
        /// Why.
        why: StopWhy,
    },
    /// The work was judged.
    Checked {
        /// When.
        at: Moment,
        /// What came of it.
        result: Checked,
    },
    /// Nothing of the attempt is left.
    Swept {
        /// When.
        at: Moment,
        /// Processes that had to be ended.
        ended: u32,
    },
    /// Somebody asked for the end.
    CancelOrdered {
        /// When.
        at: Moment,
        /// Who.
        by: By,
    },
    /// SIGTERM or SIGHUP arrived: the run is being suspended.
    SuspendOrdered {
        /// When.
        at: Moment,
        /// Which signal.
        by: By,
    },
    /// No process of the run is left, and its supervisor exits. The next supervisor continues it from this phase on.
    Suspended {
        /// When.
        at: Moment,
        /// Which signal.
        by: By,
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
pub enum Next {
    /// Another attempt, not before `at`.
    Attempt {
        /// The earliest moment; the jitter that was drawn is in it.
        at: Moment,
        /// What is being done about the fault.
        remedy: Remedy,
        /// How.
        plan: SpawnPlan,
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
pub enum StopWhy {
    /// It was silent for too long with no tool running.
    Stalled,
    /// It went on saying things, and finished no message and no tool call for too long.
    NoProgress,
    /// The timeout of the attempt, or of the summary for it.
    AttemptTimeout,
    /// The credentials are rejected, and the agent would go on trying for minutes.
    AuthRejected,
    /// It opened another session than it was told.
    OtherSession,
    /// Its turn is interrupted, so that it can be told to save its work.
    Reserve,
    /// A limit of the run is used up.
    LimitReached,
    /// The run's processes have more memory than they may.
    Memory,
    /// It had its result and did not end.
    Lingered,
    /// Its background work outlived the result for longer than the policy allows, or until a limit.
    BackgroundStopped,
    /// Somebody asked for the end.
    Cancelled,
    /// The run is being suspended.
    Suspended,
}
