//! Lists the results that each fault produces. This table comes from the measured behavior of agents, never
//! from the core's classification.

use crate::rng::Rng;
use longhaul_core::{AgentResult, ApiError, Fault, MessageError, StopReason, TerminalReason};

/// An API error as the vendor reports it.
const ERROR: AgentResult = AgentResult {
    is_error: true,
    terminal_reason: TerminalReason::ApiError,
    stop_reason: StopReason::Other,
    ..AgentResult::COMPLETED
};

pub(crate) const ABORTED: AgentResult = AgentResult { terminal_reason: TerminalReason::Aborted, ..ERROR };

const UNREACHED: AgentResult = AgentResult {
    api_error: Some(ApiError::ConnectionFailed),
    message_error: Some(MessageError::ServerError),
    ..ERROR
};

/// A captive portal that answered instead of the API.
pub(crate) const PORTAL: AgentResult =
    AgentResult { api_error: Some(ApiError::Malformed), message_error: Some(MessageError::Unknown), ..ERROR };

/// Draws one of the results that `fault` produces, or returns `None` for a fault without a result.
pub(crate) fn result_of(fault: Fault, rng: &mut Rng) -> Option<AgentResult> {
    let status = |status, message| AgentResult { api_status: Some(status), message_error: message, ..ERROR };
    let kind = |kind| AgentResult { api_error: Some(kind), ..ERROR };
    let ended_by = |ended_by| AgentResult { terminal_reason: ended_by, ..ERROR };
    let completed = AgentResult::COMPLETED;
    let results: &[AgentResult] = match fault {
        Fault::RateLimited => &[status(429, Some(MessageError::RateLimit)), status(429, None)],
        Fault::Overloaded => &[status(529, Some(MessageError::ServerError))],
        Fault::ServerError => &[
            status(500, Some(MessageError::ServerError)),
            status(503, None),
            status(408, None),
            status(409, None),
            kind(ApiError::TimedOut),
            AgentResult { message_error: Some(MessageError::ServerError), ..ERROR },
        ],
        Fault::Network => &[UNREACHED],
        Fault::UsageLimit => &[
            AgentResult { api_error: Some(ApiError::UsageLimitReached), ..status(429, None) },
            status(429, Some(MessageError::RateLimit)),
        ],
        Fault::Interrupted => &[ABORTED],
        Fault::ContextFull => &[
            AgentResult { api_status: Some(400), ..ended_by(TerminalReason::PromptTooLong) },
            AgentResult { api_status: Some(413), ..ended_by(TerminalReason::TooLarge) },
        ],
        Fault::OutputLimit => &[
            kind(ApiError::MaxOutputTokens),
            AgentResult { message_error: Some(MessageError::MaxOutputTokens), ..ERROR },
        ],
        Fault::Unfinished => &[
            AgentResult { empty: true, ..completed },
            AgentResult { stop_reason: StopReason::PauseTurn, ..completed },
            AgentResult { terminal_reason: TerminalReason::HookStopped, empty: true, ..completed },
            AgentResult { empty: true, stop_hook_capped: true, ..completed },
        ],
        Fault::Permission => &[AgentResult { denials: 2, ..completed }],
        Fault::Auth => &[
            status(401, Some(MessageError::Authentication)),
            status(403, Some(MessageError::Authentication)),
            status(407, Some(MessageError::Unknown)),
            AgentResult { message_error: Some(MessageError::Authentication), ..ERROR },
        ],
        Fault::Billing => &[
            status(402, None),
            status(400, Some(MessageError::Billing)),
            AgentResult {
                api_error: Some(ApiError::OrgDisabled),
                ..status(400, Some(MessageError::InvalidRequest))
            },
        ],
        Fault::ModelUnknown => &[status(404, Some(MessageError::ModelNotFound))],
        Fault::Refused => &[
            AgentResult {
                stop_reason: StopReason::Refusal,
                message_error: Some(MessageError::InvalidRequest),
                ..ERROR
            },
            AgentResult { stop_reason: StopReason::Refusal, ..completed },
        ],
        Fault::BadRequest => &[status(400, Some(MessageError::Unknown)), status(422, None)],
        Fault::TurnLimit => &[ended_by(TerminalReason::MaxTurns)],
        Fault::AgentBudget => &[ended_by(TerminalReason::BudgetExhausted)],
        Fault::InvalidResult => &[ended_by(TerminalReason::InvalidResult)],
        Fault::AgentUnusable => &[kind(ApiError::AgentTooOld)],
        Fault::Unknown => &[
            ended_by(TerminalReason::NotReported),
            kind(ApiError::Other),
            AgentResult { terminal_reason: TerminalReason::Other, ..completed },
        ],
        Fault::Crashed
        | Fault::OutOfMemory
        | Fault::Stalled
        | Fault::AttemptTimeout
        | Fault::SessionLost
        | Fault::SessionExists
        | Fault::SessionBusy
        | Fault::GuardLapsed
        | Fault::AgentMissing => return None,
    };
    Some(rng.pick(results))
}
