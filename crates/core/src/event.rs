//! What the core is told: facts, in the past tense.

use crate::{
    AgentResult, CancelSource, CheckResult, Evidence, Moment, ProcessActivity, SessionFileState, SessionId,
    SessionPlan, SettingChange, Span, StartupError, SummaryReport, Usage,
};
use serde::{Deserialize, Serialize};

/// A fact given to the core.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Somebody wants this run carried out, on this session.
    Started(SessionPlan),
    /// A person resumes a finished run, and changed these settings.
    Reopened(ResumeRequest, Vec<SettingChange>),
    /// The session to be continued was looked for, and this was found.
    SessionInspected(SessionFileState),
    /// What was ordered to be condensed is, or will not be; nothing that did it is left.
    SummaryEnded(SummaryReport),
    /// The agent's process is there.
    Spawned(ProcessId),
    /// The agent's process could not be started.
    SpawnFailed(SpawnError),
    /// The agent's stream said something.
    Noticed(Notice),
    /// The process is gone and its output is read to the end.
    Exited(Evidence),
    /// The work was judged, and nothing that did it is left.
    CheckEnded(CheckResult),
    /// The processes of a silent agent were looked at, and this was seen; nothing if nobody can look.
    ProcessesProbed(Option<ProcessActivity>),
    /// Everything that carried the attempt's mark is gone; so many processes had to be ended.
    Swept(u32),
    /// The deadline has come.
    Ticked,
    /// The machine was asleep for so long; or nobody supervised the run, and its agent did nothing.
    Downtime(Span),
    /// Somebody wants the run to end.
    Cancelled(CancelSource),
    /// A new supervisor took over a run whose supervisor died.
    Recovered {
        /// What it found.
        found: FoundAttempt,
        /// When the dead one had last written something down, if it had.
        last_record_at: Option<Moment>,
        /// The settings that a person changed at the takeover.
        changes: Vec<SettingChange>,
    },
}

/// What somebody who lets a run go on wants to be said to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResumeRequest {
    /// What ended the run, and to continue.
    Continue,
    /// The task once more.
    RepeatTask,
    /// These words.
    Prompt(String),
}

/// What a recovering supervisor found of the last attempt.
#[expect(clippy::large_enum_variant, reason = "there is one for each recovery")]
#[derive(Clone, Debug, PartialEq)]
pub enum FoundAttempt {
    /// Its process lives.
    Running(ProcessId),
    /// Its process is gone, or never was; this is what its files say. Where older work was being condensed for
    /// it: what is left of that.
    Ended(Evidence),
}

/// A process, so named that another one of the same number is not mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessId {
    /// The process id.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// Why a process could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpawnError {
    /// The program does not exist.
    NotFound,
    /// The program exists and cannot be run.
    NotRunnable,
    /// The system has no room for it now: processes, memory, open files.
    NoResources,
}

impl SpawnError {
    /// The start-up evidence this amounts to; nothing for what may pass.
    pub fn startup(self) -> Option<StartupError> {
        match self {
            SpawnError::NotFound => Some(StartupError::ProgramMissing),
            SpawnError::NotRunnable => Some(StartupError::Unusable),
            SpawnError::NoResources => None,
        }
    }
}

/// A normalised statement from an agent's stream. What decides nothing is not in here: text, deltas
/// and unknown events arrive as `Stirred`, and what says only that a connection is open arrives as nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The session is open: the agent named it and may now spend money in it.
    SessionOpened(SessionId),
    /// A sign of life that means nothing more.
    Activity,
    /// A message of the model, or a part of one, is finished.
    MessageEnded,
    /// A turn is running.
    ExchangeStarted,
    /// A tool call began.
    ToolStarted,
    /// A tool call brought a result.
    ToolEnded,
    /// The agent called our tool that says that the work is finished, and was answered; or ended its last message
    /// with the words that a person agreed on for that.
    ClaimedDone,
    /// A turn ended with a result.
    ExchangeEnded(AgentResult),
    /// No turn is owed any more.
    Idle,
    /// So many background shells or sub-agents are running.
    BackgroundChanged(u32),
    /// The agent is about to repeat a request by itself.
    Retrying {
        /// The number of this retry; the agent may announce one retry several times.
        attempt: u32,
        /// The HTTP status that caused it; nothing for a network fault.
        status: Option<u16>,
        /// How long the agent will wait.
        delay: Span,
    },
    /// An answer of the model is complete, or was cut, or a result has stated what was used: this is what the
    /// attempt has used by now.
    UsageUpdated(Usage),
    /// The account's usage window changed.
    RateLimitChanged(RateLimit),
    /// The agent's process stands still (SIGSTOP): it hears nothing, not even the end of its tools. Said by
    /// the world, not by the stream, and no sign of life.
    ProcessFrozen,
    /// What the workspace looks like at the end of a turn, as a number that changes with it. Said by the world.
    WorkspaceFingerprinted(u64),
    /// The run's processes have more memory resident than they may. Said by the world, and no sign of life.
    MemoryExceeded,
}

/// A statement on the account's usage window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateLimit {
    /// Whether requests pass.
    pub status: RateLimitStatus,
    /// When the window starts anew, if stated.
    pub resets_at: Option<Moment>,
}

/// Whether a usage window lets requests pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateLimitStatus {
    /// They pass.
    Allowed,
    /// They pass, and the window is nearly used up.
    Warning,
    /// They do not pass until the reset.
    Rejected,
}
