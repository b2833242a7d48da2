//! Faults: the closed list of reasons why an attempt failed. One table states all that the policy knows of each.
//!
//! `classify.rs` recognizes faults.

use crate::{AgentResult, Nudge, OutcomeKind, Remedy, StopReason, TerminalReason, words::stored_enum};

/// Declares the faults: the wire word, the meaning for people, the remedy, and the outcome of a run that the fault
/// finishes.
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident = $word:literal: $text:literal, $remedy:expr, $outcome:ident;)*) => {
        stored_enum! {
            /// The reason why an attempt failed. JSON, drills, tools and `why` use the same words.
            pub enum Fault { $($(#[$doc])* $fault = $word,)* }
        }

        impl Fault {
            /// Returns the fault's meaning for people, as a clause without a period. It holds for every attempt with
            /// this fault.
            pub fn describe(self) -> &'static str {
                match self { $(Fault::$fault => $text,)* }
            }
        }

        /// Returns the remedy for a fault.
        pub fn remedy(fault: Fault) -> Remedy {
            match fault { $(Fault::$fault => $remedy,)* }
        }

        /// Returns the outcome of a run that finishes because of this fault.
        pub fn final_outcome(fault: Fault) -> OutcomeKind {
            match fault { $(Fault::$fault => OutcomeKind::$outcome,)* }
        }
    };
}

faults! {
    /// The API answered 429 without a usage limit.
    RateLimited = "rate_limited": "rate limited", Remedy::WaitOut, RetryLater;
    /// The API answered 529.
    Overloaded = "overloaded": "the API is overloaded", Remedy::WaitOut, RetryLater;
    /// The API answered 5xx, 408 or 409, or the agent timed out waiting for it.
    ServerError = "server_error": "the API failed", Remedy::WaitOut, RetryLater;
    /// The API could not be reached, or another server answered in its place.
    Network = "network": "the API could not be reached", Remedy::WaitOut, RetryLater;
    /// A usage window of the account is exhausted; its reset is usually known.
    UsageLimit = "usage_limit": "the account's usage limit is reached", Remedy::Park, RetryLater;
    /// The agent's process died without a result.
    Crashed = "crashed": "the agent crashed", Remedy::Resume, Failed;
    /// The agent was interrupted from outside Longhaul.
    Interrupted = "interrupted": "the agent was interrupted", Remedy::Resume, Failed;
    /// The agent was killed for exceeding its memory.
    OutOfMemory = "out_of_memory": "the agent ran out of memory", Remedy::ResumeOnce, Failed;
    /// The agent was silent, or completed nothing, for too long with no tool running. Longhaul stopped it.
    Stalled = "stalled": "the agent stalled", Remedy::Resume, Failed;
    /// The attempt reached its timeout. Longhaul stopped it.
    AttemptTimeout = "attempt_timeout": "the attempt timed out", Remedy::ResumeWhileProgressing, OutOfTime;
    /// The agent does not know the session.
    SessionLost = "session_lost": "the session was not found", Remedy::ReplaceLostSession, Failed;
    /// The id of the new session is already in use, by a session of this run.
    SessionExists = "session_exists": "the session exists already", Remedy::ResumeExisting, Failed;
    /// Another live run or process uses the session.
    SessionBusy = "session_busy": "the session is in use", Remedy::End, NotStarted;
    /// The conversation no longer fits into the model's context.
    ContextFull = "context_full": "the conversation exceeds the model's context", Remedy::ReplaceFullSession, Failed;
    /// The output limit truncated the model's answer.
    OutputLimit = "output_limit": "the answer was truncated at the model's output limit", Remedy::Nudge(Nudge::SmallerSteps), Failed;
    /// The agent stopped without an answer: empty result, paused turn, stopped by a hook.
    Unfinished = "unfinished": "the agent stopped before the work was done", Remedy::Nudge(Nudge::Answer), Failed;
    /// The agent gave up on a result that its JSON schema allows: the model returned invalid ones.
    InvalidResult = "invalid_result": "the agent returned no result that its JSON schema allows", Remedy::ResumeOnce, CheckFailed;
    /// A hook gave no verdict or got no answer: a guard did not run.
    GuardLapsed = "guard_lapsed": "a tool call was made without the verdict of a guard", Remedy::End, NeedsPerson;
    /// Tools were denied by something other than our guards.
    Permission = "permission": "the agent was denied tools that it needed", Remedy::EndUnlessAllowed, NeedsPerson;
    /// The credentials were rejected or are missing.
    Auth = "auth": "the credentials were rejected", Remedy::End, NeedsPerson;
    /// The account cannot pay, or is disabled.
    Billing = "billing": "the account cannot pay", Remedy::End, NeedsPerson;
    /// The API does not know the model.
    ModelUnknown = "model_unknown": "the API does not know the model", Remedy::End, Failed;
    /// The model refused the request.
    Refused = "refused": "the model refused the request", Remedy::End, Failed;
    /// The API rejected the request itself.
    BadRequest = "bad_request": "the API rejected the request", Remedy::TryFork, Failed;
    /// The agent's program does not exist.
    AgentMissing = "agent_missing": "the agent is not installed", Remedy::End, NotStarted;
    /// The agent's program refused to start: unknown flag, too old, not executable, untrusted folder.
    AgentUnusable = "agent_unusable": "the agent refused to start", Remedy::End, NotStarted;
    /// The agent's own turn limit was reached.
    TurnLimit = "turn_limit": "the agent's turn limit is reached", Remedy::ResumeWithinLimit, OutOfTime;
    /// The agent's own budget was exhausted.
    AgentBudget = "agent_budget": "the agent's own budget is exhausted", Remedy::ResumeWithinLimit, OverBudget;
    /// None of the above. The evidence is kept.
    Unknown = "unknown": "the agent failed for an unknown reason", Remedy::RetryOnce, NeedsPerson;
}

impl Fault {
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
