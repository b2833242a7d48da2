//! Limits of a run over all its attempts: the usage they count, and when one is reached.
//!
//! Part of each limit is reserved for a wrap-up: once only the reserve remains, the agent is asked to save
//! its work.

use crate::{OutcomeKind, Span, Usd, words::stored_enum};
use serde::{Deserialize, Serialize};

// A tenth of the time suffices to save the work of the rest. A wrap-up takes a commit, and the hooks of a
// large repository may delay that for minutes.
const TIME_SHARE: u64 = 10;
const TIME_MIN: Span = Span::from_secs(30);
const TIME_MAX: Span = Span::from_mins(5);
// The cost of two responses of a large model with a warm cache.
const MONEY_MIN: Usd = Usd(50_000);
// A warning helps while twice the reserve is left for work.
const NEAR_RESERVES: u64 = 3;
// Inspect, commit, report: a wrap-up takes this many turns.
const WRAP_UP_TURNS: u32 = 3;

/// Limits of a run over all its attempts. `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Maximum number of tokens, of every kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Maximum time that the run works, without waits, parks and downtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Maximum time since the run started, without the time in which it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
    /// Maximum number of model responses, without those of sub-agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Maximum resident memory of all its processes, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// The reserve of a limit, in which the agent can save its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WrapUp {
    /// Reserve of a time limit. `None` is a tenth of it, from 30 s to 5 min.
    #[serde(default)]
    pub reserve: Option<Span>,
}

stored_enum! {
    /// A limit that ends a run.
    pub enum Limit {
        /// The budget.
        Budget = "budget",
        /// The limit on tokens.
        Tokens = "tokens",
        /// The limit on the time that the run works.
        Time = "time",
        /// The limit on the time since the run started.
        Wall = "wall",
        /// The limit on turns.
        Turns = "turns",
        /// The limit on attempts, regardless of progress. Unlike the others, it leads to no wrap-up.
        Attempts = "attempts",
    }
}

stored_enum! {
    /// A threshold of a limit: how much of it is used.
    pub enum LimitThreshold {
        /// Only the reserve remains.
        Reserve = "reserve",
        /// Nothing remains.
        Exhausted = "exhausted",
    }
}

/// Usage of everything that can be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUsage {
    /// Reported and estimated cost.
    pub cost: Usd,
    /// Tokens, including those of truncated messages.
    pub tokens: u64,
    /// Turns of the main conversation.
    pub turns: u32,
    /// Time that the run worked.
    pub time: Span,
    /// Time since the run started.
    pub wall: Span,
    /// Cost of the most expensive recent turn.
    pub largest_turn_cost: Usd,
    /// Tokens of the largest recent turn.
    pub largest_turn_tokens: u64,
}

/// The cost and the tokens of one turn, or the maxima over the recent turns. Both maxima may come from
/// different turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnSize {
    pub(crate) cost: Usd,
    pub(crate) tokens: u64,
}

struct LimitUse {
    limit: Limit,
    used: u64,
    max: u64,
    /// Reserve, before it is capped at half of the limit.
    reserve: u64,
}

/// Remaining amounts of the limits that are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Remaining {
    /// Remaining budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Remaining turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Remaining time, of the time limit that is reached first if the run works without a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

impl WrapUp {
    /// Creates the reserve, of this length for time limits.
    pub fn new(reserve: Option<Span>) -> WrapUp {
        WrapUp { reserve }
    }
}

impl Limits {
    /// Returns the limits after `edit` changed them.
    #[must_use]
    pub fn with(mut self, edit: impl FnOnce(&mut Limits)) -> Limits {
        edit(&mut self);
        self
    }

    /// Returns by how much these limits are higher than `before`. A limit that is unset in either adds
    /// nothing.
    pub fn increase_over(&self, before: &Limits) -> Remaining {
        let money = self.budget.zip(before.budget).map(|(now, before)| now.saturating_sub(before));
        let turns = self.turns.zip(before.turns).map(|(now, before)| now.saturating_sub(before));
        let time =
            |now: Option<Span>, before: Option<Span>| now.zip(before).map(|(now, before)| now - before);
        let time = time(self.time, before.time).max(time(self.wall, before.wall));
        Remaining {
            budget: money.filter(|money| *money > Usd::ZERO),
            turns: turns.filter(|turns| *turns > 0),
            time: time.filter(|time| *time > Span::ZERO),
        }
    }

    /// Returns whether any limit can end the run. The agent must not work while no supervisor enforces such a
    /// limit.
    pub fn can_end_run(&self) -> bool {
        *self != Limits { memory: self.memory, ..Limits::default() }
    }

