//! Prices tokens in whole nanodollars, so that the API's log and the agent's own total agree to the last
//! digit. The table holds the models that drills use; it never prices real usage.

use std::ops::Add;

use longhaul_core::Tokens;

/// An amount in billionths of a dollar. The smallest price in the table is a whole number of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanodollars(pub u64);

impl Nanodollars {
    /// Returns the amount in dollars, for JSON fields with decimals.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the amount in millionths of a dollar, rounded to the nearest.
    pub fn microdollars(self) -> u64 {
        (self.0 + 500) / 1000
    }
}

impl Add for Nanodollars {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Nanodollars per token: input, output, cache read, cache write (five minutes).
struct Rate(&'static str, u64, u64, u64, u64);

/// List prices that Claude Code 2.1.330 used in recorded runs.
const RATES: &[Rate] = &[
    Rate("claude-opus-5-5", 4000, 20_000, 200, 5000),
    Rate("claude-sonnet-5-5", 2000, 10_000, 100, 2500),
    Rate("claude-sonnet-4-5", 3000, 15_000, 300, 3750),
    Rate("claude-haiku-4-5", 1000, 5000, 100, 1250),
];

/// Returns the price of `tokens` of `model`, or `None` if the table does not contain the model.
///
/// A dated name such as `claude-haiku-4-5-20251001` counts as its family.
pub fn price(model: &str, tokens: &Tokens) -> Option<Nanodollars> {
    let Rate(_, input, output, read, write) = RATES.iter().find(|rate| model.starts_with(rate.0))?;
    Some(Nanodollars(
        tokens.input * input + tokens.output * output + tokens.cache_read * read + tokens.cache_write * write,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, tokens: [u64; 4], dollars: f64) {
        let [input, cache_write, cache_read, output] = tokens;
        let cost = price(model, &Tokens { input, output, cache_read, cache_write });
        assert_eq!(cost.map(Nanodollars::dollars), Some(dollars));
    }

    #[test]
    fn reproduces_recorded_totals() {
        check("claude-opus-5-5", [3000, 600, 9000, 177], 0.02034);
        check("claude-sonnet-5-5", [1000, 200, 3000, 50], 0.0033);
        check("claude-sonnet-4-5", [1000, 200, 3000, 50], 0.0054);
        assert_eq!(price("claude-nope-9", &Tokens::default()), None);
    }
}
