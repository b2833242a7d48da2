use super::classify;
use crate::{
    AgentResult, ApiError, Evidence, Exit, Fault, MessageError, Moment, RateLimit, RateLimitStatus,
    StartupError, StopCause, StopReason, TerminalReason,
};

const DONE: AgentResult = AgentResult::COMPLETED;
/// An API error as the agent reports it: `is_error`, `terminal_reason: api_error`.
const ERROR: AgentResult = AgentResult {
    is_error: true,
    terminal_reason: TerminalReason::ApiError,
    stop_reason: StopReason::Other,
    ..DONE
};

fn exit_code(code: i32) -> Evidence {
    Evidence::from_exit(Exit::Code(code))
}

fn signal(signal: i32) -> Evidence {
    Evidence::from_exit(Exit::Signal(signal))
}

fn startup_error(startup: StartupError) -> Evidence {
    Evidence { startup: Some(startup), ..exit_code(1) }
}

fn with_result(result: AgentResult) -> Evidence {
    Evidence { result: Some(result), ..exit_code(i32::from(result.is_error)) }
}

fn with_background(exit: Exit) -> Evidence {
    Evidence { background: 1, exit, ..with_result(DONE) }
}

fn http_status(status: u16) -> AgentResult {
    AgentResult { api_status: Some(status), ..ERROR }
}

fn api_error(error: ApiError) -> AgentResult {
    AgentResult { api_error: Some(error), ..ERROR }
}

fn message_error(error: MessageError) -> AgentResult {
    AgentResult { message_error: Some(error), ..ERROR }
}

fn terminal(reason: TerminalReason) -> AgentResult {
    AgentResult { terminal_reason: reason, ..ERROR }
}

fn with_rate_limit(status: RateLimitStatus, result: AgentResult) -> Evidence {
    let limit = RateLimit { status, resets_at: Some(Moment::from_unix_seconds(1_790_000_000)) };
    Evidence { rate_limit: Some(limit), ..with_result(result) }
}

fn stopped_by(cause: StopCause, evidence: Evidence) -> Evidence {
    Evidence { stop_cause: Some(cause), ..evidence }
}

