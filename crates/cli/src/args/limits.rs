//! The flags that limit a run, and the amounts that they take.

use crate::time_arg::duration;
use clap::Args;
pub(super) use longhaul_core::parse_dollars as dollars;
use longhaul_core::{Limits, Policy, Span, Usd, WrapUp, parse_bytes};

/// The value of a limit that is unlimited, on the command line and in files.
pub const NONE: &str = "none";
// An agent alone uses about 200 MB of resident memory, so it cannot run with less than this.
const MEMORY_MIN: u64 = 64 << 20;

/// Limits of a run, over all its attempts.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Maximum cost in dollars; `none` means unlimited (as for every limit) [default: none]
    #[arg(long, value_name = "USD", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Usd>,
    /// Maximum number of tokens of every kind, such as 500k or 2M [default: none]
    #[arg(long, value_name = "N", value_parser = token_limit, allow_hyphen_values = true, hide_short_help = true)]
    pub max_tokens: Option<u64>,
    /// Maximum working time; waits between attempts and machine sleep do not count [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, allow_hyphen_values = true)]
    pub time_limit: Option<Span>,
    /// Maximum elapsed time, including waits and sleep [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, allow_hyphen_values = true, hide_short_help = true)]
    pub wall_limit: Option<Span>,
    /// Maximum number of model responses, without those of sub-agents [default: none]
    #[arg(long, value_name = "N", value_parser = turn_limit, allow_hyphen_values = true, hide_short_help = true)]
    pub max_turns: Option<u64>,
    /// Maximum resident memory of the agent's processes, such as 8G [default: none]
    ///
    /// If they exceed it, the agent is stopped, and resumed once.
    #[arg(long, value_name = "SIZE", value_parser = memory_limit, allow_hyphen_values = true, hide_short_help = true)]
    pub memory_limit: Option<u64>,
}

impl LimitArgs {
    /// Sets the limits. Each flag is the new total.
    pub fn apply(&self, limits: &mut Limits) {
        limits.budget = self.budget.map_or(limits.budget, unless_zero);
        limits.tokens = self.max_tokens.map_or(limits.tokens, unless_zero);
        limits.time = self.time_limit.map_or(limits.time, unless_zero);
        limits.wall = self.wall_limit.map_or(limits.wall, unless_zero);
        let turns = |turns| u32::try_from(turns).ok().and_then(unless_zero);
        limits.turns = self.max_turns.map_or(limits.turns, turns);
        limits.memory = self.memory_limit.map_or(limits.memory, unless_zero);
    }
}

/// The reserve that is kept of the limits for the wrap-up.
#[derive(Clone, Debug, Default, Args)]
pub struct WrapUpArgs {
    /// Part of a time limit that is kept for the wrap-up [default: a tenth, from 30s to 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "no_wrap_up", hide_short_help = true)]
    pub wrap_up_reserve: Option<Span>,
    /// Prompt for the wrap-up [default: write down the state of the work, commit, stop]
    #[arg(long, value_name = "TEXT", conflicts_with = "no_wrap_up", hide_short_help = true)]
    pub wrap_up_prompt: Option<String>,
    /// Keep no reserve: stop the agent when a limit is reached
    #[arg(long, hide_short_help = true)]
    pub no_wrap_up: bool,
}

impl WrapUpArgs {
    /// Sets the reserve, or removes it. The run's specification holds the prompt.
    pub fn apply(&self, policy: &mut Policy) {
        if let Some(time) = self.wrap_up_reserve {
            policy.wrap_up = Some(WrapUp::new(Some(time)));
        }
        if self.no_wrap_up {
            policy.wrap_up = None;
        }
    }
}

/// Amounts that are added to the limits of a run when it is resumed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct AddLimitArgs {
    /// Add this many dollars to the budget
    #[arg(long, value_name = "USD", value_parser = dollars, conflicts_with = "budget", allow_hyphen_values = true)]
    pub add_budget: Option<Usd>,
    /// Add this much time to each time limit
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with_all = ["time_limit", "wall_limit"], allow_hyphen_values = true)]
    pub add_time: Option<Span>,
}

pub(super) fn set<T>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

/// Returns `None` for zero, which is how `none` is parsed.
pub fn unless_zero<T: Default + PartialEq>(amount: T) -> Option<T> {
    (amount != T::default()).then_some(amount)
}

/// Reads a limit: an amount, or `none`, which is unlimited and stored as 0. A typed 0 could mean either, so it is
/// an error.
fn limit<T: Default + PartialEq>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
    zero: &str,
) -> Result<T, String> {
    if text.trim() == NONE {
        return Ok(T::default());
    }
    let amount = parse(text)?;
    if amount == T::default() { Err(zero.to_owned()) } else { Ok(amount) }
}

pub(super) fn budget(text: &str) -> Result<Usd, String> {
    limit(text, dollars, "a budget of 0 allows no request; `--budget none` means unlimited")
}

pub(super) fn duration_limit(text: &str) -> Result<Span, String> {
    limit(text, duration, "a limit of 0 allows no time; `none` means unlimited")
}

fn token_limit(text: &str) -> Result<u64, String> {
    limit(text, count, "a limit of 0 tokens allows no request; `none` means unlimited")
}

fn turn_limit(text: &str) -> Result<u64, String> {
    limit(text, turns, "a limit of 0 turns allows no request; `none` means unlimited")
}

fn memory_limit(text: &str) -> Result<u64, String> {
    limit(text, memory, "a limit of 0 bytes allows no agent; `none` means unlimited")
}

/// Reads `1000`, `1_000`, `500k` or `2M`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let hint = || "expected a number of tokens, like 200000, 500k or 2M".to_owned();
    let digits = text.trim().replace('_', "");
    let (digits, unit) = match digits.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => digits.strip_suffix(['m', 'M']).map_or((digits.as_str(), 1), |digits| (digits, 1_000_000)),
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(hint)
}

fn turns(text: &str) -> Result<u64, String> {
    let turns: Result<u32, _> = text.trim().parse();
    turns.map(u64::from).map_err(|_| "expected a number of turns, like 200".to_owned())
}

fn memory(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        1..MEMORY_MIN => {
            Err("less than 64M is too little: the agent's own program uses about 200M".to_owned())
        }
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{Span, Usd, budget, count, duration_limit, memory, memory_limit, token_limit, turn_limit};

    #[test]
    fn limit_is_an_amount_or_none() {
        assert_eq!((budget("none"), budget("2")), (Ok(Usd::ZERO), Ok(Usd(2_000_000))));
        assert_eq!(duration_limit(" none "), Ok(Span::ZERO));
        assert_eq!((token_limit("none"), turn_limit("none"), memory_limit("none")), (Ok(0), Ok(0), Ok(0)));
        let zeros = [
            budget("0").err(),
            budget("$0.00").err(),
            duration_limit("0s").err(),
            token_limit("0k").err(),
            turn_limit("0").err(),
            memory_limit("0").err(),
        ];
        for error in zeros {
            let error = error.expect("0 is no limit");
            assert!(error.contains("none` means unlimited"), "{error}");
        }
    }

    #[test]
    fn parses_amounts() {
        for (text, expected) in [("1_000", 1_000), ("500k", 500_000), ("2M", 2_000_000), ("0", 0)] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in ["-1", "", "2G", "1.5k", "99999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(memory("64M"), Ok(64 << 20));
        assert!(memory("10M").is_err_and(|error| error.contains("too little")));
    }
}
