//! What a run may use in all its attempts together, what it has used, and when a limit is reached.
//!
//! A part of each limit is held back for a wrap-up: when the rest is used, the agent is told to save its work, and
//! has that part to do it in.

use crate::{OutcomeKind, Span, Usage, Usd};
use serde::{Deserialize, Serialize};
use std::fmt;

// A tenth of the time is enough to save what was done in the rest; saving itself takes a commit, which a large
// repository's hooks may hold up for minutes.
const TIME_SHARE: u64 = 10;
const TIME_MIN: Span = Span::from_secs(30);
const TIME_MAX: Span = Span::from_mins(5);
// What two answers of a large model cost with a warm cache.
const MONEY_MIN: Usd = Usd(50_000);
// A warning is of use while there is twice as much left to work with as is held back.
const NEAR: u64 = 3;
// Look, commit, report: so many answers save the work.
const ANSWERS: u32 = 3;

/// What a run may use in all its attempts together. Nothing is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// What it may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Tokens that it may use, of every kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How long it may work: waits, parks and downtime are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// How long it may take from its start, as long as it is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
    /// How often the model may answer; sub-agents are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Resident memory that its processes may have together, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// What is held back of a limit, so that the agent can save its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrapUp {
    /// How much of a limit on time; nothing is a tenth of it, from 30 s to 5 min.
    #[serde(default)]
    pub reserve: Option<Span>,
}

/// A limit that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// On money.
    Budget,
    /// On tokens.
    Tokens,
    /// On the time that the run works.
    Time,
    /// On the time that the run takes.
    Wall,
    /// On the model's answers.
    Turns,
    /// On attempts, whatever progress they make. Unlike the others, no agent is told of it.
    Attempts,
}

/// How far a run has come towards a limit that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitThreshold {
    /// Only what is held back is left.
    Reserve,
    /// Nothing is left.
    Exhausted,
}

/// What a run has used of what can be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUsage {
    /// Money, stated and estimated.
    pub cost: Usd,
    /// Tokens, those of cut messages included.
    pub tokens: u64,
    /// Answers of the model in the main conversation.
    pub turns: u32,
    /// Time that it worked.
    pub time: Span,
    /// Time that it took.
    pub wall: Span,
    /// What the most expensive of its recent answers cost.
    pub largest_turn_cost: Usd,
    /// How many tokens the largest of its recent answers used.
    pub largest_turn_tokens: u64,
}

/// What is left of a run's limits, where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Remaining {
    /// Of its money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Of its answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Of its time: of the limit that is reached first if it works without a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

