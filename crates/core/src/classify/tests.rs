use super::classify;
use crate::{
    AgentResult, ApiError, Evidence, Exit, Fault, MessageError, Moment, RateLimit, RateLimitStatus,
    StartupError, StopCause, StopReason, TerminalReason,
};

const DONE: AgentResult = AgentResult::COMPLETED;
/// Returns an API error as the agent reports it: `is_error`, `terminal_reason: api_error`.
const ERROR: AgentResult = AgentResult {
    is_error: true,
    terminal_reason: TerminalReason::ApiError,
    stop_reason: StopReason::Other,
    ..DONE
};

fn exited(code: i32) -> Evidence {
    Evidence::of_exit(Exit::Code(code))
}

fn killed(signal: i32) -> Evidence {
    Evidence::of_exit(Exit::Signal(signal))
}

fn refused(startup: StartupError) -> Evidence {
    Evidence { startup: Some(startup), ..exited(1) }
}

fn stated(result: AgentResult) -> Evidence {
    Evidence { result: Some(result), ..exited(i32::from(result.is_error)) }
}

fn status(status: u16) -> AgentResult {
    AgentResult { api_status: Some(status), ..ERROR }
}

fn typed(error: ApiError) -> AgentResult {
    AgentResult { api_error: Some(error), ..ERROR }
}

fn worded(error: MessageError) -> AgentResult {
    AgentResult { message_error: Some(error), ..ERROR }
}

fn ended(ending: TerminalReason) -> AgentResult {
    AgentResult { terminal_reason: ending, ..ERROR }
}

fn limited(status: RateLimitStatus, result: AgentResult) -> Evidence {
    let limit = RateLimit { status, resets_at: Some(Moment::from_unix_seconds(1_790_000_000)) };
    Evidence { rate_limit: Some(limit), ..stated(result) }
}

fn stopped(cause: StopCause, evidence: Evidence) -> Evidence {
    Evidence { stop_cause: Some(cause), ..evidence }
}

