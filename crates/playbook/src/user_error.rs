//! Defines an error that a user can act on.

use thiserror::Error;

/// An error with what the user can do about it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct UserError {
    /// Message for the user.
    pub message: String,
    /// Next step for the user.
    pub hint: String,
}

impl UserError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> UserError {
        UserError { message: message.into(), hint: hint.into() }
    }
}
