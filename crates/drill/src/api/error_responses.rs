//! Builds responses that are not a message: error statuses with their bodies and headers, and the page of a
//! captive portal.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use crate::clock;
use crate::scenario::StatusFault;

fn error(code: u16, kind: &str, message: &str, headers: &[(String, String)]) -> Response<Body> {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    with_status(code, "application/json", body.to_string(), headers)
}

/// Returns the response to a request without a dummy credential.
pub(super) fn unauthorized() -> Response<Body> {
    let (kind, message) = default_error(401);
    error(401, kind, message, &[])
}

/// Returns the response of a `status` fault. During an outage, `resets_in` is its remaining time; otherwise
/// it is zero.
pub(super) fn status(status: &StatusFault, resets_in: Duration) -> Response<Body> {
    let (kind, message) = default_error(status.code);
    let mut headers = status.headers.clone();
    if let Some(seconds) = status.retry_after {
        let remaining = resets_in.as_secs_f64().ceil() as u64;
        let seconds = if remaining == 0 { seconds } else { seconds.min(remaining) };
        headers.insert("retry-after".to_owned(), seconds.to_string());
    }
    error(
        status.code,
        status.error.as_deref().unwrap_or(kind),
        status.message.as_deref().unwrap_or(message),
        &headers.into_iter().collect::<Vec<_>>(),
    )
}

/// Returns the 429 of a subscription whose five-hour window is exhausted and resets in `resets_in`.
pub(super) fn usage_limit(resets_in: Duration) -> Response<Body> {
    let reset = resets_at(resets_in);
    let mut headers = unified("rejected", 1.0, reset);
    headers.push(("retry-after".to_owned(), resets_in.as_secs_f64().ceil().to_string()));
    error(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
        &headers,
    )
}

/// Returns the headers of a successful response to a subscription. A fifth of the window is used.
pub(super) fn allowed() -> Vec<(String, String)> {
    unified("allowed", 0.2, resets_at(Duration::from_secs(3600)))
}

pub(super) fn html() -> Response<Body> {
    with_status(200, "text/html", "<html><body>Sign in to the network</body></html>".to_owned(), &[])
}

pub(super) fn json_body(body: &serde_json::Value, headers: &[(String, String)]) -> Response<Body> {
    with_status(200, "application/json", body.to_string(), headers)
}

pub(super) fn add_headers(map: &mut HeaderMap, headers: &[(String, String)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            map.insert(name, value);
        }
    }
}

fn with_status(code: u16, kind: &'static str, body: String, headers: &[(String, String)]) -> Response<Body> {
    let status = StatusCode::from_u16(code).unwrap_or_default();
    let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
    add_headers(response.headers_mut(), headers);
    response
}

/// Returns the time of the reset in seconds since 1970. It is rounded up, so that a client that waits until
/// then is not too early.
fn resets_at(resets_in: Duration) -> u64 {
    (clock::unix_ms() + resets_in.as_millis() as u64).div_ceil(1000)
}

/// Returns the unified rate-limit headers, as Claude Code 2.1.330 reads them.
fn unified(status: &str, used: f64, reset: u64) -> Vec<(String, String)> {
    [
        ("status", status.to_owned()),
        ("reset", reset.to_string()),
        ("representative-claim", "five_hour".to_owned()),
        ("overage-status", "rejected".to_owned()),
        ("overage-disabled-reason", "org_level_disabled".to_owned()),
        ("5h-status", status.to_owned()),
        ("5h-reset", reset.to_string()),
        ("5h-utilization", used.to_string()),
    ]
    .map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value))
    .to_vec()
}

/// Returns the error type and message that the real API sends with a status.
fn default_error(code: u16) -> (&'static str, &'static str) {
    match code {
        400 => ("invalid_request_error", "messages.0: bad request"),
        401 => ("authentication_error", "invalid x-api-key"),
        402 => ("billing_error", "Your credit balance is too low to access the Anthropic API."),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "Not found"),
        429 => ("rate_limit_error", "This request would exceed your rate limit"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    }
}
