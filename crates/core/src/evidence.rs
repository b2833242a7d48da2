//! Evidence: the observations of an ended attempt, and the only input of `classify`.
//!
//! A dialect maps vendor fields to these closed enums. An agent's prose never gets here.

use crate::{Continuity, RateLimit, ReviewVerdict, SessionId, StopCause, Tokens, Usd};
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It ended while no supervisor ran, so its exit status is unknown.
    #[default]
    Unobserved,
    /// It was never spawned.
    NeverSpawned,
}

/// Everything that decides why an attempt ended.
///
/// `classify` reads the fields from top to bottom: later evidence never overrides earlier evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Reason why Longhaul stopped the agent, if it did. The run sets it, not the dialect.
    pub stop_cause: Option<StopCause>,
    /// How the process ended.
    pub exit: Exit,
    /// Whether the kernel or our memory limit killed it.
    pub oom_killed: bool,
    /// Reason why it could not be started or refused to start.
    pub startup: Option<StartupError>,
    /// Last result of the process, if there was one.
    pub result: Option<AgentResult>,
    /// Whether an exchange had started after that result. If so, the result is not the end.
    pub exchange_open: bool,
    /// Last reported state of the account's usage window.
    pub rate_limit: Option<RateLimit>,
    /// Whether a hook gave no verdict or was cancelled without an answer.
    pub guard_lapsed: bool,
    /// Number of calls that Longhaul's guards denied.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub denied_calls: u32,
    /// Counts of the agent's questions.
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    pub questions: Questions,
    /// Session id from the stream. `None` if the agent died before it reported one.
    pub session: Option<SessionId>,
    /// Whether the agent chooses the ids of its sessions, so that a new session has an id that no plan knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session_named_by_agent: bool,
    /// Whether the attempt continued the session's history. `None` if that cannot be read. The supervisor
    /// sets it, because it has the session's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuity: Option<Continuity>,
    /// Whether an exchange or a tool call was completed, with or without a running supervisor.
    #[serde(default)]
    pub made_progress: bool,
    /// Whether the agent claimed in its last exchange that the work is done, by tool or by line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed_done: bool,
    /// Number of exchanges that ended with a result.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub results: u32,
    /// Number of background commands and sub-agents that ended with the process.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub background: u32,
    /// Whether sub-agents are among them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_sub_agents: bool,
    /// Fingerprint of the workspace at the end, if it was read. The supervisor sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_fingerprint: Option<u64>,
    /// Verdict in the structured answer of a reviewer. `None` for every other process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewVerdict>,
    /// Usage of the attempt.
    pub usage: Usage,
}

impl Evidence {
    /// Returns the evidence of a process of which only the exit is known.
    pub fn from_exit(exit: Exit) -> Evidence {
        Evidence { exit, ..Evidence::default() }
    }
}

/// Questions that an agent would have asked a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Questions {
    /// Number of answered questions.
    pub answered: u32,
    /// Number of those answered by a default, because no configured answer matched.
    pub by_default: u32,
}

impl Questions {
    /// Returns whether there were no questions.
    pub fn is_empty(&self) -> bool {
        *self == Questions::default()
    }

    /// Counts answered questions. Each item states whether a default answered the question.
    pub fn record(&mut self, by_default: impl Iterator<Item = bool>) {
        for by_default in by_default {
            self.answered = self.answered.saturating_add(1);
            self.by_default = self.by_default.saturating_add(u32::from(by_default));
        }
    }

    /// Returns the sum of both counts.
    #[must_use]
    pub fn plus(self, other: Questions) -> Questions {
        Questions {
            answered: self.answered.saturating_add(other.answered),
            by_default: self.by_default.saturating_add(other.by_default),
        }
    }
}

/// An error that prevented a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartupError {
    /// The program does not exist.
    ProgramMissing,
    /// The program cannot be run: not executable, wrong format, too old, unknown flag, rejected mode.
    Unusable,
    /// The agent refuses to bypass permissions as root, unless the machine is declared a sandbox.
    BypassAsRoot,
    /// The agent does not know the permission mode.
    UnknownPermissionMode,
    /// The agent's required sandbox is not available.
    SandboxMissing,
    /// The program is not an agent: it ended without a line of the agent's protocol.
    NotAnAgent,
    /// The agent knows no session with this id.
    SessionUnknown,
    /// The agent already has a session with this id.
    SessionInUse,
    /// Another process uses the session.
    SessionHeld,
}

/// The vendor's result at the end of an exchange, in closed enums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentResult {
    /// Vendor's own verdict. On its own it proves nothing.
    pub is_error: bool,
    /// Reason why the exchange ended.
    pub terminal_reason: TerminalReason,
    /// HTTP status of an API error.
    pub api_status: Option<u16>,
    /// Vendor's typed API error.
    pub api_error: Option<ApiError>,
    /// Error on the last synthetic message.
    pub message_error: Option<MessageError>,
    /// Reason why the model stopped.
    pub stop_reason: StopReason,
    /// Whether the answer is empty.
    pub empty: bool,
    /// Number of tools denied by anything except our guards and the user's hooks.
    pub denials: u32,
    /// Whether the cap on a stop hook's blocks ended the exchange.
    pub stop_hook_capped: bool,
}

