//! Faults: the closed list of reasons why an attempt failed, and their wire words.
//!
//! `classify.rs` recognizes faults, and `remedy.rs` decides what to do about them.

use crate::{AgentResult, StopReason, TerminalReason, words::stored_enum};

stored_enum! {
    /// The reason why an attempt failed. JSON, drills, tools and `why` use the same words.
    pub enum Fault {
        /// The API answered 429 without a usage limit.
        RateLimited = "rate_limited",
        /// The API answered 529.
        Overloaded = "overloaded",
        /// The API answered 5xx, 408 or 409, or the agent timed out waiting for it.
        ServerError = "server_error",
        /// The API could not be reached, or another server answered in its place.
        Network = "network",
        /// A usage window of the account is exhausted; its reset is usually known.
        UsageLimit = "usage_limit",
        /// The agent's process died without a result.
        Crashed = "crashed",
        /// The agent was interrupted from outside Longhaul.
        Interrupted = "interrupted",
        /// The agent was killed for exceeding its memory.
        OutOfMemory = "out_of_memory",
        /// The agent was silent, or completed nothing, for too long with no tool running. Longhaul stopped it.
        Stalled = "stalled",
        /// The attempt reached its timeout. Longhaul stopped it.
        AttemptTimeout = "attempt_timeout",
        /// The agent does not know the session.
        SessionLost = "session_lost",
        /// The id of the new session is already in use, by a session of this run.
        SessionExists = "session_exists",
        /// Another live run or process uses the session.
        SessionBusy = "session_busy",
        /// The conversation no longer fits into the model's context.
        ContextFull = "context_full",
        /// The output limit truncated the model's answer.
        OutputLimit = "output_limit",
        /// The agent stopped without an answer: empty result, paused turn, stopped by a hook.
        Unfinished = "unfinished",
        /// The agent gave up on a result that its JSON schema allows: the model returned invalid ones.
        InvalidResult = "invalid_result",
        /// A hook gave no verdict or got no answer: a guard did not run.
        GuardLapsed = "guard_lapsed",
        /// Tools were denied by something other than our guards.
        Permission = "permission",
        /// The credentials were rejected or are missing.
        Auth = "auth",
        /// The account cannot pay, or is disabled.
        Billing = "billing",
        /// The API does not know the model.
        ModelUnknown = "model_unknown",
        /// The model refused the request.
        Refused = "refused",
        /// The API rejected the request itself.
        BadRequest = "bad_request",
        /// The agent's program does not exist.
        AgentMissing = "agent_missing",
        /// The agent's program refused to start: unknown flag, too old, not executable, untrusted folder.
        AgentUnusable = "agent_unusable",
        /// The agent's own turn limit was reached.
        TurnLimit = "turn_limit",
        /// The agent's own budget was exhausted.
        AgentBudget = "agent_budget",
        /// None of the above. The evidence is kept.
        Unknown = "unknown",
    }
}

impl Fault {
    /// Returns the fault's meaning for people, as a clause without a period. It holds for every attempt with
    /// this fault.
    pub fn describe(self) -> &'static str {
        match self {
            Fault::RateLimited => "rate limited",
            Fault::Overloaded => "the API is overloaded",
            Fault::ServerError => "the API failed",
            Fault::Network => "the API could not be reached",
            Fault::UsageLimit => "the account's usage limit is reached",
            Fault::Crashed => "the agent crashed",
            Fault::Interrupted => "the agent was interrupted",
            Fault::OutOfMemory => "the agent ran out of memory",
            Fault::Stalled => "the agent stalled",
            Fault::AttemptTimeout => "the attempt timed out",
            Fault::SessionLost => "the session was not found",
            Fault::SessionExists => "the session exists already",
            Fault::SessionBusy => "the session is in use",
            Fault::ContextFull => "the conversation exceeds the model's context",
            Fault::OutputLimit => "the answer was truncated at the model's output limit",
            Fault::Unfinished => "the agent stopped before the work was done",
            Fault::InvalidResult => "the agent returned no result that its JSON schema allows",
            Fault::GuardLapsed => "a tool call was made without the verdict of a guard",
            Fault::Permission => "the agent was denied tools that it needed",
            Fault::Auth => "the credentials were rejected",
            Fault::Billing => "the account cannot pay",
            Fault::ModelUnknown => "the API does not know the model",
            Fault::Refused => "the model refused the request",
            Fault::BadRequest => "the API rejected the request",
            Fault::AgentMissing => "the agent is not installed",
            Fault::AgentUnusable => "the agent refused to start",
            Fault::TurnLimit => "the agent's turn limit is reached",
            Fault::AgentBudget => "the agent's own budget is exhausted",
            Fault::Unknown => "the agent failed for an unknown reason",
        }
    }

    /// Returns the fault's meaning for an attempt with this last result. The result may explain more
    /// precisely why the agent stopped.
    pub fn describe_with(self, result: Option<&AgentResult>) -> &'static str {
        match (self, result) {
            (Fault::Unfinished, Some(result)) if result.terminal_reason == TerminalReason::HookStopped => {
                "a hook stopped the agent"
            }
            (Fault::Unfinished, Some(result)) if result.stop_hook_capped => {
                "a stop hook blocked the agent's end until the agent's own cap"
            }
            (Fault::Unfinished, Some(result)) if result.stop_reason == StopReason::PauseTurn => {
                "the model paused and did not continue"
            }
            (Fault::Unfinished, Some(result)) if result.empty => "the agent stopped without an answer",
            (fault, _) => fault.describe(),
        }
    }
}
