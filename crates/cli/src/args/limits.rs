//! The flags that limit a run, and the amounts that they take.

use crate::time_arg::duration;
use clap::Args;
use longhaul_core::{Span, Usd};

/// The value of a limit that is unlimited, on the command line and in files.
pub const NONE: &str = "none";
// A larger amount is a typing error.
const DOLLARS_MAX: f64 = 1e6;
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
    /// Maximum working time; API waits and machine sleep do not count [default: none]
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

/// Reads `10`, `2.50` or `$2.50`.
pub(super) fn dollars(text: &str) -> Result<Usd, String> {
    let hint = || "expected an amount in dollars, like 10 or 2.50".to_owned();
    let amount: f64 = text.trim().trim_start_matches('$').parse().map_err(|_| hint())?;
    let amount = Usd::from_dollars(amount).filter(|usd| usd.as_dollars() <= DOLLARS_MAX).ok_or_else(hint)?;
    if amount == Usd::ZERO && text.contains(|c: char| ('1'..='9').contains(&c)) {
        return Err("less than a millionth of a dollar".to_owned());
    }
    Ok(amount)
}

/// Reads `1000`, `1_000`, `500k` or `2M`.
fn count(text: &str) -> Result<u64, String> {
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

/// Reads `8G`, `900M` or `1.5GiB`.
fn memory(text: &str) -> Result<u64, String> {
    let hint = || "expected a size like 8G or 900M".to_owned();
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit: f64 = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "" if number == "0" => 0.0,
        _ => return Err(hint()),
    };
    let number: f64 = number.trim().parse().map_err(|_| hint())?;
    let bytes = number * unit;
    // `as` saturates. The comparison below rejects NaN.
    match bytes as u64 {
        _ if !(0.0..1e15).contains(&bytes) => Err(hint()),
        0 => Ok(0),
        bytes if bytes < MEMORY_MIN => {
            Err("less than 64M is too little: the agent's own program uses about 200M".to_owned())
        }
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{Span, Usd, budget, count, dollars, duration_limit, memory, memory_limit};
    use super::{token_limit, turn_limit};

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
        let dollars = |text: &str| dollars(text).ok().map(|Usd(micro)| micro);
        assert_eq!(dollars("10"), Some(10_000_000));
        assert_eq!(dollars("$2.50"), Some(2_500_000));
        assert_eq!(dollars("0"), Some(0));
        for text in ["-1", "", "ten", "1e12", "NaN", "inf", "0.0000001", "5 EUR"] {
            assert_eq!(dollars(text), None, "{text}");
        }
        for (text, expected) in [("1_000", 1_000), ("500k", 500_000), ("2M", 2_000_000), ("0", 0)] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in ["-1", "", "2G", "1.5k", "99999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
        for (text, expected) in [("8G", 8 << 30), ("900M", 900 << 20), ("1.5GiB", 3 << 29), ("0", 0)] {
            assert_eq!(memory(text), Ok(expected), "{text}");
        }
        for text in ["-1G", "", "8", "8 parsecs", "10M", "900000T"] {
            assert!(memory(text).is_err(), "{text}");
        }
    }
}
