//! Prices tokens in whole nanodollars, so that the API's log and the agent's own total agree to the last
//! digit. The table is the bundled one.

use std::ops::Add;

use longhaul_agent::Prices;
use longhaul_core::Tokens;

/// An amount in billionths of a dollar. The price of a token is a whole number of them.
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

/// Returns the price of `tokens` of `model`, or `None` if the table does not contain the model.
pub fn price(model: &str, tokens: &Tokens) -> Option<Nanodollars> {
    Prices::bundled().nanodollars(model, *tokens).map(Nanodollars)
}
