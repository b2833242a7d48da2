//! From evidence to fault: the table that says what an ending means.
//!
//! Read in this order, the first that applies decides: a guard that did not run, a conversation that is
//! not the run's, what we did ourselves, how the agent failed to start, what its last result states, and how its process ended
//! without one. Exit codes and the vendor's `subtype` alone prove nothing, and no prose is looked at.

use crate::{
    ApiError, Continuity, Ending, Evidence, Exit, Fault, MessageError, RateLimitStatus, StartupError,
    StopReason, StopWhy, TurnResult,
};

// The signals that ask a process to end; everything else that ends one is a crash.
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Why the attempt failed; nothing if it finished its work.
pub fn classify(evidence: &Evidence) -> Option<Fault> {
    let settled = evidence.result.as_ref().filter(|_| !evidence.turn_open);
    // Nothing excuses it: going on would go on unguarded.
    if evidence.guard_lapsed {
        return Some(Fault::GuardLapsed);
    }
    // What was done in another conversation than this run's was done without knowing the work.
    let elsewhere = evidence.stopped == Some(StopWhy::OtherSession);
    if elsewhere || evidence.continuity == Some(Continuity::Separate) {
        return Some(Fault::SessionLost);
    }
    // Nothing failed: the run has used what it may.
    if evidence.stopped == Some(StopWhy::LimitReached) {
        return None;
    }
    if let Some(fault) = by_our_stop(evidence.stopped).filter(|_| !outlasts_a_stop(evidence, settled)) {
        return Some(fault);
    }
    if let Some(startup) = evidence.startup {
        return Some(by_startup(startup));
    }
    match settled {
        Some(result) => by_result(evidence, result),
        // However hard it was stopped.
        None if evidence.stopped == Some(StopWhy::Suspended) => Some(Fault::Interrupted),
        None if evidence.memory_kill => Some(Fault::OutOfMemory),
        None => Some(by_exit(evidence.exit)),
    }
}

/// A turn that was finished before our stop reached the agent stays finished, and an exhausted quota
/// stays exhausted: coming back before its reset would only be refused.
fn outlasts_a_stop(evidence: &Evidence, settled: Option<&TurnResult>) -> bool {
    settled.is_some_and(|result| matches!(by_result(evidence, result), None | Some(Fault::UsageLimit)))
}

fn by_our_stop(stopped: Option<StopWhy>) -> Option<Fault> {
    match stopped? {
        StopWhy::Stalled | StopWhy::NoProgress => Some(Fault::Stalled),
        StopWhy::AttemptTimeout => Some(Fault::AttemptTimeout),
        StopWhy::AuthRejected => Some(Fault::Auth),
        StopWhy::OtherSession => Some(Fault::SessionLost),
        StopWhy::Memory => Some(Fault::OutOfMemory),
        // It had its result, which decides. A cancelled run is ended by the cancel, not by a fault; and one that was
        // to save its work by its limit.
        StopWhy::Lingered
        | StopWhy::BackgroundStopped
        | StopWhy::Cancelled
        | StopWhy::Suspended
        | StopWhy::Reserve
        | StopWhy::LimitReached => None,
    }
}

fn by_startup(startup: StartupError) -> Fault {
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

/// A process that ended without a (last) result.
fn by_exit(exit: Exit) -> Fault {
    match exit {
        // Exit 0 without a result is how SIGINT looks; 143 and 129 are SIGTERM and SIGHUP, handled.
        Exit::Code(0 | 143 | 129) | Exit::Signal(SIGTERM | SIGHUP | SIGINT) => Fault::Interrupted,
        Exit::Code(_) | Exit::Signal(_) | Exit::Unseen | Exit::NeverSpawned => Fault::Crashed,
    }
}

fn by_result(evidence: &Evidence, result: &TurnResult) -> Option<Fault> {
    if result.is_error { Some(by_error(evidence, result)) } else { by_claimed_success(result) }
}

/// A result that the vendor calls an error.
fn by_error(evidence: &Evidence, result: &TurnResult) -> Fault {
    let rejected = evidence.rate_limit.is_some_and(|limit| limit.status == RateLimitStatus::Rejected);
    match result.ending {
        Ending::Aborted => return Fault::Interrupted,
        Ending::PromptTooLong | Ending::TooLarge => return Fault::ContextFull,
        Ending::MaxTurns => return Fault::TurnLimit,
        Ending::BudgetExhausted => return Fault::AgentBudget,
        Ending::HookStopped => return Fault::Unfinished,
        Ending::Completed | Ending::ApiError | Ending::Other | Ending::Unstated => {}
    }
    if rejected || result.api_error == Some(ApiError::UsageLimitReached) {
        return Fault::UsageLimit;
    }
    by_typed_error(result.api_error)
        .or_else(|| result.api_status.and_then(|status| by_status(status, result.message_error)))
        .or_else(|| (result.stop_reason == StopReason::Refusal).then_some(Fault::Refused))
        .or_else(|| by_message_error(result.message_error))
        .unwrap_or(Fault::Unknown)
}

fn by_typed_error(error: Option<ApiError>) -> Option<Fault> {
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

pub(crate) fn by_status(status: u16, message: Option<MessageError>) -> Option<Fault> {
    match (status, message) {
        // A 400 says by its message error what it is about.
        (402, _) | (_, Some(MessageError::Billing)) => Some(Fault::Billing),
        (401 | 403, _) => Some(Fault::Auth),
        (404, Some(MessageError::ModelNotFound)) => Some(Fault::ModelUnknown),
        (413, _) => Some(Fault::ContextFull),
        (429, _) => Some(Fault::RateLimited),
        (529, _) => Some(Fault::Overloaded),
        (408 | 409 | 500..=599, _) => Some(Fault::ServerError),
        (400..=499, _) => Some(Fault::BadRequest),
        _ => None,
    }
}

fn by_message_error(error: Option<MessageError>) -> Option<Fault> {
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

/// A result that the vendor calls a success, which is not yet one.
pub(crate) fn by_claimed_success(result: &TurnResult) -> Option<Fault> {
    match result.ending {
        Ending::Completed => {}
        Ending::HookStopped => return Some(Fault::Unfinished),
        Ending::ApiError
        | Ending::PromptTooLong
        | Ending::TooLarge
        | Ending::Aborted
        | Ending::MaxTurns
        | Ending::BudgetExhausted
        | Ending::Other
        | Ending::Unstated => return Some(Fault::Unknown),
    }
    if result.stop_reason == StopReason::Refusal {
        return Some(Fault::Refused);
    }
    if result.denials > 0 {
        return Some(Fault::Permission);
    }
    let unfinished = result.empty || result.stop_hook_capped || result.stop_reason == StopReason::PauseTurn;
    unfinished.then_some(Fault::Unfinished)
}

#[cfg(test)]
mod tests;
