//! What a run used: time, money and tokens, and how much of its limits is left. Keys are only ever added.

use longhaul_core::{Limit, Limits, Moment, Span, State, Tokens};
use serde::Serialize;

/// The figures of a run. Usage includes the running attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunUsage {
    /// Time since it began, as long as it was not over.
    pub wall_ms: Span,
    /// Time in which it worked.
    pub active_ms: Span,
    /// Time in which it waited with no process resident.
    pub waiting_ms: Span,
    /// Time in which nothing ran: the machine slept, or the run had no supervisor.
    pub downtime_ms: Span,
    /// What the agent stated.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub reported_cost_usd: f64,
    /// What is priced by the table, where the agent did not state it.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost_usd: f64,
    /// Whether some tokens have no known price: the costs are then lower bounds.
    pub unpriced: bool,
    /// Answers of the model in the main conversation.
    pub turns: u32,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Tokens of messages that were cut, estimated, and not among the others.
    pub truncated_tokens: u64,
    /// Each limit that it has.
    pub limits: Vec<LimitStatus>,
}

/// One limit: money in dollars, time in milliseconds, all else counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitStatus {
    /// Which one.
    pub limit: Limit,
    /// How much the run may use.
    pub limit_value: f64,
    /// How much it has used.
    pub used: f64,
    /// How much is left.
    pub remaining: f64,
}

/// The figures of the run in this state, as of `at`.
pub fn figures(state: &State, limits: Limits, at: Moment) -> RunUsage {
    let (clocks, usage) = (state.clocks, state.usage);
    let has_begun = clocks.started != Moment(0);
    let wall = if has_begun { clocks.wall(at) } else { Span::ZERO };
    let active = if has_begun { state.active(at) } else { Span::ZERO };
    let used = |limit: Limit| match limit {
        Limit::Budget => limits.budget.map(|of| (of.as_dollars(), usage.total_cost().as_dollars())),
        Limit::Tokens => {
            let used = usage.tokens.total() + usage.truncated_tokens.total();
            limits.tokens.map(|of| (of as f64, used as f64))
        }
        Limit::Time => limits.time.map(|of| (of.millis() as f64, active.millis() as f64)),
        Limit::Wall => limits.wall.map(|of| (of.millis() as f64, wall.millis() as f64)),
        Limit::Turns => limits.turns.map(|of| (f64::from(of), f64::from(usage.turns))),
        Limit::Attempts => None,
    };
    let limits = Limit::ALL.iter().filter_map(|limit| {
        let (of, used) = used(*limit)?;
        Some(LimitStatus { limit: *limit, limit_value: of, used, remaining: (of - used).max(0.0) })
    });
    RunUsage {
        wall_ms: wall,
        active_ms: active,
        // Also of a wait that is under way.
        waiting_ms: wall - active - clocks.downtime,
        downtime_ms: clocks.downtime,
        reported_cost_usd: usage.reported_cost.as_dollars(),
        estimated_cost_usd: usage.estimated_cost.as_dollars(),
        unpriced: usage.unpriced,
        turns: usage.turns,
        tokens: usage.tokens,
        truncated_tokens: usage.truncated_tokens.total(),
        limits: limits.collect(),
    }
}
