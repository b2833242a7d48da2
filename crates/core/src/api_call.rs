//! Decides whether and when a failed request to an API is retried.
//!
//! This module is the only retry policy for Longhaul's own requests. It never sends a request: the caller
//! sends the request once and asks this module about a retry.

use crate::classify::classify_status;
use crate::{Backoff, Fault, Moment, Now, Policy, Span};

// No model answers in less time. A shorter request would be paid for and then abandoned.
pub(crate) const ANSWER_MIN: Span = Span::from_secs(1);

/// Limits and waits of an API call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiCallPolicy {
    /// Maximum number of retries.
    pub retries_max: u32,
    /// Schedule of waits between requests.
    pub backoff: Backoff,
    /// Timeout of one request, to the last byte of its response.
    pub request_timeout: Span,
    /// Maximum time of the call, including waits.
    pub time_budget: Span,
}

/// How a request failed, as far as it matters for a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiCallError {
    /// No response arrived in time.
    TimedOut,
    /// The connection failed, or broke before the response was complete.
    Unreachable,
    /// The response had this HTTP status.
    Status(u16),
    /// The response does not come from the API.
    InvalidResponse,
}

/// One API call: its requests so far, and the time of the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    started_at: Moment,
    failures: u32,
}

/// The decision after a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDecision {
    /// Retry the request.
    Retry {
        /// Time of the retry.
        at: Moment,
    },
    /// Give up.
    GiveUp {
        /// Reason for giving up.
        reason: GiveUpReason,
        /// Moment before which a new call makes no sense, if known.
        not_before: Option<Moment>,
    },
}

/// The reason why a request is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUpReason {
    /// It would fail in the same way.
    NotRetryable,
    /// The number of retries is exhausted.
    RetriesExhausted,
    /// The wait before it would exceed the time budget.
    OutOfTime,
}

impl ApiCallPolicy {
    /// Returns the policy of an API call, with each attempt of `policy` as one request.
    pub fn new(policy: &Policy, time_budget: Span) -> ApiCallPolicy {
        ApiCallPolicy {
            retries_max: policy.retries_max,
            backoff: policy.backoff,
            request_timeout: policy.attempt_timeout.unwrap_or(time_budget),
            time_budget,
        }
    }

    /// Returns the maximum number of requests.
    pub fn requests_max(&self) -> u32 {
        self.retries_max.saturating_add(1)
    }
}

impl ApiCallError {
    /// Returns the fault that corresponds to the error.
    pub fn fault(self) -> Fault {
        match self {
            ApiCallError::TimedOut => Fault::ServerError,
            ApiCallError::Unreachable | ApiCallError::InvalidResponse => Fault::Network,
            // Every such API has the messages endpoint, so the model is unknown.
            ApiCallError::Status(404) => Fault::ModelUnknown,
            // For example a redirect: a server other than the API answered.
            ApiCallError::Status(status) => classify_status(status, None).unwrap_or(Fault::Network),
        }
    }

    /// Returns whether the same request may succeed a few seconds later. The table is that of the ACE
    /// playbook hooks. It retries fewer errors than [`remedy`](crate::remedy()), which may wait for hours.
    pub fn is_transient(self) -> bool {
        match self {
            ApiCallError::TimedOut | ApiCallError::Unreachable => true,
            ApiCallError::Status(status) => status == 429 || status >= 500,
            ApiCallError::InvalidResponse => false,
        }
    }
}

impl ApiCall {
    /// Starts a call whose first request is sent now.
    pub fn start(now: Moment) -> ApiCall {
        ApiCall { started_at: now, failures: 0 }
    }

    /// Returns the number of failed requests.
    pub fn failed_requests(&self) -> u32 {
        self.failures
    }

    /// Returns the timeout of a request that is sent now.
    pub fn timeout(&self, policy: &ApiCallPolicy, now: Moment) -> Span {
        policy.request_timeout.at_most(policy.time_budget - now.since(self.started_at))
    }

    /// Decides what follows a failed request. A wait requested by the server is a floor.
    pub fn on_failure(
        &mut self,
        policy: &ApiCallPolicy,
        now: Now,
        error: ApiCallError,
        retry_after: Option<Span>,
    ) -> CallDecision {
        let failures_before = self.failures;
        self.failures = self.failures.saturating_add(1);
        let server_not_before = retry_after.map(|span| now.at + span);
        let give_up = |reason, not_before| CallDecision::GiveUp { reason, not_before };
        if !error.is_transient() {
            return give_up(GiveUpReason::NotRetryable, server_not_before);
        }
        if failures_before >= policy.retries_max {
            return give_up(GiveUpReason::RetriesExhausted, server_not_before);
        }
        let at = now.at + policy.backoff.delay(failures_before, retry_after, now.roll);
        if at + ANSWER_MIN > self.started_at + policy.time_budget {
            // Our own backoff alone says nothing about the API.
            return give_up(GiveUpReason::OutOfTime, server_not_before.map(|_| at));
        }
        CallDecision::Retry { at }
    }
}

#[cfg(test)]
mod tests;
