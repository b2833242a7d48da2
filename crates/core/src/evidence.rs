//! What was seen of an attempt when it was over: the only input of `classify`.
//!
//! A dialect turns vendor fields into these closed words; an agent's prose never gets here.

use crate::{Continuity, RateLimit, SessionId, Span, StopCause, Tokens, Usd};
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It is gone, and nobody saw how (its supervisor was dead).
    Unobserved,
    /// It was never started.
    NeverSpawned,
}

/// Everything that decides what an attempt's ending means. Later evidence never overrides earlier:
/// `classify` reads the fields from top to bottom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Why we stopped it ourselves, if we did. Filled in by the run, not by the dialect.
    pub stop_cause: Option<StopCause>,
    /// How the process ended.
    pub exit: Exit,
    /// Whether the kernel or a limit of ours killed it for its memory.
    pub oom_killed: bool,
    /// Why it could not be started or refused to start.
    pub startup: Option<StartupError>,
    /// The last result of the process, if there was one.
    pub result: Option<AgentResult>,
    /// Whether a new turn had begun after that result (then the result is not the end).
    pub exchange_open: bool,
    /// The last statement on the account's usage window.
    pub rate_limit: Option<RateLimit>,
    /// How long the server asked to wait, where the agent passes that on: a floor of our wait.
    pub retry_after: Option<Span>,
    /// Whether a hook gave no verdict or was cancelled unanswered.
    pub guard_lapsed: bool,
    /// How many calls our guards denied.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub denied_calls: u32,
    /// How its questions were answered.
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    pub questions: Questions,
    /// The session as the stream named it; nothing if the agent died before naming one.
    pub session: Option<SessionId>,
    /// Whether the session went on from where it was; nothing where that cannot be read. Filled in by the
    /// world, which has the session's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuity: Option<Continuity>,
    /// Whether a turn or a tool call was completed: the supervisor may not have been there to see it.
    #[serde(default)]
    pub made_progress: bool,
    /// Whether the agent said in its last turn that the work is finished: by a call, or by words agreed on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed_done: bool,
    /// How many of its turns ended with a result.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub results: u32,
    /// Number of background commands and sub-agents that ended with the process.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub background: u32,
    /// What the workspace looked like when it was over, where somebody looked. Filled in by the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_fingerprint: Option<u64>,
    /// What the attempt used.
    pub usage: Usage,
}

impl Evidence {
    /// The evidence of a process of which nothing is known but its exit.
    pub fn of_exit(exit: Exit) -> Evidence {
        Evidence {
            stop_cause: None,
            exit,
            oom_killed: false,
            startup: None,
            result: None,
            exchange_open: false,
            rate_limit: None,
            retry_after: None,
            guard_lapsed: false,
            denied_calls: 0,
            questions: Questions::default(),
            session: None,
            continuity: None,
            made_progress: false,
            claimed_done: false,
            results: 0,
            background: 0,
            workspace_fingerprint: None,
            usage: Usage::default(),
        }
    }
}

/// Questions that an agent would have asked a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Questions {
    /// How many were answered.
    pub answered: u32,
    /// How many of them by a default, because nobody had said anything about them.
    pub by_default: u32,
}

impl Questions {
    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        *self == Questions::default()
    }

    /// Counts questions by whether each was answered by a default.
    pub fn record(&mut self, by_default: impl Iterator<Item = bool>) {
        for by_default in by_default {
            self.answered = self.answered.saturating_add(1);
            self.by_default = self.by_default.saturating_add(u32::from(by_default));
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Questions) -> Questions {
        Questions {
            answered: self.answered.saturating_add(other.answered),
            by_default: self.by_default.saturating_add(other.by_default),
        }
    }
}

