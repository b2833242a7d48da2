//! Money as an integer of micro-dollars. It is never a float inside; floats are parsed at the edge.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// An amount of US dollars, in micro-dollars (one millionth).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// The amount zero.
    pub const ZERO: Usd = Usd(0);

    /// Parses a vendor's dollar amount. Returns `None` if it is negative, infinite, NaN or implausibly large.
    pub fn from_dollars(dollars: f64) -> Option<Usd> {
        // The largest plausible amount is a billion dollars. A field above it is not money.
        (dollars.is_finite() && (0.0..=1e9).contains(&dollars)).then(|| Usd((dollars * 1e6).round() as u64))
    }

    /// Returns the amount in dollars, for printing and JSON only.
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns this amount minus `other`, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }
}

impl Add for Usd {
    type Output = Usd;
    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Usd) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, Add::add)
    }
}

/// Formats the amount with two decimals from $1, and with four below: many runs cost a few cents.
impl fmt::Display for Usd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(out, "$0"),
            1..1_000_000 => write!(out, "${:.4}", self.as_dollars()),
            1_000_000.. => write!(out, "${:.2}", self.as_dollars()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Usd;

    #[test]
    fn formats_short_amounts() {
        for (micros, text) in [(0, "$0"), (1_234, "$0.0012"), (999_999, "$1.0000"), (12_345_678, "$12.35")] {
            assert_eq!(Usd(micros).to_string(), text);
        }
    }
}