impl Limits {
    /// Returns by how much these limits are higher than `before`. A limit that was or is not set adds nothing.
    pub fn added_to(&self, before: &Limits) -> Remaining {
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

    /// Whether there is one that ends the run. Its agent must not work on while nobody keeps count.
    pub fn can_end_run(&self) -> bool {
        *self != Limits { memory: self.memory, ..Limits::default() }
    }

    /// The limit that is reached, and how far: one that is used up before one of which something is held back.
    pub fn reached(&self, wrap_up: Option<WrapUp>, used: &LimitUsage) -> Option<(Limit, LimitThreshold)> {
        let reach = |used: u64, limit: Option<u64>, reserve: u64| {
            let limit = limit?;
            let held_back = if wrap_up.is_some() { reserve.min(limit / 2) } else { 0 };
            let reserve = (held_back > 0 && used >= limit - held_back).then_some(LimitThreshold::Reserve);
            if used >= limit { Some(LimitThreshold::Exhausted) } else { reserve }
        };
        let time_reserve = |limit: Option<Span>| limit.map_or(0, |limit| time_reserve(wrap_up, limit).0);
        [
            (
                Limit::Budget,
                reach(used.cost.0, self.budget.map(|usd| usd.0), used.largest_turn_cost.max(MONEY_MIN).0),
            ),
            (
                Limit::Tokens,
                reach(used.tokens, self.tokens, used.largest_turn_tokens.saturating_mul(ANSWERS.into())),
            ),
            (Limit::Time, reach(used.time.0, self.time.map(|span| span.0), time_reserve(self.time))),
            (Limit::Wall, reach(used.wall.0, self.wall.map(|span| span.0), time_reserve(self.wall))),
            (Limit::Turns, reach(used.turns.into(), self.turns.map(u64::from), ANSWERS.into())),
        ]
        .into_iter()
        .filter_map(|(limit, reach)| Some((limit, reach?)))
        .max_by_key(|(limit, reach)| (*reach, std::cmp::Reverse(*limit)))
    }

    /// Whether one is so near that little more than what is held back of it is left.
    pub(crate) fn is_near(&self, wrap_up: Option<WrapUp>, used: &LimitUsage) -> bool {
        let near = |used: u64, limit: Option<u64>, reserve: u64| {
            limit.is_some_and(|limit| used >= limit - reserve.saturating_mul(NEAR).min(limit / 2))
        };
        let time = |limit: Option<Span>| limit.map_or(0, |limit| time_reserve(wrap_up, limit).0);
        near(used.cost.0, self.budget.map(|usd| usd.0), used.largest_turn_cost.max(MONEY_MIN).0)
            || near(used.tokens, self.tokens, used.largest_turn_tokens.saturating_mul(ANSWERS.into()))
            || near(used.time.0, self.time.map(|span| span.0), time(self.time))
            || near(used.wall.0, self.wall.map(|span| span.0), time(self.wall))
            || near(used.turns.into(), self.turns.map(u64::from), ANSWERS.into())
    }

    /// What is left after that was used.
    pub fn remaining(&self, used: &LimitUsage) -> Remaining {
        let time = self.time.map(|limit| limit - used.time);
        let wall = self.wall.map(|limit| limit - used.wall);
        Remaining {
            budget: self.budget.map(|limit| limit.saturating_sub(used.cost)),
            turns: self.turns.map(|limit| limit.saturating_sub(used.turns)),
            time: time.into_iter().chain(wall).min(),
        }
    }

    /// How much of its time passes before `reach`, for each of the two limits on time.
    pub(crate) fn time_until(
        &self,
        wrap_up: Option<WrapUp>,
        reach: LimitThreshold,
    ) -> (Option<Span>, Option<Span>) {
        let until = |limit: Span| match reach {
            LimitThreshold::Reserve => limit - time_reserve(wrap_up, limit).at_most(Span(limit.0 / 2)),
            LimitThreshold::Exhausted => limit,
        };
        (self.time.map(until), self.wall.map(until))
    }
}

/// How much of a limit on time is held back, before it is bounded by half of the limit.
fn time_reserve(wrap_up: Option<WrapUp>, limit: Span) -> Span {
    let share = Span(limit.0 / TIME_SHARE).at_most(TIME_MAX).max(TIME_MIN);
    wrap_up.map_or(Span::ZERO, |wrap_up| wrap_up.reserve.unwrap_or(share))
}

impl Remaining {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Remaining::default()
    }
}

impl LimitUsage {
    /// What these tallies and times amount to.
    pub(crate) fn new(usage: &Usage, (time, wall): (Span, Span), largest: (Usd, u64)) -> LimitUsage {
        LimitUsage {
            cost: usage.total_cost(),
            tokens: usage.tokens.total() + usage.truncated_tokens.total(),
            turns: usage.turns,
            time,
            wall,
            largest_turn_cost: largest.0,
            largest_turn_tokens: largest.1,
        }
    }
}

impl Limit {
    /// The limits of which a run uses a part at a time.
    pub const ALL: &'static [Limit] = &[Limit::Budget, Limit::Tokens, Limit::Time, Limit::Wall, Limit::Turns];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Budget => "budget",
            Limit::Tokens => "tokens",
            Limit::Time => "time",
            Limit::Wall => "wall",
            Limit::Turns => "turns",
            Limit::Attempts => "attempts",
        }
    }

    /// Returns the limit as a noun phrase for a person.
    pub fn describe(self) -> &'static str {
        match self {
            Limit::Budget => "the budget",
            Limit::Tokens => "the token limit",
            Limit::Time => "the time limit",
            Limit::Wall => "the wall limit",
            Limit::Turns => "the turn limit",
            Limit::Attempts => "the limit of attempts",
        }
    }

    /// What a run ends as that has reached it.
    pub fn outcome(self) -> OutcomeKind {
        match self {
            Limit::Budget | Limit::Tokens => OutcomeKind::OverBudget,
            Limit::Time | Limit::Wall | Limit::Turns => OutcomeKind::OutOfTime,
            Limit::Attempts => OutcomeKind::Failed,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests;
