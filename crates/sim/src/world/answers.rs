//! How each fault shows in an agent's last result: the simulator's own table, written from the
//! measured behaviour of agents and never from the core's classification.

use crate::dice::Dice;
use longhaul_core::{ApiError, Ending, Fault, MessageError, StopReason, TurnResult};

/// An API error as the vendor states it.
const ERROR: TurnResult = TurnResult {
    is_error: true,
    ending: Ending::ApiError,
    stop_reason: StopReason::Other,
    ..TurnResult::COMPLETED
};

/// An interrupted turn.
pub(crate) const ABORTED: TurnResult = TurnResult { ending: Ending::Aborted, ..ERROR };

/// An API that could not be reached.
const UNREACHED: TurnResult = TurnResult {
    api_error: Some(ApiError::ConnectionFailed),
    message_error: Some(MessageError::ServerError),
    ..ERROR
};

/// A captive portal that answered in the API's place.
pub(crate) const PORTAL: TurnResult =
    TurnResult { api_error: Some(ApiError::Malformed), message_error: Some(MessageError::Unknown), ..ERROR };

/// One of the results by which `fault` shows; nothing for faults that show otherwise.
pub(crate) fn result_of(fault: Fault, dice: &mut Dice) -> Option<TurnResult> {
    let status = |status, message| TurnResult { api_status: Some(status), message_error: message, ..ERROR };
    let kind = |kind| TurnResult { api_error: Some(kind), ..ERROR };
    let ending = |ending| TurnResult { ending, ..ERROR };
    let claimed = TurnResult::COMPLETED;
    let shapes: &[TurnResult] = match fault {
        Fault::RateLimited => &[status(429, Some(MessageError::RateLimit)), status(429, None)],
        Fault::Overloaded => &[status(529, Some(MessageError::ServerError))],
        Fault::ServerError => &[
            status(500, Some(MessageError::ServerError)),
            status(503, None),
            status(408, None),
            status(409, None),
            kind(ApiError::TimedOut),
            TurnResult { message_error: Some(MessageError::ServerError), ..ERROR },
        ],
        Fault::Network => &[UNREACHED],
        Fault::UsageLimit => &[
            TurnResult { api_error: Some(ApiError::UsageLimitReached), ..status(429, None) },
            status(429, Some(MessageError::RateLimit)),
        ],
        Fault::Interrupted => &[ABORTED],
        Fault::ContextFull => &[
            TurnResult { api_status: Some(400), ..ending(Ending::PromptTooLong) },
            TurnResult { api_status: Some(413), ..ending(Ending::TooLarge) },
        ],
        Fault::OutputLimit => &[
            kind(ApiError::MaxOutputTokens),
            TurnResult { message_error: Some(MessageError::MaxOutputTokens), ..ERROR },
        ],
        Fault::Unfinished => &[
            TurnResult { empty: true, ..claimed },
            TurnResult { stop_reason: StopReason::PauseTurn, ..claimed },
            TurnResult { ending: Ending::HookStopped, empty: true, ..claimed },
            TurnResult { empty: true, stop_hook_capped: true, ..claimed },
        ],
        Fault::Permission => &[TurnResult { denials: 2, ..claimed }],
        Fault::Auth => &[
            status(401, Some(MessageError::Authentication)),
            status(403, Some(MessageError::Authentication)),
            TurnResult { message_error: Some(MessageError::Authentication), ..ERROR },
        ],
        Fault::Billing => &[
            status(402, None),
            status(400, Some(MessageError::Billing)),
            TurnResult {
                api_error: Some(ApiError::OrgDisabled),
                ..status(400, Some(MessageError::InvalidRequest))
            },
        ],
        Fault::ModelUnknown => &[status(404, Some(MessageError::ModelNotFound))],
        Fault::Refused => &[
            TurnResult {
                stop_reason: StopReason::Refusal,
                message_error: Some(MessageError::InvalidRequest),
                ..ERROR
            },
            TurnResult { stop_reason: StopReason::Refusal, ..claimed },
        ],
        Fault::BadRequest => {
            &[status(400, Some(MessageError::Unknown)), status(422, None), status(407, None)]
        }
        Fault::TurnLimit => &[ending(Ending::MaxTurns)],
        Fault::AgentBudget => &[ending(Ending::BudgetExhausted)],
        Fault::AgentUnusable => &[kind(ApiError::AgentTooOld)],
        Fault::Unknown => &[
            ending(Ending::Unstated),
            kind(ApiError::Other),
            TurnResult { ending: Ending::Other, ..claimed },
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
    Some(dice.pick(shapes))
}
