//! Classifies evidence: decides with which fault an attempt failed.
//!
//! The first rule that applies decides, in this order:
//!
//! - a guard that did not run;
//! - a conversation that does not belong to the run;
//! - our own stop;
//! - a failed start;
//! - the last result, unless background work died with the agent;
//! - the exit of a process without such a result.
//!
//! Exit codes and the vendor's `subtype` alone prove nothing. This module never inspects prose.

use crate::{
    AgentResult, ApiError, Continuity, Evidence, Exit, Fault, MessageError, RateLimitStatus, StartupError,
    StopCause, StopReason, TerminalReason,
};

// These signals ask a process to end. Any other fatal signal is a crash.
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Returns the fault of the attempt, or `None` if the agent finished its work.
pub fn classify(evidence: &Evidence) -> Option<Fault> {
    let final_result = evidence.result.as_ref().filter(|_| !evidence.exchange_open);
    // No result outweighs a missing guard: a later attempt would run unguarded, too.
    if evidence.guard_lapsed {
        return Some(Fault::GuardLapsed);
    }
    // An agent in a conversation that does not belong to the run works without knowledge of earlier work.
    let is_wrong_session = evidence.stop_cause == Some(StopCause::WrongSession);
    if is_wrong_session || evidence.continuity == Some(Continuity::Unrelated) {
        return Some(Fault::SessionLost);
    }
    // A reached limit is no fault.
    if evidence.stop_cause == Some(StopCause::LimitReached) {
        return None;
    }
    if let Some(fault) =
        classify_stop_cause(evidence.stop_cause).filter(|_| !outweighs_stop(evidence, final_result))
    {
        return Some(fault);
    }
    if let Some(startup) = evidence.startup {
        return Some(classify_startup(startup));
    }
    match final_result.map(|result| classify_result(evidence, result)) {
        Some(fault) if fault.is_some() || !has_lost_work(evidence) => fault,
        // The level of the stop does not matter.
        _ if evidence.stop_cause == Some(StopCause::Suspended) => Some(Fault::Interrupted),
        _ if evidence.oom_killed => Some(Fault::OutOfMemory),
        // The agent did not start, because the run was cancelled before. Or it ran without a supervisor, and the cancel
        // stopped it.
        _ if evidence.stop_cause == Some(StopCause::Cancelled)
            && matches!(evidence.exit, Exit::NeverSpawned | Exit::Unobserved) =>
        {
            Some(Fault::Interrupted)
        }
        _ => Some(classify_exit(evidence.exit)),
    }
}

/// Returns whether background work died together with the agent that waited for it. The run would have waited, too.
/// If Longhaul stopped the work on purpose, or the agent no longer needed it, the result counts. Work that an agent
/// starts while it is being stopped is lost. An agent that exits with 0 ended its commands, but not its sub-agents: they
/// are its own work.
fn has_lost_work(evidence: &Evidence) -> bool {
    evidence.background > 0
        && !evidence.claimed_done
        && !matches!(evidence.stop_cause, Some(StopCause::BackgroundStopped | StopCause::LimitReached))
        && (evidence.exit != Exit::Code(0) || evidence.lost_sub_agents)
}

/// Returns whether the result outweighs our stop.
///
/// An exchange that finished before the stop reached the agent stays finished. An exhausted quota stays
/// exhausted: a retry before its reset would be rejected.
fn outweighs_stop(evidence: &Evidence, final_result: Option<&AgentResult>) -> bool {
    final_result.is_some_and(|result| match classify_result(evidence, result) {
        None => !has_lost_work(evidence),
        fault => fault == Some(Fault::UsageLimit),
    })
}

fn classify_stop_cause(cause: Option<StopCause>) -> Option<Fault> {
    match cause? {
        StopCause::Stalled | StopCause::NoProgress => Some(Fault::Stalled),
        StopCause::TimedOut => Some(Fault::AttemptTimeout),
        StopCause::AuthRejected => Some(Fault::Auth),
        StopCause::WrongSession => Some(Fault::SessionLost),
        StopCause::MemoryLimit => Some(Fault::OutOfMemory),
        // The agent's result decides. A cancel ends a cancelled run and a limit ends a wrap-up, so neither is
        // a fault.
        StopCause::DidNotExit
        | StopCause::BackgroundStopped
        | StopCause::Cancelled
        | StopCause::Suspended
        | StopCause::WrapUp
        | StopCause::LimitReached => None,
    }
}

fn classify_startup(startup: StartupError) -> Fault {
    match startup {
        StartupError::ProgramMissing => Fault::AgentMissing,
        StartupError::Unusable
        | StartupError::BypassAsRoot
        | StartupError::UnknownPermissionMode
        | StartupError::SandboxMissing
        | StartupError::NotAnAgent => Fault::AgentUnusable,
        StartupError::SessionUnknown => Fault::SessionLost,
        StartupError::SessionInUse => Fault::SessionExists,
        StartupError::SessionHeld => Fault::SessionBusy,
    }
}

