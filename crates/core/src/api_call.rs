//! What follows a request to an API that failed: whether it is made again, and when. Nothing else decides that for a request
//! of ours; whoever sends one sends it once and asks here.

use crate::classify::classify_status;
use crate::{Backoff, Fault, Moment, Now, Policy, Span};

// No model answers in less: such a request would be paid for, and its answer not be waited for.
const ANSWER_MIN: Span = Span::from_secs(1);

/// How often, how far apart and for how long an API is asked one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiCallPolicy {
    /// How often a request is made again.
    pub retries_max: u32,
    /// The waits between requests.
    pub backoff: Backoff,
    /// How long one request may take, to the last byte of its answer.
    pub request_timeout: Span,
    /// How long all of it may take, waits included.
    pub time_budget: Span,
}

/// How a request failed, as far as it says whether the same request may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiCallError {
    /// There was no answer in time.
    TimedOut,
    /// There was no connection, or it broke before the answer was whole.
    Unreachable,
    /// The answer was this HTTP status.
    Status(u16),
    /// The answer was none of the API's.
    InvalidResponse,
}

/// One question to an API: the requests that were made for it, and when the first of them was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    started_at: Moment,
    failed: u32,
}

/// What follows a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDecision {
    /// It is made again at this moment.
    Retry {
        /// When.
        at: Moment,
    },
    /// It is not made again.
    GiveUp {
        /// Why not.
        reason: GiveUpReason,
        /// Before this, the question need not be asked anew, as far as that is known.
        not_before: Option<Moment>,
    },
}

/// Why a request is not made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUpReason {
    /// It would fail in the same way.
    NotRetryable,
    /// It was made as often as it may be.
    RetriesExhausted,
    /// The wait before it would outlast the time budget.
    OutOfTime,
}

impl Policy {
    /// This policy for requests to an API: an attempt is a request.
    pub fn api_call_policy(&self, time_budget: Span) -> ApiCallPolicy {
        ApiCallPolicy {
            retries_max: self.retries_max,
            backoff: self.backoff,
            request_timeout: self.attempt_timeout.unwrap_or(time_budget),
            time_budget,
        }
    }
}

impl ApiCallPolicy {
    /// How many requests are made at most.
    pub fn requests_max(&self) -> u32 {
        self.retries_max.saturating_add(1)
    }

    /// The longest that all of it can take if no server asks for more patience.
    pub fn max_duration(&self) -> Span {
        let waits = (0..self.retries_max).map(|n| self.backoff.longest(n));
        waits
            .fold(self.request_timeout, |sum, wait| sum + wait + self.request_timeout)
            .at_most(self.time_budget)
    }
}

impl ApiCallError {
    /// The fault that it is.
    pub fn fault(self) -> Fault {
        match self {
            ApiCallError::TimedOut => Fault::ServerError,
            ApiCallError::Unreachable | ApiCallError::InvalidResponse => Fault::Network,
            // The address of messages exists wherever there is such an API.
            ApiCallError::Status(404) => Fault::ModelUnknown,
            // A redirect, for example: somebody else answers in the place of the API.
            ApiCallError::Status(status) => classify_status(status, None).unwrap_or(Fault::Network),
        }
    }

    /// Whether the same request may succeed a few seconds later. The table is that of the ACE playbook hooks: it lets a run
    /// wait out less than [`remedy`](crate::remedy()) does, which has hours.
    pub fn is_transient(self) -> bool {
        match self {
            ApiCallError::TimedOut | ApiCallError::Unreachable => true,
            ApiCallError::Status(status) => status == 429 || status >= 500,
            ApiCallError::InvalidResponse => false,
        }
    }
}

impl ApiCall {
    /// A question whose first request is made now.
    pub fn start(now: Moment) -> ApiCall {
        ApiCall { started_at: now, failed: 0 }
    }

    /// How many requests have failed.
    pub fn failed_requests(&self) -> u32 {
        self.failed
    }

    /// How long a request that is made now may take.
    pub fn timeout(&self, policy: &ApiCallPolicy, now: Moment) -> Span {
        policy.request_timeout.at_most(policy.time_budget - now.since(self.started_at))
    }

    /// A request failed. The server may have said how long to wait: we come no sooner.
    pub fn on_failure(
        &mut self,
        policy: &ApiCallPolicy,
        now: Now,
        error: ApiCallError,
        retry_after: Option<Span>,
    ) -> CallDecision {
        let failed_before = self.failed;
        self.failed = self.failed.saturating_add(1);
        let told = retry_after.map(|span| now.at + span);
        if !error.is_transient() {
            return CallDecision::GiveUp { reason: GiveUpReason::NotRetryable, not_before: told };
        }
        if failed_before >= policy.retries_max {
            return CallDecision::GiveUp { reason: GiveUpReason::RetriesExhausted, not_before: told };
        }
        let at = now.at + policy.backoff.delay(failed_before, retry_after, now.roll);
        if at + ANSWER_MIN > self.started_at + policy.time_budget {
            // What we alone would have waited says nothing of the API.
            return CallDecision::GiveUp { reason: GiveUpReason::OutOfTime, not_before: told.map(|_| at) };
        }
        CallDecision::Retry { at }
    }
}

#[cfg(test)]
mod tests;
