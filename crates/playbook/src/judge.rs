//! Defines judges: models that answer one question at a time, over any connection.

mod api;
#[cfg(test)]
pub(crate) mod test_fixtures;

pub use api::{ApiJudge, Clock, RequestEvent};

use async_trait::async_trait;
use longhaul_core::{Fault, Moment, OutcomeKind, Tokens, Usd, final_outcome};
use thiserror::Error;

/// Receives the requests of a question. It decides nothing.
pub type RequestObserver<'a> = &'a (dyn Fn(Moment, RequestEvent<'_>) + Sync);

/// A model that answers questions.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Asks a question and waits for the answer. The core decides whether a failed request is retried.
    ///
    /// # Errors
    /// Returns [`JudgeError`] if there is no answer. It advises the caller what to do.
    async fn ask(&self, prompt: &str, observer: RequestObserver<'_>) -> Result<JudgeReply, JudgeError>;

    /// Returns the requested model, for messages and prices.
    fn model(&self) -> &str;

    /// Returns the maximum length of a prompt, in tokens, with room for the answer.
    fn prompt_tokens_max(&self) -> u64;
}

/// An answer of a judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeReply {
    /// Full text.
    pub text: String,
    /// Model that answered, as it names itself.
    pub model: String,
    /// Tokens used.
    pub tokens: Tokens,
    /// Cost; `None` if the model has no price or a separate run counts the cost.
    pub cost: Option<Usd>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JudgeError {
    /// Fault, in the core's terms.
    pub fault: Fault,
    /// What to do about it.
    pub retry: RetryAdvice,
    /// Message for the user.
    pub message: String,
    /// Number of requests that were sent.
    pub requests: u32,
}

impl JudgeError {
    /// Creates the error of a judge that cannot be asked until a person changes something.
    pub fn unusable(fault: Fault, message: impl Into<String>) -> JudgeError {
        JudgeError { fault, retry: RetryAdvice::NeedsPerson, message: message.into(), requests: 0 }
    }
}

/// What to do after a question failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Retry the question later, at this moment or after it if one is given.
    Later(Option<Moment>),
    /// Stop asking until a person changes something: the key, the account's credit or the model.
    NeedsPerson,
    /// Never retry this question. Other questions may succeed.
    Never,
}

impl RetryAdvice {
    /// Returns what to do after the last retry failed. `not_before` is known for some temporary errors.
    pub(crate) fn after_fault(fault: Fault, not_before: Option<Moment>) -> RetryAdvice {
        if fault == Fault::ModelUnknown {
            // For a run this is a failure; here all later questions would fail too.
            return RetryAdvice::NeedsPerson;
        }
        match final_outcome(fault) {
            OutcomeKind::RetryLater => RetryAdvice::Later(not_before),
            OutcomeKind::NeedsPerson => RetryAdvice::NeedsPerson,
            OutcomeKind::Done
            | OutcomeKind::Failed
            | OutcomeKind::OverBudget
            | OutcomeKind::OutOfTime
            | OutcomeKind::CheckFailed
            | OutcomeKind::NotStarted
            | OutcomeKind::Incomplete
            | OutcomeKind::Partial
            | OutcomeKind::Bug
            | OutcomeKind::Cancelled
            | OutcomeKind::Suspended => RetryAdvice::Never,
        }
    }
}
