//! Models the API. It serves requests unless an outage, a usage limit or a permanent failure prevents that.
//! This module also defines the usage of its responses.

use super::World;
use longhaul_core::{AgentResult, Fault, Moment, RateLimit, Span, Tokens, Usage};

#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub outage: Option<Outage>,
    pub limit: Option<UsageLimit>,
    /// The result of every request from now on, and its fault.
    pub permanent_failure: Option<(AgentResult, Fault)>,
}

/// A period in which every request fails in the same way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub fault: Fault,
    pub until: Moment,
    pub result: AgentResult,
    /// The wait that the server requests, counted from each refusal.
    pub hint: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageLimit {
    pub until: Moment,
    pub result: AgentResult,
    pub reported: RateLimit,
}

impl Server {
    pub(crate) fn refresh(&mut self, now: Moment) {
        self.outage = self.outage.filter(|outage| now < outage.until);
        self.limit = self.limit.filter(|limit| now < limit.until);
    }
}

impl World {
    /// Returns the usage of the next response. Every other response reads little from the cache.
    pub(super) fn next_response_usage(&self) -> Usage {
        let response = self.max_response_usage();
        let cache_read = if self.requests & 1 == 1 { 900 } else { response.tokens.cache_read };
        Usage { tokens: Tokens { cache_read, ..response.tokens }, ..response }
    }

    pub(crate) fn max_response_usage(&self) -> Usage {
        Usage {
            tokens: Tokens { input: 300, output: 60, cache_read: 9_000, cache_write: 200 },
            messages: 1,
            turns: 1,
            reported_cost: self.mix.request_cost,
            ..Usage::default()
        }
    }
}