    fn uses(&self, wrap_up: Option<WrapUp>, used: &LimitUsage) -> impl Iterator<Item = LimitUse> {
        let set = |limit, used, max: Option<u64>, reserve| Some(LimitUse { limit, used, max: max?, reserve });
        let timed = |limit, used: Span, max: Option<Span>| {
            set(limit, used.0, max.map(|span| span.0), max.map_or(0, |max| time_reserve(wrap_up, max).0))
        };
        let tokens_reserve = used.largest_turn_tokens.saturating_mul(WRAP_UP_TURNS.into());
        let money_reserve = used.largest_turn_cost.max(MONEY_MIN);
        let uses = [
            set(Limit::Budget, used.cost.0, self.budget.map(|usd| usd.0), money_reserve.0),
            set(Limit::Tokens, used.tokens, self.tokens, tokens_reserve),
            timed(Limit::Time, used.time, self.time),
            timed(Limit::Wall, used.wall, self.wall),
            set(Limit::Turns, used.turns.into(), self.turns.map(u64::from), WRAP_UP_TURNS.into()),
        ];
        uses.into_iter().flatten()
    }

    /// Returns the reached limit and its threshold. An exhausted limit precedes one at its reserve.
    pub fn reached(&self, wrap_up: Option<WrapUp>, used: &LimitUsage) -> Option<(Limit, LimitThreshold)> {
        self.uses(wrap_up, used)
            .filter_map(|LimitUse { limit, used, max, reserve }| {
                let reserve = if wrap_up.is_some() { reserve.min(max / 2) } else { 0 };
                if used >= max {
                    return Some((limit, LimitThreshold::Exhausted));
                }
                (reserve > 0 && used >= max - reserve).then_some((limit, LimitThreshold::Reserve))
            })
            .max_by_key(|(limit, threshold)| (*threshold, std::cmp::Reverse(*limit)))
    }

    /// Returns whether a limit is near, so that little more than its reserve remains.
    pub(crate) fn is_near(&self, wrap_up: Option<WrapUp>, used: &LimitUsage) -> bool {
        self.uses(wrap_up, used).any(|LimitUse { used, max, reserve, .. }| {
            used >= max - reserve.saturating_mul(NEAR_RESERVES).min(max / 2)
        })
    }

    /// Returns the amounts that remain after this usage.
    pub fn remaining(&self, used: &LimitUsage) -> Remaining {
        let time = self.time.map(|limit| limit - used.time);
        let wall = self.wall.map(|limit| limit - used.wall);
        Remaining {
            budget: self.budget.map(|limit| limit.saturating_sub(used.cost)),
            turns: self.turns.map(|limit| limit.saturating_sub(used.turns)),
            time: time.into_iter().chain(wall).min(),
        }
    }

    /// Returns how much time passes before each of the two time limits reaches `threshold`.
    pub(crate) fn time_until(
        &self,
        wrap_up: Option<WrapUp>,
        threshold: LimitThreshold,
    ) -> (Option<Span>, Option<Span>) {
        let until = |limit: Span| match threshold {
            LimitThreshold::Reserve => limit - time_reserve(wrap_up, limit).at_most(Span(limit.0 / 2)),
            LimitThreshold::Exhausted => limit,
        };
        (self.time.map(until), self.wall.map(until))
    }
}

/// Returns the reserve of a time limit, before it is capped at half of the limit.
fn time_reserve(wrap_up: Option<WrapUp>, limit: Span) -> Span {
    let share = Span(limit.0 / TIME_SHARE).at_most(TIME_MAX).max(TIME_MIN);
    wrap_up.map_or(Span::ZERO, |wrap_up| wrap_up.reserve.unwrap_or(share))
}

impl Remaining {
    /// Returns whether no limit is set.
    pub fn is_unlimited(&self) -> bool {
        *self == Remaining::default()
    }

    /// Returns the amounts as text: `$1.25, 42m and 9 turns`. `None` if no limit is set.
    pub fn describe(&self) -> Option<String> {
        let turns = |turns: u32| format!("{turns} {}", if turns == 1 { "turn" } else { "turns" });
        let mut amounts: Vec<String> = [
            self.budget.map(|usd| usd.to_string()),
            self.time.map(|time| time.to_string()),
            self.turns.map(turns),
        ]
        .into_iter()
        .flatten()
        .collect();
        let last = amounts.pop()?;
        Some(if amounts.is_empty() { last } else { format!("{} and {last}", amounts.join(", ")) })
    }
}

impl Limit {
    /// Returns the limit as a noun phrase for people.
    pub fn describe(self) -> &'static str {
        match self {
            Limit::Budget => "the budget",
            Limit::Tokens => "the token limit",
            Limit::Time => "the time limit",
            Limit::Wall => "the wall limit",
            Limit::Turns => "the turn limit",
            Limit::Attempts => "the limit on attempts",
        }
    }

    /// Says that the limit stopped the run: `the budget stopped the run`. The reserve, or a wait for which too little was
    /// left, can stop it before the limit is exhausted.
    pub fn describe_stop(self) -> String {
        format!("{} stopped the run", self.describe())
    }

    /// Returns the outcome of a run that reached the limit.
    pub fn outcome(self) -> OutcomeKind {
        match self {
            Limit::Budget | Limit::Tokens => OutcomeKind::OverBudget,
            Limit::Time | Limit::Wall | Limit::Turns => OutcomeKind::OutOfTime,
            Limit::Attempts => OutcomeKind::Failed,
        }
    }
}

#[cfg(test)]
mod tests;
