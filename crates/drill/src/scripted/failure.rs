//! Decides whether and when the agent retries a failed request, and how it reports the failure. It consists of
//! pure tables, measured with Claude Code 2.1.330.

use std::io::ErrorKind;
use std::time::Duration;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::http;
use crate::rng::Rng;

const RETRY_BASE_MS: u64 = 500;
const RETRY_CAP_MS: u64 = 32_000;
/// The longest `retry-after` that the agent waits for. Above it, the agent gives up immediately.
const RETRY_AFTER_MAX_S: u64 = 60;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Failure {
    pub text: String,
    /// `assistant.error`.
    pub error: &'static str,
    /// `api_error_status`.
    pub status: Option<u16>,
    /// `api_error`.
    pub api_error: Option<&'static str>,
    /// `terminal_reason`; `api_error` if empty.
    pub terminal_reason: &'static str,
    /// `stop_reason`; `stop_sequence` if empty.
    pub stop_reason: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// Wait and retry, at most this often.
    Retry {
        at_most: Option<u32>,
        after_s: Option<u64>,
    },
    /// Retry immediately without reporting it, at most this often.
    RetrySilently(u32),
    /// Retry once without streaming.
    RetryWithoutStreaming,
    GiveUp,
}

#[derive(Debug, Clone)]
pub(super) struct ErrorResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Failure {
    pub(super) fn stop_reason(&self) -> &'static str {
        if self.stop_reason.is_empty() { "stop_sequence" } else { self.stop_reason }
    }
}

impl ErrorResponse {
    fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }

    pub(super) fn retry_after_s(&self) -> Option<u64> {
        http::text(&self.headers, "retry-after")?.parse().ok()
    }
}

/// Returns the delay before retry number `attempt`, starting at 1. It doubles from 0.5 s to 32 s, plus up to
/// 25 percent. A `retry-after` is a minimum, plus 5 to 10 percent.
pub(super) fn retry_delay(attempt: u32, retry_after_s: Option<u64>, rng: &mut Rng) -> Duration {
    let backoff_ms =
        RETRY_BASE_MS.checked_shl(attempt.saturating_sub(1)).unwrap_or(RETRY_CAP_MS).min(RETRY_CAP_MS);
    let retry_after_ms = retry_after_s.unwrap_or(0) * 1000;
    let milliseconds = if retry_after_ms > backoff_ms {
        retry_after_ms + retry_after_ms / 20 + rng.below(retry_after_ms / 20 + 1)
    } else {
        backoff_ms + rng.below(backoff_ms / 4 + 1)
    };
    Duration::from_millis(milliseconds)
}

/// Returns the value of `api_retry.error`.
pub(super) fn retry_word(status: Option<u16>) -> &'static str {
    match status {
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        Some(401) => "authentication_failed",
        Some(408 | 409 | 500..) => "server_error",
        Some(_) | None => "unknown",
    }
}

/// Returns the reaction to an error response, and the failure to report if retries do not help.
pub(super) fn from_error_response(
    response: &ErrorResponse,
    oauth: bool,
    model: &str,
) -> (RetryDecision, Failure) {
    let message = response.message();
    let after_s = response.retry_after_s();
    let must_not_retry = http::text(&response.headers, "x-should-retry") == Some("false");
    let retry = if must_not_retry || after_s.is_some_and(|seconds| seconds > RETRY_AFTER_MAX_S) {
        RetryDecision::GiveUp
    } else {
        RetryDecision::Retry { at_most: None, after_s }
    };
    let failure =
        |error, text: String| Failure { text, error, status: Some(response.status), ..Failure::default() };
    match response.status {
        429 if oauth
            && http::text(&response.headers, "anthropic-ratelimit-unified-status") == Some("rejected") =>
        {
            let mut limited = failure("rate_limit", "You've hit your 5-hour limit".to_owned());
            limited.api_error = Some("usage_limit_reached");
            (RetryDecision::GiveUp, limited)
        }
        429 => (retry, failure("rate_limit", format!("API Error: Request rejected (429) · {message}"))),
        401 if oauth => (
            RetryDecision::Retry { at_most: Some(2), after_s },
            failure("authentication_failed", format!("Failed to authenticate. API Error: 401 {message}")),
        ),
        401 => (retry, failure("authentication_failed", "Invalid API key · Fix external API key".to_owned())),
        403 => (
            RetryDecision::GiveUp,
            failure("authentication_failed", format!("Failed to authenticate. API Error: 403 {message}")),
        ),
        400 if message.contains("credit balance is too low") => {
            (RetryDecision::GiveUp, failure("billing_error", "Credit balance is too low".to_owned()))
        }
        400 if message.contains("prompt is too long") => {
            let mut long = failure("invalid_request", format!("Prompt is too long · {message}"));
            long.terminal_reason = "prompt_too_long";
            (RetryDecision::GiveUp, long)
        }
        404 => {
            let text = format!("There's an issue with the selected model ({model}). It may not exist.");
            (RetryDecision::RetryWithoutStreaming, failure("model_not_found", text))
        }
        status @ (400 | 422) => {
            (RetryDecision::RetrySilently(5), failure("unknown", format!("API Error: {status} {message}")))
        }
        status @ (408 | 409 | 500..) => {
            (retry, failure("server_error", format!("API Error: {status} {message}. Try again in a moment.")))
        }
        status => (RetryDecision::GiveUp, failure("unknown", format!("API Error: {status} {message}"))),
    }
}

