//! Why there is no answer, in the words of the vendor's own client, which people search for.

use super::wire;
use crate::judge::RetryAdvice;
use longhaul_core::{ApiCallError, Fault, Moment, OutcomeKind, Span, final_outcome};
use thiserror::Error;

/// Why a request had no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessagesError {
    /// There was none in time.
    #[error("Request timed out after {timeout}")]
    Timeout {
        /// How long was waited.
        timeout: Span,
    },
    /// There was no connection, or it broke before the answer was whole.
    #[error("Connection error: {to}: {cause}")]
    Connection {
        /// The host.
        to: String,
        /// What happened to it.
        cause: String,
    },
    /// The API refuses requests for a while.
    #[error("Error code: 429 - {}", message.message)]
    RateLimit {
        /// What it says.
        message: ErrorBody,
        /// How long it wants to be left alone.
        retry_after: Option<Span>,
    },
    /// The API refuses this request, or failed.
    #[error("Error code: {status} - {}", message.message)]
    Status {
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: ErrorBody,
        /// How long it wants to be left alone.
        retry_after: Option<Span>,
    },
    /// What was answered is no message.
    #[error("Failed to parse response: {cause}")]
    Validation {
        /// Why not.
        cause: String,
    },
}

/// What the API says of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// The word for its kind, such as `overloaded_error`.
    pub kind: String,
    /// The word and the sentence.
    pub message: String,
    /// What the sentence adds to the status.
    about: Option<ErrorTopic>,
}

/// What a 400 is about, where only its sentence says so. The vendor wrote these sentences, and its own agent goes by them
/// (Claude Code 2.1.330).
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

// What the API says of an error is for one line.
const SAID_CHARS_MAX: usize = 300;

/// Why no request can be made at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The address is none.
    #[error("use the address of the API: it is no URL that begins with https:// or http://")]
    Address,
    /// The key or token cannot be sent.
    #[error("use the API key: it holds characters that no key has")]
    Credential,
    /// TLS cannot be had.
    #[error("set up TLS: {0}")]
    Tls(String),
}

impl SetupError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SetupError::Address => "check AGENTIC_CONTEXT_BASE_URL and ANTHROPIC_BASE_URL",
            SetupError::Credential => {
                "check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY for line breaks"
            }
            SetupError::Tls(_) => {
                "see whether the certificates of this system are installed (`ca-certificates`)"
            }
        }
    }
}

/// A status that is no success, as an error.
pub(super) fn refused(status: u16, body: &[u8], retry_after: Option<Span>) -> MessagesError {
    let (kind, sentence) = wire::refusal(body).unwrap_or_default();
    let parts = [kind.as_str(), sentence.as_str()];
    let message = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let about = SENTENCES.iter().find(|(words, _)| sentence.to_ascii_lowercase().contains(words));
    let message = if message.is_empty() { "it says nothing more".to_owned() } else { message };
    let said = ErrorBody { kind, message, about: about.map(|(_, about)| *about) };
    if status == 429 {
        MessagesError::RateLimit { message: said, retry_after }
    } else {
        MessagesError::Status { status, message: said, retry_after }
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

    /// What decides whether the request is made again.
    pub fn call_error(&self) -> ApiCallError {
        match self {
            MessagesError::Timeout { .. } => ApiCallError::TimedOut,
            MessagesError::Connection { .. } => ApiCallError::Unreachable,
            MessagesError::RateLimit { .. } => ApiCallError::Status(429),
            MessagesError::Status { status, .. } => ApiCallError::Status(*status),
            MessagesError::Validation { .. } => ApiCallError::InvalidResponse,
        }
    }

    /// How long the API wants to be left alone, if it says so.
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

    /// The fault that it is.
    pub fn fault(&self) -> Fault {
        let about = match self {
            MessagesError::Status { status: 400, message: said, .. } => said.about,
            MessagesError::Timeout { .. }
            | MessagesError::Connection { .. }
            | MessagesError::RateLimit { .. }
            | MessagesError::Status { .. }
            | MessagesError::Validation { .. } => None,
        };
        match about {
            Some(ErrorTopic::Money | ErrorTopic::Organization) => Fault::Billing,
            Some(ErrorTopic::Length) => Fault::ContextFull,
            None => self.call_error().fault(),
        }
    }

    /// What follows for whoever asked, once it is not asked again: `not_before` is known for some that pass.
    pub fn retry_advice(&self, not_before: Option<Moment>) -> RetryAdvice {
        if self.fault() == Fault::ModelUnknown {
            // A run has failed then; all questions to come would fail, too.
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

    /// The same without a text that nobody may read, should the API or a proxy have sent it back; and no longer than a line.
    pub(super) fn redacted(mut self, secret: &str) -> MessagesError {
        let texts = match &mut self {
            MessagesError::Timeout { .. } => vec![],
            MessagesError::Connection { cause, .. } | MessagesError::Validation { cause } => vec![cause],
            MessagesError::RateLimit { message: said, .. } | MessagesError::Status { message: said, .. } => {
                vec![&mut said.kind, &mut said.message]
            }
        };
        for text in texts {
            // Before it is cut: half of a secret is not known for one.
            *text = text.replace(secret, "…").chars().take(SAID_CHARS_MAX).collect();
        }
        self
    }
}
