//! Token counts, as an API bills them.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// Tokens of one or more API messages, by billing category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Input that no cache served.
    pub input: u64,
    /// Output, including thinking.
    pub output: u64,
    /// Input served from the prompt cache.
    pub cache_read: u64,
    /// Input written to the prompt cache.
    pub cache_write: u64,
}

impl Tokens {
    /// Returns the sum of all tokens. Sums saturate, here and elsewhere, because an agent may report any
    /// number.
    pub fn total(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }

    /// Returns these tokens minus `other`. A category of which `other` has more becomes 0.
    pub fn saturating_sub(self, other: Tokens) -> Tokens {
        self.combine(other, u64::saturating_sub)
    }

    /// Combines the two counts of each category.
    pub fn combine(self, other: Tokens, with: fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: with(self.input, other.input),
            output: with(self.output, other.output),
            cache_read: with(self.cache_read, other.cache_read),
            cache_write: with(self.cache_write, other.cache_write),
        }
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        self.combine(other, u64::saturating_add)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        *self = *self + other;
    }
}
