//! Computes how long to wait before the next attempt, from a policy and one random roll.

use crate::{Backoff, Jitter, Moment, Span, draw};

// Different salts give independent draws from one roll.
const SALT_DELAY: u64 = 1;
const SALT_FLOOR: u64 = 2;
const SALT_RESET: u64 = 3;

impl Backoff {
    /// Returns the wait before retry number `n`, starting at 0, with jitter. A server's `hint` is a floor.
    /// The wait exceeds it by a random amount, so that clients with the same hint do not return at the same
    /// moment.
    pub fn delay(&self, n: u32, hint: Option<Span>, roll: u64) -> Span {
        let whole = self.base.doubled(n).at_most(self.cap);
        let drawn = match self.jitter {
            Jitter::None => whole,
            Jitter::Full => Span(draw(roll, SALT_DELAY, whole.0)),
            Jitter::Percent(percent) => {
                let spread = whole.0.saturating_mul(u64::from(percent)) / 100;
                let drawn = draw(roll, SALT_DELAY, spread.saturating_mul(2));
                Span(whole.0.saturating_add(drawn).saturating_sub(spread))
            }
        };
        match hint {
            Some(floor) if floor > drawn => {
                floor + Span(draw(roll, SALT_FLOOR, self.base.at_most(self.cap).0))
            }
            Some(_) | None => drawn,
        }
    }

    /// Returns the longest wait that this schedule can draw before retry number `n`, without a hint.
    pub fn longest(&self, n: u32) -> Span {
        let whole = self.base.doubled(n).at_most(self.cap);
        match self.jitter {
            Jitter::None | Jitter::Full => whole,
            Jitter::Percent(percent) => whole + Span(whole.0.saturating_mul(u64::from(percent)) / 100),
        }
    }

    /// Returns this schedule with its cap lowered to at most `cap`.
    pub fn with_lower_cap(self, cap: Span) -> Backoff {
        Backoff { cap: self.cap.at_most(cap), ..self }
    }
}

/// Returns the moment to resume after a reset, with jitter added.
pub(crate) fn after_reset(resets_at: Moment, jitter: Span, roll: u64) -> Moment {
    resets_at + Span(draw(roll, SALT_RESET, jitter.0))
}

#[cfg(test)]
mod tests;
