//! Events: facts given to the core, named in the past tense.

use crate::{
    AgentResult, CancelSource, CheckResult, Evidence, Moment, ProcessActivity, SessionFileState, SessionId,
    SessionPlan, SettingChange, Span, StartupError, SummaryReport, Usage,
};
use serde::{Deserialize, Serialize};

/// A fact given to the core.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The user started the run, with this session.
    Started(SessionPlan),
    /// The user resumed a finished run and changed these settings.
    Reopened(ResumeRequest, Vec<SettingChange>),
    /// The session to resume was inspected and found in this state.
    SessionInspected(SessionFileState),
    /// The summary ended or was skipped, and none of its processes is left.
    SummaryEnded(SummaryReport),
    /// The agent's process was spawned.
    Spawned(ProcessId),
    /// The agent's process could not be started.
    SpawnFailed(SpawnError),
    /// The agent's stream produced a notice.
    Noticed(Notice),
    /// The process exited, and its output was read to the end.
    Exited(Evidence),
    /// The commands of the check ended, and none of its processes is left.
    CheckEnded(CheckResult),
    /// The reviewer's process is gone or never started; this is its evidence.
    ReviewEnded(Evidence),
    /// The processes of a silent agent were probed. `None` if they cannot be probed.
    ProcessesProbed(Option<ProcessActivity>),
    /// Every process with the attempt's run marker is gone. The number counts the processes that had to be
    /// stopped.
    Swept(u32),
    /// The deadline arrived.
    Ticked,
    /// Nothing of the run was running for this long: the machine slept, or no supervisor ran and the agent
    /// was idle.
    Downtime(Span),
    /// The user or a signal asked to stop the run.
    Cancelled(CancelSource),
    /// A new supervisor took over a run whose supervisor died.
    Recovered {
        /// State of the last attempt.
        found: FoundAttempt,
        /// A stop that was requested before the takeover. `None` if the agent is running: then the stop follows
        /// as its own event.
        stop: Option<CancelSource>,
        /// Time of the dead supervisor's last record or heartbeat. `None` if it wrote none.
        last_record_at: Option<Moment>,
        /// Settings that the user changed at the takeover.
        changes: Vec<SettingChange>,
    },
}

/// The prompt that the user, or the workflow of the run, requests when resuming a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResumeRequest {
    /// The reason why the run ended, and a request to continue.
    Continue,
    /// The task, again.
    RepeatTask,
    /// This text.
    Prompt(String),
    /// As `continue`, from the workflow of the run, which resumes it for the nth time.
    Workflow(u32),
}

/// The last attempt's state, as found by a recovering supervisor.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundAttempt {
    /// Its process is running.
    Running(ProcessId),
    /// Its process is gone or never started; the evidence comes from its files. If a summary or a review was
    /// interrupted, the evidence is that of the summary or of the reviewer.
    Ended(Evidence),
}

/// A process, identified so that a reused PID is not mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start time in the kernel's clock ticks since boot (field 22 of `/proc/PID/stat`). On macOS, the number that the
    /// kernel gives to this process only (`p_uniqueid`).
    pub start_ticks: u64,
}

/// Reason why a process could not be spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpawnError {
    /// The program does not exist.
    NotFound,
    /// The program exists but cannot be run.
    NotRunnable,
    /// The system lacks resources: processes, memory, open files, the working directory.
    NoResources,
}

impl SpawnError {
    /// Returns the matching start-up error, or `None` if the failure may be temporary.
    pub fn startup(self) -> Option<StartupError> {
        match self {
            SpawnError::NotFound => Some(StartupError::ProgramMissing),
            SpawnError::NotRunnable => Some(StartupError::Unusable),
            SpawnError::NoResources => None,
        }
    }
}

/// A normalized statement from an agent's stream.
///
/// Text, deltas and unknown events affect no decision and arrive as `Activity`. Keep-alives of the connection
/// are dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The session is open: the agent named it and may now spend money in it.
    SessionOpened(SessionId),
    /// Output without further meaning.
    Activity,
    /// A message of the model, or a part of one, is complete.
    MessageEnded,
    /// An exchange is running.
    ExchangeStarted,
    /// A tool call started.
    ToolStarted,
    /// A tool call returned a result.
    ToolEnded,
    /// The agent claimed that the work is done: by Longhaul's tool, which answered, or by the agreed line at
    /// the end of its last message.
    ClaimedDone,
    /// An exchange ended with a result.
    ExchangeEnded(AgentResult),
    /// No exchange is open anymore.
    Idle,
    /// These background commands and sub-agents are running.
    BackgroundChanged {
        /// Number of background commands and sub-agents.
        tasks: u32,
        /// Number of sub-agents among them.
        sub_agents: u32,
    },
    /// The agent is about to retry a request on its own.
    Retrying {
        /// Number of this retry. The agent may announce one retry several times.
        attempt: u32,
        /// HTTP status that caused it. `None` for a network fault.
        status: Option<u16>,
        /// Time that the agent will wait.
        delay: Span,
    },
    /// The attempt's usage so far. This notice is sent when a response completes or is truncated, and when a
    /// result reports usage.
    UsageUpdated(Usage),
    /// The account's usage window changed.
    RateLimitChanged(RateLimit),
    /// The agent's process is frozen (SIGSTOP) and reacts to nothing, not even to the end of its tools. This
    /// notice comes from the supervisor, not from the stream, and does not count as activity.
    ProcessFrozen,
    /// Fingerprint of the workspace at the end of an exchange. This notice comes from the supervisor.
    WorkspaceFingerprinted(u64),
    /// The run's processes exceed the memory limit. This notice comes from the supervisor and does not count
    /// as activity.
    MemoryExceeded,
}

/// The state of the account's usage window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateLimit {
    /// Whether requests pass.
    pub status: RateLimitStatus,
    /// Moment at which the window resets, if reported.
    pub resets_at: Option<Moment>,
}

/// Whether a usage window lets requests pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateLimitStatus {
    /// Requests pass.
    Allowed,
    /// Requests pass, and the window is nearly exhausted.
    Warning,
    /// Requests fail until the reset.
    Rejected,
}
