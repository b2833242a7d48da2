//! The agent's own retries: how long it waits before each. Pure; measured with Claude Code 2.1.330.

use std::time::Duration;

use crate::rng::Rng;

/// The wait before the first retry; it doubles with each.
const BASE_MS: u64 = 500;
/// The longest wait, before jitter.
const CAP_MS: u64 = 32_000;
/// The longest `retry-after` the agent waits for; above it, it gives up at once.
pub(super) const RETRY_AFTER_MAX_S: u64 = 60;

/// The wait before retry number `attempt` (from 1): 0.5 s doubling to 32 s and up to a quarter more; a `retry-after` is
/// a floor, with 5 to 10 percent on top.
pub(super) fn delay(attempt: u32, retry_after_s: Option<u64>, rng: &mut Rng) -> Duration {
    let own = BASE_MS.checked_shl(attempt.saturating_sub(1)).unwrap_or(CAP_MS).min(CAP_MS);
    let hinted = retry_after_s.unwrap_or(0) * 1000;
    let milliseconds = if hinted > own {
        hinted + hinted / 20 + rng.below(hinted / 20 + 1)
    } else {
        own + rng.below(own / 4 + 1)
    };
    Duration::from_millis(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_lie_in_the_measured_ranges() {
        let mut rng = Rng::new(3);
        for (attempt, hint, low, high) in [
            (1, None, 500, 625),
            (3, None, 2000, 2500),
            (7, None, 32_000, 40_000),
            (90, None, 32_000, 40_000),
            (1, Some(3), 3150, 3300),
            (1, Some(60), 63_000, 66_000),
            (5, Some(3), 8000, 10_000),
        ] {
            let delay = delay(attempt, hint, &mut rng).as_millis();
            assert!((low..=high).contains(&delay), "{attempt} {hint:?}: {delay}");
        }
    }
}