/// Classifies a process that ended without a result for its last exchange, or before its background work.
fn classify_exit(exit: Exit) -> Fault {
    match exit {
        // Claude Code exits with 0 and no result on SIGINT; 143 and 129 mean handled SIGTERM and SIGHUP.
        Exit::Code(0 | 143 | 129) | Exit::Signal(SIGTERM | SIGHUP | SIGINT) => Fault::Interrupted,
        Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => Fault::Crashed,
    }
}

fn classify_result(evidence: &Evidence, result: &AgentResult) -> Option<Fault> {
    if result.is_error { Some(classify_error(evidence, result)) } else { classify_reported_success(result) }
}

/// Classifies a result that the vendor calls an error.
fn classify_error(evidence: &Evidence, result: &AgentResult) -> Fault {
    let rejected = evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
    match result.terminal_reason {
        TerminalReason::Aborted => return Fault::Interrupted,
        TerminalReason::PromptTooLong | TerminalReason::TooLarge => return Fault::ContextFull,
        TerminalReason::MaxTurns => return Fault::TurnLimit,
        TerminalReason::BudgetExhausted => return Fault::AgentBudget,
        TerminalReason::HookStopped => return Fault::Unfinished,
        TerminalReason::InvalidResult => return Fault::InvalidResult,
        TerminalReason::Completed
        | TerminalReason::ApiError
        | TerminalReason::Other
        | TerminalReason::NotReported => {}
    }
    if rejected || result.api_error == Some(ApiError::UsageLimitReached) {
        return Fault::UsageLimit;
    }
    classify_typed_error(result.api_error)
        .or_else(|| result.api_status.and_then(|status| classify_status(status, result.message_error)))
        .or_else(|| (result.stop_reason == StopReason::Refusal).then_some(Fault::Refused))
        .or_else(|| classify_message_error(result.message_error))
        .unwrap_or(Fault::Unknown)
}

fn classify_typed_error(error: Option<ApiError>) -> Option<Fault> {
    match error? {
        ApiError::UsageLimitReached => Some(Fault::UsageLimit),
        ApiError::ConnectionFailed | ApiError::Malformed => Some(Fault::Network),
        ApiError::TimedOut => Some(Fault::ServerError),
        ApiError::MaxOutputTokens => Some(Fault::OutputLimit),
        ApiError::OrgDisabled => Some(Fault::Billing),
        ApiError::AgentTooOld => Some(Fault::AgentUnusable),
        ApiError::Other => None,
    }
}

pub(crate) fn classify_status(status: u16, message: Option<MessageError>) -> Option<Fault> {
    match (status, message) {
        // The message error of a 400 states its cause.
        (402, _) | (_, Some(MessageError::Billing)) => Some(Fault::Billing),
        // A proxy answers 407.
        (401 | 403 | 407, _) => Some(Fault::Auth),
        (404, Some(MessageError::ModelNotFound)) => Some(Fault::ModelUnknown),
        (413, _) => Some(Fault::ContextFull),
        (429, _) => Some(Fault::RateLimited),
        (529, _) => Some(Fault::Overloaded),
        (408 | 409 | 500..=599, _) => Some(Fault::ServerError),
        (400..=499, _) => Some(Fault::BadRequest),
        _ => None,
    }
}

fn classify_message_error(error: Option<MessageError>) -> Option<Fault> {
    match error? {
        MessageError::Authentication => Some(Fault::Auth),
        MessageError::Billing => Some(Fault::Billing),
        MessageError::RateLimit => Some(Fault::RateLimited),
        MessageError::Overloaded => Some(Fault::Overloaded),
        MessageError::ModelNotFound => Some(Fault::ModelUnknown),
        MessageError::ServerError => Some(Fault::ServerError),
        MessageError::MaxOutputTokens => Some(Fault::OutputLimit),
        MessageError::InvalidRequest => Some(Fault::BadRequest),
        MessageError::Unknown => None,
    }
}

/// Classifies a result that the vendor calls a success but that may not be one.
pub(crate) fn classify_reported_success(result: &AgentResult) -> Option<Fault> {
    match result.terminal_reason {
        TerminalReason::Completed => {}
        TerminalReason::HookStopped => return Some(Fault::Unfinished),
        TerminalReason::ApiError
        | TerminalReason::PromptTooLong
        | TerminalReason::TooLarge
        | TerminalReason::Aborted
        | TerminalReason::MaxTurns
        | TerminalReason::BudgetExhausted
        | TerminalReason::InvalidResult
        | TerminalReason::Other
        | TerminalReason::NotReported => return Some(Fault::Unknown),
    }
    if result.stop_reason == StopReason::Refusal {
        return Some(Fault::Refused);
    }
    if result.denials > 0 {
        return Some(Fault::Permission);
    }
    result.is_unfinished().then_some(Fault::Unfinished)
}

#[cfg(test)]
mod tests;