impl AgentResult {
    /// A successful exchange with an answer.
    pub const COMPLETED: AgentResult = AgentResult {
        is_error: false,
        terminal_reason: TerminalReason::Completed,
        api_status: None,
        api_error: None,
        message_error: None,
        stop_reason: StopReason::EndTurn,
        empty: false,
        denials: 0,
        stop_hook_capped: false,
    };

    /// Returns whether the exchange counts as progress: it succeeded and has an answer.
    pub fn is_progress(&self) -> bool {
        !self.is_error && !self.is_unfinished() && self.terminal_reason == TerminalReason::Completed
    }

    /// Returns whether the exchange ended before its answer, although the vendor reports a success.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.empty || self.stop_hook_capped || self.stop_reason == StopReason::PauseTurn
    }
}

/// Reason why an exchange ended (`terminal_reason` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The agent finished on its own.
    Completed,
    /// An API error occurred.
    ApiError,
    /// The conversation is too long for the model.
    PromptTooLong,
    /// The request is too large.
    TooLarge,
    /// The exchange was interrupted, while streaming or in a tool.
    Aborted,
    /// A hook stopped the agent.
    HookStopped,
    /// The agent's own turn limit was reached.
    MaxTurns,
    /// The agent's own budget was exhausted.
    BudgetExhausted,
    /// The model returned invalid structured results, as often as the agent allows.
    InvalidResult,
    /// Unknown word.
    Other,
    /// The vendor reported none.
    NotReported,
}

/// The vendor's typed API error (`api_error` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApiError {
    /// A usage window is exhausted.
    UsageLimitReached,
    /// The connection failed or broke.
    ConnectionFailed,
    /// The server did not answer in time.
    TimedOut,
    /// A server other than the API answered 200.
    Malformed,
    /// The output limit truncated the answer.
    MaxOutputTokens,
    /// The organization that owns the credential is disabled.
    OrgDisabled,
    /// The agent is too old for the API.
    AgentTooOld,
    /// Unknown word.
    Other,
}

/// The error word on a synthetic message (`assistant.error` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageError {
    /// `authentication_failed` and similar words.
    Authentication,
    /// `billing_error`.
    Billing,
    /// `rate_limit`.
    RateLimit,
    /// `overloaded`.
    Overloaded,
    /// `invalid_request`.
    InvalidRequest,
    /// `model_not_found`.
    ModelNotFound,
    /// `server_error`.
    ServerError,
    /// `max_output_tokens`.
    MaxOutputTokens,
    /// `unknown`.
    Unknown,
}

/// Reason why the model stopped (`stop_reason` of the Messages API).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was finished.
    EndTurn,
    /// It refused.
    Refusal,
    /// It paused a long turn.
    PauseTurn,
    /// Another reason, or none.
    Other,
}

/// The usage of one attempt, from its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens of completed messages. Each message counts once.
    pub tokens: Tokens,
    /// Tokens of truncated messages: an estimate.
    pub truncated_tokens: Tokens,
    /// Number of completed messages.
    pub messages: u32,
    /// Number of truncated messages.
    pub truncated_messages: u32,
    /// Number of completed messages in the main conversation, as counted by the limit on turns. Messages of
    /// sub-agents are excluded.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub turns: u32,
    /// Cost that the vendor reported for this process.
    pub reported_cost: Usd,
    /// Cost that Longhaul estimated for messages without a reported cost.
    pub estimated_cost: Usd,
    /// Whether some tokens have no price, because their model is in no price table.
    pub unpriced: bool,
}

impl Usage {
    /// Returns whether the model sent no message, whole or truncated.
    pub fn is_empty(&self) -> bool {
        self.responses() == 0
    }

    /// Returns the sum of the reported and the estimated cost.
    pub fn total_cost(&self) -> Usd {
        self.reported_cost + self.estimated_cost
    }

    /// Returns the number of tokens of all messages, complete and truncated.
    pub(crate) fn total_tokens(&self) -> u64 {
        (self.tokens + self.truncated_tokens).total()
    }

    /// Returns the number of messages, complete and truncated.
    pub(crate) fn responses(&self) -> u32 {
        self.messages.saturating_add(self.truncated_messages)
    }

    /// Returns the sum of both usages.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            tokens: self.tokens + other.tokens,
            truncated_tokens: self.truncated_tokens + other.truncated_tokens,
            messages: self.messages.saturating_add(other.messages),
            truncated_messages: self.truncated_messages.saturating_add(other.truncated_messages),
            turns: self.turns.saturating_add(other.turns),
            reported_cost: self.reported_cost + other.reported_cost,
            estimated_cost: self.estimated_cost + other.estimated_cost,
            unpriced: self.unpriced || other.unpriced,
        }
    }
}
