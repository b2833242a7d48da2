//! How long to wait before the next attempt. Pure arithmetic over a policy and a roll of chance.

use crate::{Backoff, Jitter, Moment, Span, draw};

// Different salts give independent draws from one roll.
const SALT_DELAY: u64 = 1;
const SALT_FLOOR: u64 = 2;
const SALT_RESET: u64 = 3;

impl Backoff {
    /// The wait before retry number `n` (from 0), spread by chance. A server's `hint` is a floor:
    /// we come after it, a little late, so that those whom it told the same do not come at once.
    pub fn delay(&self, n: u32, hint: Option<Span>, roll: u64) -> Span {
        let whole = self.base.doubled(n).at_most(self.cap);
        let drawn = match self.jitter {
            Jitter::None => whole,
            Jitter::Full => Span(draw(roll, SALT_DELAY, whole.0)),
            Jitter::Percent(percent) => {
                let reach = whole.0.saturating_mul(u64::from(percent)) / 100;
                let drawn = draw(roll, SALT_DELAY, reach.saturating_mul(2));
                Span(whole.0.saturating_add(drawn).saturating_sub(reach))
            }
        };
        match hint {
            Some(floor) if floor > drawn => {
                floor + Span(draw(roll, SALT_FLOOR, self.base.at_most(self.cap).0))
            }
            Some(_) | None => drawn,
        }
    }

    /// The longest wait this schedule can draw before retry number `n`, without a hint.
    pub fn longest(&self, n: u32) -> Span {
        let whole = self.base.doubled(n).at_most(self.cap);
        match self.jitter {
            Jitter::None | Jitter::Full => whole,
            Jitter::Percent(percent) => whole + Span(whole.0.saturating_mul(u64::from(percent)) / 100),
        }
    }

    /// This schedule under a lower cap.
    pub fn capped(self, cap: Span) -> Backoff {
        Backoff { cap: self.cap.at_most(cap), ..self }
    }
}

/// When to come back after a reset: a little late, by chance.
pub(crate) fn after_reset(resets_at: Moment, jitter: Span, roll: u64) -> Moment {
    resets_at + Span(draw(roll, SALT_RESET, jitter.0))
}

#[cfg(test)]
mod tests;
