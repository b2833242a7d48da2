//! Stores a run's costs and the end of its session: `logs/cost_summary.json` and `logs/session.json`. The
//! field names are those of an existing benchmark harness, so that its tools can read the files. Both are
//! derived from the journal and the transcript, and no decision depends on them. Unknown values are null.

use crate::{Inherited, dollars, rfc3339};
use longhaul_core::{Clocks, Limits, Moment, OutcomeKind, SessionId, Span, State, Tokens, Usd};
use serde::{Deserialize, Serialize};

/// `logs/cost_summary.json`. Dollars are decimal numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostSummary {
    /// Budget of the run. `None` without a limit.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub budget_limit_usd: Option<Usd>,
    /// Total cost of the run, reported and estimated.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub total_cost_usd: Usd,
    /// Cost since the run was last resumed, or since it started.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub session_cost_usd: Usd,
    /// Cost before the run was last resumed, including an earlier harness's run.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub inherited_cost_usd: Usd,
    /// Estimated part of the total, which no reported cost covers.
    #[serde(with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub pending_estimated_cost_usd: Usd,
    /// The total if no sub-agent was started, otherwise `None`, because the vendor does not report the parts.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub main_agent_cost_usd: Option<Usd>,
    /// Zero if no sub-agent was started, otherwise `None`.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub subagent_cost_usd: Option<Usd>,
    /// Remaining part of the budget.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub remaining_budget_usd: Option<Usd>,
    /// Whether some tokens could not be priced. The cost is then a lower bound.
    pub unpriced: bool,
    /// Number of completed API messages, including those of sub-agents.
    pub total_turns: u32,
    /// Number of truncated API messages.
    pub truncated_turns: u32,
    /// Number of sub-agents started.
    pub total_subagent_calls: u64,
    /// Model that did most of the work, if known.
    pub model: Option<String>,
    /// Tokens of completed messages.
    pub total_tokens: TotalTokens,
    /// Estimated tokens of truncated messages; not in `total_tokens`.
    pub estimated_tokens: Tokens,
    /// Time spent, by kind.
    pub time: TimeSummary,
    /// Messages of the main conversation whose usage is known, oldest first.
    pub turns: Vec<TurnCost>,
    /// Sub-agents of the run.
    pub subagent_costs: Vec<SubagentCost>,
}

/// Tokens of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TotalTokens {
    /// Billed tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Thinking part of the output. The vendor does not report it.
    pub reasoning: Option<u64>,
}

/// The time of a run by kind, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// Total time.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub wall_clock_seconds: f64,
    /// Time without waits and downtime.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub active_seconds: f64,
    /// Time spent waiting with no process running.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub retry_seconds: f64,
    /// Downtime: the machine slept, or the run had no supervisor.
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Seconds"))]
    pub downtime_seconds: f64,
    /// Limit of the active time. `None` without a limit.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Seconds>"))]
    pub time_limit_seconds: Option<f64>,
    /// Remaining active time.
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Seconds>"))]
    pub remaining_seconds: Option<f64>,
}

/// Usage of one message of the main conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnCost {
    /// Number of the turn, starting at 1.
    pub turn_number: u64,
    /// Time of the message, in RFC 3339.
    pub timestamp: Option<String>,
    /// Attempt that the message belongs to.
    pub attempt: u32,
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Output tokens, including thinking.
    pub output_tokens: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write_tokens: u64,
    /// Thinking part of the output. The vendor does not report it.
    pub reasoning_tokens: Option<u64>,
    /// Cost by the price table. `None` for a model without a price.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<Usd>,
    /// Cost of all turns so far. `None` if a turn has no price.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cumulative_cost_usd: Option<Usd>,
    /// Duration of the response. The agent does not report it.
    pub duration_ms: Option<u64>,
    /// Model of the message.
    pub model: Option<String>,
}

/// One sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubagentCost {
    /// Id of the tool call that started it.
    pub tool_use_id: String,
    /// Start time, in RFC 3339.
    pub timestamp: Option<String>,
    /// Its model, known after its first message.
    pub model: Option<String>,
    /// Number of its messages in the transcript.
    pub turns: u64,
    /// Its cost. The vendor does not report it.
    #[serde(with = "dollars::option")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    pub cost_usd: Option<Usd>,
}

/// The messages and sub-agents that the transcript of a run contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostBreakdown {
    /// Messages of the main conversation.
    pub turns: Vec<TurnCost>,
    /// Sub-agents of the run.
    pub subagents: Vec<SubagentCost>,
}

impl CostSummary {
    /// Creates the summary of the run in `state`, as of `at`.
    pub fn new(
        state: &State,
        limits: Limits,
        breakdown: CostBreakdown,
        model: Option<String>,
        at: Moment,
    ) -> CostSummary {
        let (usage, earlier) = (state.usage, state.usage_before_reopen);
        let (total, inherited) =
            (usage.reported_cost + usage.estimated_cost, earlier.reported_cost + earlier.estimated_cost);
        let has_no_subagents = breakdown.subagents.is_empty();
        CostSummary {
            budget_limit_usd: limits.budget,
            total_cost_usd: total,
            session_cost_usd: total.saturating_sub(inherited),
            inherited_cost_usd: inherited,
            pending_estimated_cost_usd: usage.estimated_cost,
            main_agent_cost_usd: has_no_subagents.then_some(total),
            subagent_cost_usd: has_no_subagents.then_some(Usd::ZERO),
            remaining_budget_usd: limits.budget.map(|limit| limit.saturating_sub(total)),
            unpriced: usage.unpriced,
            total_turns: usage.messages,
            truncated_turns: usage.truncated_messages,
            total_subagent_calls: breakdown.subagents.len() as u64,
            model,
            total_tokens: TotalTokens { tokens: usage.tokens, reasoning: None },
            estimated_tokens: usage.truncated_tokens,
            time: time(&state.clocks_at(at), limits, at),
            turns: breakdown.turns,
            subagent_costs: breakdown.subagents,
        }
    }
}

impl CostSummary {
    /// Adds the usage of the program that worked on the task before this run. Its share of sub-agents is
    /// unknown.
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
    /// Session that can be resumed.
    pub session_id: Option<SessionId>,
    /// Outcome of the run.
    pub status: OutcomeKind,
    /// End of the run.
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Rfc3339"))]
    pub end_time: Moment,
}

#[cfg(test)]
mod tests;
