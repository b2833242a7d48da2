//! Defines why there is no answer, with the error messages of the vendor's own client, which people search
//! for.

use super::wire;
use longhaul_core::{ApiCallError, Fault, Span};
use thiserror::Error;

/// Why a request had no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessagesError {
    #[error("Request timed out after {timeout}")]
    Timeout { timeout: Span },
    /// The connection failed, or broke before the answer was complete.
    #[error("Connection error: {host}: {cause}")]
    Connection { host: String, cause: String },
    /// The API rejected this request or failed.
    #[error("Error code: {status} - {message}")]
    Status {
        status: u16,
        /// Kind and sentence of the API's error.
        message: String,
        /// Fault of a 400, if only its sentence reveals it.
        fault: Option<Fault>,
        retry_after: Option<Span>,
    },
    #[error("Failed to parse response: {cause}")]
    Validation { cause: String },
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

pub(super) fn status_error(status: u16, body: &[u8], retry_after: Option<Span>) -> MessagesError {
    let (kind, sentence) = wire::refusal(body).unwrap_or_default();
    let parts = [kind.as_str(), sentence.as_str()];
    let message = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let message = if message.is_empty() { "it has no error message".to_owned() } else { message };
    let revealed = SENTENCES.iter().find(|(phrase, _)| sentence.to_ascii_lowercase().contains(phrase));
    let fault = revealed.filter(|_| status == 400).map(|(_, fault)| *fault);
    MessagesError::Status { status, message, fault, retry_after }
}

impl MessagesError {
    /// Returns the name of its class in the vendor's SDK for Python.
    pub fn class(&self) -> &'static str {
        match self {
            MessagesError::Timeout { .. } => "APITimeoutError",
            MessagesError::Connection { .. } => "APIConnectionError",
            MessagesError::Status { status, .. } => match status {
                400 => "BadRequestError",
                401 => "AuthenticationError",
                403 => "PermissionDeniedError",
                404 => "NotFoundError",
                409 => "ConflictError",
                413 => "RequestTooLargeError",
                422 => "UnprocessableEntityError",
                429 => "RateLimitError",
                529 => "OverloadedError",
                500.. => "InternalServerError",
                _ => "APIStatusError",
            },
            MessagesError::Validation { .. } => "APIResponseValidationError",
        }
    }

    /// Returns the error that decides whether the request is retried.
    pub fn call_error(&self) -> ApiCallError {
        match self {
            MessagesError::Timeout { .. } => ApiCallError::TimedOut,
            MessagesError::Connection { .. } => ApiCallError::Unreachable,
            MessagesError::Status { status, .. } => ApiCallError::Status(*status),
            MessagesError::Validation { .. } => ApiCallError::InvalidResponse,
        }
    }

    pub fn retry_after(&self) -> Option<Span> {
        match self {
            MessagesError::Status { retry_after, .. } => *retry_after,
            MessagesError::Timeout { .. }
            | MessagesError::Connection { .. }
            | MessagesError::Validation { .. } => None,
        }
    }

    pub fn fault(&self) -> Fault {
        match self {
            MessagesError::Status { fault: Some(fault), .. } => *fault,
            MessagesError::Status { fault: None, .. }
            | MessagesError::Timeout { .. }
            | MessagesError::Connection { .. }
            | MessagesError::Validation { .. } => self.call_error().fault(),
        }
    }

    /// Removes the secret, which the API or a proxy may have echoed, and truncates the text to one line.
    pub(super) fn redacted(mut self, secret: &str) -> MessagesError {
        let text = match &mut self {
            MessagesError::Timeout { .. } => return self,
            MessagesError::Connection { cause: text, .. }
            | MessagesError::Validation { cause: text }
            | MessagesError::Status { message: text, .. } => text,
        };
        // The secret is removed before truncating, because half a secret is not recognized.
        *text = text.replace(secret, "…").chars().take(MESSAGE_CHARS_MAX).collect();
        self
    }
}