/// The expected fault of each evidence, in the order of the faults.
fn table() -> Vec<(&'static str, Evidence, Option<Fault>)> {
    let message = |status: u16, error| AgentResult { message_error: Some(error), ..self::status(status) };
    vec![
        ("429", stated(status(429)), Some(Fault::RateLimited)),
        ("rate_limit without a status", stated(worded(MessageError::RateLimit)), Some(Fault::RateLimited)),
        (
            "429 while the window is only nearly used up",
            limited(RateLimitStatus::Warning, status(429)),
            Some(Fault::RateLimited),
        ),
        (
            "529, whatever its message says",
            stated(message(529, MessageError::ServerError)),
            Some(Fault::Overloaded),
        ),
        ("overloaded without a status", stated(worded(MessageError::Overloaded)), Some(Fault::Overloaded)),
        ("500", stated(status(500)), Some(Fault::ServerError)),
        ("503", stated(status(503)), Some(Fault::ServerError)),
        ("524", stated(status(524)), Some(Fault::ServerError)),
        ("408", stated(status(408)), Some(Fault::ServerError)),
        ("409", stated(status(409)), Some(Fault::ServerError)),
        ("timed out", stated(typed(ApiError::TimedOut)), Some(Fault::ServerError)),
        (
            "server_error without a status",
            stated(worded(MessageError::ServerError)),
            Some(Fault::ServerError),
        ),
        (
            "connection failed, which also says server_error",
            stated(AgentResult {
                message_error: Some(MessageError::ServerError),
                ..typed(ApiError::ConnectionFailed)
            }),
            Some(Fault::Network),
        ),
        (
            "a captive portal's 200",
            stated(AgentResult { message_error: Some(MessageError::Unknown), ..typed(ApiError::Malformed) }),
            Some(Fault::Network),
        ),
        (
            "usage limit reached, typed",
            stated(AgentResult { api_error: Some(ApiError::UsageLimitReached), ..status(429) }),
            Some(Fault::UsageLimit),
        ),
        (
            "429 behind a rejected window",
            limited(RateLimitStatus::Rejected, status(429)),
            Some(Fault::UsageLimit),
        ),
        ("a window rejected in mid-run, and done after all", limited(RateLimitStatus::Rejected, DONE), None),
        ("SIGKILL", killed(9), Some(Fault::Crashed)),
        ("SIGSEGV", killed(11), Some(Fault::Crashed)),
        ("exit 1 without a result", exited(1), Some(Fault::Crashed)),
        ("exit 137 without a result", exited(137), Some(Fault::Crashed)),
        ("gone unseen", Evidence::of_exit(Exit::Unobserved), Some(Fault::Crashed)),
        ("no room to spawn", Evidence::of_exit(Exit::NeverSpawned), Some(Fault::Crashed)),
        (
            "killed after a new turn began: the result before it is not the end",
            Evidence { exchange_open: true, result: Some(DONE), ..killed(9) },
            Some(Fault::Crashed),
        ),
        ("143, SIGTERM handled", exited(143), Some(Fault::Interrupted)),
        ("129, SIGHUP handled", exited(129), Some(Fault::Interrupted)),
        ("exit 0 without a result, SIGINT", exited(0), Some(Fault::Interrupted)),
        ("SIGTERM", killed(15), Some(Fault::Interrupted)),
        ("SIGHUP", killed(1), Some(Fault::Interrupted)),
        ("SIGINT", killed(2), Some(Fault::Interrupted)),
        (
            "aborted, and exit 0",
            Evidence { exit: Exit::Code(0), ..stated(ended(TerminalReason::Aborted)) },
            Some(Fault::Interrupted),
        ),
        ("killed for its memory", Evidence { oom_killed: true, ..killed(9) }, Some(Fault::OutOfMemory)),
        (
            "killed for its memory after its result",
            Evidence { oom_killed: true, exit: Exit::Signal(9), ..stated(DONE) },
            None,
        ),
        ("silent, so we stopped it", stopped(StopCause::Stalled, exited(143)), Some(Fault::Stalled)),
        (
            "silent, and an error reached us as it was stopped",
            stopped(StopCause::Stalled, stated(status(529))),
            Some(Fault::Stalled),
        ),
        ("finished just before our stop", stopped(StopCause::Stalled, stated(DONE)), None),
        (
            "out of quota just before our stop",
            stopped(StopCause::Stalled, limited(RateLimitStatus::Rejected, status(429))),
            Some(Fault::UsageLimit),
        ),
        ("its time was over", stopped(StopCause::TimedOut, exited(143)), Some(Fault::AttemptTimeout)),
        (
            "lingered after its result",
            stopped(StopCause::DidNotExit, Evidence { exit: Exit::Code(143), ..stated(DONE) }),
            None,
        ),
        (
            "lingered after an error",
            stopped(StopCause::DidNotExit, Evidence { exit: Exit::Signal(9), ..stated(status(500)) }),
            Some(Fault::ServerError),
        ),
        (
            "lingered, and a new turn began",
            stopped(
                StopCause::DidNotExit,
                Evidence { exchange_open: true, ..Evidence { exit: Exit::Code(143), ..stated(DONE) } },
            ),
            Some(Fault::Interrupted),
        ),
        ("cancelled", stopped(StopCause::Cancelled, exited(143)), Some(Fault::Interrupted)),
        (
            "interrupted by a person through us",
            stopped(StopCause::Cancelled, stated(ended(TerminalReason::Aborted))),
            Some(Fault::Interrupted),
        ),
        ("cancelled just after it finished", stopped(StopCause::Cancelled, stated(DONE)), None),
        ("no conversation found", refused(StartupError::SessionUnknown), Some(Fault::SessionLost)),
        ("already in use", refused(StartupError::SessionInUse), Some(Fault::SessionExists)),
        ("held by another process", refused(StartupError::SessionHeld), Some(Fault::SessionBusy)),
        (
            "prompt too long",
            stated(AgentResult { api_status: Some(400), ..ended(TerminalReason::PromptTooLong) }),
            Some(Fault::ContextFull),
        ),
        ("413", stated(status(413)), Some(Fault::ContextFull)),
        (
            "too large",
            stated(AgentResult { api_status: Some(413), ..ended(TerminalReason::TooLarge) }),
            Some(Fault::ContextFull),
        ),
        ("output limit, typed", stated(typed(ApiError::MaxOutputTokens)), Some(Fault::OutputLimit)),
        (
            "output limit, by its word",
            stated(worded(MessageError::MaxOutputTokens)),
            Some(Fault::OutputLimit),
        ),
        ("an empty answer", stated(AgentResult { empty: true, ..DONE }), Some(Fault::Unfinished)),
        (
            "a paused turn",
            stated(AgentResult { stop_reason: StopReason::PauseTurn, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "stopped by a hook, called a success",
            stated(AgentResult { terminal_reason: TerminalReason::HookStopped, empty: true, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "stopped by a hook, called an error",
            stated(ended(TerminalReason::HookStopped)),
            Some(Fault::Unfinished),
        ),
        (
            "the cap on a stop hook",
            stated(AgentResult { stop_hook_capped: true, ..DONE }),
            Some(Fault::Unfinished),
        ),
        (
            "a guard that did not run",
            Evidence { guard_lapsed: true, ..stated(DONE) },
            Some(Fault::GuardLapsed),
        ),
        (
            "a guard that did not run, and a crash",
            Evidence { guard_lapsed: true, ..killed(9) },
            Some(Fault::GuardLapsed),
        ),
        (
            "a guard that did not run before we stopped it",
            stopped(StopCause::Stalled, Evidence { guard_lapsed: true, ..exited(143) }),
            Some(Fault::GuardLapsed),
        ),
        ("denied tools", stated(AgentResult { denials: 1, ..DONE }), Some(Fault::Permission)),
        (
            "denied tools and nothing to say",
            stated(AgentResult { denials: 1, empty: true, ..DONE }),
            Some(Fault::Permission),
        ),
        ("401", stated(message(401, MessageError::Authentication)), Some(Fault::Auth)),
        ("403", stated(status(403)), Some(Fault::Auth)),
        ("not logged in", stated(worded(MessageError::Authentication)), Some(Fault::Auth)),
        (
            "rejected twice, so we stopped it",
            stopped(StopCause::AuthRejected, exited(143)),
            Some(Fault::Auth),
        ),
        ("402", stated(status(402)), Some(Fault::Billing)),
        ("a 400 about credit", stated(message(400, MessageError::Billing)), Some(Fault::Billing)),
        ("billing_error without a status", stated(worded(MessageError::Billing)), Some(Fault::Billing)),
        (
            "a disabled organisation",
            stated(AgentResult {
                api_error: Some(ApiError::OrgDisabled),
                ..message(400, MessageError::InvalidRequest)
            }),
            Some(Fault::Billing),
        ),
        ("404 of a model", stated(message(404, MessageError::ModelNotFound)), Some(Fault::ModelUnknown)),
        (
            "model_not_found without a status",
            stated(worded(MessageError::ModelNotFound)),
            Some(Fault::ModelUnknown),
        ),
        (
            "a refusal, called an error",
            stated(AgentResult { stop_reason: StopReason::Refusal, ..worded(MessageError::InvalidRequest) }),
            Some(Fault::Refused),
        ),
        (
            "a refusal, called a success",
            stated(AgentResult { stop_reason: StopReason::Refusal, ..DONE }),
            Some(Fault::Refused),
        ),
        ("400", stated(message(400, MessageError::Unknown)), Some(Fault::BadRequest)),
        ("404 of something else", stated(status(404)), Some(Fault::BadRequest)),
        ("407", stated(status(407)), Some(Fault::BadRequest)),
        ("422", stated(status(422)), Some(Fault::BadRequest)),
        (
            "invalid_request without a status",
            stated(worded(MessageError::InvalidRequest)),
            Some(Fault::BadRequest),
        ),
        (
            "not found",
            Evidence { exit: Exit::NeverSpawned, ..refused(StartupError::ProgramMissing) },
            Some(Fault::AgentMissing),
        ),
        ("a bad flag", refused(StartupError::Unusable), Some(Fault::AgentUnusable)),
        ("too old for its API", stated(typed(ApiError::AgentTooOld)), Some(Fault::AgentUnusable)),
        ("its own turn limit", stated(ended(TerminalReason::MaxTurns)), Some(Fault::TurnLimit)),
        ("its own budget", stated(ended(TerminalReason::BudgetExhausted)), Some(Fault::AgentBudget)),
        ("an error that says nothing", stated(ended(TerminalReason::NotReported)), Some(Fault::Unknown)),
        ("an error of a new kind", stated(typed(ApiError::Other)), Some(Fault::Unknown)),
        ("a status below 400", stated(status(302)), Some(Fault::Unknown)),
        (
            "a success that ended in a new way",
            stated(AgentResult { terminal_reason: TerminalReason::Other, ..DONE }),
            Some(Fault::Unknown),
        ),
        (
            "a success after an API error",
            stated(AgentResult { is_error: false, ..ERROR }),
            Some(Fault::Unknown),
        ),
        ("done", stated(DONE), None),
        ("done, whatever the exit code", Evidence { exit: Exit::Code(1), ..stated(DONE) }, None),
        ("done, and killed on its way out", Evidence { exit: Exit::Signal(9), ..stated(DONE) }, None),
    ]
}

#[test]
fn classifies_as_in_table() {
    for (words, evidence, expected) in table() {
        assert_eq!(classify(&evidence), expected, "{words}: {evidence:?}");
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
fn parses_every_wire_word() {
    for fault in Fault::ALL {
        assert_eq!(fault.word().parse(), Ok(*fault));
        assert_eq!(serde_json::to_string(fault).expect("a fault is a word"), format!("\"{fault}\""));
    }
    assert!("overload".parse::<Fault>().is_err());
}
