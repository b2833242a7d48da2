//! What a run cost and how its session ended: `logs/cost_summary.json` and `logs/session.json`,
//! with the field names of an existing benchmark harness, so that its readers can read ours.
//! Derived from the journal; never read to decide anything.

use crate::{dollars, stamp};
use longhaul_core::{Clocks, Moment, OutcomeKind, SessionId, Span, State, Tokens, Usd};
use serde::{Deserialize, Serialize};

/// `logs/cost_summary.json`. Dollars are decimal numbers here and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostSummary {
    /// Everything the run cost: what the vendor stated and what we priced.
    #[serde(with = "dollars")]
    pub total_cost_usd: Usd,
    /// What the vendor stated.
    #[serde(with = "dollars")]
    pub session_cost_usd: Usd,
    /// What we priced ourselves, because no statement of the vendor covers it.
    #[serde(with = "dollars")]
    pub pending_estimated_cost_usd: Usd,
    /// Whether some tokens could not be priced: the cost is then a lower bound.
    pub unpriced: bool,
    /// API messages that were completed.
    pub total_turns: u32,
    /// API messages that were cut.
    pub cut_turns: u32,
    /// The model that did most of it, if known.
    pub model: Option<String>,
    /// Tokens of completed messages.
    pub total_tokens: Tokens,
    /// Tokens of cut messages, estimated; not in `total_tokens`.
    pub estimated_tokens: Tokens,
    /// Where the time went.
    pub time: TimeSummary,
}

/// Where the time of a run went, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeSummary {
    /// All of it.
    pub wall_clock_seconds: f64,
    /// Without waits and sleep.
    pub active_seconds: f64,
    /// Waits with no process resident.
    pub retry_seconds: f64,
    /// The machine's sleep.
    pub suspended_seconds: f64,
}

impl CostSummary {
    /// The costs of the run in `state`, as of `at`.
    pub fn of(state: &State, model: Option<String>, at: Moment) -> CostSummary {
        let tally = state.tally;
        CostSummary {
            total_cost_usd: tally.cost + tally.cost_estimated,
            session_cost_usd: tally.cost,
            pending_estimated_cost_usd: tally.cost_estimated,
            unpriced: tally.unpriced,
            total_turns: tally.messages,
            cut_turns: tally.cut_messages,
            model,
            total_tokens: tally.tokens,
            estimated_tokens: tally.cut_tokens,
            time: time(&state.clocks, at),
        }
    }
}

fn time(clocks: &Clocks, at: Moment) -> TimeSummary {
    let seconds = |span: Span| span.millis() as f64 / 1000.0;
    TimeSummary {
        wall_clock_seconds: seconds(clocks.wall(at)),
        active_seconds: seconds(clocks.active(at)),
        retry_seconds: seconds(clocks.waiting),
        suspended_seconds: seconds(clocks.suspended),
    }
}

/// `logs/session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The session that can be resumed.
    pub session_id: Option<SessionId>,
    /// How the run on it ended.
    pub status: OutcomeKind,
    /// When.
    #[serde(with = "stamp")]
    pub end_time: Moment,
}

#[cfg(test)]
mod tests;
