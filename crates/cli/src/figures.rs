//! The usage of a run: time, cost, tokens, and the remaining amounts of its limits. JSON keys are only added,
//! never removed.

use longhaul_core::{Dollars, Limit, Limits, Moment, Span, State, Tokens};
use serde::Serialize;

/// The figures of a run. They include the running attempt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunUsage {
    /// Time since the start, without the time between finish and resume.
    pub wall_ms: Span,
    /// Time spent working.
    pub active_ms: Span,
    /// Time spent waiting, with no process running.
    pub waiting_ms: Span,
    /// Downtime: the machine slept, or no supervisor was running and the agent was idle.
    pub downtime_ms: Span,
    /// Cost reported by the agent.
    pub reported_cost_usd: Dollars,
    /// Estimated cost of usage for which the agent reported no cost.
    pub estimated_cost_usd: Dollars,
    /// Whether some tokens have no known price. The costs are then lower bounds.
    pub unpriced: bool,
    /// Turns in the main conversation.
    pub turns: u32,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages. They are not included in the other counts.
    pub truncated_tokens: u64,
    /// The limits that are set.
    pub limits: Vec<LimitStatus>,
}

/// One limit: cost in dollars, time in milliseconds, everything else as a count.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitStatus {
    /// The limit.
    pub limit: Limit,
    /// The limit's value.
    pub limit_value: f64,
    /// Amount used.
    pub used: f64,
    /// Amount remaining.
    pub remaining: f64,
}

pub fn figures(state: &State, limits: Limits, at: Moment) -> RunUsage {
    let (clocks, usage) = (state.clocks_at(at), state.usage);
    let has_started = clocks.started != Moment(0);
    let wall = if has_started { clocks.wall(at) } else { Span::ZERO };
    let active = if has_started { clocks.active(at) } else { Span::ZERO };
    let used = |limit: Limit| match limit {
        Limit::Budget => {
            limits.budget.map(|limit_value| (limit_value.as_dollars(), usage.total_cost().as_dollars()))
        }
        Limit::Tokens => {
            let used = (usage.tokens + usage.truncated_tokens).total();
            limits.tokens.map(|limit_value| (limit_value as f64, used as f64))
        }
        Limit::Time => limits.time.map(|limit_value| (limit_value.millis() as f64, active.millis() as f64)),
        Limit::Wall => limits.wall.map(|limit_value| (limit_value.millis() as f64, wall.millis() as f64)),
        Limit::Turns => limits.turns.map(|limit_value| (f64::from(limit_value), f64::from(usage.turns))),
        Limit::Attempts => None,
    };
    let limits = Limit::ALL.iter().filter_map(|limit| {
        let (limit_value, used) = used(*limit)?;
        Some(LimitStatus { limit: *limit, limit_value, used, remaining: (limit_value - used).max(0.0) })
    });
    RunUsage {
        wall_ms: wall,
        active_ms: active,
        waiting_ms: clocks.waiting,
        downtime_ms: clocks.downtime,
        reported_cost_usd: usage.reported_cost.into(),
        estimated_cost_usd: usage.estimated_cost.into(),
        unpriced: usage.unpriced,
        turns: usage.turns,
        tokens: usage.tokens,
        truncated_tokens: usage.truncated_tokens.total(),
        limits: limits.collect(),
    }
}