/// A start that failed or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartupError {
    /// The program does not exist.
    ProgramMissing,
    /// The program cannot be run: not executable, wrong format, too old, a bad flag, a refused mode.
    Unusable,
    /// It refuses to work without permissions as root, unless the machine is declared a sandbox.
    BypassAsRoot,
    /// It does not know the permission mode.
    UnknownPermissionMode,
    /// Its sandbox is required and cannot be had.
    SandboxMissing,
    /// The program is not an agent: it ended without a line of the agent's protocol.
    NotAnAgent,
    /// The agent knows no session of that id.
    SessionUnknown,
    /// The agent has a session of that id already.
    SessionInUse,
    /// Another process holds the session.
    SessionHeld,
}

/// The vendor's statement at the end of a turn, in closed words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentResult {
    /// The vendor's own verdict. On its own it proves nothing.
    pub is_error: bool,
    /// Why the turn ended.
    pub terminal_reason: TerminalReason,
    /// The HTTP status behind an API error.
    pub api_status: Option<u16>,
    /// The vendor's typed kind of API error.
    pub api_error: Option<ApiError>,
    /// The error on the last synthetic message.
    pub message_error: Option<MessageError>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Whether the answer is empty.
    pub empty: bool,
    /// Tools that were denied by somebody else than our guards or the user's hooks.
    pub denials: u32,
    /// Whether the cap on a stop hook's blocks ended the turn.
    pub stop_hook_capped: bool,
}

impl AgentResult {
    /// A turn that ended well with an answer.
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

    /// Whether the turn counts as progress: it ended well and brought an answer.
    pub fn is_progress(&self) -> bool {
        !self.is_error && !self.empty && self.terminal_reason == TerminalReason::Completed
    }
}

/// Why a turn ended (`terminal_reason` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// By itself.
    Completed,
    /// An API error.
    ApiError,
    /// The conversation is too long for the model.
    PromptTooLong,
    /// The request is too large.
    TooLarge,
    /// Interrupted, while streaming or in a tool.
    Aborted,
    /// A hook said stop.
    HookStopped,
    /// The agent's own turn limit.
    MaxTurns,
    /// The agent's own money limit.
    BudgetExhausted,
    /// A word we do not know.
    Other,
    /// The vendor gave none.
    NotReported,
}

/// The vendor's typed API error (`api_error` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApiError {
    /// A usage window is exhausted.
    UsageLimitReached,
    /// The connection failed or was cut.
    ConnectionFailed,
    /// The server did not answer in time.
    TimedOut,
    /// Something answered 200 that is not the API.
    Malformed,
    /// The output limit cut the answer.
    MaxOutputTokens,
    /// The organisation behind the credential is disabled.
    OrgDisabled,
    /// The agent is too old for the API.
    AgentTooOld,
    /// A word we do not know.
    Other,
}

/// The error word on a synthetic message (`assistant.error` of Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageError {
    /// `authentication_failed` and its kin.
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

/// Why the model stopped (`stop_reason` of the Messages API).
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
    /// Anything else, or nothing.
    Other,
}

/// What one attempt used, as far as its stream tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens of completed messages, each message once.
    pub tokens: Tokens,
    /// Tokens of messages that were cut before their final usage arrived: an estimate.
    pub truncated_tokens: Tokens,
    /// Completed messages.
    pub messages: u32,
    /// Messages cut in mid-flight.
    pub truncated_messages: u32,
    /// Completed messages of the main conversation: what a limit on turns counts. Those of sub-agents are not among
    /// them.
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    pub turns: u32,
    /// Cost that the vendor stated for this process.
    pub reported_cost: Usd,
    /// Cost priced by us, for messages that no statement of the vendor covers.
    pub estimated_cost: Usd,
    /// Whether some tokens could not be priced, because the model is in no price table.
    pub unpriced: bool,
}

impl Usage {
    /// Whether the model said anything, whole or in part.
    pub fn is_empty(&self) -> bool {
        self.messages == 0 && self.truncated_messages == 0
    }

    /// What was spent, as stated and as estimated.
    pub fn total_cost(&self) -> Usd {
        self.reported_cost + self.estimated_cost
    }

    /// Both tallies together.
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
