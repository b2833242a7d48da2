//! The API behind an agent: it serves, or it stands behind a wall, a limit or a refusal for good.

use longhaul_core::{Fault, Moment, RateLimit, Span, TurnResult};

/// What the API does at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// It does not serve until then.
    pub(crate) wall: Option<Wall>,
    /// The account has no more quota until then.
    pub(crate) limit: Option<Limit>,
    /// It will never serve this account or this request again.
    pub(crate) ban: Option<Ban>,
}

/// A time in which every request fails alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    pub(crate) fault: Fault,
    pub(crate) until: Moment,
    pub(crate) result: TurnResult,
    /// What the server asks its clients to wait, counted from each refusal.
    pub(crate) hint: Option<Span>,
}

/// An exhausted usage window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) until: Moment,
    pub(crate) result: TurnResult,
    pub(crate) stated: RateLimit,
}

/// A refusal for good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ban {
    pub(crate) fault: Fault,
    pub(crate) result: TurnResult,
}

impl Server {
    /// Forgets what has passed.
    pub(crate) fn refresh(&mut self, now: Moment) {
        self.wall = self.wall.filter(|wall| now < wall.until);
        self.limit = self.limit.filter(|limit| now < limit.until);
    }
}