/// Returns the failure for a connection that could not be opened, or that broke before a response.
pub(super) fn from_connection_error(kind: ErrorKind) -> Failure {
    let text = match kind {
        ErrorKind::ConnectionRefused => {
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"
        }
        _ => "API Error: Connection error — check your internet connection (ECONNRESET)",
    };
    let api_error = Some("connection_failed");
    Failure { text: text.to_owned(), error: "server_error", api_error, ..Failure::default() }
}

/// Returns the failure for a response with status 200 and without a message.
pub(super) fn from_malformed_response(bytes: usize) -> Failure {
    let text = format!(
        "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway \
         intercepting the request. Response: {bytes} bytes."
    );
    Failure { text, error: "unknown", ..Failure::default() }
}

pub(super) fn from_model_refusal(model: &str) -> Failure {
    let text = format!("API Error: {model}'s safeguards flagged this message.");
    Failure { text, error: "invalid_request", stop_reason: "refusal", ..Failure::default() }
}

/// Returns `rate_limit_info` from the unified headers, or `None` without them.
pub(super) fn limit_info(headers: &HeaderMap) -> Option<Value> {
    let unified = |name: &str| http::text(headers, &format!("anthropic-ratelimit-unified-{name}"));
    let reset = unified("reset").and_then(|reset| reset.parse::<u64>().ok());
    Some(json!({"status": unified("status")?, "resetsAt": reset, "isUsingOverage": false}))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn check(
        status: u16,
        message: &str,
        headers: &[(&'static str, &'static str)],
        expected: (RetryDecision, &str, &str),
    ) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(headers);
        let body = json!({"error": {"type": "t", "message": message}});
        let oauth = headers.keys().any(|name| name.as_str().starts_with("anthropic"));
        let (decision, failure) = from_error_response(&ErrorResponse { status, headers, body }, oauth, "m");
        assert_eq!((decision, failure.error, failure.terminal_reason), expected, "{status} {message}");
    }

    #[test]
    fn delays_lie_in_the_measured_ranges() {
        let mut rng = Rng::new(3);
        for (attempt, hint, low, high) in [
            (1, None, 500, 625),
            (3, None, 2000, 2500),
            (7, None, 32_000, 40_000),
            (90, None, 32_000, 40_000),
            (1, Some(3), 3150, 3300),
            (1, Some(60), 63_000, 66_000),
            (5, Some(3), 8000, 10_000),
        ] {
            let delay = retry_delay(attempt, hint, &mut rng).as_millis();
            assert!((low..=high).contains(&delay), "{attempt} {hint:?}: {delay}");
        }
    }

    #[test]
    fn error_responses_map_to_measured_reactions() {
        let retry = RetryDecision::Retry { at_most: None, after_s: None };
        check(529, "Overloaded", &[], (retry, "server_error", ""));
        check(500, "x", &[("x-should-retry", "false")], (RetryDecision::GiveUp, "server_error", ""));
        check(429, "slow", &[], (retry, "rate_limit", ""));
        check(
            429,
            "slow",
            &[("retry-after", "60")],
            (RetryDecision::Retry { at_most: None, after_s: Some(60) }, "rate_limit", ""),
        );
        check(429, "slow", &[("retry-after", "61")], (RetryDecision::GiveUp, "rate_limit", ""));
        check(
            429,
            "x",
            &[("anthropic-ratelimit-unified-status", "rejected")],
            (RetryDecision::GiveUp, "rate_limit", ""),
        );
        check(401, "invalid", &[], (retry, "authentication_failed", ""));
        check(403, "no", &[], (RetryDecision::GiveUp, "authentication_failed", ""));
        check(400, "Your credit balance is too low", &[], (RetryDecision::GiveUp, "billing_error", ""));
        check(
            400,
            "prompt is too long: 2 > 1",
            &[],
            (RetryDecision::GiveUp, "invalid_request", "prompt_too_long"),
        );
        check(400, "bad", &[], (RetryDecision::RetrySilently(5), "unknown", ""));
        check(404, "model: m", &[], (RetryDecision::RetryWithoutStreaming, "model_not_found", ""));
    }
}
