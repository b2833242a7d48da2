//! Maps the vendor's terms to our closed enums, with one table per field. An unknown term becomes `Other` or
//! `None`. Reads no prose except the few messages of `api_error_by_sentence`.

use longhaul_core::{ApiError, MessageError, RateLimitStatus, StartupError, StopReason, TerminalReason};

/// Maps `result.terminal_reason`.
pub(super) fn terminal_reason(word: &str) -> TerminalReason {
    match word {
        "completed" => TerminalReason::Completed,
        "api_error" | "model_error" => TerminalReason::ApiError,
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => TerminalReason::PromptTooLong,
        "image_error" => TerminalReason::TooLarge,
        "aborted_streaming" | "aborted_tools" => TerminalReason::Aborted,
        "hook_stopped" | "stop_hook_prevented" => TerminalReason::HookStopped,
        "max_turns" => TerminalReason::MaxTurns,
        "budget_exhausted" => TerminalReason::BudgetExhausted,
        "structured_output_retry_exhausted" => TerminalReason::InvalidResult,
        _ => TerminalReason::Other,
    }
}

/// Returns whether a `task_type` in the background is the work of a model. Others are commands, which may never end.
pub(super) fn is_sub_agent(task_type: &str) -> bool {
    matches!(task_type, "local_agent" | "local_workflow")
}

/// Maps `result.subtype`, for versions without `terminal_reason`. Version 2.1.330 always has one, except for
/// failed starts. Older versions report a finished exchange as `success` without an error.
pub(super) fn terminal_reason_by_subtype(subtype: &str, is_error: bool) -> TerminalReason {
    match subtype {
        "success" if !is_error => TerminalReason::Completed,
        "error_max_turns" => TerminalReason::MaxTurns,
        "error_max_budget_usd" => TerminalReason::BudgetExhausted,
        "error_max_structured_output_retries" => TerminalReason::InvalidResult,
        _ => TerminalReason::NotReported,
    }
}

/// Maps `api_error` of a result or of a synthetic message.
pub(super) fn api_error(word: &str) -> ApiError {
    match word {
        "usage_limit_reached" => ApiError::UsageLimitReached,
        "connection_failed"
        | "computer_slept"
        | "tls_untrusted_ca"
        | "tls_cert_signature_failure"
        | "network_edge_blocked" => ApiError::ConnectionFailed,
        "no_response" | "stream_idle_timeout" => ApiError::TimedOut,
        "gateway_content_type" | "empty_completion" => ApiError::Malformed,
        "max_output_tokens" => ApiError::MaxOutputTokens,
        "org_disabled_credential" => ApiError::OrgDisabled,
        "claude_code_version_too_old" => ApiError::AgentTooOld,
        _ => ApiError::Other,
    }
}

/// Maps vendor messages for which 2.1.330 has no typed field. They are matched only at the start of a
/// synthetic error message, which the agent program writes and the model cannot.
pub(super) fn api_error_by_sentence(text: &str) -> Option<ApiError> {
    const SENTENCES: [(&str, ApiError); 3] = [
        ("API Error: API returned an empty or malformed response", ApiError::Malformed),
        ("API Error: JSON Parse error", ApiError::Malformed),
        ("Request timed out.", ApiError::TimedOut),
    ];
    SENTENCES.into_iter().find(|(start, _)| text.starts_with(start)).map(|(_, error)| error)
}

/// Maps `error` of a synthetic message.
pub(super) fn message_error(word: &str) -> MessageError {
    match word {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => MessageError::Authentication,
        "billing_error" => MessageError::Billing,
        "rate_limit" => MessageError::RateLimit,
        "overloaded" => MessageError::Overloaded,
        "invalid_request" => MessageError::InvalidRequest,
        "model_not_found" => MessageError::ModelNotFound,
        "server_error" => MessageError::ServerError,
        "max_output_tokens" => MessageError::MaxOutputTokens,
        _ => MessageError::Unknown,
    }
}

/// Maps `stop_reason`.
pub(super) fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::PauseTurn,
        _ => StopReason::Other,
    }
}

/// Formats `timestamp`, an RFC 3339 time in UTC, to the minute: `2026-11-21 14:02 UTC`.
pub(super) fn utc_minute(instant: &str) -> Option<String> {
    const FORM: &str = "0000-00-00T00:00";
    let minute = instant.strip_suffix('Z')?.get(..FORM.len())?;
    let matches = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let (date, time) = minute.split_once('T').filter(|_| minute.bytes().zip(FORM.bytes()).all(matches))?;
    Some(format!("{date} {time} UTC"))
}

/// Maps `rate_limit_info.status`.
pub(super) fn rate_limit_status(word: &str) -> Option<RateLimitStatus> {
    match word {
        "allowed" => Some(RateLimitStatus::Allowed),
        "allowed_warning" => Some(RateLimitStatus::Warning),
        "rejected" => Some(RateLimitStatus::Rejected),
        _ => None,
    }
}

/// Maps `result.startup_failure_reason`.
pub(super) fn startup_failure(word: &str) -> StartupError {
    match word {
        "session_held_by_background" => StartupError::SessionHeld,
        "bypass_root" => StartupError::BypassAsRoot,
        "sandbox_required_unavailable" => StartupError::SandboxMissing,
        _ => StartupError::Unusable,
    }
}

/// Returns whether a call was interrupted while it ran, so that it may have taken effect. `kind` is
/// `toolDenialKind` of session rows or `non_execution_kind` of the stream. An interruption is also reported
/// as a rejection by the user, but without a permission decision.
pub(super) fn is_interrupted(kind: &str, decided: bool) -> bool {
    match kind {
        "interrupted" | "cancelled" => true,
        "user-rejected" => !decided,
        _ => false,
    }
}

/// Returns whether a text is a marker that the agent adds to the conversation after an interruption. Except
/// for the missing `turnOrigin`, no field separates markers from prompts, so the whole text must match.
pub(crate) fn is_interruption_marker(text: &str) -> bool {
    matches!(text, "[Request interrupted by user]" | "[Request interrupted by user for tool use]")
}

#[cfg(test)]
mod tests {
    use super::utc_minute;

    #[test]
    fn formats_timestamps() {
        let check =
            |instant: &str, expected: Option<&str>| assert_eq!(utc_minute(instant).as_deref(), expected);
        check("2026-11-21T23:56:22.246Z", Some("2026-11-21 23:56 UTC"));
        check("2026-11-21T23:56:22+01:00", None);
        check("2026-11-21\n23:56:22Z", None);
        check("20é6-11-21T23:56:22Z", None);
        check("Z", None);
    }
}
