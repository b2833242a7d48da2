//! What a run cost and how its session ended: `logs/cost_summary.json` and `logs/session.json`,
//! with the field names of an existing benchmark harness, so that its readers can read ours.
//! Derived from the journal and the transcript; never read to decide anything. What is not known is null.

use crate::{Inherited, dollars, rfc3339};
use longhaul_core::{Clocks, Limits, Moment, OutcomeKind, SessionId, Span, State, Tokens, Usd};
use serde::{Deserialize, Serialize};

/// `logs/cost_summary.json`. Dollars are decimal numbers here and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostSummary {
    /// What the run may cost; nothing without a limit.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub budget_limit_usd: Option<Usd>,
    /// Everything the run cost: what the vendor stated and what we priced.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: Usd,
    /// What of it was spent since somebody let the run go on last, or since it began.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub session_cost_usd: Usd,
    /// What was spent before that.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub inherited_cost_usd: Usd,
    /// What of the total we priced ourselves, because no statement of the vendor covers it.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub pending_estimated_cost_usd: Usd,
    /// The total, where no sub-agent was begun; nothing else, because nobody states the parts.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub main_agent_cost_usd: Option<Usd>,
    /// Zero, where no sub-agent was begun.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub subagent_cost_usd: Option<Usd>,
    /// What is left of the limit.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub remaining_budget_usd: Option<Usd>,
    /// Whether some tokens could not be priced: the cost is then a lower bound.
    pub unpriced: bool,
    /// API messages that were completed, those of sub-agents included.
    pub total_turns: u32,
    /// API messages that were cut.
    pub truncated_turns: u32,
    /// How often a sub-agent was begun.
    pub total_subagent_calls: u64,
    /// The model that did most of it, if known.
    pub model: Option<String>,
    /// Tokens of completed messages.
    pub total_tokens: TotalTokens,
    /// Tokens of cut messages, estimated; not in `total_tokens`.
    pub estimated_tokens: Tokens,
    /// Where the time went.
    pub time: TimeSummary,
    /// The messages of the main conversation whose usage is known, the oldest first.
    pub turns: Vec<TurnCost>,
    /// The sub-agents.
    pub subagent_costs: Vec<SubagentCost>,
}

/// Tokens of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TotalTokens {
    /// As they are billed.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Those of the output that were thinking; nobody states them.
    pub reasoning: Option<u64>,
}

/// Where the time of a run went, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// All of it.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub wall_clock_seconds: f64,
    /// Without waits and sleep.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub active_seconds: f64,
    /// Waits with no process resident.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub retry_seconds: f64,
    /// The machine's sleep.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub downtime_seconds: f64,
    /// How long the run may be active; nothing without a limit.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Seconds>"))]
    pub time_limit_seconds: Option<f64>,
    /// What is left of that.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Seconds>"))]
    pub remaining_seconds: Option<f64>,
}

/// What one message of the main conversation used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnCost {
    /// From 1.
    pub turn_number: u64,
    /// When it was written, in RFC 3339.
    pub timestamp: Option<String>,
    /// The attempt.
    pub attempt: u32,
    /// Input that no cache served.
    pub input_tokens: u64,
    /// Output, thinking included.
    pub output_tokens: u64,
    /// Input served from the prompt cache.
    pub cache_read_tokens: u64,
    /// Input written to the prompt cache.
    pub cache_write_tokens: u64,
    /// What of the output was thinking; nobody states it.
    pub reasoning_tokens: Option<u64>,
    /// By the table of prices; nothing for a model that is not in it.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<Usd>,
    /// All turns so far, as long as each has a price.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cumulative_cost_usd: Option<Usd>,
    /// How long it was written; nobody states it.
    pub duration_ms: Option<u64>,
    /// The model.
    pub model: Option<String>,
}

/// One sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubagentCost {
    /// The call that began it.
    pub tool_use_id: String,
    /// When it was begun, in RFC 3339.
    pub timestamp: Option<String>,
    /// Its model, once it has said something.
    pub model: Option<String>,
    /// How many messages of its own were told.
    pub turns: u64,
    /// What it cost; nobody states it.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<Usd>,
}

/// What the transcript tells of a run's messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostBreakdown {
    /// Those of the main conversation.
    pub turns: Vec<TurnCost>,
    /// The sub-agents.
    pub subagents: Vec<SubagentCost>,
}

impl CostSummary {
    /// The costs of the run in `state`, as of `at`.
    pub fn new(
        state: &State,
        limits: Limits,
        spending: CostBreakdown,
        model: Option<String>,
        at: Moment,
    ) -> CostSummary {
        let (usage, before) = (state.usage, state.usage_before_reopen);
        let (total, inherited) =
            (usage.reported_cost + usage.estimated_cost, before.reported_cost + before.estimated_cost);
        let is_alone = spending.subagents.is_empty();
        CostSummary {
            budget_limit_usd: limits.budget,
            total_cost_usd: total,
            session_cost_usd: total.saturating_sub(inherited),
            inherited_cost_usd: inherited,
            pending_estimated_cost_usd: usage.estimated_cost,
            main_agent_cost_usd: is_alone.then_some(total),
            subagent_cost_usd: is_alone.then_some(Usd::ZERO),
            remaining_budget_usd: limits.budget.map(|limit| limit.saturating_sub(total)),
            unpriced: usage.unpriced,
            total_turns: usage.messages,
            truncated_turns: usage.truncated_messages,
            total_subagent_calls: spending.subagents.len() as u64,
            model,
            total_tokens: TotalTokens { tokens: usage.tokens, reasoning: None },
            estimated_tokens: usage.truncated_tokens,
            time: time(&state.clocks, limits, at),
            turns: spending.turns,
            subagent_costs: spending.subagents,
        }
    }
}

impl CostSummary {
    /// The same with what was used before the run, by whoever began its work. Whose agents that were, nobody says.
    #[must_use]
    pub fn with_inherited(self, inherited: &Inherited) -> CostSummary {
        let seconds = |span: Span| span.millis() as f64 / 1000.0;
        CostSummary {
            budget_limit_usd: self.budget_limit_usd.map(|limit| limit + inherited.cost),
            total_cost_usd: self.total_cost_usd + inherited.cost,
            inherited_cost_usd: self.inherited_cost_usd + inherited.cost,
            main_agent_cost_usd: None,
            subagent_cost_usd: None,
            time: TimeSummary {
                wall_clock_seconds: self.time.wall_clock_seconds + seconds(inherited.wall),
                active_seconds: self.time.active_seconds + seconds(inherited.active),
                time_limit_seconds: self
                    .time
                    .time_limit_seconds
                    .map(|limit| limit + seconds(inherited.active)),
                ..self.time
            },
            ..self
        }
    }
}

fn time(clocks: &Clocks, limits: Limits, at: Moment) -> TimeSummary {
    let seconds = |span: Span| span.millis() as f64 / 1000.0;
    let active = clocks.active(at);
    TimeSummary {
        wall_clock_seconds: seconds(clocks.wall(at)),
        active_seconds: seconds(active),
        retry_seconds: seconds(clocks.waiting),
        downtime_seconds: seconds(clocks.downtime),
        time_limit_seconds: limits.time.map(seconds),
        remaining_seconds: limits.time.map(|limit| seconds(limit - active)),
    }
}

/// `logs/session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSummary {
    /// The session that can be resumed.
    pub session_id: Option<SessionId>,
    /// How the run on it ended.
    pub status: OutcomeKind,
    /// When.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub end_time: Moment,
}

#[cfg(test)]
mod tests;
