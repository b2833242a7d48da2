//! Calls a judge over the Messages API with a key. The core decides which requests are sent and when; this
//! module never does.

use super::{Judge, JudgeError, JudgeReply, RequestObserver, RetryAdvice};
use crate::JudgeSettings;
use crate::messages::{ANSWER_TOKENS_MAX, Answer, LONG_CONTEXT, MessagesClient, MessagesError};
use async_trait::async_trait;
use longhaul_agent::Prices;
use longhaul_core::{ApiCall, ApiCallPolicy, CallDecision, Fault, GiveUpReason, Moment, Now, Span};
use std::sync::Arc;

/// Context window of the API's models.
const CONTEXT_TOKENS: u64 = 200_000;
/// Context window of models whose name has the suffix for a longer one.
const LONG_CONTEXT_TOKENS: u64 = 1_000_000;
// The safety margin is one tenth, because the length of a prompt is only estimated.
const MARGIN_DIVISOR: u64 = 10;

/// The clock and random numbers for retries.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns the current moment, with random numbers.
    fn now(&self) -> Now;

    /// Waits until this moment.
    async fn sleep_until(&self, at: Moment);
}

/// An event of a question.
#[derive(Clone, Copy, Debug)]
pub enum RequestEvent<'a> {
    /// A request failed and will be retried.
    Retrying {
        /// Number of the request, starting at 1.
        request: u32,
        /// Maximum number of requests.
        requests_max: u32,
        /// Error of the request.
        error: &'a MessagesError,
        /// Delay before the next request.
        wait: Span,
    },
    /// A request was answered.
    Answered {
        /// Number of the request, starting at 1.
        request: u32,
    },
    /// A request failed and will not be retried.
    GivenUp {
        /// Number of the request, starting at 1.
        request: u32,
        /// Maximum number of requests.
        requests_max: u32,
        /// Error of the request.
        error: &'a MessagesError,
        /// Why it is not retried.
        reason: GiveUpReason,
    },
}

/// A judge behind the Messages API.
#[derive(Clone)]
pub struct ApiJudge {
    messages: MessagesClient,
    model: String,
    policy: ApiCallPolicy,
    prices: Prices,
    clock: Arc<dyn Clock>,
}

impl ApiJudge {
    /// Creates the judge of these settings.
    ///
    /// # Errors
    /// Returns [`JudgeError`] if there is no credential or the settings allow no request. No request is sent.
    pub fn new(
        settings: &JudgeSettings,
        policy: ApiCallPolicy,
        prices: Prices,
        clock: Arc<dyn Clock>,
    ) -> Result<ApiJudge, JudgeError> {
        let unusable = |message: String| JudgeError::unusable(Fault::Auth, message);
        if let Some(cloud) = settings.cloud {
            return Err(unusable(format!(
                "{cloud} sends sessions to a cloud provider, which the judge does not support: choose the judge `claude`, or name an API in AGENTIC_CONTEXT_BASE_URL"
            )));
        }
        let Some(credential) = &settings.credential else {
            let message =
                "no API key is set: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or AGENTIC_CONTEXT_API_KEY";
            return Err(unusable(message.to_owned()));
        };
        let messages = MessagesClient::new(&settings.base_url, credential).map_err(unusable)?;
        Ok(ApiJudge { messages, model: settings.model.clone(), policy, prices, clock })
    }

    fn reply(&self, answer: Answer, requests: u32) -> Result<JudgeReply, JudgeError> {
        if answer.is_refused {
            let message = format!("{} refuses to answer this", answer.model);
            return Err(JudgeError { fault: Fault::Refused, retry: RetryAdvice::Never, message, requests });
        }
        let cost = self.prices.cost(&answer.model, answer.tokens);
        Ok(JudgeReply {
            cost: cost.or_else(|| self.prices.cost(&self.model, answer.tokens)),
            text: answer.text,
            model: answer.model,
            tokens: answer.tokens,
        })
    }
}

#[async_trait]
impl Judge for ApiJudge {
    async fn ask(&self, prompt: &str, observer: RequestObserver<'_>) -> Result<JudgeReply, JudgeError> {
        let mut started_at = self.clock.now().at;
        let mut call = ApiCall::start(started_at);
        loop {
            let timeout = call.timeout(&self.policy, started_at);
            let (request, requests_max) = (call.failed_requests() + 1, self.policy.requests_max());
            let error = match self.messages.ask(&self.model, prompt, timeout, started_at).await {
                Ok(answer) => {
                    observer(self.clock.now().at, RequestEvent::Answered { request });
                    return self.reply(answer, request);
                }
                Err(error) => error,
            };
            let now = self.clock.now();
            match call.on_failure(&self.policy, now, error.call_error, error.retry_after) {
                CallDecision::Retry { at } => {
                    let wait = at.since(now.at);
                    let error = &error;
                    observer(now.at, RequestEvent::Retrying { request, requests_max, error, wait });
                    self.clock.sleep_until(at).await;
                    started_at = self.clock.now().at;
                }
                CallDecision::GiveUp { reason, not_before } => {
                    let given_up = RequestEvent::GivenUp { request, requests_max, error: &error, reason };
                    observer(now.at, given_up);
                    return Err(JudgeError {
                        fault: error.fault,
                        retry: RetryAdvice::after_fault(error.fault, not_before),
                        message: describe(&error, reason, request),
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
        let context = if self.model.ends_with(LONG_CONTEXT) { LONG_CONTEXT_TOKENS } else { CONTEXT_TOKENS };
        context - context / MARGIN_DIVISOR - ANSWER_TOKENS_MAX
    }
}

fn describe(error: &MessagesError, reason: GiveUpReason, requests: u32) -> String {
    let class = error.class();
    match reason {
        GiveUpReason::NotRetryable => format!("{class}: {error}"),
        GiveUpReason::RetriesExhausted => format!("{class}: {error}; gave up after {requests} requests"),
        GiveUpReason::OutOfTime => {
            format!("{class}: {error}; there is no time left to wait for another request")
        }
    }
}

#[cfg(test)]
mod tests;
