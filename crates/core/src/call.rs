//! What follows a request to an API that failed: whether it is made again, and when. Nothing else decides that for a request
//! of ours; whoever sends one sends it once and asks here.

use crate::classify::by_status;
use crate::{Backoff, Fault, Moment, Now, Policy, Span};

// No model answers in less: such a request would be paid for, and its answer not be waited for.
const ANSWER_MIN: Span = Span::from_secs(1);

/// How often, how far apart and for how long an API is asked one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPolicy {
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
pub enum CallError {
    /// There was no answer in time.
    TimedOut,
    /// There was no connection, or it broke before the answer was whole.
    Unreachable,
    /// The answer was this HTTP status.
    Refused(u16),
    /// The answer was none of the API's.
    Unintelligible,
}

/// One question to an API: the requests that were made for it, and when the first of them was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    begun: Moment,
    failed: u32,
}

/// What follows a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNext {
    /// It is made again at this moment.
    Again {
        /// When.
        at: Moment,
    },
    /// It is not made again.
    GiveUp {
        /// Why not.
        why: GaveUp,
        /// Before this, the question need not be asked anew, as far as that is known.
        not_before: Option<Moment>,
    },
}

/// Why a request is not made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// It would fail in the same way.
    Pointless,
    /// It was made as often as it may be.
    Exhausted,
    /// The wait before it would outlast the time budget.
    OutOfTime,
}

impl Policy {
    /// This policy for requests to an API: an attempt is a request.
    pub fn call(&self, time_budget: Span) -> CallPolicy {
        CallPolicy {
            retries_max: self.retries_max,
            backoff: self.backoff,
            request_timeout: self.attempt_timeout.unwrap_or(time_budget),
            time_budget,
        }
    }
}

impl CallPolicy {
    /// How many requests are made at most.
    pub fn requests_max(&self) -> u32 {
        self.retries_max.saturating_add(1)
    }

    /// The longest that all of it can take if no server asks for more patience.
    pub fn longest(&self) -> Span {
        let waits = (0..self.retries_max).map(|n| self.backoff.longest(n));
        waits
            .fold(self.request_timeout, |sum, wait| sum + wait + self.request_timeout)
            .at_most(self.time_budget)
    }
}

impl CallError {
    /// The fault that it is.
    pub fn fault(self) -> Fault {
        match self {
            CallError::TimedOut => Fault::ServerError,
            CallError::Unreachable | CallError::Unintelligible => Fault::Network,
            // The address of messages exists wherever there is such an API.
            CallError::Refused(404) => Fault::ModelUnknown,
            // A redirect, for example: somebody else answers in the place of the API.
            CallError::Refused(status) => by_status(status, None).unwrap_or(Fault::Network),
        }
    }

    /// Whether the same request may succeed a few seconds later. The table is that of the ACE playbook hooks: it lets a run
    /// wait out less than [`remedy`](crate::remedy()) does, which has hours.
    pub fn is_passing(self) -> bool {
        match self {
            CallError::TimedOut | CallError::Unreachable => true,
            CallError::Refused(status) => status == 429 || status >= 500,
            CallError::Unintelligible => false,
        }
    }
}

impl Call {
    /// A question whose first request is made now.
    pub fn begin(now: Moment) -> Call {
        Call { begun: now, failed: 0 }
    }

    /// How many requests have failed.
    pub fn failed_requests(&self) -> u32 {
        self.failed
    }

    /// How long a request that is made now may take.
    pub fn timeout(&self, policy: &CallPolicy, now: Moment) -> Span {
        policy.request_timeout.at_most(policy.time_budget - now.since(self.begun))
    }

    /// A request failed. The server may have said how long to wait: we come no sooner.
    pub fn failed(
        &mut self,
        policy: &CallPolicy,
        now: Now,
        error: CallError,
        retry_after: Option<Span>,
    ) -> CallNext {
        let failed_before = self.failed;
        self.failed = self.failed.saturating_add(1);
        let told = retry_after.map(|span| now.at + span);
        if !error.is_passing() {
            return CallNext::GiveUp { why: GaveUp::Pointless, not_before: told };
        }
        if failed_before >= policy.retries_max {
            return CallNext::GiveUp { why: GaveUp::Exhausted, not_before: told };
        }
        let at = now.at + policy.backoff.delay(failed_before, retry_after, now.roll);
        if at + ANSWER_MIN > self.begun + policy.time_budget {
            // What we alone would have waited says nothing of the API.
            return CallNext::GiveUp { why: GaveUp::OutOfTime, not_before: told.map(|_| at) };
        }
        CallNext::Again { at }
    }
}

#[cfg(test)]
mod tests;
