//! A judge that is reached by the Messages API, with a key. It resolves nothing by itself, and decides nothing: it sends what
//! the core says, when the core says it.

use super::{Judge, JudgeError, Reply, RetryAdvice};
use crate::JudgeSettings;
use crate::messages::{ANSWER_TOKENS_MAX, Answer, AnswerStop, MessagesClient, MessagesError};
use async_trait::async_trait;
use longhaul_agent::Prices;
use longhaul_core::{ApiCall, ApiCallPolicy, CallDecision, Fault, GiveUpReason, Moment, Now, Span};
use std::fmt;
use std::sync::Arc;

/// What the models of the API take in at once.
const CONTEXT_TOKENS: u64 = 200_000;
/// And with the sign of a longer context behind their name.
const LONG_CONTEXT_TOKENS: u64 = 1_000_000;
// A prompt is measured by an estimate, which may be too low by as much.
const MARGIN_PARTS: u64 = 10;

/// The time and the chance by which requests are made again.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The present moment, with chance.
    fn now(&self) -> Now;

    /// Returns when it is this moment, or later.
    async fn sleep_until(&self, at: Moment);
}

/// Who is told what happens while a judge is asked. It decides nothing.
pub trait RequestObserver: Send + Sync {
    /// This has happened.
    fn on_request(&self, at: Moment, asking: &RequestEvent<'_>);
}

/// What happens while a judge is asked.
#[derive(Clone, Copy, Debug)]
pub enum RequestEvent<'a> {
    /// A request failed and is made again.
    Retrying {
        /// Which request it was, from 1.
        request: u32,
        /// How many there are at most.
        of: u32,
        /// Why it failed.
        error: &'a MessagesError,
        /// How long is waited before the next.
        wait: Span,
    },
    /// One was answered.
    Answered {
        /// Which request it was, from 1.
        request: u32,
    },
    /// One failed, and none is made any more.
    GivenUp {
        /// Which request it was, from 1.
        request: u32,
        /// How many there are at most.
        of: u32,
        /// Why it failed.
        error: &'a MessagesError,
        /// Why there are no more.
        reason: GiveUpReason,
    },
}

/// Nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct NoRequestObserver;

impl RequestObserver for NoRequestObserver {
    fn on_request(&self, _at: Moment, _asking: &RequestEvent<'_>) {}
}

/// A judge that is reached by the Messages API.
#[derive(Clone)]
pub struct ApiJudge {
    messages: MessagesClient,
    model: String,
    policy: ApiCallPolicy,
    prices: Prices,
    clock: Arc<dyn Clock>,
    witness: Arc<dyn RequestObserver>,
}

impl ApiJudge {
    /// The judge that the settings name.
    ///
    /// # Errors
    /// If there is no credential, or no request can be made with these settings. None was made then.
    pub fn new(
        settings: &JudgeSettings,
        policy: ApiCallPolicy,
        prices: Prices,
        clock: Arc<dyn Clock>,
    ) -> Result<ApiJudge, JudgeError> {
        let unusable = |said: String| JudgeError {
            fault: Fault::Auth,
            retry: RetryAdvice::NeedsPerson,
            message: said,
            requests: 0,
        };
        if let Some(cloud) = settings.cloud {
            let said = format!(
                "{cloud} sends what is said to a cloud provider, and the judge speaks to none: judge with --judge claude, or \
                 name an API that it may be sent to in AGENTIC_CONTEXT_BASE_URL"
            );
            return Err(unusable(said));
        }
        let Some(credential) = &settings.credential else {
            let said =
                "no API key is set: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or AGENTIC_CONTEXT_API_KEY";
            return Err(unusable(said.to_owned()));
        };
        let messages = MessagesClient::new(&settings.base_url, credential)
            .map_err(|error| unusable(format!("{error}: {}", error.hint())))?;
        let (model, witness) = (settings.model.clone(), Arc::new(NoRequestObserver));
        Ok(ApiJudge { messages, model, policy, prices, clock, witness })
    }

    /// The same judge, with somebody who is told what happens.
    #[must_use]
    pub fn with_observer(self, witness: Arc<dyn RequestObserver>) -> ApiJudge {
        ApiJudge { witness, ..self }
    }

    fn reply(&self, answer: Answer, requests: u32) -> Result<Reply, JudgeError> {
        if answer.end == AnswerStop::Refused {
            let said = format!("{} refuses to answer this", answer.model);
            return Err(JudgeError {
                fault: Fault::Refused,
                retry: RetryAdvice::Never,
                message: said,
                requests,
            });
        }
        let cost = self.prices.cost(&answer.model, answer.tokens);
        Ok(Reply {
            cost: cost.or_else(|| self.prices.cost(&self.model, answer.tokens)),
            text: answer.text,
            model: answer.model,
            tokens: answer.tokens,
        })
    }
}

#[async_trait]
impl Judge for ApiJudge {
    async fn ask(&self, prompt: &str) -> Result<Reply, JudgeError> {
        self.ask_observed(prompt, &*self.witness).await
    }

    async fn ask_observed(&self, prompt: &str, witness: &dyn RequestObserver) -> Result<Reply, JudgeError> {
        let mut call = ApiCall::start(self.clock.now().at);
        loop {
            let now = self.clock.now().at;
            let timeout = call.timeout(&self.policy, now);
            let (request, of) = (call.failed_requests() + 1, self.policy.requests_max());
            let error = match self.messages.ask(&self.model, prompt, timeout, now).await {
                Ok(answer) => {
                    witness.on_request(self.clock.now().at, &RequestEvent::Answered { request });
                    return self.reply(answer, request);
                }
                Err(error) => error,
            };
            let now = self.clock.now();
            match call.on_failure(&self.policy, now, error.call_error(), error.retry_after()) {
                CallDecision::Retry { at } => {
                    let wait = at.since(now.at);
                    witness.on_request(now.at, &RequestEvent::Retrying { request, of, error: &error, wait });
                    self.clock.sleep_until(at).await;
                }
                CallDecision::GiveUp { reason, not_before } => {
                    witness.on_request(now.at, &RequestEvent::GivenUp { request, of, error: &error, reason });
                    return Err(JudgeError {
                        fault: error.fault(),
                        retry: error.retry_advice(not_before),
                        message: said(&error, reason, request),
                        requests: request,
                    });
                }
            }
        }
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn prompt_tokens_max(&self) -> u64 {
        let context = if self.model.ends_with("[1m]") { LONG_CONTEXT_TOKENS } else { CONTEXT_TOKENS };
        context - context / MARGIN_PARTS - ANSWER_TOKENS_MAX
    }
}

fn said(error: &MessagesError, why: GiveUpReason, requests: u32) -> String {
    let class = error.class();
    match why {
        GiveUpReason::NotRetryable => format!("{class}: {error}"),
        GiveUpReason::RetriesExhausted => format!("{class}: {error}; gave up after {requests} requests"),
        GiveUpReason::OutOfTime => {
            format!("{class}: {error}; there is no time left to wait for another request")
        }
    }
}

impl fmt::Debug for ApiJudge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApiJudge { messages, model, policy, prices: _, clock: _, witness: _ } = self;
        out.debug_struct("ApiJudge")
            .field("messages", messages)
            .field("model", model)
            .field("policy", policy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
