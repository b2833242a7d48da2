//! An entry of a run's timeline: one thing that mattered, as data. The words for it are in `output/timeline.rs`.

use longhaul_core::{
    AgentResult, CancelSource, CheckResult, Exit, Fault, Limit, LimitThreshold, Moment, Outcome, PromptKind,
    RecoveryFinding, Remedy, ResumeRequest, ResumeStrategy, SessionPlan, SettingChange, Span, StallReport,
    StopCause, StrategyReason, SummaryResult,
};
use longhaul_store::{StoppedTask, rfc3339};
use serde::{Serialize, Serializer};

/// One thing that mattered. Keys are only ever added.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineEntry {
    #[serde(flatten)]
    pub kind: TimelineEvent,
    /// When it happened; of what happened several times, the first time.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub at: Moment,
    /// The last time, or until the run went on; the same as `at` for what happened once.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub until: Moment,
    /// From the start of the run on.
    pub elapsed_ms: Span,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineEvent {
    /// The run began.
    Started {
        /// On which session.
        session: SessionPlan,
    },
    /// Somebody let a run go on that was over.
    Reopened {
        /// What is to be said to the agent.
        ask: ResumeRequest,
        /// How long it had been over.
        finished_ms: Span,
        /// The settings that the person changed.
        changes: Vec<SettingChange>,
    },
    /// An attempt began by a rung that is worth a word, or is still under way.
    AttemptStarted {
        /// Which one, from 1.
        attempt: u32,
        /// How the history of the conversation reached it.
        strategy: Option<ResumeStrategy>,
        /// Why by that rung.
        reason: Option<StrategyReason>,
        /// What it is told.
        say: PromptKind,
    },
    /// A model was asked for a summary of older work.
    Summary {
        /// For which attempt.
        attempt: u32,
        /// What came of it.
        outcome: SummaryResult,
        /// How long it took.
        duration_ms: Span,
        /// What it cost.
        #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
        total_cost_usd: f64,
    },
    /// An attempt ended, or several in a row that ended alike and came no further.
    AttemptsEnded(Box<AttemptEnded>),
    /// A limit of the run is reached.
    LimitReached {
        /// In which attempt.
        attempt: u32,
        /// Which limit.
        limit: Limit,
        /// How far.
        reach: LimitThreshold,
    },
    /// The agent was told something in the session that it has open.
    PromptSent {
        /// In which attempt.
        attempt: u32,
        /// What.
        say: PromptKind,
    },
    /// The agent stopped by itself, so many times in a row, and was told to go on.
    AgentStopped {
        /// In which attempt.
        attempt: u32,
        /// How often it stopped.
        stops: u32,
        /// How often it said then that the work is finished.
        done_claims: u32,
        /// How often it was told to go on.
        prompts: u32,
    },
    /// The agent was silent for too long while something of it worked.
    StallDeferred {
        /// In which attempt.
        attempt: u32,
        /// How often.
        times: u32,
        /// What was heard and seen, the last time.
        stall: StallReport,
    },
    /// A watchdog ended the agent of a supervisor that had died.
    WatchdogStopped {
        /// In which attempt.
        attempt: u32,
        /// For how long nothing had been heard by then.
        silent_ms: Span,
        /// How many processes were ended; nothing if the watchdog did not live to see them gone.
        processes_stopped: Option<u32>,
    },
    /// A supervisor had died, and a new one took the run over.
    Recovered {
        /// In which attempt.
        attempt: u32,
        /// What it found.
        remains: RecoveryFinding,
        /// For how long nobody supervised the run, at most; nothing where the dead one had written nothing.
        unsupervised_ms: Option<Span>,
        /// For how long of that nothing ran.
        idle_ms: Span,
        /// The settings that a person changed at the takeover.
        changes: Vec<SettingChange>,
    },
    /// Nothing ran.
    Downtime {
        /// For how long.
        duration_ms: Span,
    },
    /// The work was judged.
    CheckEnded {
        /// For the so manieth time, from 1.
        check: u32,
        /// What came of it.
        result: CheckResult,
        /// How long it took.
        duration_ms: Span,
    },
    /// Somebody asked for the end.
    Cancelled {
        /// Who.
        source: CancelSource,
    },
    /// SIGTERM or SIGHUP suspended the run.
    Suspended {
        /// Which signal.
        source: CancelSource,
    },
    /// The run is over.
    Finished {
        /// How it ended.
        outcome: Outcome,
        /// How many attempts it had.
        attempts: u32,
        /// How long it took.
        wall_ms: Span,
        /// How long of that it waited.
        waiting_ms: Span,
        /// How long of that nothing ran.
        downtime_ms: Span,
        /// What it cost.
        #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
        total_cost_usd: f64,
    },
}

/// One or more attempts that ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptEnded {
    /// The first of them, from 1.
    pub attempt: u32,
    /// The last; the same for one.
    pub last_attempt: u32,
    /// When the first of them began.
    #[serde(serialize_with = "stamp")]
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub since: Moment,
    /// Why they failed; nothing if they did not.
    pub fault: Option<Fault>,
    /// What proved it, in a few words.
    pub evidence: Option<String>,
    /// The last result, in closed words.
    pub result: Option<AgentResult>,
    /// How the process ended; `unseen` where no supervisor was there.
    pub exit: Option<Exit>,
    /// Why we stopped it, if we did.
    pub stop_cause: Option<StopCause>,
    /// Whether it had to be killed.
    pub killed: bool,
    pub work: WorkDone,
    /// Processes that had to be ended.
    pub leftover_processes: u32,
    /// Tool calls that the guards denied.
    pub denied_calls: u32,
    /// Questions that were answered.
    pub questions: u32,
    /// Background commands that were stopped with the agent.
    pub background_stopped: Vec<StoppedTask>,
    /// What was done about the fault; nothing if no attempt followed.
    pub remedy: Option<Remedy>,
    /// How long was to be waited, in all.
    pub planned_wait_ms: Option<Span>,
    /// How long was waited, in all; nothing as long as the run waits.
    pub waited_ms: Option<Span>,
    /// Until when it waits, as long as it does.
    #[serde(serialize_with = "stamp_if_any")]
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub waiting_until: Option<Moment>,
    /// Whether the work was then to be judged.
    pub check_follows: bool,
    /// Whether the agent's word that the work is done was what ended it.
    pub claimed_done: bool,
}

/// What was done in one or more attempts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkDone {
    /// Answers of the model in the main conversation.
    pub turns: u32,
    /// Tools that were called; nothing where nobody counted.
    pub tool_calls: Option<u64>,
    pub duration_ms: Span,
    /// Stated by the agent plus estimated by us.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: f64,
    /// What of it is estimated.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: f64,
}

impl WorkDone {
    /// Both together.
    pub fn plus(self, other: WorkDone) -> WorkDone {
        let calls = self.tool_calls.into_iter().chain(other.tool_calls).reduce(|one, other| one + other);
        WorkDone {
            turns: self.turns + other.turns,
            tool_calls: calls,
            duration_ms: self.duration_ms + other.duration_ms,
            total_cost_usd: self.total_cost_usd + other.total_cost_usd,
            estimated_cost_usd: self.estimated_cost_usd + other.estimated_cost_usd,
        }
    }
}

fn stamp<S: Serializer>(moment: &Moment, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*moment))
}

fn stamp_if_any<S: Serializer>(moment: &Option<Moment>, out: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => stamp(moment, out),
        None => out.serialize_none(),
    }
}
