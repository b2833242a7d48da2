//! The API behind an agent: it serves, or it stands behind a wall, a limit or a refusal for good; and what its answers
//! use.

use super::World;
use longhaul_core::{AgentResult, Fault, Moment, RateLimit, Span, Tokens, Usage};

/// What the API does at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// It does not serve until then.
    pub(crate) outage: Option<Outage>,
    /// The account has no more quota until then.
    pub(crate) limit: Option<Limit>,
    /// It will never serve this account or this request again.
    pub(crate) ban: Option<PermanentFailure>,
}

/// A time in which every request fails alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) fault: Fault,
    pub(crate) until: Moment,
    pub(crate) result: AgentResult,
    /// What the server asks its clients to wait, counted from each refusal.
    pub(crate) hint: Option<Span>,
}

/// An exhausted usage window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) until: Moment,
    pub(crate) result: AgentResult,
    pub(crate) reported: RateLimit,
}

/// A refusal for good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PermanentFailure {
    pub(crate) fault: Fault,
    pub(crate) result: AgentResult,
}

impl Server {
    /// Forgets what has passed.
    pub(crate) fn refresh(&mut self, now: Moment) {
        self.outage = self.outage.filter(|wall| now < wall.until);
        self.limit = self.limit.filter(|limit| now < limit.until);
    }
}

impl World {
    /// What this answer uses: every other one finds little to be read again.
    pub(super) fn next_answer(&self) -> Usage {
        let answer = self.one_answer();
        let cache_read = if self.requests & 1 == 1 { 900 } else { answer.tokens.cache_read };
        Usage { tokens: Tokens { cache_read, ..answer.tokens }, ..answer }
    }

    /// What one answer uses at most.
    pub(crate) fn one_answer(&self) -> Usage {
        Usage {
            tokens: Tokens { input: 300, output: 60, cache_read: 9_000, cache_write: 200 },
            messages: 1,
            turns: 1,
            reported_cost: self.mix.request_cost,
            ..Usage::default()
        }
    }
}