/// The expected fault of each evidence, in the order of the faults.
fn table() -> Vec<(&'static str, Evidence, Option<Fault>)> {
    let message = |status: u16, error| AgentResult { message_error: Some(error), ..http_status(status) };
    let failed_by = |error| with_result(api_error(error));
    let reported = |error| with_result(message_error(error));
    let ended_by = |reason| with_result(terminal(reason));
    let answered = |status| with_result(http_status(status));
    vec![
        ("429", answered(429), Some(Fault::RateLimited)),
        ("rate_limit without a status", reported(MessageError::RateLimit), Some(Fault::RateLimited)),
        (
            "429 while the window is nearly exhausted",
            with_rate_limit(RateLimitStatus::Warning, http_status(429)),
            Some(Fault::RateLimited),
        ),
        (
            "529 with server_error",
            with_result(message(529, MessageError::ServerError)),
            Some(Fault::Overloaded),
        ),
        ("overloaded without a status", reported(MessageError::Overloaded), Some(Fault::Overloaded)),
        ("500", answered(500), Some(Fault::ServerError)),
        ("503", answered(503), Some(Fault::ServerError)),
        ("524", answered(524), Some(Fault::ServerError)),
        ("408", answered(408), Some(Fault::ServerError)),
        ("409", answered(409), Some(Fault::ServerError)),
        ("timed out", failed_by(ApiError::TimedOut), Some(Fault::ServerError)),
        ("server_error without a status", reported(MessageError::ServerError), Some(Fault::ServerError)),
        (
            "connection failed, with server_error",
            with_result(AgentResult {
                message_error: Some(MessageError::ServerError),
                ..api_error(ApiError::ConnectionFailed)
            }),
            Some(Fault::Network),
        ),
        (
            "a captive portal's 200",
            with_result(AgentResult {
                message_error: Some(MessageError::Unknown),
                ..api_error(ApiError::Malformed)
            }),
            Some(Fault::Network),
        ),
        (
            "usage limit, as an API error",
            with_result(AgentResult { api_error: Some(ApiError::UsageLimitReached), ..http_status(429) }),
            Some(Fault::UsageLimit),
        ),
        (
            "429 in a rejected window",
            with_rate_limit(RateLimitStatus::Rejected, http_status(429)),
            Some(Fault::UsageLimit),
        ),
        ("done although the window was rejected", with_rate_limit(RateLimitStatus::Rejected, DONE), None),
        ("SIGKILL", signal(9), Some(Fault::Crashed)),
        ("SIGSEGV", signal(11), Some(Fault::Crashed)),
        ("exit 1 without a result", exit_code(1), Some(Fault::Crashed)),
        ("exit 137 without a result", exit_code(137), Some(Fault::Crashed)),
        ("unobserved exit", Evidence::from_exit(Exit::Unobserved), Some(Fault::Crashed)),
        ("never spawned", Evidence::from_exit(Exit::NeverSpawned), Some(Fault::Crashed)),
        (
            "killed in a new exchange after a result",
            Evidence { exchange_open: true, result: Some(DONE), ..signal(9) },
            Some(Fault::Crashed),
        ),
        ("143, SIGTERM handled", exit_code(143), Some(Fault::Interrupted)),
        ("129, SIGHUP handled", exit_code(129), Some(Fault::Interrupted)),
        ("exit 0 without a result, SIGINT", exit_code(0), Some(Fault::Interrupted)),
        ("SIGTERM", signal(15), Some(Fault::Interrupted)),
        ("SIGHUP", signal(1), Some(Fault::Interrupted)),
        ("SIGINT", signal(2), Some(Fault::Interrupted)),
        (
            "aborted, and exit 0",
            Evidence { exit: Exit::Code(0), ..ended_by(TerminalReason::Aborted) },
            Some(Fault::Interrupted),
        ),
        ("killed for its memory", Evidence { oom_killed: true, ..signal(9) }, Some(Fault::OutOfMemory)),
        (
            "killed for its memory after its result",
            Evidence { oom_killed: true, exit: Exit::Signal(9), ..with_result(DONE) },
            None,
        ),
        ("stopped as stalled", stopped_by(StopCause::Stalled, exit_code(143)), Some(Fault::Stalled)),
        (
            "an error during the stop of a stalled agent",
            stopped_by(StopCause::Stalled, answered(529)),
            Some(Fault::Stalled),
        ),
        ("finished just before the stop", stopped_by(StopCause::Stalled, with_result(DONE)), None),
        (
            "usage limit just before the stop",
            stopped_by(StopCause::Stalled, with_rate_limit(RateLimitStatus::Rejected, http_status(429))),
            Some(Fault::UsageLimit),
        ),
        (
            "stopped at its timeout",
            stopped_by(StopCause::TimedOut, exit_code(143)),
            Some(Fault::AttemptTimeout),
        ),
        (
            "did not exit after its result",
            stopped_by(StopCause::DidNotExit, Evidence { exit: Exit::Code(143), ..with_result(DONE) }),
            None,
        ),
        (
            "did not exit after an error",
            stopped_by(StopCause::DidNotExit, Evidence { exit: Exit::Signal(9), ..answered(500) }),
            Some(Fault::ServerError),
        ),
        (
            "did not exit, and started a new exchange",
            stopped_by(
                StopCause::DidNotExit,
                Evidence { exchange_open: true, ..Evidence { exit: Exit::Code(143), ..with_result(DONE) } },
            ),
            Some(Fault::Interrupted),
        ),
        ("killed with its background work", with_background(Exit::Signal(9)), Some(Fault::Crashed)),
        ("dead with its background work", with_background(Exit::Unobserved), Some(Fault::Crashed)),
        (
            "suspended with its background work",
            stopped_by(StopCause::Suspended, with_background(Exit::Signal(9))),
            Some(Fault::Interrupted),
        ),
        (
            "killed for its memory with its background work",
            stopped_by(
                StopCause::MemoryLimit,
                Evidence { oom_killed: true, ..with_background(Exit::Code(143)) },
            ),
            Some(Fault::OutOfMemory),
        ),
        (
            "an error, and killed with its background work",
            Evidence { result: Some(http_status(529)), ..with_background(Exit::Signal(9)) },
            Some(Fault::Overloaded),
        ),
        (
            "killed with background work that it no longer needed",
            Evidence { claimed_done: true, ..with_background(Exit::Signal(9)) },
            None,
        ),
        ("exited despite its background work", with_background(Exit::Code(0)), None),
        (
            "stopped because of its background work",
            stopped_by(StopCause::BackgroundStopped, with_background(Exit::Code(143))),
            None,
        ),
        (
            "stopped because it did not exit, with background work that it started afterwards",
            stopped_by(StopCause::DidNotExit, with_background(Exit::Code(143))),
            Some(Fault::Interrupted),
        ),
        ("cancelled", stopped_by(StopCause::Cancelled, exit_code(143)), Some(Fault::Interrupted)),
        (
            "cancelled before it started",
            stopped_by(StopCause::Cancelled, Evidence::from_exit(Exit::NeverSpawned)),
            Some(Fault::Interrupted),
        ),
        (
            "aborted by a cancel",
            stopped_by(StopCause::Cancelled, ended_by(TerminalReason::Aborted)),
            Some(Fault::Interrupted),
        ),
        ("cancelled just after the result", stopped_by(StopCause::Cancelled, with_result(DONE)), None),
        ("no conversation found", startup_error(StartupError::SessionUnknown), Some(Fault::SessionLost)),
        ("already in use", startup_error(StartupError::SessionInUse), Some(Fault::SessionExists)),
        ("held by another process", startup_error(StartupError::SessionHeld), Some(Fault::SessionBusy)),
        (
            "prompt too long",
            with_result(AgentResult { api_status: Some(400), ..terminal(TerminalReason::PromptTooLong) }),
            Some(Fault::ContextFull),
        ),
        ("413", answered(413), Some(Fault::ContextFull)),
        (
            "too large",
            with_result(AgentResult { api_status: Some(413), ..terminal(TerminalReason::TooLarge) }),
            Some(Fault::ContextFull),
        ),
        ("output limit, as an API error", failed_by(ApiError::MaxOutputTokens), Some(Fault::OutputLimit)),
        (
            "output limit, as a message error",
            reported(MessageError::MaxOutputTokens),
            Some(Fault::OutputLimit),
        ),
        ("an empty answer", with_result(AgentResult { empty: true, ..DONE }), Some(Fault::Unfinished)),
        (
            "a paused turn",
            with_result(AgentResult { stop_reason: StopReason::PauseTurn, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "stopped by a hook, called a success",
            with_result(AgentResult { terminal_reason: TerminalReason::HookStopped, empty: true, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "stopped by a hook, called an error",
            ended_by(TerminalReason::HookStopped),
            Some(Fault::Unfinished),
        ),
        (
            "the cap on a stop hook",
            with_result(AgentResult { stop_hook_capped: true, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "invalid structured results",
            with_result(terminal(TerminalReason::InvalidResult)),
            Some(Fault::InvalidResult),
        ),
        (
            "a guard that did not run",
            Evidence { guard_lapsed: true, ..with_result(DONE) },
            Some(Fault::GuardLapsed),
        ),
        (
            "a guard that did not run, and a crash",
            Evidence { guard_lapsed: true, ..signal(9) },
            Some(Fault::GuardLapsed),
        ),
        (
            "a guard that did not run before a stop",
            stopped_by(StopCause::Stalled, Evidence { guard_lapsed: true, ..exit_code(143) }),
            Some(Fault::GuardLapsed),
        ),
        ("denied tools", with_result(AgentResult { denials: 1, ..DONE }), Some(Fault::Permission)),
        (
            "denied tools and an empty answer",
            with_result(AgentResult { denials: 1, empty: true, ..DONE }),
            Some(Fault::Permission),
        ),
        ("401", with_result(message(401, MessageError::Authentication)), Some(Fault::Auth)),
        ("403", answered(403), Some(Fault::Auth)),
        ("not logged in", reported(MessageError::Authentication), Some(Fault::Auth)),
        (
            "stopped after two rejections",
            stopped_by(StopCause::AuthRejected, exit_code(143)),
            Some(Fault::Auth),
        ),
        ("402", answered(402), Some(Fault::Billing)),
        ("a 400 about credit", with_result(message(400, MessageError::Billing)), Some(Fault::Billing)),
        ("billing_error without a status", reported(MessageError::Billing), Some(Fault::Billing)),
        (
            "a disabled organization",
            with_result(AgentResult {
                api_error: Some(ApiError::OrgDisabled),
                ..message(400, MessageError::InvalidRequest)
            }),
            Some(Fault::Billing),
        ),
        (
            "404 for the model",
            with_result(message(404, MessageError::ModelNotFound)),
            Some(Fault::ModelUnknown),
        ),
        (
            "model_not_found without a status",
            reported(MessageError::ModelNotFound),
            Some(Fault::ModelUnknown),
        ),
        (
            "a refusal, called an error",
            with_result(AgentResult {
                stop_reason: StopReason::Refusal,
                ..message_error(MessageError::InvalidRequest)
            }),
            Some(Fault::Refused),
        ),
        (
            "a refusal, called a success",
            with_result(AgentResult { stop_reason: StopReason::Refusal, ..DONE }),
            Some(Fault::Refused),
        ),
        ("400", with_result(message(400, MessageError::Unknown)), Some(Fault::BadRequest)),
        ("another 404", answered(404), Some(Fault::BadRequest)),
        ("407 of a proxy", answered(407), Some(Fault::Auth)),
        ("422", answered(422), Some(Fault::BadRequest)),
        ("invalid_request without a status", reported(MessageError::InvalidRequest), Some(Fault::BadRequest)),
        (
            "missing program",
            Evidence { exit: Exit::NeverSpawned, ..startup_error(StartupError::ProgramMissing) },
            Some(Fault::AgentMissing),
        ),
        ("a bad flag", startup_error(StartupError::Unusable), Some(Fault::AgentUnusable)),
        ("agent too old for the API", failed_by(ApiError::AgentTooOld), Some(Fault::AgentUnusable)),
        ("the agent's own turn limit", ended_by(TerminalReason::MaxTurns), Some(Fault::TurnLimit)),
        ("the agent's own budget", ended_by(TerminalReason::BudgetExhausted), Some(Fault::AgentBudget)),
        ("an error without a reason", ended_by(TerminalReason::NotReported), Some(Fault::Unknown)),
        ("an error of a new kind", failed_by(ApiError::Other), Some(Fault::Unknown)),
        ("a status below 400", answered(302), Some(Fault::Unknown)),
        (
            "a success with an unknown terminal reason",
            with_result(AgentResult { terminal_reason: TerminalReason::Other, ..DONE }),
            Some(Fault::Unknown),
        ),
        (
            "a success after an API error",
            with_result(AgentResult { is_error: false, ..ERROR }),
            Some(Fault::Unknown),
        ),
        ("done", with_result(DONE), None),
        ("done, with exit code 1", Evidence { exit: Exit::Code(1), ..with_result(DONE) }, None),
        ("done, then killed while exiting", Evidence { exit: Exit::Signal(9), ..with_result(DONE) }, None),
    ]
}

#[test]
fn classifies_as_in_table() {
    for (case, evidence, expected) in table() {
        assert_eq!(classify(&evidence), expected, "{case}: {evidence:?}");
    }
}

#[test]
fn table_covers_every_fault() {
    let table = table();
    for fault in Fault::ALL {
        assert!(table.iter().any(|(_, _, expected)| *expected == Some(*fault)), "{fault} is in no row");
    }
}

#[test]
fn wire_words_are_those_of_json() {
    for fault in Fault::ALL {
        assert_eq!(serde_json::to_string(fault).expect("a fault serializes"), format!("\"{fault}\""));
    }
}
