//! Defines judges: models that answer one question at a time, over any connection.

mod api;
#[cfg(test)]
pub(crate) mod testing;

pub use api::{ApiJudge, Clock, NoRequestObserver, RequestEvent, RequestObserver};

use async_trait::async_trait;
use longhaul_core::{Fault, Moment, Tokens, Usd};
use thiserror::Error;

/// A model that answers questions.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Asks a question and waits for the answer. The core decides whether a failed request is retried.
    ///
    /// # Errors
    /// Returns [`JudgeError`] if there is no answer. It advises the caller what to do.
    async fn ask(&self, prompt: &str) -> Result<JudgeReply, JudgeError>;

    /// Asks a question and reports the requests to this observer instead of the judge's own.
    ///
    /// # Errors
    /// Returns [`JudgeError`] if there is no answer.
    async fn ask_observed(
        &self,
        prompt: &str,
        _observer: &dyn RequestObserver,
    ) -> Result<JudgeReply, JudgeError> {
        self.ask(prompt).await
    }

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
