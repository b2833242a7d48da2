//! Who judges a session: a model that is asked once and answers once, by whatever way it is reached.

mod api;
#[cfg(test)]
pub(crate) mod testing;

pub use api::{ApiJudge, Clock, NoRequestObserver, RequestEvent, RequestObserver};

use async_trait::async_trait;
use longhaul_core::{Fault, Moment, Tokens, Usd};
use thiserror::Error;

/// A model that is asked.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Asks, and waits for the answer. Whether a request that failed is made again is decided within, by the core.
    ///
    /// # Errors
    /// [`JudgeError`], with what follows for whoever asked.
    async fn ask(&self, prompt: &str) -> Result<Reply, JudgeError>;

    /// The same, with this witness of the requests that it makes itself, instead of its own.
    ///
    /// # Errors
    /// [`JudgeError`].
    async fn ask_observed(&self, prompt: &str, _witness: &dyn RequestObserver) -> Result<Reply, JudgeError> {
        self.ask(prompt).await
    }

    /// The model that is asked, for what is said of it and for its price.
    fn model(&self) -> &str;

    /// How many tokens a prompt may have, with room left for the answer.
    fn prompt_tokens_max(&self) -> u64;
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What was said, all text of it.
    pub text: String,
    /// The model that said it, by its own name for itself.
    pub model: String,
    /// What it used.
    pub tokens: Tokens,
    /// What it cost, if that is known; nothing for a model without a price, and for what a run of its own has counted.
    pub cost: Option<Usd>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JudgeError {
    /// What it was, in the core's word.
    pub fault: Fault,
    /// What to do about it.
    pub retry: RetryAdvice,
    /// What happened, for people.
    pub message: String,
    /// How many requests were made.
    pub requests: u32,
}

/// What follows for a question that had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// The same question may be answered later, not before this if it is known.
    Later(Option<Moment>),
    /// No question will be answered before a person has changed something: no key, a bad one, no money, no such model.
    NeedsPerson,
    /// This question will never be answered as it stands; others may be.
    Never,
}
