//! Describes to the model why its work was interrupted.

use longhaul_core::Fault;

/// Describes a fault for the model, which must know how its tools may be affected.
pub(crate) fn interruption(fault: Fault) -> &'static str {
    match fault {
        Fault::RateLimited => "the API refused requests for a while because of its rate limit",
        Fault::Overloaded => "the API was overloaded for a while",
        Fault::ServerError => "the API failed to answer for a while",
        Fault::Network => "the connection to the API was lost for a while",
        Fault::UsageLimit => "the account's usage limit was reached, and time has passed until its reset",
        Fault::Crashed => "the process you ran in died, and the commands it was running ended with it",
        Fault::Interrupted => {
            "the process you ran in was stopped from outside, and the commands it was running with it"
        }
        Fault::OutOfMemory => {
            "the process you ran in was killed for using too much memory, and the commands it was running \
             with it"
        }
        Fault::Stalled => {
            "the work made no progress for too long, so the process was stopped and started again"
        }
        Fault::AttemptTimeout => "the attempt timed out, so the process was stopped and started again",
        Fault::SessionLost => "the session was no longer found",
        Fault::SessionExists => "the process you ran in ended before it answered",
        Fault::SessionBusy => "another process was using the session",
        Fault::ContextFull => "the conversation had become too long for the model",
        Fault::OutputLimit => "the answer was truncated by the limit on output tokens",
        Fault::Unfinished => "the last turn ended before the task was done",
        Fault::GuardLapsed => "a hook that guards the tools gave no verdict",
        Fault::Permission => "a tool was not permitted",
        Fault::Auth => "the API did not accept the credentials",
        Fault::Billing => "the account could not be billed",
        Fault::ModelUnknown => "the API did not know the model",
        Fault::Refused => "the model refused the request",
        Fault::BadRequest => "the API rejected a request of the conversation as invalid",
        Fault::AgentMissing | Fault::AgentUnusable => "the agent could not be started",
        Fault::TurnLimit => "the turn limit was reached",
        Fault::AgentBudget => "the limit on cost was reached",
        Fault::Unknown => "the process you ran in ended for an unknown reason",
    }
}
