//! Defines why there is no answer, with the error messages of the vendor's own client, which people search
//! for.

use super::wire;
use longhaul_core::{ApiCallError, Fault, Span};
use thiserror::Error;

/// Why a request had no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct MessagesError {
    message: String,
    /// The error that decides whether the request is retried.
    pub call_error: ApiCallError,
    pub fault: Fault,
    /// Delay that the API requests.
    pub retry_after: Option<Span>,
}

/// Sentences that reveal the fault of a 400. The vendor wrote them, and its own agent relies on them (Claude
/// Code 2.1.330).
const SENTENCES: &[(&str, Fault)] = &[
    ("credit balance is too low", Fault::Billing),
    ("organization has been disabled", Fault::Billing),
    ("prompt is too long", Fault::ContextFull),
];

// Error messages of the API are shown in one line.
const MESSAGE_CHARS_MAX: usize = 300;

impl MessagesError {
    fn new(call_error: ApiCallError, message: String) -> MessagesError {
        MessagesError { message, call_error, fault: call_error.fault(), retry_after: None }
    }

    pub(crate) fn timeout(timeout: Span) -> MessagesError {
        MessagesError::new(ApiCallError::TimedOut, format!("Request timed out after {timeout}"))
    }

    /// The connection failed, or broke before the answer was complete.
    pub(super) fn connection(host: &str, cause: &str) -> MessagesError {
        MessagesError::new(ApiCallError::Unreachable, format!("Connection error: {host}: {cause}"))
    }

    pub(super) fn invalid_response(cause: &str) -> MessagesError {
        MessagesError::new(ApiCallError::InvalidResponse, format!("Failed to parse response: {cause}"))
    }

    /// The API rejected this request or failed.
    pub(super) fn status(status: u16, body: &[u8], retry_after: Option<Span>) -> MessagesError {
        let (kind, sentence) = wire::refusal(body).unwrap_or_default();
        let parts = [kind.as_str(), sentence.as_str()];
        let message = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        let message = if message.is_empty() { "it has no error message" } else { &message };
        let revealed = SENTENCES.iter().find(|(phrase, _)| sentence.to_ascii_lowercase().contains(phrase));
        let revealed = revealed.filter(|_| status == 400).map(|(_, fault)| *fault);
        let error =
            MessagesError::new(ApiCallError::Status(status), format!("Error code: {status} - {message}"));
        MessagesError { fault: revealed.unwrap_or(error.fault), retry_after, ..error }
    }

    /// Returns the name of its class in the vendor's SDK for Python.
    pub fn class(&self) -> &'static str {
        match self.call_error {
            ApiCallError::TimedOut => "APITimeoutError",
            ApiCallError::Unreachable => "APIConnectionError",
            ApiCallError::Status(400) => "BadRequestError",
            ApiCallError::Status(401) => "AuthenticationError",
            ApiCallError::Status(403) => "PermissionDeniedError",
            ApiCallError::Status(404) => "NotFoundError",
            ApiCallError::Status(409) => "ConflictError",
            ApiCallError::Status(413) => "RequestTooLargeError",
            ApiCallError::Status(422) => "UnprocessableEntityError",
            ApiCallError::Status(429) => "RateLimitError",
            ApiCallError::Status(529) => "OverloadedError",
            ApiCallError::Status(500..) => "InternalServerError",
            ApiCallError::Status(_) => "APIStatusError",
            ApiCallError::InvalidResponse => "APIResponseValidationError",
        }
    }

    /// Removes the secret, which the API or a proxy may have echoed, and truncates the text to one line.
    pub(super) fn redacted(self, secret: &str) -> MessagesError {
        // The secret is removed before truncating, because half a secret is not recognized.
        let message = self.message.replace(secret, "…").chars().take(MESSAGE_CHARS_MAX).collect();
        MessagesError { message, ..self }
    }
}
