//! Defines why there is no answer, with the error messages of the vendor's own client, which people search
//! for.

use super::wire;
use crate::judge::RetryAdvice;
use longhaul_core::{ApiCallError, Fault, Moment, OutcomeKind, Span, final_outcome};
use thiserror::Error;

/// Why a request had no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessagesError {
    /// The request timed out.
    #[error("Request timed out after {timeout}")]
    Timeout {
        /// Time limit of the request.
        timeout: Span,
    },
    /// The connection failed, or broke before the answer was complete.
    #[error("Connection error: {host}: {cause}")]
    Connection {
        /// Host of the API.
        host: String,
        /// Cause of the failure.
        cause: String,
    },
    /// The API rejects requests for a while.
    #[error("Error code: 429 - {}", message.message)]
    RateLimit {
        /// Error message.
        message: ErrorBody,
        /// Delay that the API requests.
        retry_after: Option<Span>,
    },
    /// The API rejected this request or failed.
    #[error("Error code: {status} - {}", message.message)]
    Status {
        /// HTTP status.
        status: u16,
        /// Error message.
        message: ErrorBody,
        /// Delay that the API requests.
        retry_after: Option<Span>,
    },
    /// The response is not a message.
    #[error("Failed to parse response: {cause}")]
    Validation {
        /// Cause of the error.
        cause: String,
    },
}

/// The error message of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// Kind of the error, such as `overloaded_error`.
    pub kind: String,
    /// Kind and sentence.
    pub message: String,
    /// Topic that the sentence adds to the status.
    topic: Option<ErrorTopic>,
}

/// The topic of a 400, if only its sentence reveals it. The vendor wrote these sentences, and its own agent
/// relies on them (Claude Code 2.1.330).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorTopic {
    Money,
    Organization,
    Length,
}

const SENTENCES: &[(&str, ErrorTopic)] = &[
    ("credit balance is too low", ErrorTopic::Money),
    ("organization has been disabled", ErrorTopic::Organization),
    ("prompt is too long", ErrorTopic::Length),
];

// Error messages of the API are shown in one line.
const MESSAGE_CHARS_MAX: usize = 300;

/// Why no request can be made at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The address is invalid.
    #[error("cannot use the address of the API: it is not a URL that begins with https:// or http://")]
    Address,
    /// The key or token cannot be sent.
    #[error("cannot use the API key: it contains characters that no key has")]
    Credential,
    /// TLS is not available.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

impl SetupError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SetupError::Address => "check AGENTIC_CONTEXT_BASE_URL and ANTHROPIC_BASE_URL",
            SetupError::Credential => {
                "check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY for line breaks"
            }
            SetupError::Tls(_) => {
                "check that the certificates of this system are installed (`ca-certificates`)"
            }
        }
    }
}

/// Converts an unsuccessful status to an error.
pub(super) fn status_error(status: u16, body: &[u8], retry_after: Option<Span>) -> MessagesError {
    let (kind, sentence) = wire::refusal(body).unwrap_or_default();
    let parts = [kind.as_str(), sentence.as_str()];
    let message = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let topic = SENTENCES.iter().find(|(phrase, _)| sentence.to_ascii_lowercase().contains(phrase));
    let message = if message.is_empty() { "it has no error message".to_owned() } else { message };
    let error_body = ErrorBody { kind, message, topic: topic.map(|(_, topic)| *topic) };
    if status == 429 {
        MessagesError::RateLimit { message: error_body, retry_after }
    } else {
        MessagesError::Status { status, message: error_body, retry_after }
    }
}

impl MessagesError {
    /// Returns the name of its class in the vendor's SDK for Python.
    pub fn class(&self) -> &'static str {
        match self {
            MessagesError::Timeout { .. } => "APITimeoutError",
            MessagesError::Connection { .. } => "APIConnectionError",
            MessagesError::RateLimit { .. } => "RateLimitError",
            MessagesError::Status { status, .. } => match status {
                400 => "BadRequestError",
                401 => "AuthenticationError",
                403 => "PermissionDeniedError",
                404 => "NotFoundError",
                409 => "ConflictError",
                413 => "RequestTooLargeError",
                422 => "UnprocessableEntityError",
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
            MessagesError::RateLimit { .. } => ApiCallError::Status(429),
            MessagesError::Status { status, .. } => ApiCallError::Status(*status),
            MessagesError::Validation { .. } => ApiCallError::InvalidResponse,
        }
    }

    /// Returns the delay that the API requests, if any.
    pub fn retry_after(&self) -> Option<Span> {
        match self {
            MessagesError::RateLimit { retry_after, .. } | MessagesError::Status { retry_after, .. } => {
                *retry_after
            }
            MessagesError::Timeout { .. }
            | MessagesError::Connection { .. }
            | MessagesError::Validation { .. } => None,
        }
    }

    /// Returns the fault.
    pub fn fault(&self) -> Fault {
        let topic = match self {
            MessagesError::Status { status: 400, message: body, .. } => body.topic,
            MessagesError::Timeout { .. }
            | MessagesError::Connection { .. }
            | MessagesError::RateLimit { .. }
            | MessagesError::Status { .. }
            | MessagesError::Validation { .. } => None,
        };
        match topic {
            Some(ErrorTopic::Money | ErrorTopic::Organization) => Fault::Billing,
            Some(ErrorTopic::Length) => Fault::ContextFull,
            None => self.call_error().fault(),
        }
    }

    /// Returns what to do after the last retry failed. `not_before` is known for some temporary errors.
    pub fn retry_advice(&self, not_before: Option<Moment>) -> RetryAdvice {
        if self.fault() == Fault::ModelUnknown {
            // For a run this is a failure; here all later questions would fail too.
            return RetryAdvice::NeedsPerson;
        }
        match final_outcome(self.fault()) {
            OutcomeKind::RetryLater => RetryAdvice::Later(not_before),
            OutcomeKind::NeedsPerson => RetryAdvice::NeedsPerson,
            OutcomeKind::Done
            | OutcomeKind::Failed
            | OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::CheckFailed
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Bug
            | OutcomeKind::Cancelled
            | OutcomeKind::Suspended => RetryAdvice::Never,
        }
    }

    /// Removes the secret, which the API or a proxy may have echoed, and truncates the text to one line.
    pub(super) fn redacted(mut self, secret: &str) -> MessagesError {
        let texts = match &mut self {
            MessagesError::Timeout { .. } => vec![],
            MessagesError::Connection { cause, .. } | MessagesError::Validation { cause } => vec![cause],
            MessagesError::RateLimit { message: body, .. } | MessagesError::Status { message: body, .. } => {
                vec![&mut body.kind, &mut body.message]
            }
        };
        for text in texts {
            // The secret is removed before truncating, because half a secret is not recognized.
            *text = text.replace(secret, "…").chars().take(MESSAGE_CHARS_MAX).collect();
        }
        self
    }
}
