//! Stores a run's costs and the end of its session: `logs/cost_summary.json` and `logs/session.json`. The
//! field names are those of an existing benchmark harness, so that its tools can read the files. Both are
//! derived from the journal and the transcript, and no decision depends on them. Unknown values are null.

use crate::Inherited;
use longhaul_core::{
    Clocks, Dollars, Limits, Moment, OutcomeKind, Rfc3339, Seconds, SessionId, Span, State, Tokens,
};
use serde::{Deserialize, Serialize};

/// `logs/cost_summary.json`. Dollars are decimal numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostSummary {
    /// Budget of the run. `None` without a limit.
    pub budget_limit_usd: Option<Dollars>,
    /// Total cost of the run, reported and estimated.
    pub total_cost_usd: Dollars,
    /// Cost since the run was last resumed, or since it started.
    pub session_cost_usd: Dollars,
    /// Cost before the run was last resumed, including an earlier harness's run.
    pub inherited_cost_usd: Dollars,
    /// Estimated part of the total, which no reported cost covers.
    pub pending_estimated_cost_usd: Dollars,
    /// The total if no sub-agent was started, otherwise `None`, because the vendor does not report the parts.
    pub main_agent_cost_usd: Option<Dollars>,
    /// Zero if no sub-agent was started, otherwise `None`.
    pub subagent_cost_usd: Option<Dollars>,
    /// Remaining part of the budget.
    pub remaining_budget_usd: Option<Dollars>,
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
    pub wall_clock_seconds: Seconds,
    /// Time without waits and downtime.
    pub active_seconds: Seconds,
    /// Time spent waiting with no process running.
    pub retry_seconds: Seconds,
    /// Downtime: the machine slept, or the run had no supervisor.
    pub downtime_seconds: Seconds,
    /// Limit of the active time. `None` without a limit.
    pub time_limit_seconds: Option<Seconds>,
    /// Remaining active time.
    pub remaining_seconds: Option<Seconds>,
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
    pub cost_usd: Option<Dollars>,
    /// Cost of all turns so far. `None` if a turn has no price.
    pub cumulative_cost_usd: Option<Dollars>,
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
    pub cost_usd: Option<Dollars>,
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
        let (total, inherited) = (usage.total_cost(), earlier.total_cost());
        let has_no_subagents = breakdown.subagents.is_empty();
        CostSummary {
            budget_limit_usd: limits.budget.map(Dollars),
            total_cost_usd: total.into(),
            session_cost_usd: total.saturating_sub(inherited).into(),
            inherited_cost_usd: inherited.into(),
            pending_estimated_cost_usd: usage.estimated_cost.into(),
            main_agent_cost_usd: has_no_subagents.then_some(total.into()),
            subagent_cost_usd: has_no_subagents.then_some(Dollars::default()),
            remaining_budget_usd: limits.budget.map(|limit| limit.saturating_sub(total).into()),
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

    /// Adds the usage of the program that worked on the task before this run. Its share of sub-agents is
    /// unknown.
    #[must_use]
    pub fn with_inherited(self, inherited: &Inherited) -> CostSummary {
        let with = |cost: Dollars| Dollars(cost.0 + inherited.cost);
        let longer = |time: Seconds, span: Span| Seconds(time.0 + span);
        CostSummary {
            budget_limit_usd: self.budget_limit_usd.map(with),
            total_cost_usd: with(self.total_cost_usd),
            inherited_cost_usd: with(self.inherited_cost_usd),
            main_agent_cost_usd: None,
            subagent_cost_usd: None,
            time: TimeSummary {
                wall_clock_seconds: longer(self.time.wall_clock_seconds, inherited.wall),
                active_seconds: longer(self.time.active_seconds, inherited.active),
                time_limit_seconds: self.time.time_limit_seconds.map(|limit| longer(limit, inherited.active)),
                ..self.time
            },
            ..self
        }
    }
}

fn time(clocks: &Clocks, limits: Limits, at: Moment) -> TimeSummary {
    let active = clocks.active(at);
    TimeSummary {
        wall_clock_seconds: Seconds(clocks.wall(at)),
        active_seconds: Seconds(active),
        retry_seconds: Seconds(clocks.waiting),
        downtime_seconds: Seconds(clocks.downtime),
        time_limit_seconds: limits.time.map(Seconds),
        remaining_seconds: limits.time.map(|limit| Seconds(limit - active)),
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
    pub end_time: Rfc3339,
}

#[cfg(test)]
mod tests;
